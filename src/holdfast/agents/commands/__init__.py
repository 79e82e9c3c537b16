"""What a person can type besides words: commands as values, without a terminal.

Rule: a command is one small module and one line here.
"""

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand
from holdfast.agents.commands.compact import COMPACT
from holdfast.agents.commands.context import CONTEXT
from holdfast.agents.commands.cost import COST
from holdfast.agents.commands.diff import DIFF
from holdfast.agents.commands.export import EXPORT
from holdfast.agents.commands.fork import FORK
from holdfast.agents.commands.help import find_command, help_command
from holdfast.agents.commands.init import INIT, note_init_offer, offers_init
from holdfast.agents.commands.lookup import RECALL, TODOS
from holdfast.agents.commands.model import MODE, MODEL
from holdfast.agents.commands.resume import RESUME
from holdfast.agents.commands.rewind import REWIND
from holdfast.agents.commands.undo import UNDO

__all__ = ["COMMANDS", "CommandAnswer", "SlashCommand", "note_init_offer", "offers_init", "run_command"]

COMMANDS: dict[str, SlashCommand] = {
    command.name: command
    for command in (
        CONTEXT,
        COMPACT,
        RECALL,
        REWIND,
        UNDO,
        DIFF,
        TODOS,
        RESUME,
        FORK,
        MODEL,
        MODE,
        COST,
        EXPORT,
        INIT,
    )
}
COMMANDS["help"] = help_command(COMMANDS)


async def run_command(coding: CodingSession, line: str) -> CommandAnswer:
    """What a line such as `/rewind 3 talk` comes to. Raises a `HoldfastError` for what cannot be done."""
    name, _, argument = line.strip().removeprefix("/").partition(" ")
    return await find_command(COMMANDS, name).run(coding, argument.strip())
