"""Names and whole lines in a text: what a later action can be seen to have used.

Rule: a name has a shape that prose has not (a digit, an underscore, a dot, a slash, a hyphen, an inner capital);
the same text has the same names wherever it stands.
"""

import re

SHORTEST = 5
"""Characters of the shortest name that is looked for at all; `Measure.name_length` decides what counts."""
LONGEST = 300
"""Longer runs are encoded data, not names."""

_TOKEN = re.compile(r"https?://[^\s\"'<>`)\]}|]+|[A-Za-z0-9_][A-Za-z0-9_./@~+\-]{4,}")
_SHAPE = re.compile(r"[0-9_./\-]|(?<=[A-Za-z])[A-Z]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_EDGE = "./@~+-"
# A line as a listing shows it: `  12→code`, `12:code`, `path/file.go:12:code`, `+code` of a diff.
_LISTED = re.compile(r"\s*(?:[^\s:]*[^\s:\d][^\s:]*:)?\d+\s?[→:|\t\-]|[+\- ]\s?(?=\S)")


def names_in(text: str) -> set[str]:
    """Every name of a text: paths with their last part, dotted names with their parts."""
    found: set[str] = set()
    for token in _TOKEN.findall(text):
        token = token.rstrip(_EDGE)  # noqa: PLW2901 - a sentence's full stop is no part of a name
        if not SHORTEST <= len(token) <= LONGEST or not _SHAPE.search(token):
            continue
        found.add(token)
        if "/" in token:
            found |= _shaped(token.rsplit("/", 1)[1:])
        elif "." in token:
            found |= _shaped(token.split("."))
    return found


def _shaped(parts: list[str]) -> set[str]:
    return {part for part in parts if len(part) >= SHORTEST and _SHAPE.search(part)}


def words_in(text: str) -> set[str]:
    """Words of letters only, in any script; names are made of some of them too."""
    return set(_WORD.findall(text))


def line_keys(line: str) -> tuple[str, ...]:
    """What a line is known by: itself without surrounding space, and without what a listing put before it."""
    bare = line.strip()
    listed = _LISTED.match(line)
    if not listed:
        return (bare,)
    rest = line[listed.end() :].strip()
    return (bare, rest) if rest and rest != bare else (bare,)


def has_letters(line: str) -> bool:
    return _LETTER.search(line) is not None
