"""Compacting a session: planning a summary, writing it at once or beside the agent, and taking it back.

Rule: a compaction is a few events, recorded together or not at all; what they cover stays in the log.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from holdfast.compaction.plan import CompactionPlan, is_stale, plan_compaction
from holdfast.compaction.preparation import MOST_FAILURES, PreparedSummary, prepare
from holdfast.compaction.writer import (
    BY_RULE,
    WrittenSummary,
    summary_events,
    usage_events,
    write_summary,
)
from holdfast.events import Compacted, Entry, Event, Folded, Undone
from holdfast.models.model import Model
from holdfast.packing.folding.fold_plan import plan_summary_fold
from holdfast.packing.pack import floor_parts
from holdfast.packing.rendering.fixed_layers import summary_of
from holdfast.packing.window import Window
from holdfast.session import Session
from holdfast.views import path

MAX_NAMED_PARTS = 4
"""Parts of a window that did not shrink enough which are named, the largest first."""


class Recorder(Protocol):
    """A window, and a log that events go into; a session is one."""

    @property
    def window(self) -> Window: ...

    def record(self, *events: Event) -> list[Entry]: ...

    def catch_up(self) -> None:
        """Take in what others wrote to the log meanwhile."""
        ...


class Compaction(Struct, frozen=True):
    """What a compaction was: its plan, its summary and how that came about, and what it did to the window."""

    plan: CompactionPlan
    written: WrittenSummary
    entries: tuple[str, ...]
    """Its own: what it made stand for others, its archive, its state, its fold."""
    tokens_before: int
    tokens_after: int
    notes: tuple[str, ...] = ()
    """Sentences for a person: that a model failed, that its summaries are off, that it did not shrink enough."""
    asks: bool = False
    """Whether a person should look at it: a model failed, and the profile's ladder ends in `ask`."""


def preview(session: Recorder, *, focus: str = "") -> CompactionPlan | None:
    """What a compaction asked for now would stand for; None where there is nothing new to sum up."""
    session.catch_up()
    return plan_compaction(session.window, manual=True, focus=focus)


async def compact(
    session: Recorder,
    model: Model | None = None,
    *,
    focus: str = "",
    manual: bool = True,
    model_window: int = 0,
) -> Compaction | None:
    """Write a summary now and record it, with the fold that takes what it covers off view. None where there is
    nothing new to sum up, or where the log meanwhile went on so that the summary no longer fits.

    `model_window` is what the model takes, where that may be less than the session's window.
    """
    session.catch_up()
    plan = plan_compaction(session.window, manual=manual, focus=focus)
    if plan is None:
        return None
    prepared = prepare(plan, session.window, model=model is not None, model_window=model_window)
    written = await write_summary(prepared, model, session.window.scene.counter.text)
    return _record(session, prepared, written, model)


def undo(session: Session) -> tuple[str, ...]:
    """Take the latest compaction back: its entries no longer count. Empty where there is none.

    That a model failed, and what it cost, stays true.
    """
    undone = _latest(path(session.log.entries()))
    if undone:
        session.record(Undone(undone, "a compaction was taken back"))
    return undone


