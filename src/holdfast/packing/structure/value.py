"""What is known of a text's structure: a bonus for each line, and the line above that gives it its meaning.

Rule: a line belongs to one structure, the first that claims it; following anchors always ends.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

from holdfast.packing.structure.sight import Sight

Kind = Literal["plain", "json", "diff", "trace", "table", "tests", "code", "listing", "matches"]
_NUMBERS: dict[Kind, int] = {kind: number for number, kind in enumerate(get_args(Kind))}

KEY, TELLING, HINT = 0.5, 0.3, 0.15
"""What the rest hangs on; what a reader looks for; what is a little better than its neighbours."""
SLIGHT, DULL, REPEATED, NOISE, PASSED = -0.1, -0.25, -0.4, -0.6, -1.0
"""Passed tests go first of all: their lines are full of names, which would count for them."""

NOWHERE = -1
"""The anchor of a line that needs none."""

MAIN_SHARE = 0.25
"""The share of a text's filled lines from which a structure is what the text mainly is."""


class Structure(Struct, frozen=True, gc=False):
    """`bonus` adds to each line's worth, before that is divided by its size; `anchors` lead from a line to the one
    without which it says little. An anchor stands above its line, but for the error that ends a trace."""

    kind: Kind
    bonus: Sequence[float]
    anchors: dict[int, int]


class Findings:
    """What has been found so far, line by line. `taken` holds for each line which kind has it, 0 for none."""

    def __init__(self, count: int) -> None:
        self.bonus = [0.0] * count
        self.anchors: dict[int, int] = {}
        self.taken = bytearray(count)
        self.sizes: dict[Kind, int] = {}

    def claim(self, kind: Kind, line: int, bonus: float = 0.0, anchor: int = NOWHERE) -> None:
        """A line for a structure, unless another has it."""
        if self.taken[line]:
            return
        self.taken[line] = _NUMBERS[kind]
        self.sizes[kind] = self.sizes.get(kind, 0) + 1
        self.bonus[line] = bonus
        if anchor != NOWHERE:
            assert anchor != line
            self.anchors[line] = anchor

    def adjust(self, line: int, bonus: float) -> None:
        """A bonus for a line that no structure claims."""
        if not self.taken[line]:
            self.bonus[line] += bonus

    def calm(self, kind: Kind, within: Kind) -> None:
        """What one kind found is no more than a detail of another after all."""
        if kind in self.sizes:
            self.sizes[within] = self.sizes.get(within, 0) + self.sizes.pop(kind)
            number = _NUMBERS[kind]
            self.bonus = [
                min(bonus, SLIGHT) if taken == number else bonus
                for bonus, taken in zip(self.bonus, self.taken, strict=True)
            ]

    def share(self, filled: int) -> float:
        """The share of the filled lines that are claimed."""
        return sum(self.sizes.values()) / max(filled, 1)

    def structure(self, sight: Sight, fallback: Kind) -> Structure:
        """What was found, as a value. `fallback` is the kind of a text that is not mainly anything found."""
        if not self.sizes:
            return Structure(fallback, self.bonus, self._grounded())
        # A tie goes to the name that sorts first, so that the order of searching shows nowhere.
        kind, size = min(self.sizes.items(), key=lambda item: (-item[1], item[0]))
        main = kind if size >= sight.filled * MAIN_SHARE else fallback
        return Structure(main, self.bonus, self._grounded())

    def _grounded(self) -> dict[int, int]:
        """The anchors, without those that lead down to a line with an anchor of its own: no way may be a circle."""
        anchors = self.anchors
        return {line: at for line, at in anchors.items() if at < line or at not in anchors}
