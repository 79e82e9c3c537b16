"""Runs of lines, as first and last line counted from 1: what of a file was shown, before and after it changed.

Rule: when in doubt, not shown.
"""

from collections.abc import Iterable, Sequence

from holdfast.tools.files.diffs import Change

Lines = tuple[int, int]

MOST_SAID = 8
"""Runs that are named; the others are counted."""


def merged(spans: Iterable[Lines]) -> tuple[Lines, ...]:
    """The same lines in as few spans as there can be, in order."""
    out: list[Lines] = []
    for first, last in sorted(spans):
        if last < first:
            continue
        if out and first <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(out[-1][1], last)
        else:
            out.append((first, last))
    return tuple(out)


def covers(spans: Iterable[Lines], first: int, last: int) -> bool:
    return any(a <= first and last <= b for a, b in merged(spans))


def missing(spans: Iterable[Lines], total: int) -> tuple[Lines, ...]:
    """The lines of a file that the spans leave out."""
    out: list[Lines] = []
    here = 1
    for first, last in [*merged(spans), (total + 1, total + 1)]:
        if first > here:
            out.append((here, min(first - 1, total)))
        here = max(here, last + 1)
    return tuple(span for span in out if span[0] <= span[1])


def shifted(spans: Iterable[Lines], changes: Sequence[Change], total: int) -> tuple[Lines, ...]:
    """The spans after changes of one's own: what was shown moves along, and what was written is known."""
    known, kept = merged(spans), []
    here = new_here = 0
    for change in [*changes, Change(total, total, total, total)]:
        stays = here + 1, here + change.new_first - new_here
        move = new_here - here
        for first, last in known:
            kept.append((max(first, stays[0]) + move, min(last, stays[1]) + move))
        kept.append((change.new_first + 1, change.new_last))
        here, new_here = change.last, change.new_last
    return merged(kept)


def said(spans: Sequence[Lines]) -> str:
    """`line 3` or `lines 3-5, 9`."""
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans[:MOST_SAID])
    more = f" and {len(spans) - MOST_SAID} more" if len(spans) > MOST_SAID else ""
    one = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"{'line' if one else 'lines'} {shown}{more}"
