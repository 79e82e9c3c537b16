"""From what a person wishes to a review with a model that is open: a new one, or one that is gone on with.

Rule: which change a review is of stands in its log, so that a question asked tomorrow is about the same change.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.headless import SignalHandler, spent_by
from holdfast.agents.coding.startup import ResolvedConfig, make_agent_config, resolve_config
from holdfast.agents.limits import Spent
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Done, End, Stop
from holdfast.agents.reviewer.review_session import REVIEW_REQUEST, ReviewSession
from holdfast.agents.sessions import (
    REVIEW_SOURCE,
    SalvagedLog,
    begin_session,
    find_session,
    newest_session,
    salvage_log,
)
from holdfast.errors import NotFound
from holdfast.events import LogStarted, Noted
from holdfast.log import Log
from holdfast.models.model import Model
from holdfast.review.git_changes import pin_revisions
from holdfast.review.reports import ReviewReport
from holdfast.review.review import Review, review_root, start_review
from holdfast.store import SqliteStore, Store

PROFILE = "review"
NOTE = "diff"
"""The kind of the note that holds a diff which cannot be read again."""

Tell = Callable[[str], None]


class ReviewedChange(Struct, frozen=True):
    """Which change to review: `spec` as `--diff` takes it; `text` is a diff that `spec` is only the title of."""

    spec: str
    text: str | None = None


class OpenedReview(Struct, frozen=True):
    """`close` ends everything that was opened."""

    desk: ReviewSession
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_review(
    wish: AgentOptions,
    change: ReviewedChange | None,
    *,
    watch: Watch = unwatched,
    tell: Tell = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> OpenedReview:
    """Open a review of a change; without one, go on with that which the wish names, else the newest of this folder.

    Raises `NoModel` where no model can be asked, and other errors of `holdfast.errors`.
    """
    asked = replace(wish, root=review_root(wish.root), profile=wish.profile or PROFILE, sandbox="off")
    ground = await asyncio.to_thread(resolve_config, asked, env, model)
    store: Store | None = None
    try:
        store = await asyncio.to_thread(SqliteStore, ground.store)
        if change is None:
            talk = await asyncio.to_thread(_earlier, asked, store)
            change = await asyncio.to_thread(read_change, store, talk.log)
            review = await asyncio.to_thread(_read, wish.root, change, tell)
        else:
            review = await asyncio.to_thread(_read, wish.root, change, tell)
            talk = await asyncio.to_thread(_begin_log, wish.root, ground, store, change)
        tell(f"asking {ground.entry.name or ground.model.name}")
        opening = make_agent_config(ground, store, talk.log, wish.limits, watch)
        desk = await asyncio.to_thread(ReviewSession, opening, review)
    except BaseException:
        await ground.model.aclose()
        if store is not None:
            store.close()
        raise
    notes = (*([talk.note] if talk.note else []), *ground.notes, *review.notes)
    return OpenedReview(desk, notes, _closing(desk, store))


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
        raise NotFound(f"the log `{log}` is no review", hint="`holdfast logs` lists what there is")
    return ReviewedChange(spec)


def _earlier(wish: AgentOptions, store: Store) -> SalvagedLog:
    return salvage_log(
        store, find_session(store, wish.log) if wish.log else newest_session(store, wish.root, REVIEW_SOURCE)
    )


def _begin_log(root: Path, ground: ResolvedConfig, store: Store, change: ReviewedChange) -> SalvagedLog:
    redact = ground.profile.redact
    log = begin_session(
        store,
        ground.root,
        title=f"Review of {change.spec}",
        model=ground.model.name,
        redact=redact,
        source=REVIEW_SOURCE,
        meta={"diff": change.spec if change.text is not None else pin_revisions(root, change.spec)},
    )
    if change.text is not None:
        Log.open(store, log, redact=None if redact else str).append(Noted(NOTE, change.text))
    return SalvagedLog(log)


def _read(root: Path, change: ReviewedChange, tell: Tell) -> Review:
    return start_review(root, change.spec, text=change.text, counts_uses=True, tell=tell)


def _closing(desk: ReviewSession, store: Store) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        try:
            await desk.aclose()
        finally:
            store.close()

    return close


# A review without a screen: a change in, a report out, whatever happens on the way.
#
# Rule: what the rules and the model have found until then is reported also where the run was stopped.


class ReviewOutcome(Struct, frozen=True, kw_only=True):
    """`end` is what the model's run came to; `signal` the one that ended it, 0 if none did."""

    review: Review
    report: ReviewReport
    end: End
    log: str
    spent: Spent
    is_priced: bool
    signal: int = 0

    @property
    def answer(self) -> str:
        """What the model said, where it came to an end."""
        return self.end.text if isinstance(self.end, Done) else ""


class ReviewInterrupted(Exception):
    """Ended by a signal before there was anything to report."""

    def __init__(self, signal: int) -> None:
        super().__init__("interrupted")
        self.signal = signal


async def run_review(
    wish: AgentOptions,
    change: ReviewedChange | None,
    question: str = "",
    *,
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda _: None,
    began: Callable[[OpenedReview], None] = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> ReviewOutcome:
    """Review a change, or go on with the newest review and ask it something. Raises the errors of `holdfast.errors`
    that keep it from beginning."""
    signals = SignalHandler()
    with signals.caught():
        try:
            opened = await open_review(wish, change, watch=watch, tell=tell, env=env, model=model)
        except asyncio.CancelledError:
            if not signals.settle():
                raise
            raise ReviewInterrupted(signals.came) from None
        try:
            began(opened)
            signals.agent = opened.desk.agent
            return await _reviewed(opened.desk, question or REVIEW_REQUEST, signals)
        finally:
            await opened.close()


async def _reviewed(desk: ReviewSession, request: str, signals: SignalHandler) -> ReviewOutcome:
    entries = desk.session.log.info.entries
    end: End = Done("")
    try:
        # A change may be committed or undone by the time it is asked about; what was said of it is still there.
        if desk.review.units or desk.is_begun:
            end = await desk.look(request)
    except asyncio.CancelledError:
        if not signals.settle():
            raise
        end = Stop("interrupted", "interrupted", "`holdfast review --continue` goes on")
    entry = desk.agent.asking.entry
    return ReviewOutcome(
        review=desk.review,
        report=desk.report(),
        end=end,
        log=desk.session.log.id,
        spent=spent_by(desk.session.log.entries(entries), entry),
        is_priced=entry.price is not None,
        signal=signals.came,
    )
