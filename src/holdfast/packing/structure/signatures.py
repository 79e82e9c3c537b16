"""Lines of code that name something: classes, functions, types, and the marks that stand above them.

Rule: read from the beginning of a line, whatever the language; a call or a branch is no signature.
"""

import re
from collections.abc import Sequence
from typing import Literal

Role = Literal["holder", "named", "member", "import", "above", "closer"]
"""What a line of code is: names a class, a function or type, a method; brings in; stands above one; only closes."""

_MODIFIERS = (
    *("export", "default", "declare", "public", "private", "protected", "internal", "static", "final"),
    *("abstract", "sealed", "async", "open", "override", "virtual", "inline", "extern", "unsafe"),
    *("synchronized", "data", "partial", "readonly", "pub", "suspend"),
)
_HOLDERS = (
    *("class", "interface", "struct", "enum", "trait", "impl", "record", "namespace", "module", "protocol"),
)
_NAMED = ("def", "func", "fn", "function", "function*", "type", "sub", "fun", "proc", "macro_rules!")
_IMPORTS = ("import", "from", "use", "using", "require", "#include", "package", "extern")
_CLOSERS = (
    *("}", ")", "]", "};", ");", "];", "},", "),", "],", "})", "});", "}),", "))", "));", ")]", "])", "]);"),
    *(
        "]),",
        "}}",
        "}]",
        "]}",
        "]]",
        "})();",
        "}))",
        "}));",
        "end",
        "fi",
        "done",
        "esac",
        ">",
        "/>",
        "</div>",
    ),
    *("</>",),
)
_MODIFIED = re.compile(
    rf"\s*+(?:(?:{'|'.join(_MODIFIERS)})(?:\([^)]{{1,40}}+\))?+ ++)++"
    rf"(?:(?P<holder>(?:{'|'.join(_HOLDERS)})\b)"
    r"|(?P<named>(?:def|func|fn|function|type|const|let|var)\b|[\w$]++ ?=)"
    r"|(?P<member>(?:[\w$<][\w$.<>,?\[\]]{0,80}+ ++){0,5}[\w$#]++ ?\())"
)
_ARROW = re.compile(
    r"\s*+(?:const|let|var) [\w$]++(?: ?:[^=]{1,80})? = (?:async |function|\([^\n]{0,200}?=>)"
)
_MEMBER = re.compile(
    # A method without a keyword: perhaps a type, a name, brackets and an opening brace.
    r"\s*+(?!(?:if|for|while|switch|catch|else|do|return|with|try|function|using|lock|match|case|when|elif|throw|new"
    r"|await|yield|defer|go|select|loop|unless|until|assert|func)\b)"
    r"(?:(?:get|set|async|static) |\*)?+(?:[\w$][\w$.<>,?\[\]]{0,80}+ ++){0,2}[\w$#~]{1,80}+(?:<[^>]{1,60}+>)?+"
    r"\([^;]{0,300}?\)[^;=()]{0,120}?\{\s*"
)
_ROLES: dict[str, Role] = {
    **dict.fromkeys(_HOLDERS, "holder"),
    **dict.fromkeys(_NAMED, "named"),
    **dict.fromkeys(_IMPORTS, "import"),
    **dict.fromkeys(_CLOSERS, "closer"),
}
_FAR = 600
"""Characters of a line in which a signature shows."""
_LOOKED_AT = {*_MODIFIERS, "const", "let", "var", "pub(crate)", "pub(super)"}
_BRANCHES = ("if", "for", "while", "switch", "else", "}", "try", "return", "case", "select")
_TAKEN = {*_ROLES, *_LOOKED_AT, *_BRANCHES}
"""First words of lines that are not looked at for a method."""
SIGNATURE = re.compile(rf"[ \t]*+(?:{'|'.join((*_MODIFIERS, *_HOLDERS, *map(re.escape, _NAMED)))})[ (<]")
"""Whether a place in a text begins a signature, about; for what stands behind a search's `path:12:`."""


def roles_of(lines: Sequence[str]) -> list[tuple[int, Role]]:
    """The lines that have a role, with it, in order."""
    bare = [line.strip() for line in lines]
    words = [line.partition(" ")[0] for line in bare]
    out = [(number, _ROLES[word]) for number, word in enumerate(words) if word in _ROLES]
    out = [(number, role) for number, role in out if role != "closer" or bare[number] == words[number]]
    for number, word in enumerate(words):
        if word in _LOOKED_AT and (role := _modified_role(lines[number][:_FAR])):
            out.append((number, role))
    if "@" in (letters := "".join(words)) or "#[" in letters:
        out += [
            (number, "above")
            for number, word in enumerate(words)
            if word[:1] in ("@", "#") and _is_above(word)
        ]
    if "impl<" in letters:
        out += [(number, "holder") for number, word in enumerate(words) if word.startswith("impl<")]
    out += [
        (number, "member")
        for number, line in enumerate(bare)
        if line[-1:] == "{" and words[number] not in _TAKEN and _is_member(line[:_FAR])
    ]
    out.sort()
    return out


def _modified_role(line: str) -> Role | None:
    found = _MODIFIED.match(line)
    if found is None:
        return "named" if _ARROW.match(line) else None
    return "holder" if found["holder"] else "named" if found["named"] else "member"


def _is_member(line: str) -> bool:
    """Whether a line opens a method's body, and not that of a function given to a call."""
    return not any(word in line for word in ("func", "=>", "->")) and _MEMBER.fullmatch(line) is not None


def _is_above(word: str) -> bool:
    return word.startswith("#[") or (word[0] == "@" and word[1:2].isalpha())
