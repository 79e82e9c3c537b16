"""What replacements did to a text: which characters and which lines of it became which of the new one.

Rule: positions are those of texts whose lines all end in `\\n`. What lies between two regions is the same in both.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.tools.files.diffs import Change, line_changes
from holdfast.tools.files.texts import split_lines

Span = tuple[int, int]
"""First and one past the last, counted from 0."""


class Region(Struct, frozen=True):
    """Characters `first:last` of the old text became `new_first:new_last` of the new one."""

    first: int
    last: int
    new_first: int
    new_last: int


def cut_pieces(pieces: Sequence[Span], spans: Sequence[Span], length: int) -> list[Span]:
    """The pieces that a text is made of after `length` characters took the place of each span.

    A piece is a span of the old text, or as `(-1, n)` so many characters that are new.
    """
    out: list[Span] = []
    here = 0
    todo = iter([*spans, (-1, -1)])
    first, last = next(todo)
    for start, end in pieces:
        size = end if start < 0 else end - start
        at = here
        while at < here + size:
            if first < 0 or first >= here + size:
                out.append(_part(start, at - here, size))
                break
            if first > at:
                out.append(_part(start, at - here, first - here))
            if last > here + size:
                break
            out.append((-1, length))
            at = last
            first, last = next(todo)
        here += size
        # A span that goes on in the next piece has nothing before it there.
        first = max(first, here) if first >= 0 else first
    return out


def _part(start: int, first: int, last: int) -> Span:
    return (-1, last - first) if start < 0 else (start + first, start + last)


def regions_of(pieces: Sequence[Span], size: int) -> list[Region]:
    """What is not a kept piece of an old text of this size."""
    regions: list[Region] = []
    old = new = fresh = 0
    for start, end in [*pieces, (size, size)]:
        if start < 0:
            fresh += end
            continue
        if fresh or start > old:
            regions.append(Region(old, start, new, new + fresh))
        new += fresh + end - start
        old, fresh = end, 0
    return regions


def region_changes(old: str, new: str, regions: Sequence[Region]) -> list[Change]:
    """Regions of whole lines as lines, without what is the same in them."""
    changes: list[Change] = []
    line = new_line = here = new_here = 0
    for region in regions:
        line += old.count("\n", here, region.first)
        new_line += new.count("\n", new_here, region.new_first)
        here, new_here = region.first, region.new_first
        before = split_lines(old[region.first : region.last])
        after = split_lines(new[region.new_first : region.new_last])
        for change in line_changes(before, after):
            _add(changes, change.moved(line, new_line))
    return changes


def _add(changes: list[Change], change: Change) -> None:
    """Changes that follow each other without a line between are one."""
    if changes and (changes[-1].last, changes[-1].new_last) == (change.first, change.new_first):
        last = changes.pop()
        change = Change(last.first, change.last, last.new_first, change.new_last)
    changes.append(change)


def whole_lines(old: str, new: str, regions: Sequence[Region]) -> list[Region]:
    """Regions widened to whole lines; those that share a line are one."""
    out: list[Region] = []
    for region in regions:
        left = region.first - (old.rfind("\n", 0, region.first) + 1)
        first, new_first = region.first - left, region.new_first - left
        if out and out[-1].last > first:
            last = out.pop()
            first, new_first = last.first, last.new_first
        right = 0
        if not (_starts_line(old, region.last) and _starts_line(new, region.new_last)):
            end = old.find("\n", region.last)
            right = (end + 1 if end >= 0 else len(old)) - region.last
        out.append(Region(first, region.last + right, new_first, region.new_last + right))
    return out


def _starts_line(text: str, offset: int) -> bool:
    return offset == 0 or text[offset - 1] == "\n"


def touched_lines(old: str, regions: Sequence[Region]) -> list[Span]:
    """The lines of the old text that regions of whole lines are made of."""
    touched: list[Span] = []
    line = here = 0
    for region in regions:
        line += old.count("\n", here, region.first)
        here = region.first
        inside = old.count("\n", region.first, max(region.last - 1, region.first))
        touched.append((line, line + inside + 1))
    return touched


def share_lines(one: Sequence[Span], other: Sequence[Span]) -> bool:
    """Whether spans of two lists meet; an empty span, where lines went away, meets one that lies around it."""
    edges = sorted([*((a, b, 0) for a, b in one), *((a, b, 1) for a, b in other)])
    farthest = [0, 0]
    for first, last, side in edges:
        if first < farthest[1 - side]:
            return True
        farthest[side] = max(farthest[side], last)
    return False
