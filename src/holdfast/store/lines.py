"""Parts of a text by line and by character, counted from 1.

Rule: a line ends at `\\n` and nowhere else, and keeps it, so that the parts of a text put together are the text.
"""

import re

from holdfast.errors import InputError

Range = tuple[int, int | None]
"""First and last, both included; None is the end."""

_RANGE = re.compile(r"\s*(\d{1,12})\s*(?:(-|–|:|,|\.\.)\s*(\d{1,12})?\s*)?")


def split_lines(text: str) -> list[str]:
    """The lines with their line feeds. What follows the last line feed is a line too, even if empty."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:]


def parse_range(text: str, what: str) -> Range:
    """`10-40`, `10-` or `10` as a range."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise InputError(f"`{text[:40]}` is not a range of {what}", hint=f'write {what}="10-40"')
    first, dash, last = match.groups()
    end = int(last) if last else None if dash else int(first)
    return checked((int(first), end), what)


def checked(span: Range, what: str) -> Range:
    first, last = span
    if first < 1 or (last is not None and last < first):
        shown = f"{first}-{'' if last is None else last}"
        raise InputError(
            f"`{shown}` is not a range of {what}", hint=f"{what} count from 1, the first before the last"
        )
    return span


def clamped(span: Range | None, total: int, what: str) -> tuple[int, int, str]:
    """A range within 1 to `total`, and a sentence if it asked for more. Beyond the end it is empty."""
    first, last = checked(span, what) if span else (1, None)
    if first > total:
        return total + 1, total, f"{what} {first} and on do not exist: there are {total}"
    if last is not None and last > total:
        return first, total, f"{what} end at {total}"
    return first, total if last is None else last, ""
