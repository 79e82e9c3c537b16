"""Who stands where: rows in order, faults, differences to the reference, the ranking.

Rule: every form of the report takes its order and its verdicts from here, so that none says something else.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.lab.report.figures import counted, grouped, listed, mean, plain
from holdfast.lab.results import AGES, KINDS, Interval, PolicyComparison, PolicyRow, ReplayReport


class RankedPolicy(Struct, frozen=True):
    """A policy with its dollars at each level of recall; None where it does not get there."""

    policy: str
    dollars: tuple[float | None, ...]


class PolicyRanking(Struct, frozen=True):
    levels: tuple[float, ...]
    level: int
    """Which of the levels ranks: the highest that half of the policies reach."""
    policies: tuple[RankedPolicy, ...]


def budgets_of(report: ReplayReport) -> list[int]:
    return sorted({row.budget for row in report.rows})


def rows_at(report: ReplayReport, budget: int) -> list[PolicyRow]:
    """The rows of one budget, best hard recall first; equal ones stay in the order of the report."""
    return sorted((row for row in report.rows if row.budget == budget), key=_by_recall)


def _by_recall(row: PolicyRow) -> float:
    hard = mean(row.hard)
    return 1.0 if hard is None else -hard


def dollars_of(report: ReplayReport, row: PolicyRow) -> Interval | None:
    return row.dollars.get(report.prices)


def projects_of(report: ReplayReport) -> list[str]:
    """The projects that a table by project has as columns; a single one says nothing that its row does not."""
    found = sorted({project for row in report.rows for project in row.by_project})
    return found if len(found) > 1 else []


def in_project(report: ReplayReport, row: PolicyRow, project: str) -> tuple[float | None, float | None]:
    """Hard recall and dollars of a row on one project."""
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
    if difference is None:
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
    return [f"{plain(name)}: {plain(said)}" for name, said in row.checks.items() if said != "ok"]


def kinds_of(rows: Sequence[PolicyRow]) -> list[str]:
    """Known kinds in their order, then whatever else there is."""
    return _present(KINDS, [row.kinds for row in rows])


def ages_of(rows: Sequence[PolicyRow]) -> list[str]:
    return _present(AGES, [row.ages for row in rows])


def probes_of(rows: Sequence[PolicyRow]) -> list[str]:
    return _present((), [row.probes for row in rows])


def _present(order: Sequence[str], found: Sequence[dict[str, float]]) -> list[str]:
    names = dict.fromkeys(name for each in found for name in each)
    return [name for name in order if name in names] + [name for name in names if name not in order]


def ranking_of(report: ReplayReport) -> PolicyRanking | None:
    """Policies by dollars at equal hard recall. Those that never get there follow, the nearest first."""
    levels = tuple(sorted({at.recall for at in report.at_recall}))
    if not levels:
        return None
    known = {(at.policy, at.recall): at.dollars for at in report.at_recall}
    names = list(dict.fromkeys(at.policy for at in report.at_recall))
    policies = [RankedPolicy(name, tuple(known.get((name, level)) for level in levels)) for name in names]
    reached = [sum(p.dollars[i] is not None for p in policies) for i in range(len(levels))]
    level = max((i for i, count in enumerate(reached) if 2 * count >= len(policies)), default=0)
    return PolicyRanking(levels, level, tuple(sorted(policies, key=lambda p: _rank(p, level))))


def _rank(policy: RankedPolicy, level: int) -> tuple[int, float]:
    """Lower levels stand in for one that is not reached."""
    for below in range(level, -1, -1):
        dollars = policy.dollars[below]
        if dollars is not None:
            return level - below, dollars
    return level + 1, 0.0


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
    return names, [(policy, [_worst(report, policy, name) for name in names]) for policy in policies]


def _worst(report: ReplayReport, policy: str, name: str) -> str:
    found = [row.checks[name] for row in report.rows if row.policy == policy and name in row.checks]
    return next((said for said in found if said != "ok"), "ok" if found else "")
