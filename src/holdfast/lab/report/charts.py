"""What all charts of the page share: scales, how each policy looks, and the small charts at one budget.

Rule: every value lands inside its chart, however odd it is; no two policies share both colour and shape, so that a
chart can be read without colours.
"""

from collections.abc import Sequence
from math import ceil, floor, isfinite, isnan, log10
from typing import Any

from msgspec import Struct

from holdfast.lab.report import figures
from holdfast.lab.report.rankings import Shares, faults_of, names_of, shares_of
from holdfast.lab.results import PolicyRow, ReplayReport

Data = dict[str, Any]
"""What a template is filled with: texts, numbers, truth values, lists and dicts of them."""

WIDE_SPREAD = 8
"""Largest over smallest from which on a scale is logarithmic."""
SMALLEST = 1e-6

COLOURS, SHAPES = 8, 7
"""`--c0` and so on in `style.css`, `shape0` and so on in `page.html`; the same pair returns after 56 policies."""
DASHES = ("", "7 3", "2 3", "9 3 2 3")

BAR, GAP, BAR_HEIGHT = 22, 4, 64
"""Pixels of a bar, of the gap beside it, and of a recall of 1."""
ROOM_IN_BAR = 13
"""Height from which on a bar can hold its number."""
LONGEST_NAME = 26
DOT_ROW, DOT_WIDTH, DOT_MARGIN = 22, 440, 16


class AxisScale(Struct, frozen=True):
    """From values to places on a chart; `ticks` are the round numbers to write beside the axis."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = (log10(max(v, SMALLEST)) for v in (low, high, value))
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + (self.end - self.start) * clamped(share)


def clamped(value: float) -> float:
    """A share between 0 and 1, whatever it was."""
    return min(max(value, 0.0), 1.0) if not isnan(value) else 0.0


def is_sound(value: float) -> bool:
    """Whether a chart can show it: finite, and not beyond all measure."""
    return isfinite(value) and abs(value) <= 1e9


def fitted(values: Sequence[float], start: float, end: float, *, about: int = 6) -> AxisScale:
    """A scale for positive values: logarithmic where they spread widely, otherwise linear."""
    sound = [v for v in values if is_sound(v) and v >= 0] or [0.0, 1.0]
    low, high = min(sound), max(sound)
    positive = [v for v in sound if v > SMALLEST]
    if not positive or high / min(positive) <= WIDE_SPREAD:
        return linear(low, high, start, end, about=about)
    low, high = min(positive) / 1.15, high * 1.15
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        ticks = [d * 10.0**e for e in decades for d in digits if low <= d * 10.0**e <= high]
        if len(ticks) <= about + 2:
            break
    shown = tuple(ticks[:: max(1, len(ticks) // (about + 2))])
    return AxisScale(low, high, start, end, shown, logarithmic=True)


def linear(low: float, high: float, start: float, end: float, *, about: int = 6) -> AxisScale:
    """Ends at round numbers at or beyond both values."""
    step = (high - low) / about or abs(high) / about or 1.0
    size = 10.0 ** floor(log10(step))
    step = size * next(d for d in (1, 2, 2.5, 5, 10) if step <= d * size * (1 + 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    last = max(last, first + 1)
    ticks = tuple(round(i * step, 9) for i in range(first, last + 1))
    return AxisScale(ticks[0], ticks[-1], start, end, ticks)


def number(value: float) -> str:
    """A coordinate: a tenth of a pixel is enough."""
    return f"{round(value, 1):g}" if abs(value) < 1e5 else str(round(value))


def look(key: int, name: str) -> Data:
    """A colour, a shape and a dash, the same in every chart. `key` is the policy's place in the report."""
    return {
        "key": key,
        "name": figures.plain(name),
        "colour": f"c{key % COLOURS}",
        "shape": key % SHAPES,
        "dash": DASHES[key // COLOURS % len(DASHES)],
    }


def looks_of(report: ReplayReport) -> dict[str, Data]:
    names = [row.policy for row in report.rows] + [picture.policy for picture in report.pictures]
    return {name: look(key, name) for key, name in enumerate(dict.fromkeys(names))}


def age_panels(rows: Sequence[PolicyRow], looks: dict[str, Data]) -> list[Data]:
    """Recall by age as bars, one panel for each policy, with the best of the other policies across each bar."""
    ages = names_of(rows, "ages")
    return [
        {
            **looks[row.policy],
            "width": len(ages) * (BAR + GAP) + GAP,
            "told": ", ".join(f"{age} steps {figures.decimal(row.ages.get(age))}" for age in ages),
            "bars": [{"x": GAP + at * (BAR + GAP), **_bar(row, rows, age)} for at, age in enumerate(ages)],
        }
        for row in rows
        if row.ages
    ]


def _bar(row: PolicyRow, rows: Sequence[PolicyRow], age: str) -> Data:
    value = row.ages.get(age)
    height = 0.0 if value is None else BAR_HEIGHT * clamped(value)
    inside = height >= ROOM_IN_BAR
    # Of policies without faults; *everything*, which has no budget, would hide the rest.
    sound = (r for r in rows if r is not row and not r.sees_future and not faults_of(r))
    others = [r for r in sound if any(v < 1 for v in r.ages.values())]
    best = max((r.ages[age] for r in others if age in r.ages), default=None)
    _, dash, last = age.partition("-")
    # `.73`: in a bar there is room for three characters.
    written = figures.decimal(value).removeprefix("0").replace("1.00", "1")
    return {
        "age": age,
        "height": height,
        "inside": inside,
        "text": written,
        "text_y": -4 if inside or value is None else -3 - height,
        "best": None if best is None else number(BAR_HEIGHT * clamped(best)),
        # `11-20` as `≤20`: shorter, and what is left of it says the rest.
        "upto": f"≤{figures.plain(last, 4)}" if dash and last else figures.plain(age, 5),
    }


def dot_plot(title: str, rows: Sequence[PolicyRow], which: Shares, looks: dict[str, Data]) -> Data:
    """A row for each policy, a mark for each name, from 0 on the left to 1 on the right."""
    names = names_of(rows, which)
    kinds = [look(key, name) for key, name in enumerate(names)]
    longest = min(max((len(figures.plain(row.policy)) for row in rows), default=0), LONGEST_NAME)
    left = 14 + 5.9 * longest
    width = DOT_WIDTH - DOT_MARGIN - left
    height = DOT_ROW * len(rows) + 34
    policies: list[Data] = []
    told: list[str] = []
    for at, row in enumerate(rows):
        policy, shares = figures.plain(row.policy), shares_of(row, which)
        told.append(f"{policy} " + ", ".join(f"{n} {figures.decimal(shares.get(n))}" for n in names))
        dots = [
            {
                **kinds[key],
                "x": width * clamped(shares[name]),
                "told": f"{policy}, {name}: {figures.decimal(shares[name])}",
            }
            for key, name in enumerate(names)
            if name in shares
        ]
        places = [dot["x"] for dot in dots]
        policies.append(
            {
                "key": looks[row.policy]["key"],
                "name": figures.plain(row.policy, LONGEST_NAME),
                "row_y": DOT_MARGIN + DOT_ROW * at,
                "span": {"from": min(places), "to": max(places)} if dots else None,
                "dots": dots,
            }
        )
    return {
        "title": title,
        "told": "; ".join(told),
        "left": left,
        "height": height,
        "depth": height - 4,
        "ticks": [{"x": left + width * i / 10, "text": f"{i / 10:g}"} for i in range(0, 11, 2)],
        "kinds": kinds,
        "policies": policies,
    }
