"""Whether a name that was found in a text stands there by itself, or is only a part of a longer one.

Rule: a look at the characters on either side decides, never a second search.
"""

import re
from collections.abc import Callable

Fits = Callable[[str, int, int], bool]
"""Whether a name stands by itself in a text, from one place up to another."""

_NO_DIGITS = re.compile(r"(?!\d|\.\d|[a-z]{1,3}\d|[a-z]{4})")
_HASH_END = re.compile(r"[0-9a-f]*(?![0-9a-z_])")


def _is_part(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def is_name(text: str, start: int, end: int) -> bool:
    return not (_is_part(text[start - 1 : start]) or _is_part(text[end : end + 1]))


def is_path(text: str, start: int, end: int) -> bool:
    """Between separators: no part of it is only the end or the beginning of a longer name."""
    before, after = text[start - 1 : start], text[end : end + 2]
    if _is_part(before) or before in ("-", ".", "@"):
        # A JSON text shows a line break as `\n`, and the path behind it.
        return before in ("n", "t", "r") and text[start - 2 : start - 1] == "\\"
    return not (_is_part(after[:1]) or (after[:1] in ("-", ".") and _is_part(after[1:])))


def opens_path(text: str, start: int, end: int) -> bool:
    return is_path(text, start, end) and text[start - 1 : start] != "/"


def is_head(text: str, start: int, end: int) -> bool:
    """The beginning of a hash, or the whole."""
    return not _is_part(text[start - 1 : start]) and _HASH_END.match(text, end) is not None


def is_number(text: str, start: int, end: int) -> bool:
    return opens_number(text, start) and _NO_DIGITS.match(text, end) is not None


def is_longer(text: str, start: int, end: int) -> bool:
    """A number, or one with more digits behind its point."""
    return opens_number(text, start) and ("." in text[start:end] or not text[end : end + 1].isdecimal())


def opens_number(text: str, start: int) -> bool:
    """Whether a number begins there, and not the middle of one, or of a name."""
    before, earlier = text[start - 1 : start], text[start - 2 : start - 1] if start > 1 else ""
    if before.isdecimal() or (before == "." and earlier.isdecimal()):
        return False
    return not (_is_part(before) and before != "_" and _is_part(earlier))
