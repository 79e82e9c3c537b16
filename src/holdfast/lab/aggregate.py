"""From scores of single recordings to the rows of a report, differences between policies, and their ranking.

Rule: a figure that compares policies is taken on the recordings that both have; a run that broke off takes
nothing from the others. Nothing depends on the order in which scores arrive. Policies rank by dollars at equal
hard recall: a policy's curve is the line through its points (dollars, recall), and nothing is read off beyond
its ends.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations, pairwise
from math import sqrt
from statistics import median

from msgspec.structs import replace

from holdfast.lab.bootstrap import DRAWS, Bootstrap, Values, mean_of, percentile, ratio_of
from holdfast.lab.results import (
    AGES,
    BASELINE,
    KINDS,
    DollarParts,
    DollarsAtRecall,
    Interval,
    NeedGroup,
    PolicyComparison,
    PolicyRow,
    ProjectFigures,
    Score,
    Share,
)

LONG = 100
"""Requests from which on a recording says something about growth."""

Scores = dict[tuple[str, str], Score]
"""Scores of one policy at one budget, by project and recording."""

Groups = dict[tuple[str, int], Scores]
"""By policy and budget."""


def build_rows(scores: Iterable[Score], abouts: Mapping[str, str], draws: int = DRAWS) -> list[PolicyRow]:
    """A row for each policy and budget: budgets from small to large, policies in the order of `abouts`.

    `abouts` are the names with what to say about each. Dollars are relative to those of the baseline at the same
    budget on the same recordings; without a baseline there are none.
    """
    groups = group_scores(scores)
    bootstrap = Bootstrap(draws)
    order = {name: place for place, name in enumerate(abouts)}
    keys = sorted(groups, key=lambda key: (key[1], order.get(key[0], len(order)), key[0]))
    return [
        _row(groups[key], groups.get((BASELINE, key[1]), {}), key, abouts.get(key[0], ""), bootstrap)
        for key in keys
    ]


def build_comparisons(
    scores: Iterable[Score], reference: str, *, prices: str, draws: int = DRAWS
) -> list[PolicyComparison]:
    """Every other policy against the reference at each budget: its figure minus the reference's.

    Dollars are those of one price table, relative to the baseline; on recordings that all three have.
    """
    groups = group_scores(scores)
    bootstrap = Bootstrap(draws)
    comparisons = []
    for policy, budget in sorted(groups, key=lambda key: (key[1], key[0])):
        if policy == reference or (reference, budget) not in groups:
            continue
        own, other = groups[policy, budget], groups[reference, budget]
        base = groups.get((BASELINE, budget), {})
        hard = bootstrap.difference(
            *(figure_values(group, lambda score: score.hard_span) for group in (own, other))
        )
        dollars = bootstrap.ratio_difference(*(_dollars(group, prices) for group in (own, other, base)))
        comparisons.append(PolicyComparison(policy, reference, budget, hard, dollars))
    return comparisons


def group_scores(scores: Iterable[Score]) -> Groups:
    groups: Groups = {}
    for score in scores:
        group = groups.setdefault((score.policy, score.budget), {})
        key = (score.project, score.recording)
        assert key not in group, f"{score.policy} at {score.budget} has two scores of {score.recording}"
        group[key] = score
    return groups


def _row(group: Scores, base: Scores, key: tuple[str, int], about: str, bootstrap: Bootstrap) -> PolicyRow:
    scores = list(group.values())
    requests = sum(score.requests for score in scores)
    seconds = sorted(chain.from_iterable(score.seconds for score in scores)) or [0.0]
    dollars, ref_dollars = _relative_dollars(group, base, bootstrap)
    return PolicyRow(
        policy=key[0],
        budget=key[1],
        about=about,
        projects=len({score.project for score in scores}),
        recordings=len(scores),
        requests=requests,
        hard=bootstrap.mean(figure_values(group, lambda score: score.hard_span)),
        all=bootstrap.mean(figure_values(group, lambda score: score.all_span)),
        ref=bootstrap.mean(figure_values(group, lambda score: score.hard_ref)),
        presence=mean_of(figure_values(group, lambda score: score.hard_presence)),
        curve=bootstrap.mean(figure_values(group, lambda score: score.curve_span)),
        kinds=_pooled([score.kinds for score in scores], KINDS),
        ages=_pooled([score.ages for score in scores], AGES),
        probes=_pooled([score.probes for score in scores]),
        dollars=dollars,
        ref_dollars=ref_dollars,
        tokens=sum(score.tokens for score in scores),
        uncached=_summed(score.uncached for score in scores),
        model_calls=sum(score.model_calls for score in scores),
        moved_bytes=sum(score.moved_bytes for score in scores) / requests if requests else 0.0,
        over_budget=sum(score.over_budget for score in scores),
        failures=_summed(score.failures for score in scores),
        violations=_summed(score.violations for score in scores),
        p50_ms=percentile(seconds, 0.5) * 1000,
        p95_ms=percentile(seconds, 0.95) * 1000,
        worst_ms=percentile(seconds, 1.0) * 1000,
        growth=_growth(scores),
        peak_mb=max((score.peak_bytes for score in scores), default=0) / 1e6,
        older=_pooled_older(scores),
        parts={table: _relative_parts(group, base, table) for table in dollars},
        by_project={
            project: _in_project(
                *({key: score for key, score in part.items() if key[0] == project} for part in (group, base))
            )
            for project in sorted({project for project, _ in group})
        },
    )


def _in_project(group: Scores, base: Scores) -> ProjectFigures:
    tables = sorted({table for score in group.values() for table in score.dollars})
    dollars = {table: ratio_of(_dollars(group, table), _dollars(base, table)) for table in tables}
    return ProjectFigures(
        recordings=len(group),
        hard_needs=sum(score.hard_needs for score in group.values()),
        hard=mean_of(figure_values(group, lambda score: score.hard_span)),
        all=mean_of(figure_values(group, lambda score: score.all_span)),
        dollars={table: ratio for table, ratio in dollars.items() if ratio is not None},
    )


def _relative_dollars(
    group: Scores, base: Scores, bootstrap: Bootstrap
) -> tuple[dict[str, Interval], dict[str, float]]:
    """By price table: dollars over those of the baseline, and the same with every reference followed."""
    dollars: dict[str, Interval] = {}
    ref_dollars: dict[str, float] = {}
    for table in sorted({table for score in group.values() for table in score.dollars}):
        below = _dollars(base, table)
        interval = bootstrap.ratio(_dollars(group, table), below)
        followed = ratio_of(_dollars(group, table, with_refs=True), below)
        if interval is not None and followed is not None:
            dollars[table] = interval
            ref_dollars[table] = followed
    return dollars, ref_dollars


def _relative_parts(group: Scores, base: Scores, table: str) -> DollarParts:
    """Averaged as dollars are, so that the parts add up to them."""
    below = _dollars(base, table)

    def share(part: str) -> float:
        above = figure_values(group, lambda score: getattr(score.parts.get(table), part, None))
        return ratio_of(above, below) or 0.0

    return DollarParts(*map(share, DollarParts.__struct_fields__))


def _pooled_older(scores: Iterable[Score]) -> float | None:
    """Over all actions alike that have older needs."""
    held = [(score.older_span, score.older_actions) for score in scores if score.older_span is not None]
    actions = sum(count for _, count in held)
    return sum(span * count for span, count in held) / actions if actions else None


def figure_values(group: Scores, figure: Callable[[Score], float | None]) -> Values:
    """A figure by project and recording; recordings that have none are left out."""
    values: dict[str, dict[str, float]] = {}
    for (project, recording), score in group.items():
        value = figure(score)
        if value is not None:
            values.setdefault(project, {})[recording] = value
    return values


def _dollars(group: Scores, table: str, *, with_refs: bool = False) -> Values:
    def figure(score: Score) -> float | None:
        extra = score.ref_dollars.get(table, 0.0) if with_refs else 0.0
        return score.dollars[table] + extra if table in score.dollars else None

    return figure_values(group, figure)


def _pooled(shares: Sequence[Mapping[str, Share]], order: Sequence[str] = ()) -> dict[str, float]:
    """Shares over all needs alike; those in `order` first, kinds without needs left out."""
    held = _summed({name: share.held for name, share in by.items()} for by in shares)
    of = _summed({name: share.of for name, share in by.items()} for by in shares)
    names = [*(name for name in order if name in of), *(name for name in of if name not in order)]
    return {name: held[name] / of[name] for name in names if of[name]}


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for name, number in count.items():
            total[name] = total.get(name, 0) + number
    return dict(sorted(total.items()))


def _growth(scores: Iterable[Score]) -> float | None:
    """The last quarters of all long recordings together over their first quarters together."""
    first: list[float] = []
    last: list[float] = []
    for score in scores:
        quarter = len(score.seconds) // 4
        if len(score.seconds) >= LONG:
            first += score.seconds[:quarter]
            last += score.seconds[-quarter:]
    before = median(first) if first else 0.0
    return median(last) / before if before else None


def group_needs(scores: Iterable[Score]) -> list[NeedGroup]:
    """The needs of every policy at every budget, by origin and fate, over all recordings."""
    found: dict[NeedGroup, tuple[int, int]] = {}
    for score in scores:
        missed = sum(share.of - share.held for share in score.ages.values())
        hard = sum(share.of - share.held for share in score.kinds.values())
        lost = [group for group in score.groups if group.reason]
        if score.groups:
            counted = sum(group.needs for group in lost), sum(group.hard for group in lost)
            assert counted == (missed, hard), f"misses of {score.recording} without a reason"
        for group in score.groups:
            key = replace(group, needs=0, hard=0, policy=score.policy, budget=score.budget)
            needs, hard_needs = found.get(key, (0, 0))
            found[key] = needs + group.needs, hard_needs + group.hard
    return [replace(key, needs=needs, hard=hard) for key, (needs, hard) in found.items()]


STEPS = 20
"""The number of round levels up to 1: steps of 0.05."""

MOST_LEVELS = 5
"""Levels that a report shows at most."""

Point = tuple[float, float]
"""Dollars and recall."""


def dollars_at_recall(
    rows: Sequence[PolicyRow], prices: str, levels: Sequence[float]
) -> list[DollarsAtRecall]:
    """For each policy and level the least dollars on its curve at which recall is at least the level.

    Between two budgets both grow in proportion. A policy whose cheapest point is above the level already gets that
    point's dollars: it needs at most so much. None where its best point stays below.
    """
    curves: dict[str, list[Point]] = {row.policy: [] for row in rows}
    for row in sorted(rows, key=lambda row: row.budget):
        if row.curve is not None and prices in row.dollars:
            curves[row.policy].append((row.dollars[prices].mean, row.curve.mean))
    return [
        DollarsAtRecall(policy, level, _least_dollars(curve, level))
        for policy, curve in curves.items()
        for level in sorted(levels)
    ]


def levels_for(rows: Sequence[PolicyRow]) -> list[float]:
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
    if len(covered) <= MOST_LEVELS:
        return covered
    return [covered[round(place * (len(covered) - 1) / (MOST_LEVELS - 1))] for place in range(MOST_LEVELS)]


def kendall_tau(one: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    """Kendall's tau-b of two scorings of the same things: 1 for the same order, -1 for the reverse.

    Ties count for neither. Only things in both are compared; None where one scoring puts all of them on a par.
    """
    agreed = ordered_one = ordered_other = 0
    for a, b in combinations(sorted(one.keys() & other.keys()), 2):
        # Not by subtraction: what never reaches a recall is infinitely dear, and two of those are on a par.
        first, second = ((by[a] > by[b]) - (by[a] < by[b]) for by in (one, other))
        agreed += first * second
        ordered_one += abs(first)
        ordered_other += abs(second)
    if not ordered_one or not ordered_other:
        return None
    return agreed / sqrt(ordered_one * ordered_other)


def _least_dollars(curve: Sequence[Point], level: float) -> float | None:
    # On a stretch between two points dollars are least at an end of its part at or above the level: at one of the
    # points, or where the line crosses the level.
    reached = [dollars for dollars, recall in curve if recall >= level]
    for (dollars, recall), (next_dollars, next_recall) in pairwise(curve):
        if min(recall, next_recall) < level < max(recall, next_recall):
            share = (level - recall) / (next_recall - recall)
            reached.append(dollars + share * (next_dollars - dollars))
    return min(reached, default=None)
