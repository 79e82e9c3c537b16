"""Patterns for paths, as ripgrep reads them: `*` and `?` stay inside one name, `**` crosses, `{a,b}` chooses.

Rule: a pattern is matched against paths that were found inside a root; it never makes a path.
"""

import re
from collections.abc import Iterator

_SIMPLE_NAME = re.compile(r"[\w.*?\-+@~#%=,{} ]+")
_ESCAPED = re.compile(r"\\.")
_CROSSING = re.compile(r"(?:(?<=/)|\A)\*\*(?:/(?:\*\*/)*|\Z)")
_DEEPEST = 10


class BadGlob(ValueError):
    """A pattern that cannot be read; the message says why."""


def glob_pattern(glob: str) -> re.Pattern[str]:
    """What a tool's pattern matches, whole relative paths only. Without a slash it is a name at any depth."""
    spelled = glob.removeprefix("./")
    anchored = spelled.startswith("/") or "/" in _ESCAPED.sub("", spelled)
    return compiled(spelled.lstrip("/") if anchored else f"**/{spelled}")


def compiled(glob: str) -> re.Pattern[str]:
    """A glob over a whole path."""
    try:
        return re.compile(_translate(glob), re.DOTALL)
    except re.error as error:
        raise BadGlob(f"it cannot be read: {error.msg}") from None


def name_glob(glob: str) -> str:
    """The part of a pattern that names files, if ripgrep may narrow its walk by it; otherwise empty.

    Only plain characters pass: what this glob lets through is looked at again with the whole pattern.
    """
    name = glob.rsplit("/", 1)[-1]
    plain = _SIMPLE_NAME.fullmatch(name) and name.count("{") == name.count("}") and "**" not in name
    return name if plain else ""


def _translate(glob: str) -> str:
    return "".join(_pieces(glob))


def _pieces(glob: str) -> Iterator[str]:
    at, depth = 0, 0
    while at < len(glob):
        char = glob[at]
        if stars := _CROSSING.match(glob, at):
            yield "(?:.*/)?" if stars[0].endswith("/") else ".*"
            at = stars.end()
            continue
        match char:
            case "*":
                yield "" if glob[at + 1 : at + 2] == "*" else "[^/]*"
            case "?":
                yield "[^/]"
            case "[":
                piece, at = _class(glob, at)
                yield piece
            case "{":
                depth += 1
                if depth > _DEEPEST:
                    raise BadGlob("its braces are nested too deeply")
                yield "(?:"
            case "}" if depth:
                depth -= 1
                yield ")"
            case "}":
                raise BadGlob("a `}` closes nothing")
            case "," if depth:
                yield "|"
            case "\\":
                at += 1
                if at == len(glob):
                    raise BadGlob("it ends in a backslash")
                yield re.escape(glob[at])
            case _:
                yield re.escape(char)
        at += 1
    if depth:
        raise BadGlob("a `{` is not closed")


def _class(glob: str, start: int) -> tuple[str, int]:
    """A class such as `[a-z]` or `[!.]` as a regular expression, and where it ends."""
    at = start + 1
    negated = at < len(glob) and glob[at] in "!^"
    at += negated
    # A bracket that comes first stands for itself.
    end = glob.find("]", at + 1)
    if end < 0:
        raise BadGlob("a `[` is not closed")
    body = re.sub(r"([\\\[\]&~|^])", r"\\\1", glob[at:end])
    return f"(?!/)[{'^' if negated else ''}{body}]", end
