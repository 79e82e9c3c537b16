"""The recall–cost curve: what each policy keeps, over what it costs, through its budgets.

Rule: a point is drawn where its figures are and nowhere else; a row without them has no point. A label covers no
other label and no mark; one that finds no room is left out, since the legend has it too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product

from msgspec import Struct

from holdfast.lab.report import figures
from holdfast.lab.report.charts import AxisScale, Data, fitted, is_sound, linear, number
from holdfast.lab.report.rankings import budgets_of, dollars_of, faults_of
from holdfast.lab.results import Interval, PolicyRow, ReplayReport

LONGEST_LABEL = 26
CHARACTER_WIDTH = 0.62
"""In units of the font size: a little generous, since fonts differ."""
SIDES = ((1, 0.5), (1, 0), (1, 1), (0.5, 0), (0.5, 1), (0, 0.5), (0, 0), (0, 1))
"""Sides of a point: share of the label that lies right of it and below it, best first."""
STEPS = (0.0, 12.0, 24.0, 38.0)
"""Pixels that a label may be moved away from its point."""
BOX_DISTANCE = 6.0
"""Pixels between the boxes along a line that labels keep off."""
FAR = 10
"""Pixels from which on a label could be taken for another point's, and gets a line to its own."""

Point = tuple[float, float]


class CurveFrame(Struct, frozen=True):
    """A size of the chart: one for a wide page, one for a phone."""

    name: str
    width: int
    height: int
    left: int = 52
    right: int = 14
    top: int = 34
    bottom: int = 52
    font: float = 12.5
    ticks: int = 8


FRAMES = (
    CurveFrame("wide", 1080, 560),
    CurveFrame("narrow", 380, 460, left=36, right=8, font=11, ticks=4),
)


class CurvePoint(Struct, frozen=True):
    row: PolicyRow
    x: float
    y: float
    dollars: Interval
    recall: Interval
    radius: float


class LabelBox(Struct, frozen=True):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "LabelBox") -> bool:
        across = min(self.right, other.right) > max(self.left, other.left)
        return across and min(self.bottom, other.bottom) > max(self.top, other.top)

    def holds(self, other: "LabelBox") -> bool:
        inside = self.left <= other.left and other.right <= self.right
        return inside and self.top <= other.top and other.bottom <= self.bottom


class PlacedLabel(Struct, frozen=True):
    text: str
    box: LabelBox
    point: Point
    distance: float


class LabelRoom:
    """A chart's free room. What is placed takes its part of it; `thin` things, such as lines, may be covered."""

    def __init__(self, area: LabelBox, taken: list[LabelBox], thin: Sequence[LabelBox] = ()) -> None:
        self._area = area
        self._taken = taken
        self._thin = thin

    def place(
        self,
        text: str,
        points: Sequence[Point],
        size: float,
        *,
        gap: float = 8,
        steps: Sequence[float] = STEPS,
    ) -> PlacedLabel | None:
        """The best free place beside one of the points, the first ones preferred."""
        best: tuple[float, PlacedLabel] | None = None
        width, height = (len(text) * CHARACTER_WIDTH + 0.5) * size, size * 1.15
        for (place, (x, y)), step, (rank, (right, below)) in product(
            enumerate(points), steps, enumerate(SIDES)
        ):
            away = (gap + step) * (0.75 if right in (0, 1) and below in (0, 1) else 1.0)
            left = x - width * (1 - right) + away * (2 * right - 1)
            top = y - height * (1 - below) + away * (2 * below - 1)
            box = LabelBox(left, top, left + width, top + height)
            label = PlacedLabel(text, box, (x, y), step + rank * 0.8)
            cost = label.distance + 3 * place
            if (best and cost >= best[0]) or not self._area.holds(label.box):
                continue
            if any(label.box.overlaps(other) for other in self._taken):
                continue
            cost += 4 * sum(label.box.overlaps(other) for other in self._thin)
            if best is None or cost < best[0]:
                best = cost, label
        if best:
            self._taken.append(best[1].box)
        return best[1] if best else None


def curve_data(report: ReplayReport, looks: Mapping[str, Data], frame: CurveFrame) -> Data:
    across, up, points = _points(report, looks, frame)
    base, right = frame.height - frame.bottom, frame.width - frame.right
    return {
        "frame": frame.name,
        "width": frame.width,
        "height": frame.height,
        "font": frame.font,
        "left": frame.left,
        "right": right,
        "top": frame.top,
        "base": base,
        "breadth": right - frame.left,
        "depth": base - frame.top,
        "points": sum(map(len, points.values())),
        "policies": len(points),
        "logarithmic": across.logarithmic,
        "even": across.at(1.0),
        "up": [{"y": up.at(v), "text": figures.decimal(v).removesuffix("0")} for v in up.ticks],
        "across": [{"x": across.at(v), "text": f"{v:.4g}"} for v in across.ticks],
        "lines": [
            {**looks[name], "path": " ".join(f"{number(p.x)},{number(p.y)}" for p in found)}
            for name, found in points.items()
        ],
        "marks": [
            {
                **looks[name],
                "whiskers": [_whiskers(p, across, up) for p in found],
                "spots": [_spot(p) for p in found],
            }
            for name, found in points.items()
        ],
        "labels": list(_labels(frame, looks, points)),
    }


