"""A finding's patch as lines to replace, as code hosts take it.

Rule: made from the patch alone. Lines are numbers of the new side, whole and inclusive of the first only: a
replacement with `end == first` inserts before that line.
"""

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from holdfast.review.diff import Hunk
from holdfast.review.diff_parser import read_headers


class LineReplacement(Struct, frozen=True):
    """Replace the lines from `first` up to the one before `end` by `text`, which has its line breaks."""

    first: int
    end: int
    text: str


def replacements(patch: str) -> list[LineReplacement]:
    """One for each run of changed lines; none without a patch."""
    return [one for hunk in _hunks(patch) for one in _runs(hunk)]


def whole_replacement(patch: str) -> LineReplacement | None:
    """All that a patch changes as one replacement of at least one line, if it has one hunk: what an insertion
    stands beside is repeated in it."""
    hunks = _hunks(patch)
    if len(hunks) != 1:
        return None
    lines = hunks[0].lines
    changed = [at for at, line in enumerate(lines) if line.kind != " "]
    first, last = changed[0], changed[-1]
    if all(line.kind == "+" for line in lines[first : last + 1]):
        first, last = (first - 1, last) if first else (first, last + 1)
    taken = lines[first : last + 1]
    numbers = [line.old for line in taken if line.old]
    if not numbers:
        return None  # an empty file
    text = "".join(line.text + line.end for line in taken if line.kind != "-")
    return LineReplacement(numbers[0], numbers[-1] + 1, text)


def _hunks(patch: str) -> tuple[Hunk, ...]:
    return tuple(read_headers(patch)[0].hunks) if patch else ()


def _runs(hunk: Hunk) -> Iterator[LineReplacement]:
    at = hunk.old_start if hunk.old_count else hunk.old_start + 1
    for is_changed, run in groupby(hunk.lines, key=lambda line: line.kind != " "):
        lines = list(run)
        end = at + sum(line.kind != "+" for line in lines)
        if is_changed:
            yield LineReplacement(
                at, end, "".join(line.text + line.end for line in lines if line.kind == "+")
            )
        at = end
