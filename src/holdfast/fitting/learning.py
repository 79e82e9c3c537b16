"""Weights from the examples of many recordings, and how good they are on recordings they never saw.

Rule: every project is judged by weights fitted on the others; with one project only, every recording is, or every
tenth of them, and the result says so.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.fitting.examples import Examples
from holdfast.fitting.quality import judge
from holdfast.fitting.regression import fit_weights
from holdfast.fitting.results import HeldOut, Learned, Quality, mean_quality
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES
from holdfast.packing.lines.weights import HAND, Weights
from holdfast.replay.order import Order
from holdfast.replay.report.figures import budget, recall
from holdfast.version import __version__

MOST_PARTS = 10
"""Fits for the quality of a single project: of many recordings several are held out together."""


def learn(examples: Sequence[Examples], order: Order) -> Learned:
    """Fit on all of them, then again without each group, for quality and for trials."""
    weights = fit_weights(examples)
    if weights is None:
        raise InputError(
            f"there is nothing to learn: no later action used a {_unused(examples)} that a fold let go",
            hint="give longer recordings, or more of them",
        )
    held_out, groups = split(examples)
    blind: dict[str, Weights | None] = {}
    lines: list[Quality] = []
    names: list[Quality] = []
    for group in dict.fromkeys(groups.values()):
        inside = [one for one in examples if groups[one.recording] == group]
        found = blind[group] = fit_weights([one for one in examples if groups[one.recording] != group])
        for rows, features, kind in ((lines, LINE_FEATURES, "lines"), (names, NAME_FEATURES, "names")):
            blocks = [getattr(one, kind) for one in inside]
            own = None if found is None else getattr(found, kind)
            rows.append(judge(group, blocks, features, own, getattr(HAND, kind)))
    about = _about(examples, order, held_out, lines, names)
    return Learned(replace(weights, about=about), held_out, groups, blind, lines, names)


def split(examples: Sequence[Examples]) -> tuple[HeldOut, dict[str, str]]:
    """What is held out together: recordings with the name of their group. Nothing where there is only one."""
    projects = {one.recording: one.project for one in examples}
    if len(set(projects.values())) > 1:
        return "project", dict(sorted(projects.items(), key=lambda item: item[1]))
    ids = [one.recording for one in examples]
    if len(ids) == 1:
        return "nothing", {}
    if len(ids) <= MOST_PARTS:
        return "recording", {id_: id_ for id_ in ids}
    parts = {id_: f"part {at % MOST_PARTS + 1} of {MOST_PARTS}" for at, id_ in enumerate(ids)}
    return "recording", parts


def _unused(examples: Sequence[Examples]) -> str:
    return "name" if any(one.lines.used for one in examples) else "line"


def _about(
    examples: Sequence[Examples],
    order: Order,
    held_out: HeldOut,
    lines: list[Quality],
    names: list[Quality],
) -> dict[str, str | float | list[str]]:
    """Where the weights come from. Nothing that differs between two runs: the same recordings, the same file."""
    return {
        "holdfast": __version__,
        "profile": order.policies[0],
        "budgets": list(map(budget, order.budgets)),
        **({"at_least": budget(order.at_least)} if order.at_least else {}),
        "projects": sorted({one.project for one in examples}),
        "recordings": len(examples),
        "line_examples": sum(len(one.lines) for one in examples),
        "name_examples": sum(len(one.names) for one in examples),
        "held_out": held_out,
        "quality": [] if held_out == "nothing" else [_quality("lines", lines), _quality("names", names)],
    }


def _quality(kind: str, rows: list[Quality]) -> str:
    mean = mean_quality(rows, "")
    return (
        f"{kind}: area under the curve {recall(mean.curve)} (by hand {recall(mean.hand_curve)}), "
        f"best tenth of tokens holds {recall(mean.best)} (by hand {recall(mean.hand_best)})"
    )
