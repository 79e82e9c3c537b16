"""The edit engine: replacements of exact text, one after the other, on a text in memory.

Rule: pure, and all or nothing. What no replacement names stays byte for byte. A text is edited with `\\n` as its
only line ending and gets its own endings back: a line that stays keeps its ending, a new line takes that of its
neighbour. Where the old text has no line break, new lines end as they are given.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.tools.files.line_diff import LineChange, join_changes, line_changes
from holdfast.tools.files.text_encoding import split_lines, unify_line_endings

TextRange = tuple[int, int]
"""First and one past the last, counted from 0."""


class TextRegion(LineChange, frozen=True):
    """The same for characters instead of lines."""


def cut_pieces(pieces: Sequence[TextRange], spans: Sequence[TextRange], length: int) -> list[TextRange]:
    """The pieces that a text is made of after `length` characters took the place of each span.

    A piece is a span of the old text, or as `(-1, n)` so many characters that are new.
    """
    rest = list(reversed(pieces))

    def taken(count: int) -> list[TextRange]:
        """The next characters, off the rest."""
        out: list[TextRange] = []
        while count > 0:
            start, end = rest.pop()
            size = end if start < 0 else end - start
            if size > count:
                rest.append(_part(start, count, size))
            out.append(_part(start, 0, min(size, count)))
            count -= size
        return out

    out: list[TextRange] = []
    here = 0
    for first, last in spans:
        out += taken(first - here)
        taken(last - first)
        out.append((-1, length))
        here = last
    return [*out, *reversed(rest)]


def _part(start: int, first: int, last: int) -> TextRange:
    return (-1, last - first) if start < 0 else (start + first, start + last)


def regions_of(pieces: Sequence[TextRange], size: int) -> list[TextRegion]:
    """What is not a kept piece of an old text of this size."""
    regions: list[TextRegion] = []
    old = new = fresh = 0
    for start, end in [*pieces, (size, size)]:
        if start < 0:
            fresh += end
            continue
        if fresh or start > old:
            regions.append(TextRegion(old, start, new, new + fresh))
        new += fresh + end - start
        old, fresh = end, 0
    return regions


def whole_lines(old: str, new: str, regions: Sequence[TextRegion]) -> list[TextRegion]:
    """Regions extended to whole lines; those that share a line are joined."""
    out: list[TextRegion] = []
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
        out.append(TextRegion(first, region.last + right, new_first, region.new_last + right))
    return out


def _starts_line(text: str, offset: int) -> bool:
    return offset == 0 or text[offset - 1] == "\n"


def changed_lines(
    old: str, new: str, regions: Sequence[TextRegion]
) -> tuple[list[LineChange], list[TextRange]]:
    """The lines that differ within regions of whole lines, and all lines of the old text in them."""
    changes: list[LineChange] = []
    touched: list[TextRange] = []
    line = new_line = here = new_here = 0
    for region in regions:
        line += old.count("\n", here, region.first)
        new_line += new.count("\n", new_here, region.new_first)
        here, new_here = region.first, region.new_first
        before = split_lines(old[region.first : region.last])
        after = split_lines(new[region.new_first : region.new_last])
        changes += [change.moved(line, new_line) for change in line_changes(before, after)]
        touched.append((line, line + max(len(before), 1)))
    return join_changes(changes), touched


def share_lines(one: Sequence[TextRange], other: Sequence[TextRange]) -> bool:
    """Whether spans of two lists overlap; an empty span, where lines were removed, overlaps one around it."""
    edges = sorted([*((a, b, 0) for a, b in one), *((a, b, 1) for a, b in other)])
    farthest = [0, 0]
    for first, last, side in edges:
        if first < farthest[1 - side]:
            return True
        farthest[side] = max(farthest[side], last)
    return False


def with_endings(text: str, plain: str, new: str, regions: Sequence[TextRegion]) -> str:
    """A new text with the endings of the old one. `plain` is the old text as it was edited."""
    if len(plain) == len(text):
        return new
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in text.split("\n")[:-1]]
    new_ends: list[str] = []
    line = here = 0
    for region in regions:
        first = line + plain.count("\n", here, region.first)
        new_ends += ends[line:first]
        old = plain[region.first : region.last]
        here, line = region.last, first + old.count("\n")
        # Without a line break: that of the line that contains the region, or of the line before it if that is the
        # last.
        near = ends[first:line] or [ends[min(first, len(ends) - 1)]]
        new_ends += _fresh_ends(old, new[region.new_first : region.new_last], near)
    ended = zip(new.split("\n"), [*new_ends, *ends[line:], ""], strict=True)
    return "".join(f"{part}{end}" for part, end in ended)


def rewritten(text: str, new: str) -> str:
    """A whole text that replaces another and takes over its line endings."""
    if "\n" not in text:
        return new
    plain, fresh = unify_line_endings(text), unify_line_endings(new)
    return with_endings(text, plain, fresh, [TextRegion(0, len(plain), 0, len(fresh))])


def _fresh_ends(old: str, new: str, old_ends: list[str]) -> list[str]:
    """The endings of new lines; `old_ends` are those of the lines that they replace, or of the line beside them."""
    if len(set(old_ends)) < 2:
        return old_ends[:1] * new.count("\n")
    old_lines, new_lines = split_lines(old), split_lines(new)
    sources = _sources(len(old_lines), len(new_lines), line_changes(old_lines, new_lines))
    return [old_ends[min(source, len(old_ends) - 1)] for source in sources[: new.count("\n")]]


def _sources(olds: int, news: int, changes: Sequence[LineChange]) -> list[int]:
    """For each new line the old one whose ending it takes."""
    sources: list[int] = []
    shift = 0
    for change in [*changes, LineChange(olds, olds, news, news)]:
        sources += [line + shift for line in range(len(sources), change.new_first)]
        fresh = range(change.new_last - change.new_first)
        sources += [min(change.first + i, max(change.last - 1, change.first - 1, 0)) for i in fresh]
        shift = change.last - change.new_last
    return sources


MOST_PLACES = 20
"""Places that a failure names; all of them are counted."""


# No docstring: the schema of MultiEdit would show it.
class TextReplacement(Struct, frozen=True, forbid_unknown_fields=True):
    old_string: Annotated[str, Meta(description="Text to replace, as the edits before left it.")]
    new_string: Annotated[str, Meta(description="Text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class AppliedReplacements(Struct, frozen=True):
    """`count` places were replaced. `changes` are the lines that differ; `touched` are the lines of the old text in
    which something was replaced, and a line that was joined to them."""

    text: str
    count: int
    changes: list[LineChange]
    touched: list[TextRange]


class FailedReplacement(Struct, frozen=True):
    """A replacement whose text occurs nowhere, or in several places. `text` is what was searched, with `\\n` as its
    only line ending; `lines` are those where it begins, counted from 1."""

    edit: int
    text: str
    places: int
    lines: list[int]


def apply_replacements(
    text: str, replacements: Sequence[TextReplacement]
) -> AppliedReplacements | FailedReplacement:
    plain = unify_line_endings(text)
    now, count = plain, 0
    pieces: list[TextRange] = [(0, len(plain))]
    for number, wanted in enumerate(replacements):
        old, new = unify_line_endings(wanted.old_string), unify_line_endings(wanted.new_string)
        # Overlapping places count too, unless all are replaced from left to right: in `aaa` it is unclear which
        # `aa` is meant.
        spans = _spans(now, old, len(old) if wanted.replace_all else 1)
        if not spans or (len(spans) > 1 and not wanted.replace_all):
            begins = [now.count("\n", 0, first) + 1 for first, _ in spans[:MOST_PLACES]]
            return FailedReplacement(number, now, len(spans), begins)
        pieces = cut_pieces(pieces, spans, len(new))
        now = now.replace(old, new)
        count += len(spans)
    regions = regions_of(pieces, len(plain))
    changes, touched = changed_lines(plain, now, whole_lines(plain, now, regions))
    given = "\0".join(replacement.new_string for replacement in replacements)
    if "\n" not in text and 0 < given.count("\r\n") == given.count("\n"):
        now = now.replace("\n", "\r\n")
    else:
        now = with_endings(text, plain, now, regions)
    return AppliedReplacements(now, count, changes, touched)


def _spans(text: str, old: str, step: int) -> list[TextRange]:
    """Where a text occurs; the next place is looked for so many characters further."""
    assert old, "an empty text occurs everywhere"
    found: list[TextRange] = []
    place = text.find(old)
    while place >= 0:
        found.append((place, place + len(old)))
        place = text.find(old, place + step)
    return found
