"""`/help`: what commands there are, or how one of them is used.

Rule: it says what the commands say of themselves.
"""

from collections.abc import Mapping

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown
from holdfast.agents.commands.writing import code, joined, table
from holdfast.errors import InputError
from holdfast.settings import nearest


def help_command(commands: Mapping[str, Command]) -> Command:
    """The command that explains these, and itself where it is among them."""

    async def run(_desk: Desk, argument: str) -> Shown:
        if not argument:
            rows = ([code(one.usage), one.about] for one in commands.values())
            return Shown(table(["command", "what it does"], rows))
        command = find_command(commands, argument.removeprefix("/"))
        return Shown(joined(f"{code(command.usage)}: {command.about}.", command.more))

    return Command("help", "/help [COMMAND]", "what commands there are", run)


def find_command(commands: Mapping[str, Command], name: str) -> Command:
    found = commands.get(name.lower())
    if found is None:
        near = nearest(name.lower(), list(commands))
        raise InputError(
            f"there is no command `/{name}`", hint=f"the nearest is `/{near}`; `/help` lists all"
        )
    return found
