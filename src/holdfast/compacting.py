"""Compacting a session: planning a summary, writing it at once or beside the agent, and taking it back.

Rule: a compaction is a few events, recorded together or not at all; what they cover stays in the log.
"""

import asyncio
from typing import Protocol

from msgspec import Struct

from holdfast.compaction.plan import Plan, plan_compaction
from holdfast.compaction.summarize import MOST_FAILURES, Prepared, Written, events_of, prepare, write
from holdfast.events import Compacted, CompactionFailed, Entry, Event, Folded, Undone
from holdfast.models.protocol import Model
from holdfast.packing.fold import close_range
from holdfast.packing.window import Window
from holdfast.session import Session
from holdfast.views import path


class Recorder(Protocol):
    """A window, and a log that events go into; a session is one."""

    @property
    def window(self) -> Window: ...

    def record(self, *events: Event) -> list[Entry]: ...


class Compaction(Struct, frozen=True):
    """What a compaction was: its plan, its summary and how that came about, and what it did to the window."""

    plan: Plan
    written: Written
    entries: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    notes: tuple[str, ...] = ()
    """Sentences for a person: that a model failed, that its summaries are off, that it did not shrink enough."""


def preview(session: Recorder, *, focus: str = "") -> Plan | None:
    """What a compaction asked for now would stand for; None where there is nothing new to sum up."""
    return plan_compaction(session.window, manual=True, focus=focus)


async def compact(
    session: Recorder, model: Model | None = None, *, focus: str = "", manual: bool = True
) -> Compaction | None:
    """Write a summary now and record it, with the fold that takes what it covers off view."""
    plan = plan_compaction(session.window, manual=manual, focus=focus)
    if plan is None:
        return None
    prepared = prepare(plan, session.window, model=model is not None)
    written = await write(prepared, model, session.window.scene.counter.text)
    return _record(session, prepared, written, model)


def undo(session: Session) -> tuple[str, ...]:
    """Take the latest compaction back: its entries no longer count. Empty where there is none."""
    found: list[Entry] = []
    for entry in reversed(path(session.log.entries())):
        is_part = isinstance(entry.event, Compacted | CompactionFailed) or (
            isinstance(entry.event, Folded) and entry.event.reason == "manual"
        )
        if is_part:
            found.append(entry)
        elif any(isinstance(one.event, Compacted) for one in found):
            break
        else:
            found.clear()
    undone = tuple(entry.id for entry in reversed(found))
    if undone:
        session.record(Undone(undone, "a compaction was taken back"))
    return undone


class Beside:
    """A summary written while the agent goes on. The next request never waits for it: a fold by rule makes room."""

    def __init__(self, session: Recorder, model: Model | None) -> None:
        self._session = session
        self._model = model
        self._prepared: Prepared | None = None
        self._task: asyncio.Task[Written] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None

    def start(self) -> bool:
        """Begin, if one is due and none is under way. Before `pack`, whose fold takes the pressure away."""
        if self._task is not None:
            return False
        window = self._session.window
        plan = plan_compaction(window)
        if plan is None:
            return False
        self._prepared = prepare(plan, window, model=self._model is not None)
        self._task = asyncio.create_task(write(self._prepared, self._model, window.scene.counter.text))
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
    session: Recorder, prepared: Prepared, written: Written, model: Model | None
) -> Compaction | None:
    window = session.window
    before = window.total()
    events = events_of(prepared, written, window, model.name if model else "")
    if events is None:
        return None
    entries = session.record(*events)
    fold: Event | None = close_range(session.window, prepared.plan.end)
    if fold is not None:
        entries += session.record(fold)
    after = session.window.total()
    return Compaction(
        prepared.plan,
        written,
        tuple(entry.id for entry in entries),
        before,
        after,
        tuple(_notes(session, prepared, written, after)),
    )


def _notes(session: Recorder, prepared: Prepared, written: Written, after: int) -> list[str]:
    notes: list[str] = []
    if written.failures and written.by == "rule":
        notes.append(f"the model wrote no summary ({'; '.join(written.failures)}): the rule half stands in")
    failures = session.window.transcript.compactions.failures
    if failures >= MOST_FAILURES:
        notes.append(
            f"after {failures} failures in a row this log's summaries are written by rule; "
            "ask for one by hand to try the model again"
        )
    target = session.window.profile.low_water
    if prepared.plan.reason == "pressure" and after > target:
        fixed = session.window.fixed_tokens()
        sizes = ", ".join(f"{name} {tokens}" for name, tokens in sorted(fixed.items(), key=lambda p: -p[1]))
        notes.append(f"{after} tokens remain, more than the {target} aimed at: {sizes}")
    return notes
