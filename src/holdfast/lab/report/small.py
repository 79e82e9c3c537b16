"""Small charts at one budget: recall by age as bars, recall by kind and probes as dots.

Rule: one look tells who is better; the numbers stand in a table beside them.
"""

from collections.abc import Mapping, Sequence

from holdfast.lab.report import figures
from holdfast.lab.report.looks import PolicyLook
from holdfast.lab.report.markup import Markup, number, tag
from holdfast.lab.report.scales import clamped
from holdfast.lab.report.standing import ages_of, faults_of
from holdfast.lab.results import PolicyRow

BAR, GAP, HEIGHT = 22, 4, 64
"""Pixels of a bar, of the gap beside it, and of a recall of 1."""
ROOM_IN_BAR = 13
"""Height from which on a bar can hold its number."""
LONGEST = 26


def draw_ages(rows: Sequence[PolicyRow], looks: Mapping[str, PolicyLook]) -> Markup:
    """One panel for each policy. A tick over each bar shows the best of the others that keep to the rules."""
    ages = ages_of(rows)
    panels = [_panel(row, rows, ages, looks[row.policy]) for row in rows if row.ages]
    return tag("div", panels, class_="panels")


def _panel(row: PolicyRow, rows: Sequence[PolicyRow], ages: Sequence[str], look: PolicyLook) -> Markup:
    width = len(ages) * (BAR + GAP) + GAP
    parts: list[Markup] = [tag("line", x1=0, x2=width, y1=HEIGHT + 14, y2=HEIGHT + 14, class_="base")]
    for at, age in enumerate(ages):
        x = GAP + at * (BAR + GAP)
        parts.append(_bar(x, row.ages.get(age), _best(rows, row, age), age))
        parts.append(tag("text", _upto(age), x=x + BAR / 2, y=HEIGHT + 27, class_="tick middle"))
    name = figures.plain(row.policy)
    chart = tag(
        "svg",
        tag("title", f"Recall by age, {name}: {_told(row, ages)}"),
        *parts,
        class_="chart bars",
        viewBox=f"0 0 {width} {HEIGHT + 30}",
        role="img",
    )
    return tag(
        "figure",
        tag("figcaption", look.swatch, name),
        chart,
        class_=f"panel {look.colour}",
        data_policy=look.key,
    )


def _best(rows: Sequence[PolicyRow], row: PolicyRow, age: str) -> float | None:
    """Of the other policies without faults; *everything*, which has no budget, would hide the rest."""
    others = [r for r in rows if r is not row and not faults_of(r) and any(v < 1 for v in r.ages.values())]
    return max((r.ages[age] for r in others if age in r.ages), default=None)


def _bar(x: float, value: float | None, best: float | None, age: str) -> Markup:
    parts: list[Markup] = []
    if value is None:
        parts.append(tag("text", figures.NONE, x=x + BAR / 2, y=HEIGHT + 10, class_="tick middle"))
    else:
        top = _height(value)
        parts.append(tag("rect", x=x, y=top, width=BAR, height=HEIGHT + 14 - top, class_="bar"))
        low = HEIGHT + 14 - top < ROOM_IN_BAR
        place = "value middle" if low else "value middle inside"
        parts.append(
            tag("text", _short(value), x=x + BAR / 2, y=top - 3 if low else HEIGHT + 10, class_=place)
        )
    if best is not None:
        parts.append(
            tag("line", x1=x - 1.5, x2=x + BAR + 1.5, y1=_height(best), y2=_height(best), class_="best")
        )
    return tag("g", *parts, data_age=age)


def _height(value: float) -> float:
    return 14 + HEIGHT * (1 - clamped(value))


def _short(value: float) -> str:
    """`.73`: in a bar there is room for three characters."""
    written = figures.recall(value)
    return written.removeprefix("0") if written != "1.00" else "1"


def _upto(age: str) -> str:
    """`11-20` as `≤20`: shorter, and what lies left of it says the rest."""
    _, dash, last = age.partition("-")
    return f"≤{figures.plain(last, 4)}" if dash and last else figures.plain(age, 5)


def _told(row: PolicyRow, ages: Sequence[str]) -> str:
    return ", ".join(f"{age} steps {figures.recall(row.ages.get(age))}" for age in ages)


def draw_dots(
    title: str,
    names: Sequence[str],
    values: Sequence[tuple[PolicyRow, dict[str, float]]],
    looks: Mapping[str, PolicyLook],
) -> Markup:
    """A row for each policy, a mark for each name, from 0 on the left to 1 on the right."""
    kinds = [PolicyLook(key, name) for key, name in enumerate(names)]
    label = 14 + 5.9 * min(max((len(figures.plain(row.policy)) for row, _ in values), default=0), LONGEST)
    step, width = 22, 440
    height = step * len(values) + 34
    parts = _grid(label, width - 16, height)
    for at, (row, shares) in enumerate(values):
        parts.append(_dots(row, shares, kinds, looks[row.policy], (label, width - 16, 16 + step * at)))
    told = tag("title", f"{title}: " + "; ".join(_sentence(row, shares, names) for row, shares in values))
    chart = tag("svg", told, *parts, class_="chart dots", viewBox=f"0 0 {width} {height}", role="img")
    key = [tag("span", _swatch(kind), figures.plain(kind.name), class_="key") for kind in kinds]
    return tag("figure", tag("figcaption", tag("b", title), " ", key), chart, class_="dotplot")


def _grid(left: float, right: float, height: float) -> list[Markup]:
    parts: list[Markup] = []
    for tenth in range(0, 11, 2):
        x = left + (right - left) * tenth / 10
        parts.append(tag("line", x1=x, x2=x, y1=4, y2=height - 22, class_="grid"))
        parts.append(tag("text", f"{tenth / 10:g}", x=x, y=height - 6, class_="tick middle"))
    return parts


def _dots(
    row: PolicyRow,
    shares: dict[str, float],
    kinds: Sequence[PolicyLook],
    look: PolicyLook,
    place: tuple[float, float, float],
) -> Markup:
    left, right, y = place
    found = [
        (kind, left + (right - left) * clamped(shares[kind.name])) for kind in kinds if kind.name in shares
    ]
    parts: list[Markup] = [
        tag("text", figures.plain(row.policy, LONGEST), x=left - 12, y=y + 4, class_="name end")
    ]
    if found:
        first, last = min(x for _, x in found), max(x for _, x in found)
        parts.append(tag("path", d=f"M{number(first)} {number(y)}H{number(last)}", class_="span"))
    for kind, x in found:
        told = f"{figures.plain(row.policy)}, {kind.name}: {figures.recall(shares[kind.name])}"
        parts.append(tag("g", tag("title", told), kind.mark(x, y, 5), class_=f"dot {kind.colour}"))
    return tag("g", *parts, data_policy=look.key)


def _sentence(row: PolicyRow, shares: dict[str, float], names: Sequence[str]) -> str:
    return f"{figures.plain(row.policy)} " + ", ".join(f"{n} {figures.recall(shares.get(n))}" for n in names)


def _swatch(kind: PolicyLook) -> Markup:
    mark = kind.mark(8, 8, 5)
    return tag("svg", mark, class_=f"swatch {kind.colour}", viewBox="0 0 16 16", aria_hidden="true")
