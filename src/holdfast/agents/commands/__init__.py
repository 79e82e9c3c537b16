"""Slash commands: what a person can type besides a message, as values without a terminal.

Rule: a command is one value in a module of its own or of its theme, and one line here.
"""

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.coding.own_commands import OwnCommand
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

__all__ = [
    "COMMANDS",
    "CommandAnswer",
    "SlashCommand",
    "listed_commands",
    "note_init_offer",
    "offers_init",
    "run_command",
]

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


async def _run_help(coding: CodingSession, argument: str) -> CommandAnswer:
    """The commands, or how one of them is used: what the commands say of themselves."""
    if not argument:
        rows = ([code(usage), about] for usage, about in listed_commands(coding))
        return CommandAnswer(table(["command", "what it does"], rows))
    if own := coding.own_commands.parse(f"/{argument.removeprefix('/')}"):
        return CommandAnswer(joined(f"{code(own[0].usage)}: {own[0].about}", f"From {code(own[0].shown)}."))
    command = _find_command(coding, argument.removeprefix("/"))
    return CommandAnswer(joined(f"{code(command.usage)}: {command.about}.", command.more))


COMMANDS["help"] = SlashCommand("help", "/help [COMMAND]", "list the commands", _run_help)


def listed_commands(coding: CodingSession) -> list[tuple[str, str]]:
    """How each command is typed and what it does; own commands with the file that they are from."""
    coding.own_commands.refresh()
    own = coding.own_commands.by_name.values()
    return [
        *((one.usage, one.about) for one in COMMANDS.values()),
        *((one.usage, f"{one.about} ({one.shown})") for one in own),
    ]


def _find_command(coding: CodingSession, name: str) -> SlashCommand:
    found = COMMANDS.get(name.lower())
    if found is None:
        known = (*COMMANDS, *coding.own_commands.by_name)
        hint = suggest(name.lower(), known, prefix="/", more="`/help` lists all")
        raise InputError(f"there is no command `/{name}`", hint=hint)
    return found


def _start_own(coding: CodingSession, command: OwnCommand, arguments: str) -> CommandAnswer:
    text = command.expand(arguments)
    coding.effort_once = command.effort
    model = "" if command.model in ("", "inherit") else command.model
    note = (
        f"{code(command.shown)} names the model {code(model)}; this session keeps its own, `/model` switches."
    )
    return CommandAnswer(note if model else "", say=text)


async def run_command(coding: CodingSession, line: str) -> CommandAnswer:
    """Run a line such as `/rewind 3 session`. Raises a `HoldfastError` if it cannot be done."""
    if own := coding.own_commands.parse(line):
        return _start_own(coding, *own)
    name, _, argument = line.strip().removeprefix("/").partition(" ")
    return await _find_command(coding, name).run(coding, argument.strip())
