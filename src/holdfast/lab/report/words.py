"""What the report says in sentences: how it was made, what its figures mean, what they do not show.

Rule: the known bias stands wherever figures stand.
"""

from holdfast.lab.report.figures import budget, counted, grouped, plain
from holdfast.lab.results import ReplayReport

BIAS = (
    "A figure here says how often the text behind a recorded action was still in view, not how an agent fared.",
    "Only literal text counts: a good paraphrase earns nothing, nor does a memory of what was tried in vain.",
    "Recorded agents often open a file a second time, so a policy that forgets looks better than it is.",
)
TERMS = {
    "hard": "share of needs supported among those last seen more than five steps ago and outside the newest half "
    "of the budget: the text an action used still stands in the request, in its context",
    "all": "the same over every need, the easy ones included",
    "ref": "hard needs that stand in the request or that one more call would fetch; never added to hard",
    "dollars": "price of all requests, summaries included, relative to sending everything, append-only, cached: "
    "that costs 1.00",
    "over budget": "requests larger than the budget; each scores 0",
    "failed": "requests where the policy raised or returned nonsense; each scores 0",
    "broken structure": "requests that a provider would refuse, such as a result without its call",
    "growth": "median time of the last quarter of requests over that of the first, in long recordings",
}
"""Columns, explained."""


def settings_sentence(report: ReplayReport) -> str:
    """What was measured, and how."""
    budgets = ", ".join(map(budget, report.budgets)) or "none"
    return (
        f"{counted(report.recordings, 'recording')} from {counted(len(report.projects), 'project')} "
        f"({counted(len(report.files), 'file')}), {counted(report.needs, 'need')}; "
        f"budgets {budgets}; price table {plain(report.prices)}; "
        f"95 % intervals from {grouped(report.draws)} bootstrap draws; holdfast {plain(report.version)}"
    )


def hard_needs(report: ReplayReport, budget: int) -> str:
    """How many there are at a budget; empty where the report does not say."""
    found = report.hard_needs.get(budget)
    return "" if found is None else counted(found, "hard need")


def partial_sentence(report: ReplayReport) -> str:
    """Empty for a whole run."""
    if not report.partial:
        return ""
    return f"Partial result: {plain(report.partial).rstrip('.')}. The figures cover a part of the input only."
