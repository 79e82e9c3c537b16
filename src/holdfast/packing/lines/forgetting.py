"""Forgetting: lines let go for good, so that a fold costs what a window holds and not what the log does.

Rule: pure and by worth: the lines that notes show now and the best of the others stay. When it happens depends on
the items read so far and on nothing else, so that a log that is read again forgets the same.
"""

from heapq import nlargest

from holdfast.packing.lines.sightings import Sightings
from holdfast.packing.lines.worth import Worths

TOKENS_A_LINE = 20
FEWEST = 10_000


def most_lines(window: int) -> int:
    """How many lines are remembered in a window of so many tokens: more than it can show."""
    return max(window // TOKENS_A_LINE, FEWEST)


def forget(sightings: Sightings, most: int) -> None:
    """Let go of the worst lines where half as many again as `most` have come together."""
    lines = sightings.lines
    if len(lines) <= most + most // 2:
        return
    worths = Worths(sightings, lines)
    best = set(nlargest(most, range(len(lines)), key=worths.of))
    kept = sightings.kept
    sightings.remember(
        [
            line
            for at, line in enumerate(lines)
            if at in best or line.number in kept.get(line.source.place, ())
        ]
    )
