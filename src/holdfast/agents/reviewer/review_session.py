"""A review by a model: its session, with the view of the change at the beginning of every request and the findings
at its end; and a run without a screen, from a change to a report.

Rule: a session can be closed at any moment and resumed from the log. It says what change it is about and with which
model and profile the review began, and findings and decisions are rebuilt from it. The view depends on the change
alone: while that is the same, its text is the one in the log, so that a provider's cache serves every question;
another change replaces it in place. If a run is stopped, what the rules and the model have found by then is still
reported.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, closing
from importlib.resources import files as package_files
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.build import AgentConfig, build_agent, open_log_session
from holdfast.agents.coding.headless import SignalHandler
from holdfast.agents.limits import Spent
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice, Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Done, End, Stop
from holdfast.agents.resolved_config import (
    ResolvedConfig,
    load_permissions,
    make_agent_config,
    resolve_config,
    store_place,
)
from holdfast.agents.reviewer.change_view import KEY, VIEW_SHARE, background, change_digest, change_view
from holdfast.agents.reviewer.linters import lint_review
from holdfast.agents.reviewer.tools import RECORDED_DATA, restore_result, review_tools
from holdfast.agents.sessions import (
    REVIEW_SOURCE,
    ReadableLog,
    begin_session,
    newest_session,
    read_start,
    resume_session,
)
from holdfast.agents.spending import spent_by
from holdfast.effort import parse_effort
from holdfast.errors import NotFound
from holdfast.events import LogStarted, Noted, RecapSet, ToolReturned
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.models.model import Model
from holdfast.models.selection import model_name
from holdfast.review.escaping import show_invisible
from holdfast.review.finding import Finding
from holdfast.review.git_changes import pin_revisions, review_root
from holdfast.review.report import ReviewReport
from holdfast.review.review import Review, start_review
from holdfast.store import Store, open_store
from holdfast.tools.call import CallFinished
from holdfast.tools.workspace import Workspace
from holdfast.views import path

FINDINGS = "findings"
MODEL, PROFILE, EFFORT = "asked_model", "profile", "effort"
"""Keys in the `meta` of a review's log, for what it is resumed with."""


def _finding_line(finding: Finding) -> str:
    claim = " ".join(finding.claim.split())
    side = " before the change" if finding.side == "old" else ""
    return show_invisible(f"{finding.id} {finding.severity} {finding.path}:{finding.line}{side} {claim}")


SYSTEM = (package_files(__package__) / "system.md").read_text("utf-8").strip()
REVIEW_REQUEST = "Review this change."


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
        self._shown = ""
        for entry in path(self.session.log.entries()):
            match entry.event:
                case ToolReturned(name=name, data=data) if data:
                    restore_result(review, name, data)
                case Noted(kind="view", text=text):
                    self._shown = text
        transcript = session.window.transcript
        if KEY not in transcript.contexts:
            low_water, counter = session.window.profile.low_water, session.window.counter
            session.record(*background(review, low_water=low_water, count=counter.text))
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
        others = sum(counter.text(text) for key, text in transcript.contexts.items() if key != KEY)
        budget = int(window.profile.low_water * VIEW_SHARE) - others
        view = change_view(self.review, budget=budget, count=counter.text)
        now, stored = change_digest(self.review), transcript.contexts.get(KEY, "")
        if stored and self._shown == now and counter.text(stored) <= budget:
            view = replace(view, text=stored)  # a cached prefix is worth more than what is counted again
        if (view.text, view.worth) != (
            transcript.contexts.get(view.key),
            transcript.path_priority.get(view.key),
        ):
            self.session.record(view, *([Noted("view", now)] if self._shown != now else []))
            self._shown = now
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
    """The change to review: `spec` as `--diff` takes it. If `text` is a diff, `spec` is only its title. `title` is
    what it was called when the review began, `about` what a person told of it."""

    spec: str
    text: str | None = None
    title: str = ""
    about: str = ""


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
    asked = replace(options, root=review_root(options.root), sandbox="off")
    if change is None:
        asked = await asyncio.to_thread(remembered_options, asked, env)
    asked = replace(asked, profile=asked.profile or "review")
    resolved = await asyncio.to_thread(resolve_config, asked, env, model)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(resolved.model.aclose)
        store = await asyncio.to_thread(open_store, resolved.store)
        stack.callback(store.close)
        began = _meta(asked, resolved, env)
        review, found = await asyncio.to_thread(
            _open_log, options.root, asked, resolved, store, change, tell, began
        )
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


def remembered_options(options: AgentOptions, env: Mapping[str, str]) -> AgentOptions:
    """The options to resume a review with: what is not given is as the review began."""
    config, *_ = load_permissions(options.root, env, trusts=options.trusts)
    with closing(open_store(store_place(options, config, env))) as store:
        name = options.log or newest_session(store, options.root, REVIEW_SOURCE)
        log = Log.open(store, name).id
        meta = read_start(store, log).meta
    began = {key: value for key in (MODEL, PROFILE, EFFORT) if isinstance(value := meta.get(key), str)}
    return replace(
        options,
        log=log,
        model=options.model or began.get(MODEL, ""),
        profile=options.profile or began.get(PROFILE, ""),
        effort=options.effort or parse_effort(began.get(EFFORT, ""), f"the log `{log}`"),
    )


def _meta(asked: AgentOptions, resolved: ResolvedConfig, env: Mapping[str, str]) -> dict[str, Json]:
    name = model_name(asked.model, resolved.config, env)
    address = urlsplit(name.partition("@")[2])
    # An address may have a key in it, which a log must not keep.
    safe = name.partition("@")[0] if address.username or address.query else name
    return {MODEL: safe, PROFILE: asked.profile, EFFORT: resolved.effort or ""}


def read_change(store: Store, log: str) -> ReviewedChange:
    """The change that a log is about."""
    entries = Log.open(store, log).entries()
    spec = title = ""
    for entry in entries:
        match entry.event:
            case LogStarted(meta=meta):
                spec, title = str(meta.get("diff", "")), str(meta.get("title", ""))
            case Noted(kind="diff", text=text):
                return ReviewedChange(spec, text)
    if not spec:
        raise NotFound(f"the log `{log}` is not a review", hint="`holdfast logs` lists all logs")
    return ReviewedChange(spec, title=title)


def _open_log(
    root: Path,
    asked: AgentOptions,
    resolved: ResolvedConfig,
    store: Store,
    change: ReviewedChange | None,
    tell: ReportProgress,
    began: dict[str, Json],
) -> tuple[Review, ReadableLog]:
    """The review of a change with a new log; without a change, that of the log to resume."""
    found = None
    if change is None:
        found = resume_session(store, asked.root, asked.log, REVIEW_SOURCE)
        change = read_change(store, found[0])
    spec = change.spec if change.text is not None else pin_revisions(root, change.spec)
    title = change.title or change.spec
    review = start_review(
        root, spec, text=change.text, title=title, about=change.about, counts_uses=True, tell=tell
    )
    if found is not None:
        return review, found
    redacts = resolved.profile.redact
    log = begin_session(
        store,
        resolved.root,
        title=f"Review of {change.spec}",
        model=resolved.model.name,
        redact=redacts,
        source=REVIEW_SOURCE,
        meta={"diff": spec, "title": title, **began},
    )
    if change.text is not None:
        # It cannot be read again, such as one from stdin.
        Log.open(store, log, redact=None if redacts else str).append(Noted("diff", change.text))
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
