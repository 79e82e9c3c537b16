"""The recall–cost curve: what each policy keeps, over what it costs, through its budgets.

Rule: a point is drawn where its figures are and nowhere else; a row without them has no point.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from holdfast.lab.report import figures
from holdfast.lab.report.labels import LabelBox, LabelRoom, PlacedLabel, along
from holdfast.lab.report.looks import PolicyLook
from holdfast.lab.report.markup import Markup, number, tag
from holdfast.lab.report.scales import AxisScale, fitted, is_sound, linear
from holdfast.lab.report.standing import dollars_of, faults_of
from holdfast.lab.results import Interval, PolicyRow, ReplayReport

LONGEST_LABEL = 26


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


WIDE = CurveFrame("wide", 1080, 560)
NARROW = CurveFrame("narrow", 380, 460, left=36, right=8, font=11, ticks=4)


class CurvePoint(Struct, frozen=True):
    row: PolicyRow
    x: float
    y: float
    dollars: Interval
    recall: Interval
    radius: float


def draw_curve(report: ReplayReport, looks: Mapping[str, PolicyLook], frame: CurveFrame) -> Markup:
    rows = [row for row in report.rows if _figures(report, row) is not None]
    across, up = _scales(report, rows, frame)
    spots = {name: _spots(report, name, rows, across, up) for name in looks}
    spots = {name: points for name, points in spots.items() if points}
    title = f"curve-{frame.name}"
    return tag(
        "svg",
        tag(
            "title",
            "Recall–cost curve: hard span recall over dollars relative to everything",
            id=f"{title}-title",
        ),
        tag("desc", _description(spots), id=f"{title}-desc"),
        _axes(frame, across, up),
        [_line(looks[name], points) for name, points in spots.items()],
        [_marks(looks[name], points, up, across) for name, points in spots.items()],
        _texts(frame, looks, spots),
        class_=f"chart curve {frame.name}",
        viewBox=f"0 0 {frame.width} {frame.height}",
        role="group",
        aria_labelledby=f"{title}-title {title}-desc",
        style=f"--font:{frame.font}px",
    )


def _figures(report: ReplayReport, row: PolicyRow) -> tuple[Interval, Interval] | None:
    dollars = dollars_of(report, row)
    if dollars is None or row.curve is None:
        return None
    return (dollars, row.curve) if is_sound(dollars.mean) and is_sound(row.curve.mean) else None


def _scales(
    report: ReplayReport, rows: Sequence[PolicyRow], frame: CurveFrame
) -> tuple[AxisScale, AxisScale]:
    found = [pair for row in rows if (pair := _figures(report, row))]
    costs = [v for dollars, _ in found for v in (dollars.mean, dollars.low, dollars.high)] + [1.0]
    recalls = [v for _, recall in found for v in (recall.mean, recall.low)]
    lowest = min((v for v in recalls if is_sound(v)), default=0.0)
    across = fitted(costs, frame.left + 8, frame.width - frame.right - 8, about=frame.ticks)
    return across, linear(min(max(lowest, 0.0), 0.9), 1.0, frame.height - frame.bottom, frame.top + 8)


def _spots(
    report: ReplayReport, policy: str, rows: Sequence[PolicyRow], across: AxisScale, up: AxisScale
) -> list[CurvePoint]:
    """One policy's points, the smallest budget first; larger marks for larger budgets."""
    budgets = sorted({row.budget for row in report.rows})
    spots: list[CurvePoint] = []
    for row in sorted((r for r in rows if r.policy == policy), key=lambda r: r.budget):
        pair = _figures(report, row)
        assert pair is not None, "rows without figures were left out"
        dollars, recall = pair
        radius = 4.2 + 2.6 * budgets.index(row.budget) / max(len(budgets) - 1, 1)
        spots.append(CurvePoint(row, across.at(dollars.mean), up.at(recall.mean), dollars, recall, radius))
    return spots


def _description(spots: Mapping[str, Sequence[CurvePoint]]) -> str:
    count = sum(map(len, spots.values()))
    return (
        f"{count} points of {len(spots)} policies. Up and left is better. The tables below hold every figure."
    )


def _axes(frame: CurveFrame, across: AxisScale, up: AxisScale) -> Markup:
    base, left, right = frame.height - frame.bottom, frame.left, frame.width - frame.right
    parts: list[Markup] = []
    for value in up.ticks:
        y = up.at(value)
        parts.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(
            tag("text", figures.recall(value).removesuffix("0"), x=left - 7, y=y + 4, class_="tick end")
        )
    for value in across.ticks:
        x = across.at(value)
        parts.append(tag("line", x1=x, x2=x, y1=frame.top, y2=base + 4, class_="grid"))
        parts.append(tag("text", f"{value:.4g}", x=x, y=base + 19, class_="tick middle"))
    one = across.at(1.0)
    parts.append(tag("line", x1=one, x2=one, y1=frame.top, y2=base, class_="rule"))
    scale = ", log scale" if across.logarithmic else ""
    middle = (left + right) / 2
    parts.append(
        tag("text", f"dollars relative to everything{scale}", x=middle, y=base + 40, class_="axis middle")
    )
    parts.append(tag("text", "↑ hard span recall, common hard set", x=4, y=16, class_="axis"))
    parts.append(tag("text", "↖ up and left is better", x=right, y=16, class_="better end"))
    return tag("g", *parts)


