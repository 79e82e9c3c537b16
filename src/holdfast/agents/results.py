"""Results of tools on their way into the log.

Rule: each is written as soon as it and all before it are there, so that a crash between two calls loses neither
their order nor what is known.
"""

from collections.abc import Sequence

from holdfast.errors import HoldfastError
from holdfast.events import ToolReturned
from holdfast.messages import Text, ToolCall
from holdfast.session import Session
from holdfast.tools.calling import CallFinished
from holdfast.tools.envelope import ToolResult
from holdfast.views.transcript import Step

REMEMBERING = frozenset({"Read", "Edit", "MultiEdit", "Write", "Bash", "TodoWrite"})

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

    def __init__(self, session: Session, calls: Sequence[ToolCall]) -> None:
        self._session = session
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
                self._session.record(returned(self._calls[self._written], self._came[self._written]))
                self._written += 1
        except HoldfastError as error:
            self._trouble = error
        return self._trouble is None

    def check(self) -> None:
        """Raises what kept a result from being written: without it no further step may be made."""
        if self._trouble:
            raise self._trouble


def returned(call: ToolCall, result: ToolResult) -> ToolReturned:
    """Facts are kept of the tools whose state is rebuilt from them; those of a listing stand in its text."""
    data = result.envelope.data if call.name in REMEMBERING and not result.is_error else {}
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
