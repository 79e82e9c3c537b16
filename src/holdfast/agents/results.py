"""Results of tools on their way into the log.

Rule: each is written as soon as it and all before it are there, so that a crash between two calls loses neither
their order nor what is known.
"""

from collections.abc import Mapping, Sequence

from holdfast.errors import HoldfastError
from holdfast.events import ToolReturned
from holdfast.messages import Text, ToolCall
from holdfast.session import Session
from holdfast.tools.calling import CallFinished
from holdfast.tools.envelope import ToolResult
from holdfast.views.transcript import Step

Remembered = Mapping[str, bool]
"""Tools whose results' data is kept in the log, so that their state is rebuilt from it, and whether that of failed
ones is too."""

USUAL: Remembered = dict.fromkeys(("Read", "Edit", "MultiEdit", "Write", "Bash", "TodoWrite"), False)

UNCERTAIN = (
    "[holdfast: the process ended before a result of this call was written. Whether it was carried out is "
    "uncertain, and it was not run again. Look at the state of things before you repeat it.]"
)
BROKEN_OFF = "what it did is uncertain"
"""What stands in the result of a call that was ended before it had one."""


def is_uncertain(text: str) -> bool:
    """Whether a result says that nobody knows what its call did."""
    return text == UNCERTAIN or BROKEN_OFF in text


class Results:
    """The results of one reply's calls, written in the order of the calls."""

    def __init__(self, session: Session, calls: Sequence[ToolCall], remembered: Remembered = USUAL) -> None:
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
                self._session.record(returned(call, result, self._remembered))
                self._written += 1
        except HoldfastError as error:
            self._trouble = error
        return self._trouble is None

    def check(self) -> None:
        """Raises what kept a result from being written: without it no further step may be made."""
        if self._trouble:
            raise self._trouble


def returned(call: ToolCall, result: ToolResult, remembered: Remembered = USUAL) -> ToolReturned:
    """Facts are kept of the tools whose state is rebuilt from them; those of a listing stand in its text."""
    is_kept = call.name in remembered and (remembered[call.name] or not result.is_error)
    data = result.envelope.data if is_kept else {}
    shown = "" if result.shown == result.envelope.text else result.shown
    return ToolReturned(call.id, call.name, result.parts, error=result.is_error, data=data, shown=shown)


def settle(session: Session) -> tuple[str, ...]:
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