def _line(look: PolicyLook, spots: Sequence[CurvePoint]) -> Markup:
    points = " ".join(f"{number(s.x)},{number(s.y)}" for s in spots)
    line = tag("polyline", points=points, class_="l", stroke_dasharray=look.dash)
    return tag("g", line, class_=f"policy line {look.colour}", data_policy=look.key)


def _marks(look: PolicyLook, spots: Sequence[CurvePoint], up: AxisScale, across: AxisScale) -> Markup:
    whiskers: list[Markup] = []
    for spot in spots:
        top, bottom = up.at(spot.recall.high), up.at(spot.recall.low)
        left, right = across.at(spot.dollars.low), across.at(spot.dollars.high)
        whiskers.append(tag("path", d=_whiskers(spot, left, right, top, bottom), class_="whisker"))
    marks = [
        tag(
            "g",
            tag("title", _told(spot)),
            tag("circle", cx=spot.x, cy=spot.y, r=13, class_="target"),
            look.mark(spot.x, spot.y, spot.radius, hollow=bool(faults_of(spot.row))),
            class_="point",
            tabindex=0,
            role="img",
            data_budget=spot.row.budget,
        )
        for spot in spots
    ]
    return tag("g", whiskers, marks, class_=f"policy {look.colour}", data_policy=look.key)


def _whiskers(spot: CurvePoint, left: float, right: float, top: float, bottom: float) -> str:
    x, y, (w, e, n, s) = spot.x, spot.y, map(number, (left, right, top, bottom))
    upright = f"M{number(x)} {s}V{n}M{number(x - 3)} {n}h6M{number(x - 3)} {s}h6"
    level = f"M{w} {number(y)}H{e}M{w} {number(y - 3)}v6M{e} {number(y - 3)}v6"
    return upright + level


def _told(spot: CurvePoint) -> str:
    faults = faults_of(spot.row)
    lines = [
        f"{figures.plain(spot.row.policy)} at {figures.budget(spot.row.budget)}",
        f"recall {figures.recall(spot.recall.mean)} ({figures.bounds(spot.recall)})",
        f"dollars {figures.dollars(spot.dollars.mean)} ({figures.bounds(spot.dollars)})",
        *faults,
    ]
    return " · ".join(lines)


def _texts(
    frame: CurveFrame, looks: Mapping[str, PolicyLook], spots: Mapping[str, Sequence[CurvePoint]]
) -> list[Markup]:
    """Names first, then budgets where there is room left: on a phone there is none."""
    area = LabelBox(frame.left, frame.top - 8, frame.width - 2, frame.height - frame.bottom - 2)
    marks = [
        LabelBox(s.x - r, s.y - r, s.x + r, s.y + r)
        for ps in spots.values()
        for s in ps
        for r in [s.radius + 1]
    ]
    pairs = [pair for ps in spots.values() for pair in pairwise(ps)]
    lines = [box for a, b in pairs for box in along((a.x, a.y), (b.x, b.y))]
    room = LabelRoom(area, marks, lines)
    parts: list[Markup] = []
    for name, points in spots.items():
        ends = [(s.x, s.y) for s in (points[-1], points[0], *points[1:-1])]
        placed = room.place(figures.plain(name, LONGEST_LABEL), list(dict.fromkeys(ends)), frame.font, gap=10)
        if placed:
            parts.append(_label(placed, looks[name], "name"))
    for name, points in spots.items() if frame is WIDE else ():
        for (x, y), budgets in _by_place(points).items():
            placed = room.place(budgets, [(x, y)], frame.font - 2.5, gap=9, steps=(0.0,))
            if placed:
                parts.append(_label(placed, looks[name], "size"))
    return parts


def _by_place(spots: Sequence[CurvePoint]) -> dict[tuple[float, float], str]:
    """Budgets by point: *everything* has all of them at one."""
    found: dict[tuple[float, float], str] = {}
    for spot in spots:
        place, budget = (round(spot.x, 1), round(spot.y, 1)), figures.budget(spot.row.budget)
        found[place] = f"{found[place]}, {budget}" if place in found else budget
    return found


def _label(placed: PlacedLabel, look: PolicyLook, kind: str) -> Markup:
    box, (x, y) = placed.box, placed.point
    at, anchor = placed.anchor
    leader: Markup | None = None
    if placed.distance > 10:  # far enough to be taken for another point's
        near_x = min(max(x, box.left), box.right)
        near_y = min(max(y, box.top), box.bottom)
        leader = tag("line", x1=x, y1=y, x2=near_x, y2=near_y, class_="leader")
    height = box.bottom - box.top
    text = tag("text", placed.text, x=at, y=box.bottom - height * 0.22, class_=f"{anchor} {kind}")
    return tag("g", leader, text, class_=f"policy label {look.colour}", data_policy=look.key)
