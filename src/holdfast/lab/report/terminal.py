"""The report as tables for a terminal.

Rule: only cells and columns; how they are drawn, and in what colour, is the command line's affair.
"""

from typing import Literal

from msgspec import Struct

from holdfast.lab.report import figures, standing, words
from holdfast.lab.results import PolicyRow, ReplayReport

Kind = Literal["wrapped", "number"]
"""A policy's name goes on in the next line where eighty columns are not enough; numbers are never cut."""


Column = tuple[str, Kind]


class ReportTable(Struct, frozen=True):
    title: str
    columns: tuple[Column, ...]
    rows: list[list[str | int]]


def terminal_tables(report: ReplayReport) -> list[ReportTable]:
    """For each budget the scores, then the speed and sizes; then the ranking, and what was asked for besides. No
    table is empty."""
    tables: list[ReportTable] = []
    for budget in standing.budgets_of(report):
        rows = standing.rows_at(report, budget)
        at = figures.budget(budget)
        needs = f" ({hard})" if (hard := words.hard_needs(report, budget)) else ""
        title = f"evidence and cost at {at}{needs}, p50 in ms"
        tables.append(ReportTable(title, _SCORES, [_scores(report, row) for row in rows]))
        tables.append(ReportTable(f"speed and size at {at}", _SIZES, [_sizes(row) for row in rows]))
    return tables + _ranking(report) + _sensitivity(report) + _checks(report)


def _columns(*names: str, first: str = "policy") -> tuple[Column, ...]:
    return ((first, "wrapped"), *((name, "number") for name in names))


_SCORES = _columns("hard", "95 %", "all", "dollars", "over", "fail", "broken", "p50")
_SIZES = _columns("ref", "p95 ms", "worst", "growth", "peak MB", "moved B", "calls")


def _scores(report: ReplayReport, row: PolicyRow) -> list[str | int]:
    return [
        figures.plain(row.policy),
        figures.recall(figures.mean(row.hard)),
        figures.bounds(row.hard),
        figures.recall(figures.mean(row.all)),
        figures.dollars(figures.mean(standing.dollars_of(report, row))),
        row.over_budget,
        sum(row.failures.values()),
        sum(row.violations.values()),
        figures.milliseconds(row.p50_ms),
    ]


def _sizes(row: PolicyRow) -> list[str | int]:
    return [
        figures.plain(row.policy),
        figures.recall(figures.mean(row.ref)),
        figures.milliseconds(row.p95_ms),
        figures.milliseconds(row.worst_ms),
        figures.ratio(row.growth),
        figures.amount(row.peak_mb),
        figures.amount(row.moved_bytes),
        row.model_calls,
    ]


def _ranking(report: ReplayReport) -> list[ReportTable]:
    ranking = standing.ranking_of(report)
    if ranking is None:
        return []
    rows: list[list[str | int]] = [
        [figures.plain(p.policy), *map(figures.dollars, p.dollars)] for p in ranking.policies
    ]
    title = f"dollars at equal hard recall, ranked at {figures.recall(ranking.levels[ranking.level])}"
    return [ReportTable(title, _columns(*(f"at {figures.recall(level)}" for level in ranking.levels)), rows)]


def _sensitivity(report: ReplayReport) -> list[ReportTable]:
    budgets, taus = standing.sensitivity_of(report)
    if not taus:
        return []
    columns = _columns(*(f"at {figures.budget(b)}" for b in budgets), first="the measure varied")
    rows: list[list[str | int]] = [[figures.plain(name), *map(figures.recall, found)] for name, found in taus]
    return [ReportTable("order of policies by hard recall: Kendall's tau", columns, rows)]


def _checks(report: ReplayReport) -> list[ReportTable]:
    names, found = standing.checks_of(report)
    if not found:
        return []
    columns: tuple[Column, ...] = (
        ("policy", "wrapped"),
        *((figures.plain(name), "wrapped") for name in names),
    )
    rows: list[list[str | int]] = [
        [figures.plain(policy), *map(figures.plain, said)] for policy, said in found
    ]
    return [ReportTable("same packs again, and no look ahead", columns, rows)]
