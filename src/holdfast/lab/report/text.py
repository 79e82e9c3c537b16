"""The report as tables for a terminal, and as Markdown for documents.

Rule: a table is only cells and columns; how a terminal draws it is the command line's affair. In Markdown a cell
cannot leave its cell: names are escaped, since recordings and users made them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from holdfast.lab.report import figures, rankings
from holdfast.lab.report.losses import loss_tables
from holdfast.lab.report.report_table import Cells, ReportTable, number_columns
from holdfast.lab.report.tables import PARTS, project_cells, row_cells
from holdfast.lab.results import PolicyRow, ReplayReport

_SCORES = {
    "hard": "hard", "95%": "95%", "all": "all", "dollars": "dollars", "over": "over budget", "fail": "failed",
    "broken": "broken", "p50": "p50 ms",
}  # fmt: skip
"""Columns of a terminal, by title."""
_SIZES = {
    "ref": "ref", "p95 ms": "p95 ms", "worst": "worst ms", "growth": "growth", "peak MB": "peak MB",
    "moved B": "bytes moved per request", "calls": "model calls",
}  # fmt: skip
_MARKDOWN_SCORES = {
    "hard": "hard", "95%": "95%", "all": "all", "older": "older", "ref": "ref", "dollars": "dollars",
    "Δ hard vs reference": "Δ hard", "over budget": "over budget", "failed": "failed",
    "broken structure": "broken", "p50 ms": "p50 ms", "worst ms": "worst ms",
}  # fmt: skip
_SHARES: Mapping[str, rankings.Shares] = {
    "Recall by kind (hard needs)": "kinds",
    "Recall by age (all needs, steps since last seen)": "ages",
    "Probes": "probes",
}
_SIGNS = re.compile(r"[\\`*_\[\]<>|&~$#!]")


def terminal_tables(report: ReplayReport) -> list[ReportTable]:
    """For each budget the scores, the speed and sizes, and where the dollars go; then the ranking, and what was
    asked for besides. No table is empty."""
    report = rankings.labelled(report)
    tables: list[ReportTable] = []
    for budget in rankings.budgets_of(report):
        rows = rankings.rows_at(report, budget)
        at = figures.budget(budget)
        title = f"evidence and cost at {at}{_hard_needs(report, budget)}, p50 in ms"
        tables.append(ReportTable(title, number_columns("policy", *_SCORES), _rows(report, rows, _SCORES)))
        title = f"speed and size at {at}"
        tables.append(ReportTable(title, number_columns("policy", *_SIZES), _rows(report, rows, _SIZES)))
        tables += (*_parts(report, budget), *loss_tables(report, budget))
    if ranking := rankings.ranking_of(report):
        levels = [figures.decimal(level) for level in ranking.levels]
        title = f"dollars at equal hard recall, ranked at {levels[ranking.level]}"
        columns = number_columns("policy", *(f"at {level}" for level in levels))
        tables.append(ReportTable(title, columns, _ranking(ranking)))
    return [*tables, *_tests(report)]


def _parts(report: ReplayReport, budget: int) -> list[ReportTable]:
    """What the dollars were paid for; nothing where no row says."""
    rows = [row for row in rankings.rows_at(report, budget) if report.prices in row.parts]
    names = {"dollars": "dollars", **{name: name for name in PARTS}}
    title = f"where the dollars go at {figures.budget(budget)}"
    columns = number_columns("policy", *names)
    return [ReportTable(title, columns, _rows(report, rows, names))] if rows else []


def _hard_needs(report: ReplayReport, budget: int) -> str:
    return f" ({hard})" if (hard := rankings.hard_needs(report, budget)) else ""


def _rows(report: ReplayReport, rows: Sequence[PolicyRow], columns: Mapping[str, str]) -> list[Cells]:
    written: list[Cells] = []
    for row in rows:
        cells = [row_cells(report, row)[name] for name in columns.values()]
        texts = [f"{cell['text']} {cell.get('verdict', '')}".strip() for cell in cells]
        written.append([figures.plain(row.policy), *texts])
    return written


def _ranking(ranking: rankings.PolicyRanking) -> list[Cells]:
    return [[figures.plain(name), *map(figures.decimal, found)] for name, found in ranking.dollars.items()]


def _tests(report: ReplayReport) -> Iterator[ReportTable]:
    """Of the measure and of the policies, where they were asked for."""
    budgets, taus = rankings.sensitivity_of(report)
    if taus:
        columns = number_columns("the measure varied", *(f"at {figures.budget(b)}" for b in budgets))
        rows: list[Cells] = [[figures.plain(name), *map(figures.decimal, found)] for name, found in taus]
        yield ReportTable("order of policies by hard recall: Kendall's tau", columns, rows)
    names, checks = rankings.checks_of(report)
    if checks:
        columns = (("policy", "wrapped"), *((figures.plain(name), "wrapped") for name in names))
        rows = [[figures.plain(policy), *map(figures.plain, said)] for policy, said in checks]
        yield ReportTable("same packs again, and no look ahead", columns, rows)


def write_markdown(report: ReplayReport) -> str:
    report = rankings.labelled(report)
    parts = [*_opening(report)]
    at_budget = {budget: rankings.rows_at(report, budget) for budget in rankings.budgets_of(report)}
    for budget, rows in at_budget.items():
        parts.append(f"### At {figures.budget(budget)}{_hard_needs(report, budget)}")
        parts.append(_table(["policy", *_MARKDOWN_SCORES], _rows(report, rows, _MARKDOWN_SCORES)))
    if ranking := rankings.ranking_of(report):
        levels = [figures.decimal(level) for level in ranking.levels]
        parts.append("### Dollars at equal hard recall")
        parts.append(
            f"Ranked at {levels[ranking.level]}, the highest recall listed that half of the policies reach."
        )
        parts.append(_table(["policy", *(f"dollars at {level}" for level in levels)], _ranking(ranking)))
    for budget in at_budget:
        for table in (*_parts(report, budget), *loss_tables(report, budget)):
            parts += _titled(table)
    if rankings.projects_of(report):
        parts.append("### By project: hard recall @ dollars (hard needs in the heading)")
        for budget, rows in at_budget.items():
            heads, found = project_cells(report, rows)
            body: list[Cells] = [[name, *(f"{c['text']} @ {c['small']}" for c in row)] for name, row in found]
            parts.append(_table([f"at {figures.budget(budget)}", *heads], body))
    for title, which in _SHARES.items():
        if names := rankings.names_of(report.rows, which):
            parts.append(f"### {title}")
        for budget, rows in at_budget.items() if names else ():
            shares = [(row.policy, rankings.shares_of(row, which)) for row in rows]
            body = [[policy, *(figures.decimal(by.get(name)) for name in names)] for policy, by in shares]
            parts.append(_table([f"at {figures.budget(budget)}", *names], body))
    for table in _tests(report):
        parts += _titled(table)
    faults = [
        f"- {escaped(row.policy)} at {figures.budget(budget)}: {escaped('; '.join(faults))}"
        for budget, rows in at_budget.items()
        for row in rows
        if (faults := rankings.faults_of(row))
    ]
    parts += ["### Faults", "\n".join(faults)] if faults else []
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    return _SIGNS.sub(r"\\\g<0>", figures.plain(text))


def _opening(report: ReplayReport) -> Iterator[str]:
    if partial := rankings.partial_sentence(report):
        yield f"> **{escaped(partial)}**"
    if result := rankings.result_sentence(report, lambda name: f"**{escaped(name)}**"):
        yield result
    yield f"{escaped(rankings.settings_sentence(report))}."
    if reference := rankings.reference_of(report):
        yield f"The reference is {escaped(reference)}. Dollars are relative to sending everything, cached."
    yield " ".join(rankings.BIAS)
    yield from (f"- {escaped(note)}" for note in report.notes)


def _titled(table: ReportTable) -> list[str]:
    names, kinds = zip(*table.columns, strict=True)
    return [f"### {table.heading}", _table(names, table.rows, kinds)]


def _table(header: Sequence[str], rows: Sequence[Cells], kinds: Sequence[str] = ()) -> str:
    """The first column is text, and the others are numbers where `kinds` does not say otherwise."""
    kinds = kinds or ["wrapped", *["number"] * (len(header) - 1)]
    lines = [list(map(escaped, header)), ["---" if kind == "wrapped" else "---:" for kind in kinds]]
    lines += [[escaped(str(cell)) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
