"""A review by a model, without a screen: a change goes in, and a report comes out.

Rule: which change a review is about is in its log, so that a question asked tomorrow is about the same change. If
the run is stopped, what the rules and the model have found by then is still reported.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.headless import SignalHandler
from holdfast.agents.limits import Spent
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Done, End, Stop
from holdfast.agents.resolved_config import ResolvedConfig, make_agent_config, resolve_config
from holdfast.agents.reviewer.review_session import REVIEW_REQUEST, ReviewSession
from holdfast.agents.sessions import (
    REVIEW_SOURCE,
    SalvagedLog,
    begin_session,
    find_session,
    newest_session,
    salvage_log,
)
from holdfast.agents.spending import spent_by
from holdfast.errors import NotFound
from holdfast.events import LogStarted, Noted
from holdfast.log import Log
from holdfast.models.model import Model
from holdfast.review.git_changes import pin_revisions, review_root
from holdfast.review.report import ReviewReport
from holdfast.review.review import Review, start_review
from holdfast.store import SqliteStore, Store

PROFILE = "review"
NOTE = "diff"
"""The kind of the note with the text of a diff that cannot be read again, such as one from stdin."""

Tell = Callable[[str], None]


class ReviewedChange(Struct, frozen=True):
    """The change to review: `spec` as `--diff` takes it. If `text` is a diff, `spec` is only its title."""

    spec: str
    text: str | None = None


class OpenedReview(Struct, frozen=True):
    """`close` closes everything that was opened."""

    session: ReviewSession
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_review(
    options: AgentOptions,
    change: ReviewedChange | None,
    *,
    watch: Watch = unwatched,
    tell: Tell = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> OpenedReview:
    """Open a review of a change. Without one, resume the review that the options name, else the newest of this
    folder.

    Raises `NoModel` if no model can be asked, and other errors of `holdfast.errors`.
    """
    asked = replace(
        options, root=review_root(options.root), profile=options.profile or PROFILE, sandbox="off"
    )
    resolved = await asyncio.to_thread(resolve_config, asked, env, model)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(resolved.model.aclose)
        store = await asyncio.to_thread(SqliteStore, resolved.store)
        stack.callback(store.close)
        if change is None:
            found = await asyncio.to_thread(_earlier, asked, store)
            change = await asyncio.to_thread(read_change, store, found.log)
            review = await asyncio.to_thread(_read, options.root, change, tell)
        else:
            review = await asyncio.to_thread(_read, options.root, change, tell)
            found = await asyncio.to_thread(_begin_log, options.root, resolved, store, change)
        tell(f"asking {resolved.entry.name or resolved.model.name}")
        config = make_agent_config(resolved, store, found.log, options.limits, watch)
        session = await asyncio.to_thread(ReviewSession, config, review)
        stack.push_async_callback(session.aclose)
        close = stack.pop_all().aclose
    return OpenedReview(session, (*found.notes, *resolved.notes, *review.notes), close)


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


def _earlier(options: AgentOptions, store: Store) -> SalvagedLog:
    if options.log:
        return salvage_log(store, find_session(store, options.log))
    return salvage_log(store, newest_session(store, options.root, REVIEW_SOURCE))


def _begin_log(root: Path, resolved: ResolvedConfig, store: Store, change: ReviewedChange) -> SalvagedLog:
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
        Log.open(store, log, redact=None if redact else str).append(Noted(NOTE, change.text))
    return SalvagedLog(log)


def _read(root: Path, change: ReviewedChange, tell: Tell) -> Review:
    return start_review(root, change.spec, text=change.text, counts_uses=True, tell=tell)


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
    tell: Callable[[str], None] = lambda _: None,
    began: Callable[[OpenedReview], None] = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> ReviewOutcome:
    """Review a change, or resume the newest review and ask it something. Raises the errors of `holdfast.errors`
    that keep it from starting."""
    signals = SignalHandler()
    with signals.caught():
        try:
            opened = await open_review(options, change, watch=watch, tell=tell, env=env, model=model)
        except asyncio.CancelledError:
            if not signals.absorb():
                raise
            raise ReviewInterrupted(signals.came) from None
        try:
            began(opened)
            signals.agent = opened.session.agent
            return await _review(opened.session, question or REVIEW_REQUEST, signals)
        finally:
            await opened.close()


async def _review(session: ReviewSession, request: str, signals: SignalHandler) -> ReviewOutcome:
    log = session.session.log
    before = log.info.entries
    end: End = Done("")
    try:
        # The change may be gone by the time it is asked about; what was said of it is still there.
        if session.review.units or session.is_begun:
            end = await session.ask(request)
    except asyncio.CancelledError:
        if not signals.absorb():
            raise
        end = Stop("interrupted", "interrupted", "`holdfast review --continue` resumes it")
    entry = session.agent.model_entry
    return ReviewOutcome(
        review=session.review,
        report=session.report(),
        end=end,
        log=log.id,
        spent=spent_by(log.entries(before), entry),
        is_priced=entry.price is not None,
        signal=signals.came,
    )
