"""The tables of the page: scores at a budget, the ranking, and the numbers behind the charts.

Rule: every cell that sorts carries the number it sorts by; a fault is said in words and marked, not only coloured.
"""

from collections.abc import Mapping, Sequence

from holdfast.lab.report import figures, standings
from holdfast.lab.report.charts import Data, clamped
from holdfast.lab.results import Interval, PolicyRow, ReplayReport

HIGHER_IS_BETTER = {"hard", "all", "ref", "Δ hard", "presence"}
"""Columns whose first click puts the largest on top; the others begin with the smallest."""


def score_table(report: ReplayReport, rows: Sequence[PolicyRow], looks: Mapping[str, Data]) -> Data:
    reference = standings.reference_of(report) or "the reference"
    difference = f"difference to {reference}, paired by recording"
    terms = {
        **standings.TERMS,
        "Δ hard": difference,
        "Δ dollars": difference,
        "broken": standings.TERMS["broken structure"],
    }
    names = (
        "policy", "hard", "all", "ref", "dollars", "Δ hard", "Δ dollars", "over budget", "failed", "broken",
        "p50 ms", "p95 ms", "worst ms", "growth", "peak MB",
    )  # fmt: skip
    heads = [_head(name, name in HIGHER_IS_BETTER, terms.get(name, "")) for name in names]
    body = [
        {"bad": bool(standings.faults_of(row)), "cells": [_policy(row, looks), *_scores(report, row)]}
        for row in rows
    ]
    title = f"Scores at {figures.budget(rows[0].budget)}" if rows else "Scores"
    return {"title": title, "heads": heads, "rows": body}


def ranking_table(ranking: standings.PolicyRanking, report: ReplayReport, looks: Mapping[str, Data]) -> Data:
    known = [[p.dollars[i] for p in ranking.policies] for i in range(len(ranking.levels))]
    best = [min((d for d in column if d is not None), default=None) for column in known]
    most = max((d for column in known for d in column if d is not None), default=0.0)
    faulty = {row.policy for row in report.rows if standings.faults_of(row)}
    body: list[Data] = []
    for place, ranked in enumerate(ranking.policies, 1):
        reached = ranked.dollars[ranking.level] is not None
        body.append(
            {
                "cells": [
                    _number(place, str(place) if reached else figures.NONE),
                    _name(ranked.policy, looks, faulty=ranked.policy in faulty),
                    *(_priced(dollars, most, best[i]) for i, dollars in enumerate(ranked.dollars)),
                ]
            }
        )
    heads = ["rank", "policy", *(f"at {figures.recall(level)}" for level in ranking.levels)]
    return {
        "title": "Dollars at equal hard recall",
        "kind": "ranking",
        "heads": [_head(name) for name in heads],
        "rows": body,
    }


def share_table(
    title: str, names: Sequence[str], values: Sequence[tuple[PolicyRow, dict[str, float]]]
) -> Data:
    """Recall by kind, by age or by probe."""
    heads = [_head("policy"), *(_head(figures.plain(name), True) for name in names)]
    body = [
        _row(row, [_number(shares.get(n), figures.recall(shares.get(n))) for n in names])
        for row, shares in values
    ]
    return {"title": title, "heads": heads, "rows": body}


def project_table(report: ReplayReport, rows: Sequence[PolicyRow]) -> Data | None:
    """Hard recall, and dollars below it, of each policy on each project."""
    projects = standings.projects_of(report)
    if not projects:
        return None
    needs = {name: figures.grouped(standings.needs_in(rows, name)) for name in projects}
    heads = [_head("policy"), *(_head(f"{figures.plain(name)} ({needs[name]})", True) for name in projects)]
    body: list[Data] = []
    for row in rows:
        found = [standings.in_project(report, row, name) for name in projects]
        cells = [
            _number(hard, figures.recall(hard), small=figures.dollars(dollars)) for hard, dollars in found
        ]
        body.append(_row(row, cells))
    title = "By project: hard recall and dollars (hard needs in the heading)"
    return {"title": title, "heads": heads, "rows": body}


