"""The window of one recording, request by request: layers, budget, cache, folds, needs missed, faults.

Rule: a column is a request as it was sent, its layers from the bottom in the order sent; the faded part was read
from the cache, the rest was paid in full. Here are the numbers, and each picture in a sentence; the timeline that
the viewer has too draws them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from holdfast.lab.report import figures
from holdfast.lab.report.charts import Data
from holdfast.lab.results import Picture, PicturedRequest, ReplayReport
from holdfast.lab.scored_message import ROLES
from holdfast.numbers import counted, grouped

FOLD_SHARE = 0.1
"""A fold: more than this share of the request before was dropped or changed."""
MOST_ROWS = 40
"""Rows of a picture's table, for a page whose script does not run."""
COLOURS = ("system", "summary", "steps", "round", "tail", "rules", "notes", "tools")
"""Of layers, as `common.css` names them."""
OURS = {"stable": "system", "summary": "summary", "window": "steps", "round": "round", "tail": "tail"}
"""Layers of our packs have the colours that they have in the viewer."""


def columns_of(picture: Picture, colours: Mapping[str, str]) -> Data:
    """The requests of a picture for the page's script, column by column since that is smaller."""
    moments = picture.moments
    layers = layers_of(picture)
    numbers = ("index", "tokens", "cached", "moved", "hard", "held")
    marks = [(at + 1, "fold") for at in folds_in(moments)]
    marks += [(at + 1, "fault") for at, m in enumerate(moments) if m.fault]
    return {
        **{name: [getattr(m, name) for m in moments] for name in numbers},
        "faults": {str(at): figures.plain(m.fault) for at, m in enumerate(moments) if m.fault},
        "names": [figures.plain(name) for name in layers],
        "colours": [colours[name] for name in layers],
        "layers": [[max(m.layers.get(name, 0), 0) for m in moments] for name in layers],
        "bars": [max(m.hard - m.held, 0) for m in moments],
        "budget": picture.budget,
        "marks": sorted(marks),
    }


def colours_of(pictures: Iterable[Picture]) -> dict[str, str]:
    """A colour for each layer, the same in all pictures."""
    names = list(dict.fromkeys(name for p in pictures for m in p.moments for name in m.layers))
    free = [colour for colour in COLOURS if colour not in {OURS.get(name) for name in names}] or COLOURS
    others = [name for name in names if name not in OURS]
    return {name: OURS.get(name) or free[others.index(name) % len(free)] for name in names}


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
    colours = colours_of(pictures)
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
    layers = layers_of(picture)
    return {
        "policy": figures.plain(picture.policy),
        "size": picture.budget,
        "budget": figures.budget(picture.budget),
        "of": figures.plain(picture.recording),
        "summary": _summary(picture),
        "keys": bool(layers),
        "table": _table(picture, layers),
        "layers": [{"layer": figures.plain(name, 40), "colour": colours[name]} for name in layers],
        "by_role": bool(layers) and _is_by_role(picture),
    }


def _table(picture: Picture, layers: Sequence[str]) -> Data:
    """The picture in numbers. Of many requests, the largest of each few: what its columns would show."""
    moments = picture.moments
    step = max(-(-len(moments) // MOST_ROWS), 1)
    folds = set(folds_in(moments))
    rows = []
    for start in range(0, len(moments), step):
        part = range(start, min(start + step, len(moments)))
        largest = max(part, key=lambda at: moments[at].tokens)
        shown = moments[largest]
        sizes = [shown.tokens, shown.cached, *(shown.layers.get(name, 0) for name in layers)]
        rows.append(
            {
                "request": grouped(largest + 1),
                "cells": [grouped(size) for size in sizes],
                "missed": grouped(sum(moments[at].hard - moments[at].held for at in part)),
                "folds": grouped(len(folds.intersection(part))),
            }
        )
    return {"every": step if step > 1 else None, "rows": rows}


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
