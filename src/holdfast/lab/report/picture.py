"""The window of one recording, request by request: layers, budget, cache, folds, needs missed, faults.

Rule: a column is a request as it was sent; what is faded was read from the cache, what is not was paid in full.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from holdfast.lab.report import figures
from holdfast.lab.report.markup import Markup, number, tag
from holdfast.lab.report.scales import AxisScale, linear
from holdfast.lab.results import Picture, PicturedRequest
from holdfast.lab.scored_message import ROLES

WIDTH, LEFT, RIGHT = 1080, 62, 92
TOP, BASE = 26, 336
FOLDS, MISSED, FAULTS = 350, 376, 412
"""Where the lanes below the window begin: folds, needs missed, faults."""
HEIGHT = 446
TALLEST_MISS = 22
FOLD_SHARE = 0.1
"""A fold: more than this share of the request before was dropped or changed."""
FEW_FOLDS = 60
"""Up to so many folds are also drawn through the window; more would hide it."""
LAYER_COLOURS = 8


class Columns(Struct, frozen=True):
    """The moments of a picture for the page's script, column by column since that is smaller."""

    index: list[int]
    tokens: list[int]
    cached: list[int]
    moved: list[int]
    hard: list[int]
    held: list[int]
    faults: dict[str, str]
    layers: list[tuple[str, list[int]]]
    left: float
    step: float


class Canvas(Struct, frozen=True):
    """Where things are: request `i` takes the place from `x(i)` to `x(i + 1)`."""

    step: float
    up: AxisScale

    def x(self, at: float) -> float:
        return LEFT + at * self.step


def layers_in(pictures: Sequence[Picture]) -> dict[str, int]:
    """Every layer's colour, the same in all pictures."""
    names = dict.fromkeys(name for p in pictures for m in p.moments for name in m.layers)
    return {name: key for key, name in enumerate(names)}


def layers_of(picture: Picture, colours: Mapping[str, int]) -> list[str]:
    """Those that a picture has, in the order of all."""
    return [name for name in colours if any(name in m.layers for m in picture.moments)]


def folds_in(moments: Sequence[PicturedRequest]) -> list[int]:
    """Places of the requests before which the prefix broke."""
    return [at for at, (a, b) in enumerate(pairwise(moments), 1) if b.moved > FOLD_SHARE * max(a.tokens, 1)]


def draw_picture(picture: Picture, colours: Mapping[str, int]) -> Markup:
    moments = picture.moments
    highest = max((m.tokens for m in moments), default=0)
    full = picture.budget * 1.08 if highest <= picture.budget * 1.08 else highest * 1.02
    canvas = Canvas(_step(picture), _upwards(max(full, 1)))
    return tag(
        "svg",
        tag("title", _title(picture)),
        tag("desc", summary(picture)),
        _axes(canvas, moments),
        _layers(canvas, moments, {name: colours[name] for name in layers_of(picture, colours)}),
        _cached(canvas, moments),
        _budget(canvas, picture.budget),
        _lanes(canvas, moments),
        tag(
            "rect", x=0, y=TOP - 8, width=canvas.step, height=HEIGHT - TOP - 10, class_="cursor", hidden=True
        ),
        class_="chart window",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        tabindex=0,
    )


def _step(picture: Picture) -> float:
    """The width of a column."""
    return (WIDTH - LEFT - RIGHT) / max(len(picture.moments), 1)


def _upwards(full: float) -> AxisScale:
    """Up to the fullest request and no further; round numbers only beside the axis."""
    ticks = linear(0, full, BASE, TOP, about=5).ticks
    return AxisScale(0, full, BASE, TOP, tuple(tick for tick in ticks if tick <= full))


def columns_of(picture: Picture, colours: Mapping[str, int]) -> Columns:
    moments = picture.moments
    return Columns(
        [m.index for m in moments],
        [m.tokens for m in moments],
        [m.cached for m in moments],
        [m.moved for m in moments],
        [m.hard for m in moments],
        [m.held for m in moments],
        {str(at): figures.plain(m.fault) for at, m in enumerate(moments) if m.fault},
        [
            (figures.plain(name), [m.layers.get(name, 0) for m in moments])
            for name in layers_of(picture, colours)
        ],
        LEFT,
        _step(picture),
    )


def summary(picture: Picture) -> str:
    """The picture in a sentence, for those who do not see it and for those who do."""
    moments = picture.moments
    tokens, cached = sum(m.tokens for m in moments), sum(m.cached for m in moments)
    hard, held = sum(m.hard for m in moments), sum(m.held for m in moments)
    share = f"{round(100 * cached / tokens)} %" if tokens else "none"
    parts = [
        figures.counted(len(moments), "request"),
        figures.counted(len(folds_in(moments)), "fold"),
        f"{share} of {figures.grouped(tokens)} tokens read from the cache",
        f"{figures.grouped(hard - held)} of {figures.counted(hard, 'hard need')} missed",
        figures.counted(sum(bool(m.fault) for m in moments), "fault"),
    ]
    return ", ".join(parts) + "."


def is_by_role(picture: Picture) -> bool:
    """Whether the layers are only roles, whose heights say nothing about the order sent."""
    return all(name in ROLES for m in picture.moments for name in m.layers)


def _title(picture: Picture) -> str:
    policy, budget = figures.plain(picture.policy), figures.budget(picture.budget)
    return f"The window of {figures.plain(picture.recording)} under {policy} at {budget}, request by request"


