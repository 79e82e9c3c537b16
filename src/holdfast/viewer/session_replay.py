"""A session replayed from beginning to end, as the process of a what-if does it.

Rule: it gets all that it needs with its task, reads nothing else, and says how far it is.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.events import BoundarySeen, Entry
from holdfast.messages import Message
from holdfast.viewer.history import OURS, RequestHistory
from holdfast.viewer.history_plan import HistoryPlan
from holdfast.viewer.money import MeasuredRequests, measure_history

Stage = Literal["packing", "evidence"]

TELL_SECONDS = 0.1
"""How often a replay says how far it is."""

MeasureEvidence = Callable[
    [Sequence[Entry], Callable[[int], Sequence[Message] | None], Callable[[int], None]], float | None
]
"""The share of older evidence that requests kept: from the entries, the messages of a request by its number, and a
function that is told the number of each request that is done. It travels to another process by its name."""


class ReplayTask(Struct, frozen=True):
    plan: HistoryPlan
    measure: MeasureEvidence | None


class ReplayProgress(Struct, frozen=True, gc=False):
    stage: Stage
    done: int


class ReplayAnswer(Struct, frozen=True):
    """`older` is the share of older evidence kept, None where no action used any, or where it is not measured."""

    measured: MeasuredRequests
    older: float | None


def everything_plan(recorded: HistoryPlan) -> HistoryPlan:
    """The whole list, as if neither we nor the client had ever made it shorter."""
    entries = [e for e in recorded.entries if not isinstance(e.event, (*OURS, BoundarySeen))]
    return replace(recorded, basis="list", entries=entries)


def replay_session(connection: Connection, task: ReplayTask) -> None:
    """The work of the process: it tells how far it is, and at last its answer."""
    told: tuple[Stage | None, float] = (None, 0.0)

    def tell(stage: Stage, done: int) -> None:
        nonlocal told
        if stage != told[0] or monotonic() - told[1] >= TELL_SECONDS:
            connection.send(ReplayProgress(stage, done))
            told = (stage, monotonic())

    # The viewer may have ended: then nobody wants to know.
    with suppress(BrokenPipeError):
        connection.send(_replayed(task, tell))


def _replayed(task: ReplayTask, tell: Callable[[Stage, int], None]) -> ReplayAnswer:
    history = task.plan.start(lambda _: None)
    for entry in task.plan.entries:
        history.add(entry)
        tell("packing", len(history.requests))
    older = None
    if task.measure is not None:
        older = task.measure(
            task.plan.entries, lambda number: _sent(history, number), lambda number: tell("evidence", number)
        )
    return ReplayAnswer(measure_history(history), older)


def _sent(history: RequestHistory, number: int) -> Sequence[Message] | None:
    """What was sent; None where it would have been refused."""
    marks = history.requests[number - 1].marks
    is_refused = history.basis == "preview" and any(mark.kind == "overflow" for mark in marks)
    return None if is_refused else history.messages(number)
