"""The report as tables for a terminal, and as Markdown for documents.

Rule: a table is only cells and columns; how a terminal draws it is the command line's affair. In Markdown a cell
cannot leave its cell: names are escaped, since recordings and users made them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.lab.report import figures, standings
from holdfast.lab.results import PolicyRow, ReplayReport

TableColumn = tuple[str, Literal["wrapped", "number"]]
"""A policy's name goes on in the next line where eighty columns are not enough; numbers are never cut."""
Cells = list[str | int]

_SCORES = ("hard", "95 %", "all", "dollars", "over", "fail", "broken", "p50")
_SIZES = ("ref", "p95 ms", "worst", "growth", "peak MB", "moved B", "calls")
_MARKDOWN_SCORES = (
    "policy", "hard", "95 %", "all", "ref", "dollars", "Δ hard vs reference",
    "over budget", "failed", "broken structure", "p50 ms", "worst ms",
)  # fmt: skip
_SIGNS = re.compile(r"[\\`*_\[\]<>|&~$#!]")


class ReportTable(Struct, frozen=True):
    title: str
    columns: tuple[TableColumn, ...]
    rows: list[Cells]


def terminal_tables(report: ReplayReport) -> list[ReportTable]:
    """For each budget the scores, then the speed and sizes; then the ranking, and what was asked for besides. No
    table is empty."""
    tables: list[ReportTable] = []
    for budget in standings.budgets_of(report):
        rows = standings.rows_at(report, budget)
        at = figures.budget(budget)
        title = f"evidence and cost at {at}{_hard_needs(report, budget)}, p50 in ms"
        tables.append(
            ReportTable(title, _columns("policy", *_SCORES), [_scores(report, row) for row in rows])
        )
        title = f"speed and size at {at}"
        tables.append(ReportTable(title, _columns("policy", *_SIZES), [_sizes(row) for row in rows]))
    if ranking := standings.ranking_of(report):
        levels = [figures.recall(level) for level in ranking.levels]
        title = f"dollars at equal hard recall, ranked at {levels[ranking.level]}"
        columns = _columns("policy", *(f"at {level}" for level in levels))
        tables.append(ReportTable(title, columns, _ranking(ranking)))
    budgets, taus = standings.sensitivity_of(report)
    if taus:
        columns = _columns("the measure varied", *(f"at {figures.budget(b)}" for b in budgets))
        title = "order of policies by hard recall: Kendall's tau"
        tables.append(ReportTable(title, columns, _sensitivity(taus)))
    names, checks = standings.checks_of(report)
    if checks:
        columns = (("policy", "wrapped"), *((figures.plain(name), "wrapped") for name in names))
        tables.append(ReportTable("same packs again, and no look ahead", columns, _checks(checks)))
    return tables


def _columns(first: str, *numbers: str) -> tuple[TableColumn, ...]:
    return ((first, "wrapped"), *((name, "number") for name in numbers))


def _hard_needs(report: ReplayReport, budget: int) -> str:
    return f" ({hard})" if (hard := standings.hard_needs(report, budget)) else ""


def _scores(report: ReplayReport, row: PolicyRow) -> Cells:
    return [
        figures.plain(row.policy),
        figures.recall(figures.mean(row.hard)),
        figures.bounds(row.hard),
        figures.recall(figures.mean(row.all)),
        figures.dollars(figures.mean(standings.dollars_of(report, row))),
        row.over_budget,
        sum(row.failures.values()),
        sum(row.violations.values()),
        figures.milliseconds(row.p50_ms),
    ]


def _sizes(row: PolicyRow) -> Cells:
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


def _ranking(ranking: standings.PolicyRanking) -> list[Cells]:
    return [[figures.plain(p.policy), *map(figures.dollars, p.dollars)] for p in ranking.policies]


def _sensitivity(taus: Sequence[tuple[str, list[float | None]]]) -> list[Cells]:
    return [[figures.plain(name), *map(figures.recall, found)] for name, found in taus]


def _checks(checks: Sequence[tuple[str, list[str]]]) -> list[Cells]:
    return [[figures.plain(policy), *map(figures.plain, said)] for policy, said in checks]


