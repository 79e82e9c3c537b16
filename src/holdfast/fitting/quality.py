"""How well weights rank: the area under the curve, and what the best tenth of the tokens holds.

Rule: a tenth is filled as a fold fills its room, by worth a token; whoever calls sees to it that rows judged were
not fitted on.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from holdfast.fitting.examples import Rows
from holdfast.fitting.results import Quality
from holdfast.packing.lines.worth import FIXED_TOKENS, LENGTH_POWER

TENTH = 0.1


def judge(
    held_out: str,
    blocks: Sequence[Rows],
    features: Sequence[str],
    learned: Mapping[str, float] | None,
    hand: Mapping[str, float],
) -> Quality:
    """The quality of learned and of hand-written weights on the same rows, one block a recording."""
    curve, best = _figures(blocks, features, learned)
    hand_curve, hand_best = _figures(blocks, features, hand)
    used = sum(block.used for block in blocks)
    return Quality(held_out, sum(map(len, blocks)), used, curve, hand_curve, best, hand_best)


def _figures(
    blocks: Sequence[Rows], features: Sequence[str], weights: Mapping[str, float] | None
) -> tuple[float | None, float | None]:
    blocks = [block for block in blocks if len(block)]
    if weights is None or not blocks:
        return None, None
    vector = np.array([weights.get(feature, 0.0) for feature in features])
    scores = [block.values @ vector for block in blocks]
    return area(blocks, scores), held_by_best(blocks, scores)


def area(blocks: Sequence[Rows], scores: Sequence[NDArray[np.float64]]) -> float | None:
    """How often something that was used ranks above something that was not; None where all are alike."""
    used = np.concatenate([block.uses > 0 for block in blocks])
    if used.all() or not used.any():
        return None
    counts = np.concatenate([block.counts for block in blocks])
    return float(roc_auc_score(used, np.concatenate(scores), sample_weight=counts))


def held_by_best(blocks: Sequence[Rows], scores: Sequence[NDArray[np.float64]]) -> float | None:
    """The share of all later use that stands in the best tenth of the tokens of its fold."""
    held = total = 0.0
    for block, score in zip(blocks, scores, strict=True):
        uses = block.uses * block.counts
        held += float(uses[_in_best(block, score)].sum(dtype=np.float64))
        total += float(uses.sum(dtype=np.float64))
    return held / total if total else None


def _in_best(block: Rows, score: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of the rows that the best tenth of each fold's tokens consists of."""
    values = score - LENGTH_POWER * np.log(block.sizes + FIXED_TOKENS)
    order = np.lexsort((-values, block.folds))
    tokens = (block.sizes * block.counts)[order].astype(np.float64)
    _, starts, lengths = np.unique(block.folds[order], return_index=True, return_counts=True)
    running = np.cumsum(tokens)
    before = np.repeat(running[starts] - tokens[starts], lengths)
    room = np.repeat(np.add.reduceat(tokens, starts) * TENTH, lengths)
    return order[running - before <= room]
