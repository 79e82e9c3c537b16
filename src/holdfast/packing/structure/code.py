"""Code: signatures and the marks above them count; closing brackets and rows of data do not.

Rule: a signature is recognised from the beginning of a line, whatever the language; a call or a branch is none. A
member depends on the class that it is in, by its indent; nothing else is anchored, since a line of code is read
where it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from holdfast.packing.structure.findings import DULL, HINT, NOWHERE, SLIGHT, TELLING, BareText, LineFindings

Role = Literal["holder", "named", "member", "import", "above", "closer"]
"""What a line of code is: names a class, a function or type, a method; brings in; stands above one; only closes."""

_MODIFIERS = tuple(
    "export default declare public private protected internal static final abstract sealed async open override "
    "virtual inline extern unsafe synchronized data partial readonly pub suspend".split()
)
_HOLDERS = tuple("class interface struct enum trait impl record namespace module protocol".split())
_NAMED = tuple("def func fn function function* type sub fun proc macro_rules!".split())
_IMPORTS = tuple("import from use using require #include package extern".split())
_CLOSERS = tuple(
    "} ) ] }; ); ]; }, ), ], }) }); }), )) )); )] ]) ]); ]), }} }] ]} ]] })(); })) })); end fi done esac > /> "
    "</div> </>".split()
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


_PROSE = re.compile(r"\n(?:```|#{2,4} \S)")
"""What stands in a report about code, and hardly ever in code."""
_LITERAL = frozenset("\"'`0123456789-+[{(")
LONG_DATA = 12
"""Rows of literals in a run from which the run is a table of data; its first and last rows show what it holds."""
SHOWN = 3
RUN = 3
"""Imports in a row from which the row is a list."""
FEWEST, LEAST_CODE = 3, 0.08
"""How many lines, and which share of them, begin as code does in a text that is code, though nothing says so."""


def mark_code(bare_text: BareText, findings: LineFindings, *, is_known: bool) -> bool:
    """Whether the text is code; if it is, its lines are marked. `is_known` where the call or the numbers say so."""
    if not is_known and (_PROSE.search(bare_text.text) or not _is_code(bare_text.sample)):
        return False
    roles = roles_of(bare_text.lines)
    _mark_roles(bare_text.lines, roles, findings)
    _mark_data(bare_text.lines, findings)
    return True


def _is_code(lines: Sequence[str]) -> bool:
    roles = [role for _, role in roles_of(lines)]
    is_telling = any(role in ("holder", "named", "member") for role in roles)
    filled = sum(map(bool, map(str.strip, lines)))
    return is_telling and len(roles) >= max(filled * LEAST_CODE, FEWEST)


def _mark_roles(lines: Sequence[str], roles: list[tuple[int, Role]], findings: LineFindings) -> None:
    holders: list[tuple[int, int]] = []
    imports: list[int] = []
    for at, (line, role) in enumerate(roles):
        if role == "closer":
            findings.adjust(line, DULL)
        elif role == "import":
            imports.append(line)
        elif role == "above":
            below = roles[at + 1] if at + 1 < len(roles) else (NOWHERE, role)
            if below[0] == line + 1 and below[1] not in ("closer", "import"):
                findings.adjust(line, HINT)
        else:
            indent = len(lines[line]) - len(lines[line].lstrip())
            while holders and holders[-1][1] >= indent:
                holders.pop()
            if holders:
                findings.anchors.setdefault(line, holders[-1][0])
            if role == "holder":
                holders.append((line, indent))
            # A line's own worth knows definitions by their words; members have none.
            findings.adjust(line, TELLING if role == "member" else HINT)
    for run in _runs(imports):
        if len(run) >= RUN:
            for line in run:
                findings.adjust(line, SLIGHT)


def _mark_data(lines: Sequence[str], findings: LineFindings) -> None:
    """Long runs of literals: what is in the middle of them is the least of the file."""
    ended = [number for number, line in enumerate(lines) if line[-1:] == ","]
    if len(ended) < LONG_DATA:
        return
    for run in _runs(number for number in ended if lines[number].lstrip()[:1] in _LITERAL):
        if len(run) >= LONG_DATA:
            for line in run[SHOWN:-SHOWN]:
                findings.adjust(line, DULL)


def _runs(numbers: Iterable[int]) -> Iterator[range]:
    """Numbers in order, as the ranges that they make."""
    first = end = NOWHERE
    for number in numbers:
        if number != end:
            if end > first:
                yield range(first, end)
            first = number
        end = number + 1
    if end > first:
        yield range(first, end)
