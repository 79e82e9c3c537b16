"""What the screen needs of a talk, and what a talk may ask of the screen.

Rule: only values go across, so that neither side must be loaded for the other.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from holdfast.terminal.values import Approval, Choice, Chosen, Ending, Figures, Piece, Shown, Todo, Verdict


class Target(Struct, frozen=True):
    """Which talk is meant; empty is a new one, or the newest with `goes_on`, and the model that is configured."""

    log: str = ""
    model: str = ""
    goes_on: bool = False


class Stage(Protocol):
    """**Contract:** called on the screen's own thread."""

    def add(self, piece: Piece) -> None: ...

    def change(self, piece: Piece) -> None: ...

    def drop(self, piece: Piece) -> None: ...

    def stepped(self, number: int) -> None:
        """A request goes out: what was queued may have been taken in, and figures are new."""
        ...

    def refigure(self) -> None:
        """Figures or todos are others now."""
        ...

    async def approve(self, asked: Approval) -> Verdict: ...

    async def choose(self, choices: Sequence[Choice]) -> Sequence[Chosen]: ...


class Talk(Protocol):
    """**Contract:** `aclose` is called once, when nothing runs any more."""

    log: str
    mode: str
    """One of the modes of the status line, and may be set."""
    notes: Sequence[str]
    """What the person should know before the first word."""
    history: Path | None
    """Where lines that were typed outlive the process."""

    def earlier(self) -> list[Piece]:
        """What was said and done before, oldest first."""
        ...

    def figures(self) -> Figures: ...

    def todos(self) -> Sequence[Todo]: ...

    def commands(self) -> Sequence[tuple[str, str]]:
        """The commands besides those of the screen: `/name usage`, and what it is about."""
        ...

    async def say(self, text: str) -> Ending: ...

    async def go_on(self) -> Ending: ...

    def hear(self, text: str) -> str:
        """Take in what is said while it works; what the log will say."""
        ...

    def has_heard(self, texts: Sequence[str]) -> Sequence[bool]:
        """Which of them the agent has taken in by now."""
        ...

    def interrupt(self) -> None: ...

    async def command(self, line: str) -> Shown: ...

    async def aclose(self) -> None: ...


Open = Callable[[Stage, Target], Awaitable[Talk]]
"""Opens a talk. Raises `HoldfastError`. **Contract:** what takes long is done off the event loop."""
