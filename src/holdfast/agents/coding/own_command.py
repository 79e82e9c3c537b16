"""A command of the person: `!command` in the prompt.

Rule: it runs in the shell and sandbox of the agent, and what the rules or the mode deny is denied. Nobody is asked,
since a person typed it. Command and output are in the log: the model reads them with the next request, the person
sees them again on resume, and what was changed can be undone.
"""

import asyncio

from holdfast.agents.session_gate import SessionGate
from holdfast.events import Noted, UserSaid
from holdfast.messages import Text, ToolCall, joined_text
from holdfast.numbers import counted
from holdfast.session import Session
from holdfast.tools.call import CallListener, CallSettings
from holdfast.tools.envelope import ToolResult
from holdfast.tools.shell.bash import MOST_SECONDS
from holdfast.tools.tool import Tool
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

OWN_COMMAND = "own command"
"""The kind of the note about such a command."""
MOST_TOLD = 20_000
"""Characters of the output that the model is told; the person sees all of it."""


async def run_own_command(
    command: str,
    session: Session,
    bash: Tool,
    workspace: Workspace,
    gate: SessionGate,
    stop: asyncio.Event,
    listener: CallListener | None = None,
) -> ToolResult:
    """Run a command to its end, or until `stop` is set."""
    call = ToolCall("", "Bash", {"command": command, "timeout": MOST_SECONDS})
    settings = CallSettings(seconds_by_tool={"Bash": 0.0})
    toolbox = Toolbox([bash], workspace, gate=gate.check_own, settings=settings)
    [result] = await toolbox.run_calls([call], stop=stop, listener=listener)
    if result.envelope.error and result.envelope.error.code == "ACCESS_DENIED":
        return result  # nothing was run
    text = joined_text(result.parts)
    data = {**result.envelope.data, "typed": command, "error": result.is_error}
    told = (
        f"The user ran a command in the shell that you share, and not as a request to you:\n\n$ {command}\n"
        f"{clip_middle(text)}"
    )
    session.record(Noted(OWN_COMMAND, text, data), UserSaid((Text(told),), "reminder"))
    return result


def clip_middle(text: str, most: int = MOST_TOLD) -> str:
    """The text; of a long one its beginning and its end, which has more."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 3], text[-(most - most // 3) :]
    left = len(text) - len(head) - len(tail)
    return f"{head}\n[… {counted(left, 'character')} left out …]\n{tail}"