def cost_table(report: ReplayReport, rows: Sequence[PolicyRow]) -> Data:
    """What the main table has no room for: other price tables, tokens, what moved."""
    tables = list(report.price_tables)
    names = (
        "policy", *(f"dollars, {figures.plain(name)}" for name in tables), "with references followed", "tokens",
        "uncached", "model calls", "bytes moved per request", "presence", "requests", "recordings", "projects",
    )  # fmt: skip
    heads = [_head(name, name in HIGHER_IS_BETTER) for name in names]
    body = [_row(row, _costs(report, row, tables)) for row in rows]
    return {"title": "Costs and counts", "heads": heads, "rows": body}


def _costs(report: ReplayReport, row: PolicyRow, tables: Sequence[str]) -> list[Data]:
    followed = row.ref_dollars.get(report.prices)
    uncached = row.uncached.get(report.prices)
    return [
        *(_interval(row.dollars.get(name)) for name in tables),
        _number(followed, figures.dollars(followed)),
        _number(row.tokens, figures.grouped(row.tokens)),
        _number(uncached, figures.amount(uncached)),
        _number(row.model_calls, figures.grouped(row.model_calls)),
        _number(row.moved_bytes, figures.amount(row.moved_bytes)),
        _number(row.presence, figures.recall(row.presence)),
        *(_number(count, figures.grouped(count)) for count in (row.requests, row.recordings, row.projects)),
    ]


def _scores(report: ReplayReport, row: PolicyRow) -> list[Data]:
    compared = standings.comparison_of(report, row)
    if compared is None and row.policy == standings.reference_of(report):
        differences = [_number(0, "reference", kind="zero")] * 2
    else:
        found = (compared.hard, compared.dollars) if compared else (None, None)
        differences = [_difference(interval) for interval in found]
    return [
        _interval(row.hard, bold=True),
        _number(figures.mean(row.all), figures.recall(figures.mean(row.all))),
        _number(figures.mean(row.ref), figures.recall(figures.mean(row.ref))),
        _interval(standings.dollars_of(report, row)),
        *differences,
        _faults(row.over_budget, "over budget"),
        _faults(sum(row.failures.values()), "failed"),
        _faults(sum(row.violations.values()), "broken"),
        *(_number(v, figures.milliseconds(v)) for v in (row.p50_ms, row.p95_ms, row.worst_ms)),
        _number(row.growth, figures.ratio(row.growth)),
        _number(row.peak_mb, figures.amount(row.peak_mb)),
    ]


def _head(name: str, falling: bool = False, term: str = "") -> Data:
    return {"head": name, "rising": not falling, "term": term}


def _row(row: PolicyRow, cells: Sequence[Data]) -> Data:
    return {"cells": [_name(row.policy), *cells]}


def _name(policy: str, looks: Mapping[str, Data] | None = None, **more: object) -> Data:
    look = looks.get(policy) if looks else None
    return {"name": {"policy": figures.plain(policy), "look": look, **more}}


def _policy(row: PolicyRow, looks: Mapping[str, Data]) -> Data:
    """The name, and what no column tells; settings and faults open below."""
    faults = standings.faults_of(row)
    return _name(
        row.policy,
        looks,
        faulty=bool(faults),
        opens=bool(row.about or faults),
        about=row.about,
        faults=faults,
        failed_checks=standings.failed_checks(row),
    )


def _number(value: float | None, text: str, **more: object) -> Data:
    """A cell. `kind` is a class, `small` a second line."""
    sorts_by = None if value is None else repr(float(value))
    return {"number": {"value": sorts_by, "text": text, "kind": "", **more}}


def _interval(interval: Interval | None, *, bold: bool = False) -> Data:
    value = figures.mean(interval)
    return _number(
        value, figures.recall(value), bold=bold, small=figures.bounds(interval) if interval else ""
    )


def _difference(interval: Interval | None) -> Data:
    value = figures.mean(interval)
    told = figures.signed_bounds(interval) if interval else ""
    return _number(value, figures.signed(value), verdict=standings.verdict(interval), small=told)


def _faults(count: int, what: str) -> Data:
    if not count:
        return _number(0, "0", kind="zero")
    return _number(count, figures.grouped(count), kind="wrong", what=what)


def _priced(dollars: float | None, most: float, best: float | None) -> Data:
    if dollars is None:
        return _number(None, "never", kind="never")
    width = str(round(100 * clamped(dollars / most if most else 0)))
    return _number(dollars, figures.dollars(dollars), kind="priced", width=width, bold=dollars == best)
