"""Forgetting: lines let go for good, so that a fold costs what a window holds and not what the log does.

Rule: pure and by worth: the lines that notes show now and the best of the others stay. It happens with a fold,
which takes its time anyway, so that a log that is read again forgets the same.
"""

from heapq import nlargest

from holdfast.packing.lines.sightings import Sightings
from holdfast.packing.lines.worth import Worths

TOKENS_A_LINE = 26
FEWEST = 7_500


def most_lines(window: int) -> int:
    """How many lines are remembered in a window of so many tokens: more than it can show."""
    return max(window // TOKENS_A_LINE, FEWEST)


def forget(sightings: Sightings, most: int, *, is_quick: bool = True) -> None:
    """Let go of the worst lines where half as many again as `most` have come together; after a fold that was not
    quick, where twice as many have. Half of `most` stay at least besides those that notes show."""
    lines, kept = sightings.lines, sightings.kept
    if len(lines) <= (most + most // 2 if is_quick else 2 * most):
        return
    shown = {at for at, line in enumerate(lines) if line.number in kept.get(line.source.place, ())}
    worths = Worths(sightings, lines)
    others = (at for at in range(len(lines)) if at not in shown)
    shown.update(nlargest(max(most - len(shown), most // 2), others, key=worths.of))
    sightings.remember([lines[at] for at in sorted(shown)])