def _points(
    report: ReplayReport, policies: Iterable[str], frame: CurveFrame
) -> tuple[AxisScale, AxisScale, dict[str, list[CurvePoint]]]:
    """Both scales, and the points of each policy that has any, the smallest budget first and drawn smallest."""
    found = [
        (row, dollars, row.curve)
        for row in sorted(report.rows, key=lambda row: row.budget)
        if (dollars := dollars_of(report, row)) and row.curve
        if is_sound(dollars.mean) and is_sound(row.curve.mean)
    ]
    costs = [v for _, dollars, _ in found for v in (dollars.mean, dollars.low, dollars.high)] + [1.0]
    recalls = [v for *_, recall in found for v in (recall.mean, recall.low)]
    lowest = min((v for v in recalls if is_sound(v)), default=0.0)
    across = fitted(costs, frame.left + 8, frame.width - frame.right - 8, about=frame.ticks)
    up = linear(min(max(lowest, 0.0), 0.9), 1.0, frame.height - frame.bottom, frame.top + 8)
    budgets = budgets_of(report)
    points: dict[str, list[CurvePoint]] = {policy: [] for policy in policies}
    for row, dollars, recall in found:
        radius = 4.2 + 2.6 * budgets.index(row.budget) / max(len(budgets) - 1, 1)
        point = CurvePoint(row, across.at(dollars.mean), up.at(recall.mean), dollars, recall, radius)
        points[row.policy].append(point)
    return across, up, {policy: placed for policy, placed in points.items() if placed}


def _with_bounds(interval: Interval) -> str:
    bounds = figures.bounds(interval)
    return figures.decimal(interval.mean) + (f" ({bounds})" if bounds != figures.NONE else "")


def _spot(point: CurvePoint) -> Data:
    faults = faults_of(point.row)
    told = [
        f"{figures.plain(point.row.policy)} at {figures.budget(point.row.budget)}",
        f"recall {_with_bounds(point.recall)}",
        f"dollars {_with_bounds(point.dollars)}",
        *faults,
    ]
    return {
        "x": point.x,
        "y": point.y,
        "radius": point.radius,
        "told": " · ".join(told),
        "budget": point.row.budget,
        "hollow": bool(faults),
    }


def _whiskers(point: CurvePoint, across: AxisScale, up: AxisScale) -> str:
    x, y = point.x, point.y
    west, east = number(across.at(point.dollars.low)), number(across.at(point.dollars.high))
    north, south = number(up.at(point.recall.high)), number(up.at(point.recall.low))
    upright = f"M{number(x)} {south}V{north}M{number(x - 3)} {north}h6M{number(x - 3)} {south}h6"
    return f"{upright}M{west} {number(y)}H{east}M{west} {number(y - 3)}v6M{east} {number(y - 3)}v6"


def _labels(
    frame: CurveFrame, looks: Mapping[str, Data], points: Mapping[str, Sequence[CurvePoint]]
) -> Iterator[Data]:
    """Names first, then budgets where there is room left: on a phone there is none."""
    area = LabelBox(frame.left, frame.top - 8, frame.width - 2, frame.height - frame.bottom - 2)
    marks = [
        LabelBox(p.x - r, p.y - r, p.x + r, p.y + r)
        for found in points.values()
        for p in found
        for r in [p.radius + 1]
    ]
    room = LabelRoom(area, marks, [box for found in points.values() for box in _along(found)])
    for name, found in points.items():
        ends = [(p.x, p.y) for p in (found[-1], found[0], *found[1:-1])]
        text = figures.plain(name, LONGEST_LABEL)
        placed = room.place(text, list(dict.fromkeys(ends)), frame.font, gap=10)
        if placed:
            yield _label(placed, looks[name], "name")
    for name, found in points.items() if frame.name == "wide" else ():
        for (x, y), budgets in _by_place(found).items():
            placed = room.place(budgets, [(x, y)], frame.font - 2.5, gap=9, steps=(0.0,))
            if placed:
                yield _label(placed, looks[name], "size")


def _along(points: Sequence[CurvePoint]) -> Iterator[LabelBox]:
    """Small boxes along a policy's line, so that labels keep off it."""
    for a, b in pairwise(points):
        count = max(1, int(max(abs(b.x - a.x), abs(b.y - a.y)) // BOX_DISTANCE))
        for i in range(count + 1):
            x, y = a.x + (b.x - a.x) * i / count, a.y + (b.y - a.y) * i / count
            yield LabelBox(x - 1, y - 1, x + 1, y + 1)


def _by_place(points: Sequence[CurvePoint]) -> dict[Point, str]:
    """Budgets by point: *everything* has all of them at one."""
    found: dict[Point, str] = {}
    for p in points:
        place, budget = (round(p.x, 1), round(p.y, 1)), figures.budget(p.row.budget)
        found[place] = f"{found[place]}, {budget}" if place in found else budget
    return found


def _label(placed: PlacedLabel, look: Data, kind: str) -> Data:
    box, (x, y) = placed.box, placed.point
    # The side that faces the point holds still, since the width is only a guess.
    at, anchor = (box.left + box.right) / 2, "middle"
    if box.left > x:
        at, anchor = box.left, "start"
    elif box.right < x:
        at, anchor = box.right, "end"
    label: Data = {
        **look,
        "text": placed.text,
        "kind": kind,
        "anchor": anchor,
        "x": at,
        "y": box.bottom - (box.bottom - box.top) * 0.22,
    }
    if placed.distance > FAR:
        near_x, near_y = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
        label["leader"] = {"x1": x, "y1": y, "x2": near_x, "y2": near_y}
    return label
