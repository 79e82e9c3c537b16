"""A slash command as a value.

Rule: a command knows the session and no screen. A mistake is a `HoldfastError` with a hint, and changes nothing.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.outcomes import CommandAnswer
from holdfast.errors import InputError

RunCommand = Callable[[CodingSession, str], Awaitable[CommandAnswer]]
"""**Contract:** the argument is the text after the name, stripped."""


class SlashCommand(Struct, frozen=True):
    """`usage` is how it is typed, `about` what it does in a line, `more` the rest of the help. One that `waits`
    runs when the agent has ended its work."""

    name: str
    usage: str
    about: str
    run: RunCommand
    more: str = ""
    waits: bool = True

    def misused(self, trouble: str) -> InputError:
        return InputError(trouble, hint=f"`{self.usage}`")

    def unexpected(self, argument: str) -> InputError:
        return self.misused(f"`/{self.name}` does not take `{argument}`")


def require_idle(coding: CodingSession, what: str) -> None:
    """Refuse what would change the log under a run."""
    if coding.agent.is_running:
        raise InputError(f"the agent is working: {what} must wait", hint="interrupt it first, with Esc")


def parse_number(argument: str, most: int, noun: str) -> int:
    """A number from 1 to `most`."""
    if not argument.isdecimal() or not 1 <= int(argument[:9]) <= most:
        there = f"there are {most}, counted from 1" if most else "there are none yet"
        raise InputError(f"there is no {noun} `{argument}`", hint=there)
    return int(argument)