def write_markdown(report: ReplayReport) -> str:
    parts = [*_opening(report)]
    for budget in standings.budgets_of(report):
        parts.append(f"### At {figures.budget(budget)}{_hard_needs(report, budget)}")
        rows = standings.rows_at(report, budget)
        parts.append(_table(_MARKDOWN_SCORES, [_markdown_scores(report, row) for row in rows]))
    if ranking := standings.ranking_of(report):
        levels = [figures.recall(level) for level in ranking.levels]
        parts.append("### Dollars at equal hard recall")
        parts.append(
            f"Ranked at {levels[ranking.level]}, the highest recall listed that half of the policies reach."
        )
        parts.append(_table(["policy", *(f"dollars at {level}" for level in levels)], _ranking(ranking)))
    parts += _by_project(report)
    by_kind, by_age = "Recall by kind (hard needs)", "Recall by age (all needs, steps since last seen)"
    parts += _shares(report, by_kind, standings.kinds_of(report.rows), lambda row: row.kinds)
    parts += _shares(report, by_age, standings.ages_of(report.rows), lambda row: row.ages)
    parts += _shares(report, "Probes", standings.probes_of(report.rows), lambda row: row.probes)
    budgets, taus = standings.sensitivity_of(report)
    if taus:
        header = ["the measure varied", *(f"at {figures.budget(budget)}" for budget in budgets)]
        parts.append("### Order of policies by hard recall: Kendall's tau")
        parts.append(_table(header, _sensitivity(taus)))
    names, checks = standings.checks_of(report)
    if checks:
        parts.append("### Same packs again, and no look ahead")
        parts.append(_table(["policy", *names], _checks(checks)))
    if faults := list(_faults(report)):
        parts += ["### Faults", "\n".join(faults)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    return _SIGNS.sub(r"\\\g<0>", figures.plain(text))


def _opening(report: ReplayReport) -> Iterator[str]:
    if partial := standings.partial_sentence(report):
        yield f"> **{escaped(partial)}**"
    if result := standings.result_sentence(report, lambda name: f"**{escaped(name)}**"):
        yield result
    yield f"{escaped(standings.settings_sentence(report))}."
    if reference := standings.reference_of(report):
        yield f"The reference is {escaped(reference)}. Dollars are relative to sending everything, cached."
    yield " ".join(standings.BIAS)
    yield from (f"- {escaped(note)}" for note in report.notes)


def _markdown_scores(report: ReplayReport, row: PolicyRow) -> Cells:
    compared = standings.comparison_of(report, row)
    difference = compared.hard if compared else None
    mean = figures.mean
    return [
        row.policy,
        figures.recall(mean(row.hard)),
        figures.bounds(row.hard),
        figures.recall(mean(row.all)),
        figures.recall(mean(row.ref)),
        figures.dollars(mean(standings.dollars_of(report, row))),
        f"{figures.signed(mean(difference))} {standings.verdict(difference)}".strip(),
        figures.grouped(row.over_budget),
        figures.grouped(sum(row.failures.values())),
        figures.grouped(sum(row.violations.values())),
        figures.milliseconds(row.p50_ms),
        figures.milliseconds(row.worst_ms),
    ]


def _by_project(report: ReplayReport) -> Iterator[str]:
    projects = standings.projects_of(report)
    if not projects:
        return
    yield "### By project: hard recall @ dollars (hard needs in the heading)"
    for budget in standings.budgets_of(report):
        rows = standings.rows_at(report, budget)
        heads = [
            f"{figures.plain(name)} ({figures.grouped(standings.needs_in(rows, name))})" for name in projects
        ]
        cells: list[Cells] = []
        for row in rows:
            found = [standings.in_project(report, row, name) for name in projects]
            written = [f"{figures.recall(hard)} @ {figures.dollars(dollars)}" for hard, dollars in found]
            cells.append([row.policy, *written])
        yield _table([f"at {figures.budget(budget)}", *heads], cells)


def _shares(
    report: ReplayReport,
    title: str,
    names: Sequence[str],
    shares: Callable[[PolicyRow], Mapping[str, float]],
) -> Iterator[str]:
    if not names:
        return
    yield f"### {title}"
    for budget in standings.budgets_of(report):
        rows = standings.rows_at(report, budget)
        cells: list[Cells] = [
            [row.policy, *(figures.recall(shares(row).get(name)) for name in names)] for row in rows
        ]
        yield _table([f"at {figures.budget(budget)}", *names], cells)


def _faults(report: ReplayReport) -> Iterator[str]:
    for budget in standings.budgets_of(report):
        for row in standings.rows_at(report, budget):
            if faults := standings.faults_of(row):
                yield f"- {escaped(row.policy)} at {figures.budget(budget)}: {escaped('; '.join(faults))}"


def _table(header: Sequence[str], rows: Sequence[Cells]) -> str:
    """The first column is text, the others are numbers."""
    lines = [list(map(escaped, header)), ["---", *["---:"] * (len(header) - 1)]]
    lines += [[escaped(str(cell)) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
