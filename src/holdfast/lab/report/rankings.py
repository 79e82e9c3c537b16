"""The ranking of policies, and the sentences of the report.

Rule: every form of the report takes its order, its verdicts and its sentences from here, so that no two disagree.
Wherever there are figures, the known bias is named.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.report.figures import NONE, bounds, budget, decimal, listed, mean, plain
from holdfast.lab.results import (
    AGES,
    BASELINE,
    KINDS,
    SEES_FUTURE,
    Interval,
    PolicyComparison,
    PolicyRow,
    ReplayReport,
)
from holdfast.numbers import counted, grouped

BIAS = (
    "A figure here says how often the text behind a recorded action was still in view, not how an agent fared.",
    "Only literal text counts: a good paraphrase earns nothing, nor does a memory of what was tried in vain.",
    "Recorded agents often open a file a second time, so a policy that forgets looks better than it is.",
)
TERMS = {
    "hard": "share of the older text used by actions that was still in the request, in its context; older text "
    "was last seen more than five steps before and outside the newest half of the budget",
    "all": "the same over all text that actions used, recent text included",
    "older": "the same over all text last seen more than five steps before, whatever the budget; every action with "
    "such text counts the same",
    "ref": "share of the older text that was in the request, or that one more call would fetch; never added to "
    "hard",
    "dollars": "price of all requests, summaries included, relative to sending everything, append-only, cached: "
    "that costs 1.00",
    "reads": "the part of the dollars that went for text read from the cache",
    "first writes": "the part of the dollars that went for text sent for the first time",
    "rewrites": "the part of the dollars that went for text sent before and written again: what came before it had "
    "changed, the cache was cold, or the request too short for a cache",
    "summaries": "the part of the dollars that went for model calls of the policy",
    "over budget": "requests larger than the budget; each scores 0",
    "failed": "requests where the policy raised or returned nonsense; each scores 0",
    "broken structure": "requests that a provider would refuse, such as a result without its call",
    "growth": "median time of the last quarter of requests over that of the first, in long recordings",
}
"""Columns, explained."""


Shares = Literal["kinds", "ages", "probes"]
"""Fields of a row that have a recall for each of several names."""


class PolicyRanking(Struct, frozen=True):
    levels: tuple[float, ...]
    level: int
    """Which of the levels ranks: the highest that half of the policies reach."""
    dollars: dict[str, tuple[float | None, ...]]
    """Of each policy at each level, the best policy first; None where it does not get there."""


def labelled(report: ReplayReport) -> ReplayReport:
    """The report with every ceiling called what it is, in all tables and pictures."""
    ceilings = {row.policy for row in report.rows if row.sees_future}

    def label(policy: str) -> str:
        return f"{policy} ({SEES_FUTURE})" if policy in ceilings else policy

    return replace(
        report,
        rows=[replace(row, policy=label(row.policy)) for row in report.rows],
        comparisons=[
            replace(c, policy=label(c.policy), reference=label(c.reference)) for c in report.comparisons
        ],
        at_recall=[replace(at, policy=label(at.policy)) for at in report.at_recall],
        pictures=[replace(picture, policy=label(picture.policy)) for picture in report.pictures],
        groups=[replace(group, policy=label(group.policy)) for group in report.groups],
    )


def budgets_of(report: ReplayReport) -> list[int]:
    return sorted({row.budget for row in report.rows})


def rows_at(report: ReplayReport, size: int) -> list[PolicyRow]:
    """The rows of one budget, best hard recall first; equal ones stay in the order of the report."""

    def by_recall(row: PolicyRow) -> float:
        hard = mean(row.hard)
        return 1.0 if hard is None else -hard

    return sorted((row for row in report.rows if row.budget == size), key=by_recall)


def dollars_of(report: ReplayReport, row: PolicyRow) -> Interval | None:
    return row.dollars.get(report.prices)


def projects_of(report: ReplayReport) -> list[str]:
    """The projects that a table by project has as columns; a single one says nothing that its row does not."""
    found = sorted({project for row in report.rows for project in row.by_project})
    return found if len(found) > 1 else []


def in_project(report: ReplayReport, row: PolicyRow, project: str) -> tuple[float | None, float | None]:
    figures = row.by_project.get(project)
    return (figures.hard, figures.dollars.get(report.prices)) if figures else (None, None)


def needs_in(rows: Sequence[PolicyRow], project: str) -> int:
    """Hard needs of a project: the same for every policy that was replayed whole."""
    return max((row.by_project[project].hard_needs for row in rows if project in row.by_project), default=0)


def comparison_of(report: ReplayReport, row: PolicyRow) -> PolicyComparison | None:
    same = (c for c in report.comparisons if c.policy == row.policy and c.budget == row.budget)
    return next(same, None)


def reference_of(report: ReplayReport) -> str:
    return plain(report.comparisons[0].reference) if report.comparisons else ""


def verdict(difference: Interval | None) -> str:
    """Whether the interval of a difference leaves out zero, and on which side."""
    if difference is None or difference.is_single:
        return ""
    return "▲" if difference.low > 0 else "▼" if difference.high < 0 else "≈"


def faults_of(row: PolicyRow) -> list[str]:
    """What is wrong with a row, in words. A good one has nothing."""
    found: list[str] = []
    if row.over_budget:
        found.append(f"over budget in {grouped(row.over_budget)} of {counted(row.requests, 'request')}")
    if row.failures:
        found.append(f"failed: {listed(row.failures)}")
    if row.violations:
        found.append(f"broken structure: {listed(row.violations)}")
    return found + failed_checks(row)


def failed_checks(row: PolicyRow) -> list[str]:
    fine = ("ok", SEES_FUTURE) if row.sees_future else ("ok",)
    return [f"{plain(name)}: {plain(said)}" for name, said in row.checks.items() if said not in fine]


def shares_of(row: PolicyRow, which: Shares) -> Mapping[str, float]:
    return {"kinds": row.kinds, "ages": row.ages, "probes": row.probes}[which]


def names_of(rows: Sequence[PolicyRow], which: Shares) -> list[str]:
    """Known kinds or ages in their order, then whatever else there is."""
    order: Sequence[str] = {"kinds": KINDS, "ages": AGES, "probes": ()}[which]
    names = dict.fromkeys(name for row in rows for name in shares_of(row, which))
    return [name for name in order if name in names] + [name for name in names if name not in order]


def ranking_of(report: ReplayReport) -> PolicyRanking | None:
    """Policies by dollars at equal hard recall. Those that never get there follow, the nearest first."""
    levels = tuple(sorted({at.recall for at in report.at_recall}))
    if not levels:
        return None
    known = {(at.policy, at.recall): at.dollars for at in report.at_recall}
    names = dict.fromkeys(at.policy for at in report.at_recall)
    dollars = {name: tuple(known.get((name, level)) for level in levels) for name in names}
    reached = [sum(found[i] is not None for found in dollars.values()) for i in range(len(levels))]
    level = max((i for i, count in enumerate(reached) if 2 * count >= len(dollars)), default=0)

    def rank(policy: str) -> tuple[int, float]:
        """A lower level is used for one that is not reached."""
        for below in range(level, -1, -1):
            if (price := dollars[policy][below]) is not None:
                return level - below, price
        return level + 1, 0.0

    return PolicyRanking(levels, level, {policy: dollars[policy] for policy in sorted(dollars, key=rank)})


def sensitivity_of(report: ReplayReport) -> tuple[list[int], list[tuple[str, list[float | None]]]]:
    """Budgets, and for each variation of the measure Kendall's tau at each of them."""
    budgets = sorted({found.budget for found in report.sensitivity})
    taus = {(found.variation, found.budget): found.tau for found in report.sensitivity}
    variations = dict.fromkeys(found.variation for found in report.sensitivity)
    return budgets, [(name, [taus.get((name, budget)) for budget in budgets]) for name in variations]


