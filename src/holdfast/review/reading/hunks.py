"""What can be done with hunks: apply them, take them back, look whether they fit.

Rule: exact. A hunk fits where it says it stands or nowhere; line breaks count.
"""

from collections.abc import Sequence

from holdfast.review.diff import DiffLine, FileChange, Hunk


def applied(old: str, hunks: Sequence[Hunk]) -> str | None:
    """The newer text; None where a hunk does not fit the older one."""
    return _replaced(old, hunks, "-", "+")


def taken_back(new: str, hunks: Sequence[Hunk]) -> str | None:
    """The older text; None where a hunk does not fit the newer one."""
    return _replaced(new, hunks, "+", "-")


def side_text(lines: Sequence[DiffLine], kind: str) -> str:
    """What lines of a diff are on one side, `-` or `+`."""
    return "".join(line.text + line.end for line in lines if line.kind in (" ", kind))


def whole_text(file: FileChange) -> str | None:
    """The text of a file that was added or deleted, out of its only hunk."""
    if file.is_binary or len(file.hunks) != 1:
        return None if file.hunks or file.is_binary else ""
    return side_text(file.hunks[0].lines, "+" if file.change == "added" else "-")


def part_of(hunk: Hunk, first: int, end: int) -> Hunk:
    """A run of a hunk's lines (by their place in it) as a hunk by itself."""
    if first == 0 and end == len(hunk.lines):
        return hunk
    before, lines = hunk.lines[:first], hunk.lines[first:end]
    old_before = sum(line.kind != "+" for line in before)
    new_before = sum(line.kind != "-" for line in before)
    old_count = sum(line.kind != "+" for line in lines)
    new_count = sum(line.kind != "-" for line in lines)
    return Hunk(
        _start(hunk.old_start, hunk.old_count, old_before, old_count),
        old_count,
        _start(hunk.new_start, hunk.new_count, new_before, new_count),
        new_count,
        hunk.heading,
        lines,
    )


def _start(start: int, count: int, before: int, own: int) -> int:
    """Where there are no lines on a side, a hunk names the line before it."""
    first = start + before if count else start + 1
    return first if own else first - 1


def _replaced(text: str, hunks: Sequence[Hunk], gone: str, come: str) -> str | None:
    lines = text.split("\n")
    parts: list[str] = []
    at = 0
    for hunk in hunks:
        start, count = (hunk.old_start, hunk.old_count) if gone == "-" else (hunk.new_start, hunk.new_count)
        first = start - 1 if count else start
        if first < at or first > len(lines):
            return None
        parts.append(_joined(lines, at, first))
        at = first + count
        before = side_text(hunk.lines, gone)
        if _joined(lines, first, at) != before:
            return None
        parts.append(side_text(hunk.lines, come))
    parts.append(_joined(lines, at, len(lines)))
    return "".join(parts)


def _joined(lines: Sequence[str], first: int, end: int) -> str:
    """Lines with their breaks; the last of a text has none."""
    return "".join(
        line + ("\n" if i < len(lines) - 1 else "") for i, line in enumerate(lines[first:end], start=first)
    )
