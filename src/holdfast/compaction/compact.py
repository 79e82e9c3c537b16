"""Compacting a session: plan a summary, write it at once or in the background, and undo it.

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
    TRUNCATED,
    WrittenSummary,
    summary_events,
    usage_events,
    write_summary,
)
from holdfast.events import Compacted, Entry, Event, Folded, Undone
from holdfast.models.model import Model
from holdfast.numbers import grouped
from holdfast.packing.folding.fold_plan import plan_summary_fold
from holdfast.packing.rendering.fixed_layers import summary_messages
from holdfast.packing.view import WindowView
from holdfast.packing.window import Window
from holdfast.session import Session
from holdfast.views import path

MOST_PARTS = 4
"""Parts that are named, the largest first, where a window did not shrink enough."""


class Recorder(Protocol):
    """A window, and a log that events are recorded in; a session is one."""

    @property
    def window(self) -> Window: ...

    def record(self, *events: Event) -> list[Entry]: ...

    def catch_up(self) -> None:
        """Take in what others wrote to the log meanwhile."""
        ...


class Compaction(Struct, frozen=True):
    """A compaction that was done: its plan, its summary and how that came about, and what it did to the window."""

    plan: CompactionPlan
    written: WrittenSummary
    entries: tuple[str, ...]
    """The entries it recorded: a merged archive, its archive entry, its state, its fold."""
    tokens_before: int
    tokens_after: int
    notes: tuple[str, ...] = ()
    """Sentences for a person: that a model failed, that its summaries are off, that it did not shrink enough."""
    asks: bool = False
    """Whether a person should look at it: a model failed, and the profile's `summary_failure` has `ask`."""


def preview(session: Recorder, *, focus: str = "") -> CompactionPlan | None:
    """The plan of a compaction asked for now; None where there is nothing new to summarize."""
    session.catch_up()
    return plan_compaction(session.window.view(), manual=True, focus=focus)


async def compact(
    session: Recorder,
    model: Model | None = None,
    *,
    focus: str = "",
    manual: bool = True,
    model_window: int = 0,
) -> Compaction | None:
    """Write a summary now and record it, with the fold that takes what it covers out of the window.

    None where there is nothing new to summarize, or where the log changed meanwhile so that the summary no longer
    fits. `model_window` is the size of the model's window, where that may be smaller than the session's.
    """
    session.catch_up()
    window = session.window.view()
    plan = plan_compaction(window, manual=manual, focus=focus)
    if plan is None:
        return None
    prepared = prepare(plan, window, model=model is not None, model_window=model_window)
    written = await write_summary(prepared, model, window.counter.text)
    return _record(session, prepared, written, model)


def undo(session: Session) -> tuple[str, ...]:
    """Undo the latest compaction: its entries no longer count. Returns them, or nothing where there is none.

    The record of a model's failures and costs stays.
    """
    undone = _latest(path(session.log.entries()))
    if undone:
        session.record(Undone(undone, "a compaction was taken back"))
    return undone


def _latest(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The entries of the latest compaction, in order: a merged archive, its archive entry, its state, and the fold
    right after it."""
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
    """A summary written while the agent goes on. The next request never waits for it: a fold makes room."""

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
        """Begin, if one is due and none is under way. Call it before `pack`, whose fold takes the pressure away."""
        if self._task is not None:
            return False
        self._session.catch_up()
        window = self._session.window.view()
        if plan := plan_compaction(window):
            asks = self._model is not None
            self._prepared = prepare(plan, window, model=asks, model_window=self._model_window)
            self._task = asyncio.create_task(write_summary(self._prepared, self._model, window.counter.text))
        return plan is not None

    def finish(self) -> Compaction | None:
        """Record what is ready; None where nothing is, or where the log changed so that it no longer fits."""
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
        """Give it up, so that a call that hangs does not keep anyone from leaving."""
        if self._task is not None:
            self._task.cancel()
            self._task = self._prepared = None


def _record(
    session: Recorder, prepared: PreparedSummary, written: WrittenSummary, model: Model | None
) -> Compaction | None:
    session.catch_up()
    window, plan = session.window.view(), prepared.plan
    name = model.name if model else ""
    spent = usage_events(written, name)
    if is_stale(plan, window):
        session.record(*spent)
        return None
    before, seen = window.total, window.last_entry or None
    summary = summary_events(prepared, written, window, name)
    entries = session.record(*spent, *_with_fold(window, plan, summary))
    recorded = tuple(entry.id for entry in entries if isinstance(entry.event, Compacted | Folded))
    if entries[0].parent != seen:
        # Another process wrote between the check and the record, so it may no longer fit.
        session.record(Undone(recorded, "the log went on while a summary was recorded"))
        return None
    after = session.window.view().total
    failed = bool(written.lacking or (written.failures and written.by in (BY_RULE, TRUNCATED)))
    asks = failed and "ask" in window.profile.summary_failure
    notes = tuple(_notes(session.window.view(), prepared, written, before, after, asks=asks))
    return Compaction(plan, written, recorded, before, after, notes, asks)


def _with_fold(window: WindowView, plan: CompactionPlan, events: list[Event]) -> list[Event]:
    """The events, and the fold that they make possible."""
    compactions = window.transcript.compactions.after(events)
    summary = summary_messages(window.context, compactions, window.summary_sentences)
    grown = window.counter.messages(summary) - window.fixed_tokens["summary"]
    fold = plan_summary_fold(window, plan.end, grown)
    return [*events, fold] if fold is not None else events


def _notes(
    window: WindowView,
    prepared: PreparedSummary,
    written: WrittenSummary,
    before: int,
    after: int,
    *,
    asks: bool,
) -> Iterator[str]:
    if written.failures and written.by in (BY_RULE, TRUNCATED):
        instead = "it was written by rule" if written.by == BY_RULE else "what it covers was only left out"
        yield f"the model wrote no summary ({'; '.join(written.failures)}), so {instead}"
        failures = window.transcript.compactions.failures
        if failures >= MOST_FAILURES:
            yield (
                f"after {failures} failures in a row, summaries of this log are written by rule; "
                "ask for one by hand to try the model again"
            )
    if written.lacking:
        yield f"the model's summary says nothing about {', '.join(written.lacking)}, even when asked again"
    if asks:
        name = window.profile.name
        yield f"please read the summary, or have it written again: the profile `{name}` asks for that"
    target = window.low_water if window.profile.excerpt_ratio else window.profile.trigger
    if (prepared.plan.reason == "pressure" and after > target) or after >= before:
        parts = window.floor_parts(window.total)
        sizes = ", ".join(f"{name} {grouped(tokens)}" for name, tokens in parts[:MOST_PARTS])
        is_above = after > target
        aim = (
            f"more than the target of {grouped(target)}"
            if is_above
            else f"no fewer than the {grouped(before)} before"
        )
        yield f"{grouped(after)} tokens remain, {aim}: {sizes}"