def checks_of(report: ReplayReport) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Checks, and for each policy what they found over all budgets: what differed, else `ok`."""
    names = list(dict.fromkeys(name for row in report.rows for name in row.checks))
    policies = dict.fromkeys(row.policy for row in report.rows if row.checks)

    def worst(policy: str, name: str) -> str:
        found = [row.checks[name] for row in report.rows if row.policy == policy and name in row.checks]
        return next((said for said in found if said != "ok"), "ok" if found else "")

    return names, [(policy, [worst(policy, name) for name in names]) for policy in policies]


def result_sentence(report: ReplayReport, quoted: Callable[[str], str] = "`{}`".format) -> str:
    """What came out, at the budget in the middle: the two policies that keep most. Empty where nothing was hard."""
    budgets = budgets_of(report)
    rows = rows_at(report, budgets[len(budgets) // 2]) if budgets else []
    told = [
        (quoted(plain(row.policy, 60)), decimal(hard), bounds(row.hard), decimal(cost))
        for row in rows
        if row.policy != BASELINE
        and not row.sees_future
        and not faults_of(row)
        and (hard := mean(row.hard)) is not None
        and (cost := mean(dollars_of(report, row))) is not None
    ]
    if not told:
        return ""
    name, hard_recall, interval, price = told[0]
    sure = f" (95%: {interval})" if interval != NONE else ""
    best = (
        f"At {budget(rows[0].budget)}, {name} keeps {'the most: ' if len(told) > 1 else ''}{hard_recall}{sure} of "
        f"the hard needs, for {price} of the dollars that sending everything costs."
    )
    if len(told) == 1:
        return best
    name, hard_recall, _, price = told[1]
    return f"{best} {name} comes next, with {hard_recall} for {price}."


def settings_sentence(report: ReplayReport) -> str:
    """What was measured, and how."""
    budgets = ", ".join(map(budget, report.budgets)) or "none"
    return (
        f"{counted(report.recordings, 'recording')} from {counted(len(report.projects), 'project')} "
        f"({counted(len(report.files), 'file')}), {counted(report.needs, 'need')}; "
        f"budgets {budgets}; price table {plain(report.prices)}; "
        f"95% intervals from {grouped(report.draws)} bootstrap draws; holdfast {plain(report.version)}"
    )


def hard_needs(report: ReplayReport, size: int) -> str:
    """How many there are at a budget; empty where the report does not say."""
    found = report.hard_needs.get(size)
    return "" if found is None else counted(found, "hard need")


def partial_sentence(report: ReplayReport) -> str:
    """Empty for a whole run."""
    if not report.partial:
        return ""
    return f"Partial result: {plain(report.partial).rstrip('.')}. The figures cover a part of the input only."
