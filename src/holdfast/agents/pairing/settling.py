"""What a crash left open in the log of one agent of a pair.

Rule: nothing is run again by itself. A call that only reads did nothing, and may be made again; of any other nobody
knows what it did, and the agent is told to look first. What may do harm twice a person is asked about.
"""

from holdfast.agents.results import BROKEN_OFF, UNCERTAIN
from holdfast.events import ToolReturned
from holdfast.messages import Text, ToolCall
from holdfast.pair.telling import quoted
from holdfast.session import Session
from holdfast.tools.toolbox import Toolbox

HARMLESS = (
    "[holdfast: the process ended before a result of this call was written. It changes nothing, so call it again "
    "if you still need it.]"
)
REPEATABLE = frozenset({"AskUser", "BashOutput", "BashStop", "Edit", "MultiEdit", "TodoWrite", "Write"})
"""Tools that come to the same if a call is made twice: what was written is written again, what was replaced is not
found any more. All others may do harm."""


def open_calls(session: Session) -> tuple[tuple[str, ToolCall], ...]:
    """Calls without a result, each with the id that it was recorded under."""
    steps = session.window.transcript.steps
    if not steps:
        return ()
    step = steps[-1]
    return tuple((recorded, step.calls[id_]) for recorded, ids in step.waiting.items() for id_ in ids)


def uncertain_calls(session: Session, toolbox: Toolbox) -> tuple[str, ...]:
    """Those of which nobody knows what they did and that may do harm twice, in a few words each."""
    return tuple(_said(call) for _, call in open_calls(session) if _may_harm(call, toolbox))


def settle_calls(session: Session, toolbox: Toolbox, words: str = "") -> None:
    """Give each a result that says so; `words` are what a person says of those that may do harm twice."""
    for recorded, call in open_calls(session):
        text = HARMLESS if toolbox.only_reads(call) else UNCERTAIN
        if words and _may_harm(call, toolbox):
            text += f"\n[holdfast: {BROKEN_OFF}; a person was asked, and says: {quoted(words)}]"
        session.record(ToolReturned(recorded, call.name, (Text(text),), error=True))


def _may_harm(call: ToolCall, toolbox: Toolbox) -> bool:
    return not toolbox.only_reads(call) and call.name not in REPEATABLE


def _said(call: ToolCall) -> str:
    about = str(call.arguments.get("command") or call.arguments.get("path") or "")
    return f"{call.name} {' '.join(about.split())[:200]}".strip()
