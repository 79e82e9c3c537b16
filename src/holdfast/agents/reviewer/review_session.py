"""A review session: the agent, its tools, the view of the change at the beginning of every request, and the
findings at its end.

Rule: it can be closed at any moment and resumed from the log, from which findings and decisions are rebuilt. The
view depends on the change alone, so that a provider's cache serves every question; another change replaces it in
place.
"""

from collections.abc import Callable
from importlib.resources import files as package_files

from holdfast.agents.build import AgentConfig, build_agent, open_session, session_recall_tool
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice
from holdfast.agents.outcomes import End
from holdfast.agents.reviewer.tools import RECORDED_DATA, restore_result, review_tools
from holdfast.events import ContextSet, RecapSet, ToolReturned
from holdfast.messages import joined_text
from holdfast.review.escaping import show_invisible
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.report import ReviewReport
from holdfast.review.review import Review
from holdfast.review.static_context import Snippet, build_static_context, unit_weight
from holdfast.review.unit import Risk, Unit
from holdfast.tools.call import CallFinished
from holdfast.tools.workspace import Workspace
from holdfast.views import path

KEY = "diff"
FINDINGS = "findings"
RISK_WORTH: dict[Risk, float] = {"low": 0.1, "medium": 0.5, "high": 1.0}
LEVEL_WORTH = {"skip": 0.0, "diff": 0.2, "function": 0.4, "file_context": 0.6, "full_file": 0.8}
MOST_SNIPPETS = 6
LONGEST_SNIPPET = 80
"""The longest function, in lines, that is shown beside its hunks."""
GRAVE = SEVERITIES.index("medium")
"""A file with a finding of this severity or above is worth as much as one of high risk."""


def change_view(review: Review, *, budget: int, count: Callable[[str], int]) -> ContextSet:
    """The change as every request shows it, in at most `budget` tokens, and what its files are worth.

    Raises `ContextOverflow` if not even the list of its files fits.
    """
    around = risky_functions(review)
    text = build_static_context(review.diff, review.units, budget=budget, count=count, snippets=around)
    return ContextSet(KEY, text, file_worths(review))


def risky_functions(review: Review) -> tuple[Snippet, ...]:
    """The functions around the riskiest units, as they are now, where the hunks show only a part of one."""
    found: dict[tuple[str, int], Snippet] = {}
    for unit in sorted(review.units, key=lambda unit: (-unit_weight(unit), unit.path, unit.new.first)):
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


def file_worths(review: Review) -> dict[str, float]:
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


def findings_recap(review: Review) -> RecapSet:
    """Every finding in a line, the most severe first, word for word: no fold and no summary touches these."""
    return RecapSet(
        FINDINGS, "Findings, in full by list_findings", tuple(map(finding_line, review.findings.ranked()))
    )


def finding_line(finding: Finding) -> str:
    claim = " ".join(finding.claim.split())
    side = " before the change" if finding.side == "old" else ""
    return show_invisible(f"{finding.id} {finding.severity} {finding.path}:{finding.line}{side} {claim}")


SYSTEM = (package_files(__package__) / "system.md").read_text("utf-8").strip()
REVIEW_REQUEST = "Review this change."
VIEW_SHARE = 0.35
"""Share of the low-water mark that the view of the change may fill."""


class ReviewSession:
    """**Contract:** `review` belongs to the caller and grows with what is found. `aclose` stops what runs; the
    store stays open."""

    def __init__(self, config: AgentConfig, review: Review) -> None:
        self.review = review
        self._watch = config.watch
        workspace = Workspace([review.root])
        self.session = session = open_session(config, SYSTEM)
        tools = [*review_tools(review, workspace), session_recall_tool(session)]
        self.agent = build_agent(
            config, session, tools, workspace, kept_data=RECORDED_DATA, watch=self._notice
        )
        for entry in path(self.session.log.entries()):
            match entry.event:
                case ToolReturned(name=name, data=data) if data:
                    restore_result(review, name, data)
        self._refresh()

    async def ask(self, request: str = REVIEW_REQUEST) -> End:
        """Review the change, or answer a question about it."""
        self._refresh()
        self.agent.say(request)
        return await run(self.agent)

    @property
    def is_begun(self) -> bool:
        """Whether the model has replied in this log before."""
        return bool(self.session.window.transcript.steps)

    def report(self) -> ReviewReport:
        """What was found so far, with what the model said last."""
        steps = self.session.window.transcript.steps
        said = joined_text(steps[-1].message.parts) if steps else ""
        return self.review.report(model=self.agent.model.name, summary=said)

    async def aclose(self) -> None:
        await self.agent.aclose()

    def _refresh(self) -> None:
        """Record the view of the change and the findings, if they differ from those in the log."""
        window = self.session.window
        transcript, counter = window.transcript, window.counter
        budget = int(window.profile.low_water * VIEW_SHARE)
        view = change_view(self.review, budget=budget, count=counter.text)
        if (view.text, view.worth) != (transcript.contexts.get(view.key), transcript.worth.get(view.key)):
            self.session.record(view)
        self._refresh_findings()

    def _refresh_findings(self) -> None:
        recap = findings_recap(self.review)
        before = self.session.window.transcript.recaps.get(recap.key)
        if recap.lines != (before.lines if before else ()):
            self.session.record(recap)

    def _notice(self, notice: Notice) -> None:
        if isinstance(notice, CallFinished) and not notice.result.is_error:
            self._refresh_findings()
        self._watch(notice)
