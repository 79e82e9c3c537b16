"""The window of one recording, request by request: layers, budget, cache, folds, needs missed, faults.

Rule: a column is a request as it was sent, its layers from the bottom in the order sent; the faded part was read
from the cache, the rest was paid in full. Every window is drawn here: the page's script only chooses among them and
reads out numbers.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from holdfast.lab.report import figures
from holdfast.lab.report.charts import AxisScale, Data, linear, number
from holdfast.lab.results import Picture, PicturedRequest, ReplayReport
from holdfast.lab.scored_message import ROLES
from holdfast.numbers import counted, grouped

WIDTH, LEFT, RIGHT = 1080, 62, 92
TOP, BASE = 26, 336
FOLDS, MISSED = 350, 376
"""Where the lanes of folds and of missed needs begin, below the window. `page.html` has these places too."""
TALLEST_MISS = 22
FOLD_SHARE = 0.1
"""A fold: more than this share of the request before was dropped or changed."""
FEW_FOLDS = 60
"""Up to this many folds are also drawn through the window; more would hide it."""
LAYER_COLOURS = 8


def columns_of(picture: Picture) -> Data:
    """The requests of a picture for the page's script, column by column since that is smaller."""
    moments = picture.moments
    numbers = ("index", "tokens", "cached", "moved", "hard", "held")
    return {
        **{name: [getattr(m, name) for m in moments] for name in numbers},
        "faults": {str(at): figures.plain(m.fault) for at, m in enumerate(moments) if m.fault},
        "layers": [
            (figures.plain(name), [m.layers.get(name, 0) for m in moments]) for name in layers_of(picture)
        ],
        "left": LEFT,
        "step": (WIDTH - LEFT - RIGHT) / max(len(moments), 1),
    }


def layers_of(picture: Picture) -> list[str]:
    """Layers in the order sent. One that comes up later goes before what follows it there."""
    order: list[str] = []
    for moment in picture.moments:
        names = list(moment.layers)
        for at, name in enumerate(names):
            if name not in order:
                behind = next((order.index(n) for n in names[at + 1 :] if n in order), len(order))
                order.insert(behind, name)
    return order


def folds_in(moments: Sequence[PicturedRequest]) -> list[int]:
    """Places of the requests before which the prefix broke."""
    return [at for at, (a, b) in enumerate(pairwise(moments), 1) if b.moved > FOLD_SHARE * max(a.tokens, 1)]


def windows_data(report: ReplayReport, looks: Mapping[str, Data]) -> Data | None:
    pictures = report.pictures
    if not pictures:
        return None
    recordings = list(dict.fromkeys(p.recording for p in pictures))
    names = dict.fromkeys(name for p in pictures for m in p.moments for name in m.layers)
    colours = {name: f"y{key % LAYER_COLOURS}" for key, name in enumerate(names)}
    opened = next((at for at, p in enumerate(pictures) if not _is_by_role(p)), 0)
    choices = {
        "recording": {str(at): name for at, name in enumerate(recordings)},
        "policy": {str(looks[name]["key"]): name for name in dict.fromkeys(p.policy for p in pictures)},
        "budget": {str(b): figures.budget(b) for b in sorted({p.budget for p in pictures})},
    }
    return {
        "fold_share": f"{FOLD_SHARE * 100:.0f}",
        "choices": [
            {
                "choice": name,
                "options": [{"value": v, "text": figures.plain(t, 80)} for v, t in options.items()],
            }
            for name, options in choices.items()
        ],
        "pictures": [
            {
                **_picture(picture, colours),
                "at": str(at),
                "recording": str(recordings.index(picture.recording)),
                "key": looks[picture.policy]["key"],
                "open": at == opened,
            }
            for at, picture in enumerate(pictures)
        ],
    }


def _picture(picture: Picture, colours: Mapping[str, str]) -> Data:
    moments = picture.moments
    layers = layers_of(picture)
    highest = max((m.tokens for m in moments), default=0)
    full = picture.budget * 1.08 if highest <= picture.budget * 1.08 else highest * 1.02
    # Up to the fullest request and no further; round numbers only beside the axis.
    full = max(full, 1)
    ticks = tuple(tick for tick in linear(0, full, BASE, TOP, about=5).ticks if tick <= full)
    up = AxisScale(0, full, BASE, TOP, ticks)
    step = (WIDTH - LEFT - RIGHT) / max(len(moments), 1)
    """The width of a column."""
    every = int(linear(0, max(len(moments), 1), 0, 1, about=10).ticks[1]) or 1
    return {
        "policy": figures.plain(picture.policy),
        "size": picture.budget,
        "budget": figures.budget(picture.budget),
        "of": figures.plain(picture.recording),
        "summary": _summary(picture),
        "keys": bool(layers),
        "layers": [{"layer": figures.plain(name, 40), "colour": colours[name]} for name in layers],
        "by_role": bool(layers) and _is_by_role(picture),
        "heights": [{"y": up.at(v), "text": figures.tokens_short(v)} for v in up.ticks],
        "requests": [
            {"x": LEFT + max(at - 0.5, 0.5) * step, "text": str(at or 1)}
            for at in range(0, len(moments), every)
        ],
        "stretch": f"{step:.5g}",
        "areas": _areas(moments, layers, colours, up),
        "veil": _area(up, [0] * len(moments), [min(m.cached, m.tokens) for m in moments]),
        "budget_y": up.at(picture.budget),
        **_lanes(moments, step),
        "step": step,
    }


