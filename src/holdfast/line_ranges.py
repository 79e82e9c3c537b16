"""Runs of lines by their first and last number: merged, compared, and written as text."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

LineRange = tuple[int, int]
"""The first and the last number of a run of lines."""


def merge_ranges(ranges: Iterable[LineRange]) -> tuple[LineRange, ...]:
    """The same lines in as few ranges as possible, in order."""
    out: list[LineRange] = []
    for first, last in sorted(ranges):
        if last < first:
            continue
        if out and first <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(out[-1][1], last)
        else:
            out.append((first, last))
    return tuple(out)


def covers_range(ranges: Iterable[LineRange], first: int, last: int) -> bool:
    """Whether the ranges together hold every line from `first` to `last`. Where `last` is before `first`, as at the
    place of an insertion, whether they hold the lines around it."""
    return any(a <= first and last <= b for a, b in merge_ranges(ranges))


def is_within(ranges: Sequence[LineRange], number: int) -> bool:
    """Whether a line is in one of the ranges, which are in order."""
    at = bisect_right(ranges, number, key=lambda one: one[0]) - 1
    return at >= 0 and number <= ranges[at][1]


def missing_ranges(ranges: Iterable[LineRange], total: int) -> tuple[LineRange, ...]:
    """The lines of a file that the ranges leave out."""
    out: list[LineRange] = []
    here = 1
    for first, last in [*merge_ranges(ranges), (total + 1, total + 1)]:
        if first > here:
            out.append((here, min(first - 1, total)))
        here = max(here, last + 1)
    return tuple(one for one in out if one[0] <= one[1])


def written_ranges(numbers: Iterable[int]) -> list[str]:
    """Numbers as ranges, such as `0-4` and `9`."""
    ranges = merge_ranges((number, number) for number in numbers)
    return [f"{first}-{last}" if last > first else str(first) for first, last in ranges]
