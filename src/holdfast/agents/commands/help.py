"""`/help`: what commands there are, or how one of them is used.

Rule: it says what the commands say of themselves.
"""

from collections.abc import Mapping

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand
from holdfast.agents.commands.markdown import code, joined, table
from holdfast.errors import InputError
from holdfast.settings import nearest


def help_command(commands: Mapping[str, SlashCommand]) -> SlashCommand:
    """The command that explains these, and itself where it is among them."""

    async def run(_coding: CodingSession, argument: str) -> CommandAnswer:
        if not argument:
            rows = ([code(one.usage), one.about] for one in commands.values())
            return CommandAnswer(table(["command", "what it does"], rows))
        command = find_command(commands, argument.removeprefix("/"))
        return CommandAnswer(joined(f"{code(command.usage)}: {command.about}.", command.more))

    return SlashCommand("help", "/help [COMMAND]", "what commands there are", run)


def find_command(commands: Mapping[str, SlashCommand], name: str) -> SlashCommand:
    found = commands.get(name.lower())
    if found is None:
        near = nearest(name.lower(), list(commands))
        raise InputError(
            f"there is no command `/{name}`", hint=f"the nearest is `/{near}`; `/help` lists all"
        )
    return found
