"""From scores of single recordings to the rows of a report.

Rule: a figure that compares policies is taken on the recordings that both have; a run that broke off takes nothing
from the others. Rows do not depend on the order in which scores arrive.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from statistics import median

from holdfast.replay.results import AGES, BASELINE, KINDS, Comparison, InProject, Interval, Row, Score, Share
from holdfast.replay.statistics.bootstrap import DRAWS, Bootstrap, Values, mean_of, percentile, ratio_of

LONG = 100
"""Requests from which on a recording says something about growth."""

Scores = dict[tuple[str, str], Score]
"""Scores of one policy at one budget, by project and recording."""

Groups = dict[tuple[str, int], Scores]
"""By policy and budget."""


def build_rows(scores: Iterable[Score], plans: Mapping[str, str], draws: int = DRAWS) -> list[Row]:
    """A row for each policy and budget: budgets from small to large, policies in the order of `plans`.

    `plans` are names with what to say about each. Dollars are relative to those of the baseline at the same budget
    on the same recordings; without a baseline there are none.
    """
    groups = _grouped(scores)
    bootstrap = Bootstrap(draws)
    order = {name: place for place, name in enumerate(plans)}
    keys = sorted(groups, key=lambda key: (key[1], order.get(key[0], len(order)), key[0]))
    return [
        _row(
            groups[policy, budget],
            groups.get((BASELINE, budget), {}),
            policy=policy,
            budget=budget,
            about=plans.get(policy, ""),
            bootstrap=bootstrap,
        )
        for policy, budget in keys
    ]


def build_comparisons(
    scores: Iterable[Score], reference: str, *, prices: str, draws: int = DRAWS
) -> list[Comparison]:
    """Every other policy against the reference at each budget: its figure minus the reference's.

    Dollars are those of one price table, relative to the baseline; on recordings that all three have.
    """
    groups = _grouped(scores)
    bootstrap = Bootstrap(draws)
    comparisons = []
    for policy, budget in sorted(groups, key=lambda key: (key[1], key[0])):
        if policy == reference or (reference, budget) not in groups:
            continue
        own, other = groups[policy, budget], groups[reference, budget]
        base = groups.get((BASELINE, budget), {})
        hard = bootstrap.difference(_values(own, _hard), _values(other, _hard))
        dollars = bootstrap.ratio_difference(*(_dollars(group, prices) for group in (own, other, base)))
        comparisons.append(Comparison(policy, reference, budget, hard, dollars))
    return comparisons


def _grouped(scores: Iterable[Score]) -> Groups:
    groups: Groups = {}
    for score in scores:
        group = groups.setdefault((score.policy, score.budget), {})
        key = (score.project, score.recording)
        assert key not in group, f"{score.policy} at {score.budget} has two scores of {score.recording}"
        group[key] = score
    return groups


def _row(group: Scores, base: Scores, *, policy: str, budget: int, about: str, bootstrap: Bootstrap) -> Row:
    scores = list(group.values())
    requests = sum(score.requests for score in scores)
    seconds = sorted(chain.from_iterable(score.seconds for score in scores))
    dollars, ref_dollars = _relative_dollars(group, base, bootstrap)
    return Row(
        policy=policy,
        budget=budget,
        about=about,
        projects=len({score.project for score in scores}),
        recordings=len(scores),
        requests=requests,
        hard=bootstrap.mean(_values(group, _hard)),
        all=bootstrap.mean(_values(group, lambda score: score.all_span)),
        ref=bootstrap.mean(_values(group, lambda score: score.hard_ref)),
        presence=mean_of(_values(group, lambda score: score.hard_presence)),
        curve=bootstrap.mean(_values(group, lambda score: score.curve_span)),
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
        p50_ms=_milliseconds(seconds, 0.5),
        p95_ms=_milliseconds(seconds, 0.95),
        worst_ms=_milliseconds(seconds, 1.0),
        growth=_growth(scores),
        peak_mb=max((score.peak_bytes for score in scores), default=0) / 1e6,
        by_project=_by_project(group, base),
    )


def _by_project(group: Scores, base: Scores) -> dict[str, InProject]:
    projects = sorted({project for project, _ in group})
    return {project: _in_project(_only(group, project), _only(base, project)) for project in projects}


def _only(group: Scores, project: str) -> Scores:
    return {key: score for key, score in group.items() if key[0] == project}


def _in_project(group: Scores, base: Scores) -> InProject:
    tables = sorted({table for score in group.values() for table in score.dollars})
    dollars = {table: ratio_of(_dollars(group, table), _dollars(base, table)) for table in tables}
    return InProject(
        recordings=len(group),
        hard_needs=sum(score.hard_needs for score in group.values()),
        hard=mean_of(_values(group, _hard)),
        all=mean_of(_values(group, lambda score: score.all_span)),
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


def _hard(score: Score) -> float | None:
    return score.hard_span


def _values(group: Scores, figure: Callable[[Score], float | None]) -> Values:
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

    return _values(group, figure)


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


def _milliseconds(seconds: Sequence[float], share: float) -> float:
    return percentile(seconds, share) * 1000 if seconds else 0.0


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
