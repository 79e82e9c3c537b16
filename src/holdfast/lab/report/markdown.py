"""The report as Markdown tables, for documents.

Rule: a cell cannot leave its cell; names are escaped, since recordings and users made them.
"""

import re
from collections.abc import Callable, Sequence

from holdfast.lab.report import figures, standing, words
from holdfast.lab.results import PolicyRow, ReplayReport

_SIGNS = re.compile(r"[\\`*_\[\]<>|&~$#!]")


def write_markdown(report: ReplayReport) -> str:
    parts = [*_opening(report)]
    for budget in standing.budgets_of(report):
        rows = standing.rows_at(report, budget)
        needs = f" ({hard})" if (hard := words.hard_needs(report, budget)) else ""
        parts.append(f"### At {figures.budget(budget)}{needs}")
        parts.append(_table(_HEADER, [_cells(report, row) for row in rows]))
    parts += _ranking(report)
    parts += _by_project(report)
    parts += _shares(report, "Recall by kind (hard needs)", standing.kinds_of, lambda row: row.kinds)
    parts += _shares(
        report, "Recall by age (all needs, steps since last seen)", standing.ages_of, lambda row: row.ages
    )
    parts += _shares(report, "Probes", standing.probes_of, lambda row: row.probes)
    parts += _sensitivity(report)
    parts += _checks(report)
    parts += _faults(report)
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    return _SIGNS.sub(r"\\\g<0>", figures.plain(text))


_HEADER = (
    "policy", "hard", "95 %", "all", "ref", "dollars", "Δ hard vs reference",
    "over budget", "failed", "broken structure", "p50 ms", "worst ms",
)  # fmt: skip


def _opening(report: ReplayReport) -> list[str]:
    parts = [f"{escaped(words.settings_sentence(report))}."]
    if partial := words.partial_sentence(report):
        parts.insert(0, f"> **{escaped(partial)}**")
    if reference := standing.reference_of(report):
        parts.append(
            f"The reference is {escaped(reference)}. Dollars are relative to sending everything, cached."
        )
    parts.append(" ".join(words.BIAS))
    parts += [f"- {escaped(note)}" for note in report.notes]
    return parts


def _cells(report: ReplayReport, row: PolicyRow) -> list[str]:
    compared = standing.comparison_of(report, row)
    difference = compared.hard if compared else None
    mean = figures.mean
    return [
        escaped(row.policy),
        figures.recall(mean(row.hard)),
        figures.bounds(row.hard),
        figures.recall(mean(row.all)),
        figures.recall(mean(row.ref)),
        figures.dollars(mean(standing.dollars_of(report, row))),
        f"{figures.signed(mean(difference))} {standing.verdict(difference)}".strip(),
        figures.grouped(row.over_budget),
        figures.grouped(sum(row.failures.values())),
        figures.grouped(sum(row.violations.values())),
        figures.milliseconds(row.p50_ms),
        figures.milliseconds(row.worst_ms),
    ]


def _ranking(report: ReplayReport) -> list[str]:
    ranking = standing.ranking_of(report)
    if ranking is None:
        return []
    header = ["policy"] + [f"dollars at {figures.recall(level)}" for level in ranking.levels]
    rows = [[escaped(p.policy), *map(figures.dollars, p.dollars)] for p in ranking.policies]
    level = figures.recall(ranking.levels[ranking.level])
    return [
        "### Dollars at equal hard recall",
        f"Ranked at {level}, the highest recall listed that half of the policies reach.",
        _table(header, rows),
    ]


def _by_project(report: ReplayReport) -> list[str]:
    projects = standing.projects_of(report)
    parts = ["### By project: hard recall @ dollars (hard needs in the heading)"] if projects else []
    for budget in standing.budgets_of(report) if projects else []:
        rows = standing.rows_at(report, budget)
        heads = [f"{escaped(name)} ({figures.grouped(standing.needs_in(rows, name))})" for name in projects]
        cells = [
            [
                escaped(row.policy),
                *(_at_dollars(*standing.in_project(report, row, name)) for name in projects),
            ]
            for row in rows
        ]
        parts.append(_table([f"at {figures.budget(budget)}", *heads], cells))
    return parts


def _at_dollars(hard: float | None, dollars: float | None) -> str:
    return f"{figures.recall(hard)} @ {figures.dollars(dollars)}"


def _shares(
    report: ReplayReport,
    title: str,
    names: Callable[[Sequence[PolicyRow]], list[str]],
    shares: Callable[[PolicyRow], dict[str, float]],
) -> list[str]:
    columns = names(report.rows)
    if not columns:
        return []
    parts = [f"### {title}"]
    for budget in standing.budgets_of(report):
        rows = standing.rows_at(report, budget)
        cells = [
            [escaped(row.policy), *(figures.recall(shares(row).get(name)) for name in columns)]
            for row in rows
        ]
        parts.append(_table([f"at {figures.budget(budget)}", *map(escaped, columns)], cells))
    return parts


def _sensitivity(report: ReplayReport) -> list[str]:
    budgets, taus = standing.sensitivity_of(report)
    header = ["the measure varied", *(f"at {figures.budget(budget)}" for budget in budgets)]
    rows = [[escaped(name), *map(figures.recall, found)] for name, found in taus]
    title = "### Order of policies by hard recall: Kendall's tau"
    return [title, _table(header, rows)] if rows else []


def _checks(report: ReplayReport) -> list[str]:
    names, found = standing.checks_of(report)
    rows = [[escaped(policy), *map(escaped, said)] for policy, said in found]
    header = ["policy", *map(escaped, names)]
    return ["### Same packs again, and no look ahead", _table(header, rows)] if rows else []


def _faults(report: ReplayReport) -> list[str]:
    rows = [row for budget in standing.budgets_of(report) for row in standing.rows_at(report, budget)]
    found = [
        f"- {escaped(row.policy)} at {figures.budget(row.budget)}: {escaped('; '.join(faults))}"
        for row in rows
        if (faults := standing.faults_of(row))
    ]
    return ["### Faults", "\n".join(found)] if found else []


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
