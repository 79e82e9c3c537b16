"""Weights from examples, and how good they are on recordings they never saw.

A Poisson regression, linear in the logarithm, so that a weight reads as a factor. Its quality is the area under
the curve, and what the best tenth of the tokens holds.

Rule: the same examples in the same order give the same plain, rounded numbers. Every project is judged by
weights fitted on the others; with only one project every recording is, or every tenth of them, and the result
says so.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from holdfast.errors import InputError
from holdfast.lab.fit.examples import ExampleRows, RecordingExamples
from holdfast.lab.fit.fit_results import HeldOut, LearnedWeights, RankingQuality, mean_quality
from holdfast.lab.jobs import ReplayOptions
from holdfast.lab.report.figures import budget, decimal
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES, VERSION
from holdfast.packing.lines.scoring import FIXED_TOKENS, LENGTH_POWER
from holdfast.packing.lines.weights import HAND_WEIGHTS, Weights
from holdfast.version import __version__

PENALTY = 1e-4
LARGEST_LABEL = 2.0
"""The largest label: a name that every action uses should not rule the rest."""
PLACES = 3
"""Decimals of a weight."""
TOLERANCE = 1e-8
"""Labels are small and so are gradients: a looser one ends before the rare features have settled."""
MOST_ROUNDS = 100
LEAST_SPREAD = 1e-6
"""Below it a feature is the same everywhere, and teaches nothing."""

Vector = NDArray[np.float64]


def fit_weights(examples: Sequence[RecordingExamples]) -> Weights | None:
    """None where no later action used a line, or none a name."""
    lines = regress([one.lines for one in examples], LINE_FEATURES)
    names = regress([one.names for one in examples], NAME_FEATURES)
    return Weights(VERSION, lines, names) if lines and names else None


def regress(blocks: Sequence[ExampleRows], features: Sequence[str]) -> dict[str, float]:
    """A weight for each feature; none where nothing was used, since then there is nothing to learn."""
    if not any(block.used for block in blocks):
        return {}
    # The first feature is the constant, which the model has of its own and does not penalise. The others are
    # centred and scaled for the penalty's sake, and back: weights are for the features as they are.
    centre, scale = _spread(blocks)
    model = PoissonRegressor(alpha=PENALTY, solver="newton-cholesky", tol=TOLERANCE, max_iter=MOST_ROUNDS)
    uses = np.minimum(np.concatenate([block.uses for block in blocks], dtype=np.float64), LARGEST_LABEL)
    counts = np.concatenate([block.counts for block in blocks], dtype=np.float64)
    # One thread: sums then have the same order on every machine, and a busy one does not keep threads waiting.
    with threadpool_limits(1):
        model.fit(_scaled(blocks, centre, scale), uses, sample_weight=counts)
    weights = model.coef_ / scale
    constant = model.intercept_ - float(weights @ centre)
    found = zip(features, (constant, *weights), strict=True)
    return {feature: round(float(weight), PLACES) + 0.0 for feature, weight in found}


def _spread(blocks: Sequence[ExampleRows]) -> tuple[Vector, Vector]:
    """Where each feature lies, and how far it varies."""
    count = sum(map(len, blocks))
    centre = sum(block.values[:, 1:].sum(axis=0, dtype=np.float64) for block in blocks) / count
    squares = sum(np.square(block.values[:, 1:] - centre).sum(axis=0) for block in blocks) / count
    scale = np.sqrt(squares)
    return np.asarray(centre), np.where(scale < LEAST_SPREAD, 1.0, scale)


def _scaled(blocks: Sequence[ExampleRows], centre: Vector, scale: Vector) -> Vector:
    """All rows as the model wants them, filled block by block: a copy of them all would take as much again."""
    scaled = np.empty((sum(map(len, blocks)), len(centre)))
    at = 0
    for block in blocks:
        rows = scaled[at : at + len(block)]
        np.subtract(block.values[:, 1:], centre, out=rows)
        rows /= scale
        at += len(block)
    return scaled


TENTH = 0.1


def judge_ranking(
    held_out: str,
    blocks: Sequence[ExampleRows],
    features: Sequence[str],
    learned: Mapping[str, float] | None,
    hand: Mapping[str, float],
) -> RankingQuality:
    """The quality of learned and of hand-written weights on the same rows, one block a recording."""
    filled = [block for block in blocks if len(block)]
    curves: list[float | None] = []
    best: list[float | None] = []
    for weights in (learned, hand):
        vector = np.array([(weights or {}).get(feature, 0.0) for feature in features])
        scores = [block.values @ vector for block in filled]
        judged = weights is not None and bool(filled)
        curves.append(area(filled, scores) if judged else None)
        best.append(held_by_best(filled, scores) if judged else None)
    used = sum(block.used for block in blocks)
    return RankingQuality(held_out, sum(map(len, blocks)), used, *curves, *best)


def area(blocks: Sequence[ExampleRows], scores: Sequence[Vector]) -> float | None:
    """How often something that was used ranks above something that was not; None where all are alike."""
    used = np.concatenate([block.uses > 0 for block in blocks])
    if used.all() or not used.any():
        return None
    counts = np.concatenate([block.counts for block in blocks])
    return float(roc_auc_score(used, np.concatenate(scores), sample_weight=counts))


def held_by_best(blocks: Sequence[ExampleRows], scores: Sequence[Vector]) -> float | None:
    """The share of all later use that is in the best tenth of the tokens of its fold."""
    held = total = 0.0
    for block, score in zip(blocks, scores, strict=True):
        uses = block.uses * block.counts
        held += float(uses[_in_best(block, score)].sum(dtype=np.float64))
        total += float(uses.sum(dtype=np.float64))
    return held / total if total else None


def _in_best(block: ExampleRows, score: Vector) -> NDArray[np.intp]:
    """Places of the rows that the best tenth of each fold's tokens consists of."""
    values = score - LENGTH_POWER * np.log(block.sizes + FIXED_TOKENS)
    order = np.lexsort((-values, block.folds))
    tokens = (block.sizes * block.counts)[order].astype(np.float64)
    _, starts, lengths = np.unique(block.folds[order], return_index=True, return_counts=True)
    running = np.cumsum(tokens)
    before = np.repeat(running[starts] - tokens[starts], lengths)
    room = np.repeat(np.add.reduceat(tokens, starts) * TENTH, lengths)
    return order[running - before <= room]


