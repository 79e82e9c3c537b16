"""A command that a person types, as a value; and what it answers.

Rule: it knows the coding and no screen. A mistake is a `HoldfastError` with a sentence and a hint, and leaves
everything as it was.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.errors import InputError


class CommandAnswer(Struct, frozen=True):
    """An answer in Markdown, and what the screen is to do about it: open another log, ask another model, send `say`
    as what the person says, read the talk anew because its path is another now, put `draft` into the prompt."""

    text: str
    open_log: str = ""
    model: str = ""
    say: str = ""
    is_reread: bool = False
    draft: str = ""


Run = Callable[[CodingSession, str], Awaitable[CommandAnswer]]
"""**Contract:** the argument is what stands behind the name, without the spaces around it."""


class SlashCommand(Struct, frozen=True):
    """`usage` is how it is typed, `about` a line on what it does, `more` what else there is to know."""

    name: str
    usage: str
    about: str
    run: Run
    more: str = ""

    def misused(self, trouble: str) -> InputError:
        return InputError(trouble, hint=f"`{self.usage}`")


def require_idle(coding: CodingSession, what: str) -> None:
    """Refuse what would pull the log from under a run."""
    if coding.agent.is_running:
        raise InputError(f"the agent is working, and {what} must wait", hint="interrupt it first, with Esc")


def parse_number(argument: str, most: int, noun: str) -> int:
    """A number that counts from 1 to `most`."""
    if not argument.isdecimal() or not 1 <= int(argument[:9]) <= most:
        there = f"there are {most}" if most else "there is none yet"
        raise InputError(f"`{argument}` is the number of no {noun}", hint=f"{there}, counted from 1")
    return int(argument)
