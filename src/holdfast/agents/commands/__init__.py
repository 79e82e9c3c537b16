"""Slash commands: what a person can type besides a message, as values without a terminal.

Rule: a command is one value in a module of its own or of its theme, and one line here.
"""

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.compact import COMPACT
from holdfast.agents.commands.context import CONTEXT
from holdfast.agents.commands.cost import COST
from holdfast.agents.commands.diff import DIFF
from holdfast.agents.commands.effort import EFFORT
from holdfast.agents.commands.export import EXPORT
from holdfast.agents.commands.history import FORK, REWIND, UNDO
from holdfast.agents.commands.init import INIT, note_init_offer, offers_init
from holdfast.agents.commands.jobs import JOBS
from holdfast.agents.commands.markdown import code, joined, table
from holdfast.agents.commands.mode import MODE
from holdfast.agents.commands.model import MODEL
from holdfast.agents.commands.permissions import PERMISSIONS
from holdfast.agents.commands.recall import RECALL
from holdfast.agents.commands.resume import RESUME
from holdfast.agents.commands.todos import TODOS
from holdfast.agents.commands.view import VIEW
from holdfast.agents.outcomes import CommandAnswer
from holdfast.errors import InputError, suggest

__all__ = ["COMMANDS", "CommandAnswer", "SlashCommand", "note_init_offer", "offers_init", "run_command"]

_LISTED = (
    *(
        CONTEXT,
        COMPACT,
        RECALL,
        REWIND,
        UNDO,
        DIFF,
        TODOS,
        JOBS,
        RESUME,
        FORK,
        MODEL,
        EFFORT,
        MODE,
        PERMISSIONS,
        COST,
    ),
    *(EXPORT, VIEW, INIT),
)
COMMANDS: dict[str, SlashCommand] = {command.name: command for command in _LISTED}


async def _run_help(_coding: CodingSession, argument: str) -> CommandAnswer:
    """The commands, or how one of them is used: what the commands say of themselves."""
    if not argument:
        rows = ([code(one.usage), one.about] for one in COMMANDS.values())
        return CommandAnswer(table(["command", "what it does"], rows))
    command = _find_command(argument.removeprefix("/"))
    return CommandAnswer(joined(f"{code(command.usage)}: {command.about}.", command.more))


COMMANDS["help"] = SlashCommand("help", "/help [COMMAND]", "list the commands", _run_help)


def _find_command(name: str) -> SlashCommand:
    found = COMMANDS.get(name.lower())
    if found is None:
        hint = suggest(name.lower(), COMMANDS, prefix="/", more="`/help` lists all")
        raise InputError(f"there is no command `/{name}`", hint=hint)
    return found


async def run_command(coding: CodingSession, line: str) -> CommandAnswer:
    """Run a line such as `/rewind 3 session`. Raises a `HoldfastError` if it cannot be done."""
    name, _, argument = line.strip().removeprefix("/").partition(" ")
    return await _find_command(name).run(coding, argument.strip())
