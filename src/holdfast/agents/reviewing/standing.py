"""What of a review stands in every request: the view of the change at the beginning, its findings at the end.

Rule: pure. The view is written from the diff alone, so that it is the same for every question and a cache holds it.
"""

from collections.abc import Callable

from holdfast.events import ContextSet, RecapSet
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.review import Review
from holdfast.review.static_context import static_context
from holdfast.review.unit import Risk, Unit

KEY = "diff"
FINDINGS = "findings"
RISK_WORTH: dict[Risk, float] = {"low": 0.1, "medium": 0.5, "high": 1.0}
LEVEL_WORTH = {"skip": 0.0, "diff": 0.2, "function": 0.4, "file_context": 0.6, "full_file": 0.8}
GRAVE = SEVERITIES.index("medium")
"""From which severity on a file with a finding is worth as much as one of high risk."""


def view_of(review: Review, *, budget: int, count: Callable[[str], int]) -> ContextSet:
    """The change as it stands once in the stable layer, in at most so many tokens, and what its files are worth.

    Raises `ContextOverflow` where not even the list of its files fits.
    """
    context = static_context(review.diff, review.units, budget=budget, count=count)
    return ContextSet(KEY, context.text, worths(review))


def worths(review: Review) -> dict[str, float]:
    """What each file of the change is worth to the review: by risk, by how closely it is looked at, by how complex
    it became, and by what was found in it."""
    found: dict[str, float] = {}
    for unit in review.units:
        found[unit.path] = max(found.get(unit.path, 0.0), _worth(review, unit))
    for finding in review.findings.kept:
        if SEVERITIES.index(finding.severity) >= GRAVE:
            found[finding.path] = 1.0
    return found


def _worth(review: Review, unit: Unit) -> float:
    complexity = min(max(unit.metrics.complexity, 0), 10) / 20
    worth = max(RISK_WORTH[unit.risk], LEVEL_WORTH[review.level(unit)], complexity)
    return round(worth, 2)


def recap_of(review: Review) -> RecapSet:
    """Every finding in a line, the most severe first, word for word: no fold and no summary touches these."""
    return RecapSet(FINDINGS, "Findings", tuple(map(line_of, review.findings.ranked())))


def line_of(finding: Finding) -> str:
    claim = " ".join(finding.claim.split())
    side = " before the change" if finding.side == "old" else ""
    return f"{finding.id} {finding.severity} {finding.path}:{finding.line}{side} {claim}"