def _is_by_role(picture: Picture) -> bool:
    """Whether the layers are only roles, whose heights say nothing about the order sent."""
    return all(name in ROLES for m in picture.moments for name in m.layers)


def _summary(picture: Picture) -> str:
    """The picture in a sentence, for those who do not see it and for those who do."""
    moments = picture.moments
    tokens, cached = sum(m.tokens for m in moments), sum(m.cached for m in moments)
    hard, held = sum(m.hard for m in moments), sum(m.held for m in moments)
    share = f"{round(100 * cached / tokens)}%" if tokens else "none"
    parts = [
        counted(len(moments), "request"),
        counted(len(folds_in(moments)), "fold"),
        f"{share} of {grouped(tokens)} tokens read from the cache",
        f"{grouped(hard - held)} of {counted(hard, 'hard need')} missed",
        counted(sum(bool(m.fault) for m in moments), "fault"),
    ]
    return ", ".join(parts) + "."


def _areas(
    moments: Sequence[PicturedRequest], layers: Sequence[str], colours: Mapping[str, str], up: AxisScale
) -> list[Data]:
    """From the bottom in the order sent, so that the cached prefix is the lowest part of a column."""
    below = [0] * len(moments)
    lowest = float(BASE + 12)
    areas: list[Data] = []
    for name in layers:
        above = [low + max(m.layers.get(name, 0), 0) for low, m in zip(below, moments, strict=True)]
        area: Data = {"colour": colours[name], "path": _area(up, below, above), "label": None}
        if moments and above[-1] > below[-1]:
            lowest = min((up.at(above[-1]) + up.at(below[-1])) / 2 + 4, lowest - 13)
            area["label"] = {"text": figures.plain(name, 12), "y": lowest}
        areas.append(area)
        below = above
    return areas


def _lanes(moments: Sequence[PicturedRequest], step: float) -> Data:
    folds = folds_in(moments)
    missed = {at: m.hard - m.held for at, m in enumerate(moments) if m.hard > m.held}
    most = max(missed.values(), default=1)
    sizes = {at: 5 + (TALLEST_MISS - 5) * count / most for at, count in missed.items()}
    middles = [LEFT + (at + 0.5) * step for at in range(len(moments))]
    few = len(folds) <= FEW_FOLDS
    return {
        "folds": [middles[at] for at in folds] if few else [],
        "many_folds": None if few else _ticks(dict.fromkeys(folds, 12.0), FOLDS + 17, step),
        "misses": _ticks(sizes, MISSED + 20, step),
        "faults": [middle for middle, moment in zip(middles, moments, strict=True) if moment.fault],
    }


def _ticks(sizes: dict[int, float], base: float, step: float) -> Data:
    """One path for all. A tick is as wide as its column, but wide enough to be seen and narrow enough to be one."""
    width = min(max(step * 0.8, 1.0), 5.0)
    starts = {at: LEFT + at * step + (step - width) / 2 for at in sizes}
    marks = [
        f"M{number(x)} {number(base)}v{number(-sizes[at])}h{number(width)}v{number(sizes[at])}z"
        for at, x in starts.items()
    ]
    return {"path": "".join(marks) or "M0 0", "count": str(len(sizes))}


def _area(up: AxisScale, below: Sequence[int], above: Sequence[int]) -> str:
    """Columns without gaps. x counts requests, and a run of equal heights is one stroke: there are many of them."""
    if not above:
        return "M0 0"
    tops, floors = ([round(up.at(v)) for v in line] for line in (above, below))
    there = [f"H{at}V{tops[at]}" for at in range(1, len(tops)) if tops[at] != tops[at - 1]]
    back = [f"H{at}V{floors[at - 1]}" for at in range(len(floors) - 1, 0, -1) if floors[at] != floors[at - 1]]
    return f"M0 {tops[0]}{''.join(there)}H{len(tops)}V{floors[-1]}{''.join(back)}H0Z"
