"""Tables of `--why`: where evidence was lost, by reason, and by what it was.

Rule: counts, every need the same. Hard needs are those of the budget; older ones were last seen more than five
steps before, whatever the budget. A share is of what was missed or of what was needed, and the column says which.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from holdfast.lab.report import figures, rankings
from holdfast.lab.report.report_table import Cells, ReportTable, number_columns
from holdfast.lab.results import AGES, KINDS, NeedGroup, ReplayReport
from holdfast.numbers import grouped

MOST = 12
"""Rows that a table has of a policy; what is left is together in one more."""
LONGEST_NAME = 40
OTHERS = "others"
ALL = "all reasons"

Count = Callable[[NeedGroup], int]
"""How many needs of a group count."""

_BY: Mapping[str, tuple[str, Callable[[NeedGroup], str], Sequence[str]]] = {
    "source": ("by source", lambda group: group.tool, ()),
    "agent": ("by agent", lambda group: group.agent, ()),
    "age": ("by age in steps (of all needs)", lambda group: group.age, AGES),
    "kind": ("by kind", lambda group: group.kind, KINDS),
}
"""What needs are told apart by: title, value, and the order of values where they have one."""


def loss_tables(report: ReplayReport, budget: int) -> list[ReportTable]:
    """Nothing where it was not asked for. Policies that missed nothing are left out."""
    at = figures.budget(budget)
    by_policy = {
        row.policy: [g for g in report.groups if (g.policy, g.budget) == (row.policy, budget)]
        for row in rankings.rows_at(report, budget)
    }
    lossy = {policy: groups for policy, groups in by_policy.items() if any(g.reason for g in groups)}
    if not lossy:
        return []
    tables = [
        _recalls(report, budget),
        ReportTable(
            f"why needs were missed at {at}",
            (
                ("policy", "wrapped"),
                *number_columns("lost", "hard", "of missed", "of hard", "older", "of missed", "of older"),
            ),
            [[figures.plain(p), *cells] for p, groups in lossy.items() for cells in _reasons(groups)],
        ),
        *(_by_table(title, what, lossy, at) for what, (title, _, _) in _BY.items()),
    ]
    return [table for table in tables if table.rows]


def _recalls(report: ReplayReport, budget: int) -> ReportTable:
    rows: list[Cells] = [
        [
            figures.plain(row.policy),
            *map(figures.decimal, (*map(figures.mean, (row.hard, row.all)), row.older)),
        ]
        for row in rankings.rows_at(report, budget)
    ]
    title = f"recall of hard, all and older needs at {figures.budget(budget)}"
    return ReportTable(title, number_columns("policy", "hard", "all", "older"), rows)


def _reasons(groups: Sequence[NeedGroup]) -> Iterable[Cells]:
    needs = sum(g.hard for g in groups), sum(g.older for g in groups)
    lost: dict[str, tuple[int, int]] = {}
    for group in groups:
        if group.reason and group.hard + group.older:
            name = f"{group.reason}: {group.detail}" if group.detail else group.reason
            hard, older = lost.get(name, (0, 0))
            lost[name] = hard + group.hard, older + group.older
    missed = sum(hard for hard, _ in lost.values()), sum(older for _, older in lost.values())
    ranked = sorted(lost.items(), key=lambda found: (-found[1][1], -found[1][0], found[0]))
    for name, counts in [*ranked, (ALL, missed)]:
        cells: Cells = [figures.plain(name)]
        for count, of_missed, of_needs in zip(counts, missed, needs, strict=True):
            cells += [grouped(count), _percent(count, of_missed), _percent(count, of_needs)]
        yield cells


def _by_table(title: str, what: str, lossy: Mapping[str, Sequence[NeedGroup]], at: str) -> ReportTable:
    """For ages all needs, since the young ones are told apart there."""
    other: Count = (lambda group: group.needs) if what == "age" else (lambda group: group.older)
    name = "all" if what == "age" else "older"
    columns = (
        ("policy", "wrapped"),
        *number_columns(what, "hard", "missed", "%", name, "missed", "%"),
        ("mostly", "wrapped"),
    )
    rows = [
        [figures.plain(policy), *cells]
        for policy, groups in lossy.items()
        for cells in _values(groups, what, other)
    ]
    return ReportTable(f"missed needs {title} at {at}", columns, rows)


def _values(groups: Sequence[NeedGroup], what: str, other: Count) -> Iterable[Cells]:
    _, value, order = _BY[what]
    by_value: dict[str, list[NeedGroup]] = {}
    for group in groups:
        if other(group):
            by_value.setdefault(value(group), []).append(group)

    def rank(found: str) -> tuple[int, int, str]:
        place = order.index(found) if found in order else len(order)
        return place, -sum(map(other, by_value[found])), found

    names = sorted(by_value, key=rank)
    for name in names[:MOST]:
        yield _cells(figures.plain(name, LONGEST_NAME), by_value[name], other)
    if rest := [group for name in names[MOST:] for group in by_value[name]]:
        yield _cells(OTHERS, rest, other)


def _cells(name: str, groups: Sequence[NeedGroup], other: Count) -> Cells:
    lost: Counter[str] = Counter()
    for group in groups:
        if group.reason:
            lost[group.reason] += other(group)
    cells: Cells = [name]
    for count in (_hard, other):
        needs, missed = sum(map(count, groups)), sum(count(g) for g in groups if g.reason)
        cells += [grouped(needs), grouped(missed), _percent(missed, needs)]
    return [*cells, figures.plain(lost.most_common(1)[0][0]) if lost else figures.NONE]


def _hard(group: NeedGroup) -> int:
    return group.hard


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else figures.NONE
