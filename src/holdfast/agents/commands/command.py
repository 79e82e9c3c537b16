"""A slash command as a value, and its answer.

Rule: a command knows the session and no screen. A mistake is a `HoldfastError` with a hint, and changes nothing.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.errors import InputError


class CommandAnswer(Struct, frozen=True):
    """An answer in Markdown, and what the screen should do: open another log, switch to another model, send `say`
    as if the person had said it, read the session again after a rewind, put `draft` into the prompt."""

    text: str
    open_log: str = ""
    model: str = ""
    say: str = ""
    is_reread: bool = False
    draft: str = ""


Run = Callable[[CodingSession, str], Awaitable[CommandAnswer]]
"""**Contract:** the argument is the text after the name, stripped."""


class SlashCommand(Struct, frozen=True):
    """`usage` is how it is typed, `about` what it does in a line, `more` the rest of the help."""

    name: str
    usage: str
    about: str
    run: Run
    more: str = ""

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