def _axes(canvas: Canvas, moments: Sequence[PicturedRequest]) -> Markup:
    right = WIDTH - RIGHT
    parts: list[Markup] = []
    for value in canvas.up.ticks:
        y = canvas.up.at(value)
        parts.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", figures.tokens_short(value), x=LEFT - 7, y=y + 4, class_="tick end"))
    every = int(linear(0, max(len(moments), 1), 0, 1, about=10).ticks[1]) or 1
    parts += [
        tag("text", str(at or 1), x=canvas.x(max(at - 0.5, 0.5)), y=HEIGHT - 4, class_="tick middle")
        for at in range(0, len(moments), every)
    ]
    parts.append(tag("text", "↑ tokens sent", x=4, y=14, class_="axis"))
    parts.append(tag("text", "request →", x=right + 8, y=HEIGHT - 4, class_="axis"))
    for y, name in ((FOLDS + 11, "folds"), (MISSED + 14, "missed"), (FAULTS + 11, "faults")):
        parts.append(tag("text", name, x=LEFT - 7, y=y, class_="lane end"))
        parts.append(tag("line", x1=LEFT, x2=right, y1=y + 6, y2=y + 6, class_="grid"))
    return tag("g", *parts)


def _layers(canvas: Canvas, moments: Sequence[PicturedRequest], colours: Mapping[str, int]) -> Markup:
    """From the bottom in the order sent, so that the cached prefix is the lowest part of a column."""
    below = [0] * len(moments)
    parts: list[Markup] = []
    labels: list[Markup] = []
    lowest = float(BASE + 12)
    for name, key in colours.items():
        above = [low + max(m.layers.get(name, 0), 0) for low, m in zip(below, moments, strict=True)]
        colour = f"y{key % LAYER_COLOURS}"
        parts.append(_stretched(canvas, _area(canvas, below, above), f"layer {colour}"))
        if moments and above[-1] > below[-1]:
            middle = (canvas.up.at(above[-1]) + canvas.up.at(below[-1])) / 2 + 4
            lowest = min(middle, lowest - 13)
            labels.append(
                tag("text", figures.plain(name, 12), x=WIDTH - RIGHT + 8, y=lowest, class_=f"ink {colour}")
            )
        below = above
    return tag("g", *parts, *labels, class_="layers")


def _cached(canvas: Canvas, moments: Sequence[PicturedRequest]) -> Markup:
    heights = [min(m.cached, m.tokens) for m in moments]
    return _stretched(canvas, _area(canvas, [0] * len(moments), heights), "veil")


def _budget(canvas: Canvas, budget: int) -> Markup:
    y = canvas.up.at(budget)
    line = tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="limit")
    text = tag("text", f"budget {figures.budget(budget)}", x=LEFT + 6, y=y - 5, class_="limitname")
    return tag("g", line, text)


def _lanes(canvas: Canvas, moments: Sequence[PicturedRequest]) -> Markup:
    folds = folds_in(moments)
    tall = len(folds) <= FEW_FOLDS
    parts = (
        [_fold(canvas, at) for at in folds]
        if tall
        else [_ticks(canvas, dict.fromkeys(folds, 12.0), FOLDS + 17, "fold")]
    )
    missed = {at: m.hard - m.held for at, m in enumerate(moments) if m.hard > m.held}
    most = max(missed.values(), default=1)
    sizes = {at: 5 + (TALLEST_MISS - 5) * count / most for at, count in missed.items()}
    parts.append(_ticks(canvas, sizes, MISSED + 20, "miss"))
    for at, moment in enumerate(moments):
        if moment.fault:
            x = canvas.x(at) + canvas.step / 2
            parts.append(tag("path", d=f"M{number(x - 4)} {FAULTS + 3}l8 8m0 -8l-8 8", class_="fault"))
    return tag("g", *parts)


def _fold(canvas: Canvas, at: int) -> Markup:
    x = canvas.x(at) + canvas.step / 2
    through = tag("line", x1=x, x2=x, y1=TOP, y2=FOLDS + 5, class_="foldline")
    triangle = tag("path", d=f"M{number(x - 5)} {FOLDS + 15}h10l-5 -10z", class_="foldmark")
    return tag("g", through, triangle, class_="fold")


def _ticks(canvas: Canvas, sizes: dict[int, float], base: float, kind: str) -> Markup:
    """One path for all. A tick is as wide as its column, but wide enough to be seen and narrow enough to be one."""
    width = min(max(canvas.step * 0.8, 1.0), 5.0)
    starts = {at: canvas.x(at) + (canvas.step - width) / 2 for at in sizes}
    marks = [
        f"M{number(x)} {number(base)}v{number(-sizes[at])}h{number(width)}v{number(sizes[at])}z"
        for at, x in starts.items()
    ]
    return tag("path", d="".join(marks) or "M0 0", class_=kind, data_count=len(sizes))


def _stretched(canvas: Canvas, path: str, kind: str) -> Markup:
    """A path whose x counts requests: whole numbers are short, and there are many of them."""
    return tag("path", d=path, class_=kind, transform=f"translate({LEFT} 0)scale({canvas.step:.5g} 1)")


def _area(canvas: Canvas, below: Sequence[int], above: Sequence[int]) -> str:
    """Columns without gaps; a run of equal heights is one stroke."""
    if not above:
        return "M0 0"
    tops, floors = ([round(canvas.up.at(v)) for v in line] for line in (above, below))
    there = [f"H{at}V{tops[at]}" for at in range(1, len(tops)) if tops[at] != tops[at - 1]]
    back = [f"H{at}V{floors[at - 1]}" for at in range(len(floors) - 1, 0, -1) if floors[at] != floors[at - 1]]
    return f"M0 {tops[0]}{''.join(there)}H{len(tops)}V{floors[-1]}{''.join(back)}H0Z"
