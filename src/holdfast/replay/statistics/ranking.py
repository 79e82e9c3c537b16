"""One number to rank policies by: dollars at equal hard recall. And how alike two rankings are.

Rule: a policy's curve is the line through its points (dollars, recall) from budget to budget; nothing is read off
beyond its ends.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import sqrt

from holdfast.replay.results import AtRecall, Row

STEPS = 20
"""Round levels are so many to 1: steps of 0.05."""

MOST = 5
"""Levels that a report shows at most."""

Point = tuple[float, float]
"""Dollars and recall."""


def dollars_at_recall(rows: Sequence[Row], prices: str, levels: Sequence[float]) -> list[AtRecall]:
    """For each policy and level the least dollars on its curve at which recall is at least the level.

    Between two budgets both grow in proportion. A policy whose cheapest point is above the level already gets that
    point's dollars: it needs at most so much. None where its best point stays below.
    """
    curves = _curves(rows, prices)
    policies = dict.fromkeys(row.policy for row in rows)
    return [
        AtRecall(policy, level, _least_dollars(curves.get(policy, []), level))
        for policy in policies
        for level in sorted(levels)
    ]


def levels_for(rows: Sequence[Row]) -> list[float]:
    """Round levels of recall that lie on the curves of at least two policies; at most five, spread evenly."""
    recalls: dict[str, list[float]] = {}
    for row in rows:
        if row.curve is not None:
            recalls.setdefault(row.policy, []).append(row.curve.mean)
    covered = [
        level
        for level in (step / STEPS for step in range(STEPS + 1))
        if sum(min(points) <= level <= max(points) for points in recalls.values()) >= 2
    ]
    if len(covered) <= MOST:
        return covered
    return [covered[round(place * (len(covered) - 1) / (MOST - 1))] for place in range(MOST)]


def kendall_tau(one: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    """Kendall's tau-b of two scorings of the same things: 1 for the same order, -1 for the reverse.

    Ties count for neither. Only things in both are compared; None where one scoring puts all of them on a par.
    """
    agreed = ordered_one = ordered_other = 0
    for a, b in combinations(sorted(one.keys() & other.keys()), 2):
        first, second = _sign(one[a], one[b]), _sign(other[a], other[b])
        agreed += first * second
        ordered_one += abs(first)
        ordered_other += abs(second)
    if not ordered_one or not ordered_other:
        return None
    return agreed / sqrt(ordered_one * ordered_other)


def _curves(rows: Sequence[Row], prices: str) -> dict[str, list[Point]]:
    curves: dict[str, list[Point]] = {}
    for row in sorted(rows, key=lambda row: row.budget):
        if row.curve is not None and prices in row.dollars:
            curves.setdefault(row.policy, []).append((row.dollars[prices].mean, row.curve.mean))
    return curves


def _least_dollars(curve: Sequence[Point], level: float) -> float | None:
    # On a stretch between two points dollars are least at an end of its part at or above the level: at one of the
    # points, or where the line crosses the level.
    reached = [dollars for dollars, recall in curve if recall >= level]
    for (dollars, recall), (next_dollars, next_recall) in pairwise(curve):
        if min(recall, next_recall) < level < max(recall, next_recall):
            share = (level - recall) / (next_recall - recall)
            reached.append(dollars + share * (next_dollars - dollars))
    return min(reached, default=None)


def _sign(one: float, other: float) -> int:
    # Not by subtraction: what never reaches a recall is infinitely dear, and two of those are on a par.
    return (one > other) - (one < other)
