"""What lines are worth a token, given which names stand on view and in lines that were chosen already.

Rule: a name pays once; a line whose names are all covered is worth what it will be quoted for.
"""

from collections.abc import Iterable, Sequence
from math import exp

from holdfast.packing.lines.sightings import LONGEST_LINE, Sighted, Sightings

LENGTH_POWER = 0.8
"""How much a line's length counts against its worth: less than in full, since room is cut into odd ends."""
FIXED_TOKENS = 3
WEAK_SHARE = 0.1
"""What a name is worth where nothing says what it is: alone in its line, or in a crowd of names."""
SHORTEST_QUOTE = 16
"""Characters from which a line is quoted as a whole."""

_SHARES: tuple[float, ...] = tuple((size + FIXED_TOKENS) ** -LENGTH_POWER for size in range(2 * LONGEST_LINE))
"""What a token of a line is worth of it, by its size: no line that is remembered is longer."""


class Worths:
    """Of `lines`, by their places in the sequence; `covered` are names that stand on view."""

    def __init__(self, sightings: Sightings, lines: Sequence[Sighted], covered: Iterable[str] = ()) -> None:
        self._lines = lines
        self._worths = sightings.name_worths(lines)
        self._covered = set(covered)
        scores = zip(lines, sightings.line_scores(lines), strict=True)
        self._quotes = [exp(score) if len(line.key) >= SHORTEST_QUOTE else 0.0 for line, score in scores]
        """What each line is worth as a whole."""

    def of(self, at: int) -> float:
        line = self._lines[at]
        worths, covered = self._worths, self._covered
        names = sum([worths[name] for name in line.names if name not in covered])
        return (self._quotes[at] + (names * WEAK_SHARE if line.is_weak else names)) * _SHARES[line.size]

    def cover(self, line: Sighted) -> None:
        if not line.is_weak:
            self._covered.update(line.names)
