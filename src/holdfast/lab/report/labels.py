"""Where labels go on a crowded chart.

Rule: a label covers no other label and no mark; one that finds no room is left out, since the legend has it too.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

WIDTH = 0.62
"""Of a character, in units of the font size: a little generous, since fonts differ."""
NEAR = ((1, 0.5), (1, 0), (1, 1), (0.5, 0), (0.5, 1), (0, 0.5), (0, 0), (0, 1))
"""Sides of a point: share of the box that lies right of it and below it, best first."""
STEPS = (0.0, 12.0, 24.0, 38.0)


class LabelBox(Struct, frozen=True):
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "LabelBox") -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0.0

    def holds(self, other: "LabelBox") -> bool:
        inside = self.left <= other.left and other.right <= self.right
        return inside and self.top <= other.top and other.bottom <= self.bottom

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


class PlacedLabel(Struct, frozen=True):
    text: str
    box: LabelBox
    point: tuple[float, float]
    distance: float

    @property
    def anchor(self) -> tuple[float, str]:
        """The side that faces the point holds still, since the width is only a guess."""
        if self.box.left > self.point[0]:
            return self.box.left, "start"
        return (self.box.right, "end") if self.box.right < self.point[0] else (self.box.middle, "middle")


class LabelRoom:
    """A chart's free room. What is placed takes its part of it."""

    def __init__(self, area: LabelBox, taken: Iterable[LabelBox], thin: Iterable[LabelBox] = ()) -> None:
        """`thin` things, such as lines, may be covered if need be."""
        self._area = area
        self._taken = list(taken)
        self._thin = list(thin)

    def place(
        self,
        text: str,
        points: Sequence[tuple[float, float]],
        size: float,
        *,
        gap: float = 8,
        steps: Sequence[float] = STEPS,
    ) -> PlacedLabel | None:
        """The best free place beside one of the points, the first ones preferred."""
        found: tuple[float, PlacedLabel] | None = None
        for box, point, distance in self._places(text, points, size, gap, steps):
            cost = distance + 3 * points.index(point)
            if (found and cost >= found[0]) or not self._area.holds(box):
                continue
            if any(box.overlap(other) for other in self._taken):
                continue
            cost += 4 * sum(1 for other in self._thin if box.overlap(other))
            if found is None or cost < found[0]:
                found = cost, PlacedLabel(text, box, point, distance)
        if found is None:
            return None
        self._taken.append(found[1].box)
        return found[1]

    def _places(
        self,
        text: str,
        points: Sequence[tuple[float, float]],
        size: float,
        gap: float,
        steps: Sequence[float],
    ) -> Iterator[tuple[LabelBox, tuple[float, float], float]]:
        width, height = (len(text) * WIDTH + 0.5) * size, size * 1.15
        for x, y in points:
            for step in steps:
                for rank, (right, below) in enumerate(NEAR):
                    away = gap + step
                    aslant = 0.75 if right in (0, 1) and below in (0, 1) else 1.0
                    left = x - width * (1 - right) + away * aslant * (2 * right - 1)
                    top = y - height * (1 - below) + away * aslant * (2 * below - 1)
                    yield LabelBox(left, top, left + width, top + height), (x, y), step + rank * 0.8


def along(start: tuple[float, float], end: tuple[float, float], every: float = 6.0) -> Iterator[LabelBox]:
    """Small boxes along a line, so that labels keep off it."""
    (x0, y0), (x1, y1) = start, end
    count = max(1, int(max(abs(x1 - x0), abs(y1 - y0)) // every))
    for i in range(count + 1):
        x, y = x0 + (x1 - x0) * i / count, y0 + (y1 - y0) * i / count
        yield LabelBox(x - 1, y - 1, x + 1, y + 1)
