"""A review by a model: its session, with the view of the change at the beginning of every request and the findings
at its end; and a run without a screen, from a change to a report.

Rule: a session can be closed at any moment and resumed from the log, which says what change it is about, and from
which findings and decisions are rebuilt. The view depends on the change alone, so that a provider's cache serves
every question; another change replaces it in place. If a run is stopped, what the rules and the model have found by
then is still reported.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from importlib.resources import files as package_files
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.build import AgentConfig, build_agent, open_log_session
from holdfast.agents.coding.headless import SignalHandler
from holdfast.agents.limits import Spent
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice, Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Done, End, Stop
from holdfast.agents.resolved_config import ResolvedConfig, make_agent_config, resolve_config
from holdfast.agents.reviewer.linters import lint_review
from holdfast.agents.reviewer.tools import RECORDED_DATA, restore_result, review_tools
from holdfast.agents.sessions import REVIEW_SOURCE, ReadableLog, begin_session, resume_session
from holdfast.agents.spending import spent_by
from holdfast.errors import NotFound
from holdfast.events import ContextSet, LogStarted, Noted, RecapSet, ToolReturned
from holdfast.log import Log
from holdfast.models.model import Model
from holdfast.review.escaping import show_invisible
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.git_changes import pin_revisions, review_root
from holdfast.review.report import ReviewReport
from holdfast.review.review import Review, start_review
from holdfast.review.static_context import Snippet, build_static_context, unit_weight
from holdfast.review.unit import Risk, Unit
from holdfast.store import SqliteStore, Store
from holdfast.tools.call import CallFinished
from holdfast.tools.workspace import Workspace
from holdfast.views import path

KEY = "diff"
FINDINGS = "findings"
RISK_PRIORITY: dict[Risk, float] = {"low": 0.1, "medium": 0.5, "high": 1.0}
LEVEL_PRIORITY = {"skip": 0.0, "diff": 0.2, "function": 0.4, "file_context": 0.6, "full_file": 0.8}
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
    return ContextSet(KEY, text, file_priorities(review))


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


def file_priorities(review: Review) -> dict[str, float]:
    """What each file of the change is worth to the review: by risk, by how closely it is looked at, by how complex
    it became, and by what was found in it."""
    found: dict[str, float] = {}
    for unit in review.units:
        complexity = min(max(unit.metrics.complexity, 0), 10) / 20
        priority = round(max(RISK_PRIORITY[unit.risk], LEVEL_PRIORITY[review.level(unit)], complexity), 2)
        found[unit.path] = max(found.get(unit.path, 0.0), priority)
    for finding in review.findings.kept:
        if SEVERITIES.index(finding.severity) >= GRAVE:
            found[finding.path] = 1.0
    return found


def _finding_line(finding: Finding) -> str:
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
        self.session = session = open_log_session(config, SYSTEM)
        tools = review_tools(review, workspace)
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
        return self.review.report(model=self.agent.model.name, summary=self.agent.last_reply)

    async def aclose(self) -> None:
        await self.agent.aclose()

    def _refresh(self) -> None:
        """Record the view of the change and the findings, if they differ from those in the log."""
        window = self.session.window
        transcript, counter = window.transcript, window.counter
        budget = int(window.profile.low_water * VIEW_SHARE)
        view = change_view(self.review, budget=budget, count=counter.text)
        if (view.text, view.worth) != (
            transcript.contexts.get(view.key),
            transcript.path_priority.get(view.key),
        ):
            self.session.record(view)
        self._refresh_findings()

    def _refresh_findings(self) -> None:
        """Every finding in a line, the most severe first, word for word: no fold and no summary touches these."""
        lines = tuple(map(_finding_line, self.review.findings.ranked()))
        before = self.session.window.transcript.recaps.get(FINDINGS)
        if lines != (before.lines if before else ()):
            self.session.record(RecapSet(FINDINGS, "Findings, in full by list_findings", lines))

    def _notice(self, notice: Notice) -> None:
        if isinstance(notice, CallFinished) and not notice.result.is_error:
            self._refresh_findings()
        self._watch(notice)


ReportProgress = Callable[[str], None]


class ReviewedChange(Struct, frozen=True):
    """The change to review: `spec` as `--diff` takes it. If `text` is a diff, `spec` is only its title."""

    spec: str
    text: str | None = None


class OpenedReview(Struct, frozen=True):
    """`close` closes everything that was opened."""

    reviewer: ReviewSession
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_review(
    options: AgentOptions,
    change: ReviewedChange | None,
    *,
    watch: Watch = unwatched,
    tell: ReportProgress = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
    linters: str = "",
) -> OpenedReview:
    """Open a review of a change. Without one, resume the review that the options name, else the newest of this
    folder.

    Raises `NoModel` if no model can be asked, and other errors of `holdfast.errors`.
    """
    asked = replace(
        options, root=review_root(options.root), profile=options.profile or "review", sandbox="off"
    )
    resolved = await asyncio.to_thread(resolve_config, asked, env, model)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(resolved.model.aclose)
        store = await asyncio.to_thread(SqliteStore, resolved.store)
        stack.callback(store.close)
        review, found = await asyncio.to_thread(_open_log, options.root, asked, resolved, store, change, tell)
        log, log_notes = found
        await lint_review(review, linters, tell)
        tell(f"asking {resolved.entry.name or resolved.model.name}")
        config = make_agent_config(resolved, store, log, options.limits, watch)
        session = await asyncio.to_thread(ReviewSession, config, review)
        stack.push_async_callback(session.aclose)
        close = stack.pop_all().aclose
    notes = (*log_notes, *resolved.notes, *_price_notes(resolved), *review.notes)
    return OpenedReview(session, notes, close)


def _price_notes(resolved: ResolvedConfig) -> list[str]:
    """Said before anything is spent; `--max-cost` without a price was refused before."""
    name = resolved.entry.name
    if not name or resolved.entry.price is not None or resolved.is_local:
        return []
    return [f"the price of `{name}` is not known, so this review counts tokens and not dollars"]


def read_change(store: Store, log: str) -> ReviewedChange:
    """The change that a log is about."""
    entries = Log.open(store, log).entries()
    spec = ""
    for entry in entries:
        match entry.event:
            case LogStarted(meta=meta):
                spec = str(meta.get("diff", ""))
            case Noted(kind="diff", text=text):
                return ReviewedChange(spec, text)
    if not spec:
        raise NotFound(f"the log `{log}` is not a review", hint="`holdfast logs` lists all logs")
    return ReviewedChange(spec)


def _open_log(
    root: Path,
    asked: AgentOptions,
    resolved: ResolvedConfig,
    store: Store,
    change: ReviewedChange | None,
    tell: ReportProgress,
) -> tuple[Review, ReadableLog]:
    """The review of a change with a new log; without a change, that of the log to resume."""
    found = None
    if change is None:
        found = resume_session(store, asked.root, asked.log, REVIEW_SOURCE)
        change = read_change(store, found[0])
    review = start_review(root, change.spec, text=change.text, counts_uses=True, tell=tell)
    if found is not None:
        return review, found
    redact = resolved.profile.redact
    log = begin_session(
        store,
        resolved.root,
        title=f"Review of {change.spec}",
        model=resolved.model.name,
        redact=redact,
        source=REVIEW_SOURCE,
        meta={"diff": change.spec if change.text is not None else pin_revisions(root, change.spec)},
    )
    if change.text is not None:
        # It cannot be read again, such as one from stdin.
        Log.open(store, log, redact=None if redact else str).append(Noted("diff", change.text))
    return review, (log, ())


class ReviewOutcome(Struct, frozen=True, kw_only=True):
    """`end` is how the model's run ended. `signal` is the signal that ended it, or 0."""

    review: Review
    report: ReviewReport
    end: End
    log: str
    spent: Spent
    is_priced: bool
    signal: int = 0

    @property
    def answer(self) -> str:
        """What the model said, if it came to an end."""
        return self.end.text if isinstance(self.end, Done) else ""


