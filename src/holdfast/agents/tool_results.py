"""Results of tools on their way into the log.

Rule: each is written as soon as it and all before it are there, so that a crash between two calls loses neither
their order nor what is known.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, field

from holdfast.errors import HoldfastError
from holdfast.events import ToolReturned
from holdfast.ids import text_id
from holdfast.messages import Text, ToolCall
from holdfast.session import Session
from holdfast.tools.call import CallFinished
from holdfast.tools.envelope import ToolResult
from holdfast.views.transcript import Step

KeptData = Mapping[str, bool]
"""Tools whose results' data is kept in the log, so that their state is rebuilt from it, and whether that of failed
ones is too."""

DEFAULT_KEPT_DATA: KeptData = dict.fromkeys(
    ("Read", "Edit", "MultiEdit", "Write", "Bash", "TodoWrite"), False
)

UNCERTAIN = (
    "[holdfast: the process ended before a result of this call was written. Whether it was carried out is "
    "uncertain, and it was not run again. Look at the state of things before you repeat it.]"
)
UNCERTAIN_EFFECT = "what it did is uncertain"
"""What stands in the result of a call that was ended before it had one."""


def is_uncertain(text: str) -> bool:
    """Whether a result says that nobody knows what its call did."""
    return text == UNCERTAIN or UNCERTAIN_EFFECT in text


class ResultRecorder:
    """The results of one reply's calls, written in the order of the calls."""

    def __init__(
        self, session: Session, calls: Sequence[ToolCall], remembered: KeptData = DEFAULT_KEPT_DATA
    ) -> None:
        self._session = session
        self._remembered = remembered
        self._calls = calls
        self._came: dict[int, ToolResult] = {}
        self._written = 0
        self._trouble: HoldfastError | None = None

    def take(self, finished: CallFinished) -> bool:
        """Whether the log took it. Of two calls with one id each gets its own: they are found by what they are."""
        places = (n for n, call in enumerate(self._calls) if call is finished.call and n not in self._came)
        self._came[next(places)] = finished.result
        try:
            while self._written in self._came:
                call, result = self._calls[self._written], self._came[self._written]
                self._session.record(result_event(call, result, self._remembered))
                self._written += 1
        except HoldfastError as error:
            self._trouble = error
        return self._trouble is None

    def check(self) -> None:
        """Raises what kept a result from being written: without it no further step may be made."""
        if self._trouble:
            raise self._trouble


def result_event(
    call: ToolCall, result: ToolResult, remembered: KeptData = DEFAULT_KEPT_DATA
) -> ToolReturned:
    """Facts are kept of the tools whose state is rebuilt from them; those of a listing stand in its text."""
    is_kept = call.name in remembered and (remembered[call.name] or not result.is_error)
    data = result.envelope.data if is_kept else {}
    shown = "" if result.shown == result.envelope.text else result.shown
    return ToolReturned(call.id, call.name, result.parts, error=result.is_error, data=data, shown=shown)


def mark_uncertain_calls(session: Session) -> tuple[str, ...]:
    """After a crash: calls without a result are marked as uncertain. The names of their tools are given back."""
    steps = session.window.transcript.steps
    if not steps:
        return ()
    unanswered = _unanswered(steps[-1])
    for recorded, name in unanswered:
        session.record(ToolReturned(recorded, name, (Text(UNCERTAIN),), error=True))
    return tuple(name for _, name in unanswered)


def _unanswered(step: Step) -> list[tuple[str, str]]:
    return [(recorded, step.calls[id_].name) for recorded, ids in step.waiting.items() for id_ in ids]


# The guard against loops: the same call with the same result, again and again.
#
# Rule: only calls between which nothing else was changed count; tests that run again after each edit are work. Nor
# does a call count that was made long ago: what it gave may have been folded since.

REMINDED_AT = 3
"""The how-manieth same call with the same result the model is told of; one more ends the run."""
NEARBY_CALLS = 25
"""Calls within which the same one is a repetition."""

RepeatVerdict = Literal["", "point", "stop"]


class RepeatGuard(Struct):
    """How often each call gave the same result since something else was changed, and at which call it did last."""

    counts: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    calls: int = 0

    def saw(self, call: ToolCall, result: str, *, is_read_only: bool) -> RepeatVerdict:
        key = _key(call, result)
        if not is_read_only and key not in self.counts:
            self.counts.clear()
        self.calls += 1
        is_near = self.calls - self.last.get(key, self.calls) <= NEARBY_CALLS
        self.last[key] = self.calls
        self.counts[key] = count = (self.counts.get(key, 0) if is_near else 0) + 1
        if count < REMINDED_AT:
            return ""
        return "point" if count == REMINDED_AT else "stop"


def repeat_reminder(call: ToolCall) -> str:
    """What the model is told."""
    return (
        f"You have called {call.name} {REMINDED_AT} times with the same arguments and got the same result. Nothing "
        "will change by calling it again: use what you have, try something else, or say what is in the way."
    )


def _key(call: ToolCall, result: str) -> str:
    arguments = call.raw or msgspec.json.encode(call.arguments, order="deterministic").decode()
    return text_id("\0".join((call.name, arguments, result)))
