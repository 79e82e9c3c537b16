"""How much of a long list a form shows: what must stand, then of each kind the newest that there is room for.

Rule: what must stand is never cut, even past the limit; whatever is left out is counted in a line.
"""

from msgspec import Struct

from holdfast.compaction.forms.content import Field, Line

MOST_EACH = 60
"""Lines of a kind that are considered at all; older ones are only counted."""
MOST_SOURCES = 20
"""Entries that a line about left-out lines names."""


class Group(Struct, frozen=True):
    """Lines of one kind, oldest first, and what to call them when they are counted."""

    noun: str
    lines: tuple[Line, ...]


def within(field: Field, must: tuple[Line, ...], *groups: Group) -> tuple[Line, ...]:
    """The field's lines within its limits. The oldest line of the longest group is left out first."""
    kept = [list(group.lines[-MOST_EACH:]) for group in groups]
    count = len(must) + sum(map(len, kept))
    size = sum(_size(field, line) for line in (*must, *(line for lines in kept for line in lines)))
    # What has a row or two puts its lines side by side on them: there only characters are scarce.
    most_lines = field.most_lines if field.most_lines > 2 else 0
    while any(kept) and (
        (most_lines and count > most_lines) or (field.most_chars and size > field.most_chars)
    ):
        longest = max(kept, key=len)
        size -= _size(field, longest.pop(0))
        count -= 1
    shown = [*must]
    for group, lines in zip(groups, kept, strict=True):
        shown += lines
        left = group.lines[: len(group.lines) - len(lines)]
        if left:
            shown.append(_counted(left, group.noun, bool(lines)))
    return tuple(shown)


def _size(field: Field, line: Line) -> int:
    return len(line.text) + len(field.separator)


def _counted(left: tuple[Line, ...], noun: str, has_more: bool) -> Line:
    sources = tuple(dict.fromkeys(source for line in left for source in line.sources))
    opening = f"… and {len(left)} more" if has_more else f"{len(left)}"
    return Line(f"{opening} {noun}", sources[-MOST_SOURCES:])
