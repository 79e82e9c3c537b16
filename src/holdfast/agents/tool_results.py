"""Results of tools: how they get into the log, what a crash leaves open, and when they repeat.

Rule: a result is written as soon as it and all results before it are there, so that a crash between two calls loses
neither their order nor what is known.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

import msgspec
from msgspec import Struct, field

from holdfast.events import Event, ToolReturned
from holdfast.ids import text_id
from holdfast.messages import Text, ToolCall
from holdfast.redaction import is_kingfisher_loaded
from holdfast.session import Session
from holdfast.tools.call import CallFinished
from holdfast.tools.envelope import ToolResult

KeptData = Mapping[str, bool]
"""The tools whose result data is kept in the log, so that their state can be rebuilt from it. The value says
whether the data of failed calls is kept too."""

DEFAULT_KEPT_DATA: KeptData = dict.fromkeys(
    ("Read", "Edit", "MultiEdit", "Write", "Bash", "TodoWrite"), False
)

UNCERTAIN = (
    "[holdfast: the process ended before a result of this call was written. Whether it was carried out is "
    "uncertain, and it was not run again. Look at the state of things before you repeat it.]"
)
UNCERTAIN_EFFECT = "what it did is uncertain"
"""Part of the result of a call that was stopped before it had one."""
SUB_AGENT_STOPPED = "[The sub-agent was stopped: "
"""Begins a line of the report of a sub-agent that did not come to its end."""

LARGE_TEXT = 50_000
"""Searching so many characters for secrets takes about ten milliseconds."""


async def load_scanner_for(session: Session, event: Event) -> None:
    """Load the second scanner for secrets on another thread, if this event needs it. Most do not, and it takes half
    a second, several on a busy machine, and 45 MB."""
    if not is_kingfisher_loaded():
        with suppress(Exception):
            await asyncio.to_thread(session.log.stored, event)


async def redact_ahead(session: Session, result: ToolResult) -> None:
    """Search a result for secrets on another thread, if it is large or the scanner may have to be loaded: that can
    take a second, and a terminal must go on painting."""
    for part in result.parts:
        if isinstance(part, Text) and (len(part.text) > LARGE_TEXT or not is_kingfisher_loaded()):
            # What it raises is raised again where the result is recorded.
            with suppress(Exception):
                await asyncio.to_thread(session.log.redact_ahead, part.text)


def is_uncertain(text: str) -> bool:
    """Whether a result says that the effect of its call is unknown."""
    return text == UNCERTAIN or UNCERTAIN_EFFECT in text


def is_stopped_task(name: str, text: str) -> bool:
    """Whether a result is the report of a sub-agent that did not come to its end."""
    return name == "Task" and any(line.startswith(SUB_AGENT_STOPPED) for line in text.splitlines())


class ResultRecorder:
    """Writes the results of one reply's calls, in the order of the calls."""

    def __init__(self, session: Session, calls: Sequence[ToolCall], kept_data: KeptData) -> None:
        self._session = session
        self._kept_data = kept_data
        self._calls = calls
        self._arrived: dict[int, ToolResult] = {}
        self._written = 0
        self._error: Exception | None = None

    def record(self, finished: CallFinished) -> bool:
        """Says whether the log took it. Calls are told apart by identity: two of them may have the same id."""
        places = (n for n, call in enumerate(self._calls) if call is finished.call and n not in self._arrived)
        self._arrived[next(places)] = finished.result
        try:
            while self._written in self._arrived:
                call, result = self._calls[self._written], self._arrived[self._written]
                self._session.record(_result_event(call, result, self._kept_data))
                self._written += 1
        except Exception as error:  # A result that no log can hold must not be passed over.
            self._error = error
        return self._error is None

    def check(self) -> None:
        """Raises the error that kept a result from being written: no further step may be made without it."""
        if self._error:
            raise self._error


def _result_event(call: ToolCall, result: ToolResult, kept_data: KeptData) -> ToolReturned:
    """Data is kept only of tools whose state is rebuilt from it; a listing's data is in its text."""
    is_kept = call.name in kept_data and (kept_data[call.name] or not result.is_error)
    data = result.envelope.data if is_kept else {}
    shown = "" if result.shown == result.envelope.text else result.shown
    return ToolReturned(call.id, call.name, result.parts, error=result.is_error, data=data, shown=shown)


def open_calls(session: Session) -> list[tuple[str, ToolCall]]:
    """Calls of the newest step without a result, each with the id under which it was recorded."""
    steps = session.window.transcript.steps
    if not steps:
        return []
    step = steps[-1]
    return [(recorded, step.calls[id_]) for recorded, ids in step.waiting.items() for id_ in ids]


def mark_uncertain_calls(session: Session) -> None:
    """Give each call that a crash left without a result one that says so."""
    for recorded, call in open_calls(session):
        session.record(ToolReturned(recorded, call.name, (Text(UNCERTAIN),), error=True))


REMINDED_AT = 3
"""The model is reminded at this many equal calls with equal results; one more ends the run."""
NEARBY_CALLS = 25
"""Equal calls further apart than this are no repetition: the earlier result may have been folded since."""

RepeatVerdict = Literal["", "remind", "stop"]


class RepeatGuard(Struct):
    """The guard against loops: how often each call gave the same result since something else was changed, and when
    it did so last. Tests that run again after each edit are work and no loop."""

    counts: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    calls: int = 0

    def saw(self, call: ToolCall, result: str, *, is_read_only: bool) -> RepeatVerdict:
        arguments = call.raw or msgspec.json.encode(call.arguments, order="deterministic").decode()
        key = text_id("\0".join((call.name, arguments, result)))
        if not is_read_only and key not in self.counts:
            self.counts.clear()
        self.calls += 1
        is_near = self.calls - self.last.get(key, self.calls) <= NEARBY_CALLS
        self.last[key] = self.calls
        self.counts[key] = count = (self.counts.get(key, 0) if is_near else 0) + 1
        if count < REMINDED_AT:
            return ""
        return "remind" if count == REMINDED_AT else "stop"


def repeat_reminder(call: ToolCall) -> str:
    """What the model is told."""
    return (
        f"You have called {call.name} {REMINDED_AT} times with the same arguments and got the same result. Nothing "
        "will change by calling it again: use what you have, try something else, or say what is in the way."
    )
