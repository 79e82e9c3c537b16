"""Weights from examples: a Poisson regression, linear in the logarithm, so that a weight reads as a factor.

Rule: what is found goes out as plain, rounded numbers; the same examples in the same order give the same numbers.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sklearn.linear_model import PoissonRegressor
from threadpoolctl import threadpool_limits

from holdfast.fitting.examples import Examples, Rows
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES, VERSION
from holdfast.packing.lines.weights import Weights

PENALTY = 1e-4
MOST = 2.0
"""The largest label: a name that every action uses should not rule the rest."""
PLACES = 3
"""Decimals of a weight."""
TOLERANCE = 1e-8
"""Labels are small and so are gradients: a looser one ends before the rare features have settled."""
MOST_ROUNDS = 100
LEAST_SPREAD = 1e-6
"""Below it a feature is the same everywhere, and teaches nothing."""


class Spread(Struct, frozen=True, eq=False):
    """Where each feature lies, and how far it varies."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]


def fit_weights(examples: Sequence[Examples]) -> Weights | None:
    """None where no later action used a line, or none a name."""
    lines = regress([one.lines for one in examples], LINE_FEATURES)
    names = regress([one.names for one in examples], NAME_FEATURES)
    return Weights(VERSION, lines, names) if lines and names else None


def regress(blocks: Sequence[Rows], features: Sequence[str]) -> dict[str, float]:
    """A weight for each feature; none where nothing was used, since then there is nothing to learn."""
    if not any(block.used for block in blocks):
        return {}
    # The first feature is the constant, which the model has of its own and does not penalise. The others are
    # centred and scaled for the penalty's sake, and back: weights are for the features as they are.
    spread = _spread(blocks)
    model = PoissonRegressor(alpha=PENALTY, solver="newton-cholesky", tol=TOLERANCE, max_iter=MOST_ROUNDS)
    uses = np.minimum(np.concatenate([block.uses for block in blocks], dtype=np.float64), MOST)
    counts = np.concatenate([block.counts for block in blocks], dtype=np.float64)
    # One thread: sums then have the same order on every machine, and a busy one does not keep threads waiting.
    with threadpool_limits(1):
        model.fit(_scaled(blocks, spread), uses, sample_weight=counts)
    weights = model.coef_ / spread.scale
    constant = model.intercept_ - float(weights @ spread.centre)
    found = zip(features, (constant, *weights), strict=True)
    return {feature: round(float(weight), PLACES) + 0.0 for feature, weight in found}


def _spread(blocks: Sequence[Rows]) -> Spread:
    count = sum(map(len, blocks))
    centre = sum(block.values[:, 1:].sum(axis=0, dtype=np.float64) for block in blocks) / count
    squares = sum(np.square(block.values[:, 1:] - centre).sum(axis=0) for block in blocks) / count
    scale = np.sqrt(squares)
    return Spread(np.asarray(centre), np.where(scale < LEAST_SPREAD, 1.0, scale))


def _scaled(blocks: Sequence[Rows], spread: Spread) -> NDArray[np.float64]:
    """All rows as the model wants them, filled block by block: a copy of them all would take as much again."""
    scaled = np.empty((sum(map(len, blocks)), len(spread.centre)))
    at = 0
    for block in blocks:
        rows = scaled[at : at + len(block)]
        np.subtract(block.values[:, 1:], spread.centre, out=rows)
        rows /= spread.scale
        at += len(block)
    return scaled
