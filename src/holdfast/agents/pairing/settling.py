"""What a crash left open in the log of one agent of a pair.

Rule: nothing is run again by itself. A call that only reads did nothing, and may be made again; of any other nobody
knows what it did, and the agent is told to look first.
"""

from holdfast.agents.results import UNCERTAIN
from holdfast.events import ToolReturned
from holdfast.messages import Text, ToolCall
from holdfast.session import Session
from holdfast.tools.toolbox import Toolbox

HARMLESS = (
    "[holdfast: the process ended before a result of this call was written. It changes nothing, so call it again "
    "if you still need it.]"
)


def open_calls(session: Session) -> tuple[tuple[str, ToolCall], ...]:
    """Calls without a result, each with the id that it was recorded under."""
    steps = session.window.transcript.steps
    if not steps:
        return ()
    step = steps[-1]
    return tuple((recorded, step.calls[id_]) for recorded, ids in step.waiting.items() for id_ in ids)


def uncertain_calls(session: Session, toolbox: Toolbox) -> tuple[str, ...]:
    """Those of which nobody knows what they did, in a few words each."""
    return tuple(_said(call) for _, call in open_calls(session) if not toolbox.only_reads(call))


def settle_calls(session: Session, toolbox: Toolbox) -> None:
    for recorded, call in open_calls(session):
        text = HARMLESS if toolbox.only_reads(call) else UNCERTAIN
        session.record(ToolReturned(recorded, call.name, (Text(text),), error=True))


def _said(call: ToolCall) -> str:
    about = str(call.arguments.get("command") or call.arguments.get("path") or "")
    return f"{call.name} {' '.join(about.split())[:200]}".strip()