MOST_PARTS = 10
"""Fits for the quality of a single project: of many recordings several are held out together."""


def learn_weights(examples: Sequence[RecordingExamples], options: ReplayOptions) -> LearnedWeights:
    """Fit on all of them, then again without each group, for quality and for trials."""
    weights = fit_weights(examples)
    if weights is None:
        unused = "name" if any(one.lines.used for one in examples) else "line"
        raise InputError(
            f"there is nothing to learn: no later action used a {unused} that a fold dropped",
            hint="give longer recordings, or more of them",
        )
    held_out, groups = split(examples)
    blind: dict[str, Weights | None] = {}
    lines: list[RankingQuality] = []
    names: list[RankingQuality] = []
    for group in dict.fromkeys(groups.values()):
        inside = [one for one in examples if groups[one.recording] == group]
        found = blind[group] = fit_weights([one for one in examples if groups[one.recording] != group])
        for rows, features, kind in ((lines, LINE_FEATURES, "lines"), (names, NAME_FEATURES, "names")):
            blocks = [getattr(one, kind) for one in inside]
            own = None if found is None else getattr(found, kind)
            rows.append(judge_ranking(group, blocks, features, own, getattr(HAND_WEIGHTS, kind)))
    about = _about(examples, options, held_out, lines, names)
    return LearnedWeights(replace(weights, about=about), held_out, groups, blind, lines, names)


def split(examples: Sequence[RecordingExamples]) -> tuple[HeldOut, dict[str, str]]:
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


def _about(
    examples: Sequence[RecordingExamples],
    options: ReplayOptions,
    held_out: HeldOut,
    lines: list[RankingQuality],
    names: list[RankingQuality],
) -> dict[str, str | float | list[str]]:
    """Where the weights come from. Nothing that differs between two runs: the same recordings, the same file."""
    means = {"lines": mean_quality(lines, ""), "names": mean_quality(names, "")}
    quality = [
        f"{kind}: area under the curve {decimal(mean.curve)} (by hand {decimal(mean.hand_curve)}), "
        f"best tenth of tokens holds {decimal(mean.best)} (by hand {decimal(mean.hand_best)})"
        for kind, mean in means.items()
    ]
    return {
        "holdfast": __version__,
        "profile": options.policies[0],
        "budgets": list(map(budget, options.budgets)),
        **({"at_least": budget(options.at_least)} if options.at_least else {}),
        "projects": sorted({one.project for one in examples}),
        "recordings": len(examples),
        "line_examples": sum(len(one.lines) for one in examples),
        "name_examples": sum(len(one.names) for one in examples),
        "held_out": held_out,
        "quality": [] if held_out == "nothing" else quality,
    }