def _latest(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The entries of the latest compaction, in order: what it made stand for others, its archive, its state, and
    the fold right behind it."""
    at = next((n for n in reversed(range(len(entries))) if isinstance(entries[n].event, Compacted)), None)
    if at is None:
        return ()
    first, end = at, at + 1
    newest = entries[at].event
    if isinstance(newest, Compacted) and newest.slot == "state" and not newest.last:
        first -= _is_archive(entries[first - 1])
    if _is_archive(entries[first]):
        first -= _is_archive(entries[first - 1], above=True)
    follows = entries[end].event if end < len(entries) else None
    if isinstance(follows, Folded) and follows.reason == "manual":
        end += 1
    return tuple(entry.id for entry in entries[first:end])


def _is_archive(entry: Entry, *, above: bool = False) -> bool:
    event = entry.event
    return isinstance(event, Compacted) and event.slot == "archive" and (bool(event.above) or not above)


class BackgroundCompaction:
    """A summary written while the agent goes on. The next request never waits for it: a fold by rule makes room."""

    def __init__(self, session: Recorder, model: Model | None, *, model_window: int = 0) -> None:
        self._session = session
        self._model = model
        self._model_window = model_window
        self._prepared: PreparedSummary | None = None
        self._task: asyncio.Task[WrittenSummary] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None

    def start(self) -> bool:
        """Begin, if one is due and none is under way. Before `pack`, whose fold takes the pressure away."""
        if self._task is not None:
            return False
        self._session.catch_up()
        window = self._session.window
        plan = plan_compaction(window)
        if plan is None:
            return False
        self._prepared = prepare(plan, window, model=self._model is not None, model_window=self._model_window)
        self._task = asyncio.create_task(
            write_summary(self._prepared, self._model, window.scene.counter.text)
        )
        return True

    def finish(self) -> Compaction | None:
        """Record what is ready; None where nothing is, or where the log went on so that it no longer fits."""
        if self._task is None or not self._task.done():
            return None
        task, prepared = self._task, self._prepared
        self._task = self._prepared = None
        if task.cancelled() or prepared is None:
            return None
        return _record(self._session, prepared, task.result(), self._model)

    async def wait(self) -> Compaction | None:
        """Record it when it is ready."""
        if self._task is not None:
            await asyncio.wait([self._task])
        return self.finish()

    def cancel(self) -> None:
        """Give it up: a call that hangs keeps nobody from leaving."""
        if self._task is not None:
            self._task.cancel()
            self._task = self._prepared = None


def _record(
    session: Recorder, prepared: PreparedSummary, written: WrittenSummary, model: Model | None
) -> Compaction | None:
    session.catch_up()
    window, plan = session.window, prepared.plan
    name = model.name if model else ""
    spent = usage_events(written, name)
    if is_stale(plan, window):
        session.record(*spent)
        return None
    before, seen = window.total(), window.last_entry or None
    summary = summary_events(prepared, written, window, name)
    entries = session.record(*spent, *_with_fold(window, plan, summary))
    recorded = tuple(entry.id for entry in entries if isinstance(entry.event, Compacted | Folded))
    if entries[0].parent != seen:
        # Someone else wrote between the look and the record; whether it still fits, nobody has looked at.
        session.record(Undone(recorded, "the log went on while a summary was recorded"))
        return None
    after = session.window.total()
    failed = bool(written.lacking or (written.failures and written.by == BY_RULE))
    asks = failed and "ask" in window.profile.summary_failure
    notes = tuple(_notes(session.window, prepared, written, before, after, asks=asks))
    return Compaction(plan, written, recorded, before, after, notes, asks)


def _with_fold(window: Window, plan: CompactionPlan, events: list[Event]) -> list[Event]:
    """The events, and the fold that they make room for."""
    compactions = window.transcript.compactions.after(events)
    summary = summary_of(window.scene, compactions, window.summary_sentences)
    grown = window.scene.counter.messages(summary) - window.fixed_tokens()["summary"]
    fold = plan_summary_fold(window, plan.end, grown)
    return [*events, fold] if fold is not None else events


def _notes(
    window: Window, prepared: PreparedSummary, written: WrittenSummary, before: int, after: int, *, asks: bool
) -> Iterator[str]:
    if written.failures and written.by == BY_RULE:
        yield f"the model wrote no summary ({'; '.join(written.failures)}): the rule half stands in"
        failures = window.transcript.compactions.failures
        if failures >= MOST_FAILURES:
            yield (
                f"after {failures} failures in a row this log's summaries are written by rule; "
                "ask for one by hand to try the model again"
            )
    if written.lacking:
        yield f"the model's summary says nothing of {', '.join(written.lacking)}, asked again too"
    if asks:
        yield f"the profile `{window.profile.name}` asks a person then: read the summary, or have it written again"
    target = window.profile.low_water
    if (prepared.plan.reason == "pressure" and after > target) or after >= before:
        parts = floor_parts(window, lambda position: window.blocks[position].room)
        sizes = ", ".join(f"{name} {tokens}" for name, tokens in parts[:MAX_NAMED_PARTS])
        aim = f"more than the {target} aimed at" if after > target else f"no fewer than the {before} before"
        yield f"{after} tokens remain, {aim}: {sizes}"