class ReviewInterrupted(Exception):
    """Ended by a signal before there was anything to report."""

    def __init__(self, signal: int) -> None:
        super().__init__("interrupted")
        self.signal = signal


async def run_review(
    options: AgentOptions,
    change: ReviewedChange | None,
    question: str = "",
    *,
    watch: Watch = unwatched,
    tell: ReportProgress = lambda _: None,
    began: Callable[[OpenedReview], None] = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
    linters: str = "",
) -> ReviewOutcome:
    """Review a change, or resume the newest review and ask it something. Raises the errors of `holdfast.errors`
    that keep it from starting."""
    signals = SignalHandler()
    with signals.caught():
        opened = await signals.unless_cancelled(
            open_review(options, change, watch=watch, tell=tell, env=env, model=model, linters=linters)
        )
        if opened is None:
            raise ReviewInterrupted(signals.came)
        try:
            began(opened)
            signals.agent = opened.reviewer.agent
            return await _review(opened.reviewer, question or REVIEW_REQUEST, signals)
        finally:
            await opened.close()


async def _review(session: ReviewSession, request: str, signals: SignalHandler) -> ReviewOutcome:
    log = session.session.log
    before = log.info.entries
    end: End | None = Done("")
    # The change may be gone by the time it is asked about; what was said of it is still there.
    if session.review.units or session.is_begun:
        end = await signals.unless_cancelled(session.ask(request))
    entry = session.agent.model_entry
    return ReviewOutcome(
        review=session.review,
        report=session.report(),
        end=end or Stop("interrupted", "interrupted", "`holdfast review --continue` resumes it"),
        log=log.id,
        spent=spent_by(log.entries(before), entry),
        is_priced=entry.price is not None,
        signal=signals.came,
    )
