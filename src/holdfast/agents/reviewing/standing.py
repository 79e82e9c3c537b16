"""What of a review stands in every request: the view of the change at the beginning, its findings at the end.

Rule: pure. The view is written from the change alone, so that a cache holds it for every question.
"""

from collections.abc import Callable

from holdfast.events import ContextSet, RecapSet
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.reports.plain import visible
from holdfast.review.review import Review
from holdfast.review.static_context import Snippet, static_context, worth
from holdfast.review.unit import Risk, Unit

KEY = "diff"
FINDINGS = "findings"
RISK_WORTH: dict[Risk, float] = {"low": 0.1, "medium": 0.5, "high": 1.0}
LEVEL_WORTH = {"skip": 0.0, "diff": 0.2, "function": 0.4, "file_context": 0.6, "full_file": 0.8}
MOST_SNIPPETS = 6
LONGEST_SNIPPET = 80
"""Lines of a function that is shown beside its hunks."""
GRAVE = SEVERITIES.index("medium")
"""From which severity on a file with a finding is worth as much as one of high risk."""


def view_of(review: Review, *, budget: int, count: Callable[[str], int]) -> ContextSet:
    """The change as it stands once in the stable layer, in at most so many tokens, and what its files are worth.

    Raises `ContextOverflow` where not even the list of its files fits.
    """
    around = snippets_of(review)
    context = static_context(review.diff, review.units, budget=budget, count=count, snippets=around)
    return ContextSet(KEY, context.text, worths(review))


def snippets_of(review: Review) -> tuple[Snippet, ...]:
    """The functions around the riskiest units, as they are now, where the hunks show only a part of one."""
    found: dict[tuple[str, int], Snippet] = {}
    for unit in sorted(review.units, key=lambda unit: (-worth(unit), unit.path, unit.new.first)):
        if len(found) == MOST_SNIPPETS or unit.risk != "high":
            break  # what is of less risk is read when it is asked for
        if (one := _around(review, unit)) is not None:
            found[one.path, one.first] = one
    return tuple(found.values())


def _around(review: Review, unit: Unit) -> Snippet | None:
    symbol = unit.symbol
    is_wanted = unit.suggestion.level in ("function", "file_context", "full_file") and unit.metrics.added
    if symbol is None or symbol.kind not in ("function", "method") or not is_wanted:
        return None
    numbers = range(symbol.span.first, symbol.span.last + 1)
    if len(numbers) > LONGEST_SNIPPET:
        return None
    hunks = (hunk for other in review.units if other.path == unit.path for hunk in other.hunks)
    shown = {line.new for hunk in hunks for line in hunk.lines}
    lines = review.sides.safe_lines(unit.path, "new")
    if shown.issuperset(numbers) or not all(number in lines for number in numbers):
        return None
    return Snippet(unit.path, numbers[0], "\n".join(lines[number] for number in numbers))


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
    return RecapSet(
        FINDINGS, "Findings, in full by list_findings", tuple(map(line_of, review.findings.ranked()))
    )


def line_of(finding: Finding) -> str:
    claim = " ".join(finding.claim.split())
    side = " before the change" if finding.side == "old" else ""
    return visible(f"{finding.id} {finding.severity} {finding.path}:{finding.line}{side} {claim}")
