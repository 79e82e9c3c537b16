"""What the screen shows, as plain values: the pieces of a talk, what is asked of a person, the figures below.

Rule: no widget and nothing of an agent is known here, so that the screen is there before the agent is loaded.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

Tone = Literal["quiet", "plain", "warning", "error"]
CallState = Literal["writing", "waiting", "running", "done", "failed", "refused", "uncertain"]
"""Of a call: the model writes it, it waits for its turn or a person, it runs, it ended in one way or another."""


class UserPiece(Struct):
    """What the person said. `is_queued` until the agent has taken it in."""

    text: str
    is_queued: bool = False


class ReplyPiece(Struct):
    """What the model says. While it streams it is plain text, and Markdown when it is whole."""

    text: str = ""
    is_whole: bool = False


class ThinkingPiece(Struct):
    text: str = ""
    is_whole: bool = False


class TaskProgress(Struct):
    """How far a sub-agent is: its step, of how many it may make (0 without end), what it does, what it took so far.
    `dollars` is None where a price is not known."""

    step: int = 0
    most: int = 0
    doing: str = ""
    tokens: int = 0
    dollars: float | None = 0.0


class CallCard(Struct):
    """A call of a tool. `shown` is the short result, `full` what the model read of it; `work` is that of the
    sub-agent that it was given to."""

    name: str
    about: str = ""
    state: CallState = "writing"
    shown: str = ""
    full: str = ""
    started: float = 0.0
    seconds: float = 0.0
    written: int = 0
    """Characters of arguments that came so far."""
    work: TaskProgress | None = None

    @property
    def is_over(self) -> bool:
        return self.state not in ("writing", "waiting", "running")


class NotePiece(Struct):
    """What neither of the two said: a fold, a retry, a stop, the answer of a command (as Markdown)."""

    text: str
    tone: Tone = "quiet"
    is_markdown: bool = False


Piece = UserPiece | ReplyPiece | ThinkingPiece | CallCard | NotePiece


class ApprovalRequest(Struct, frozen=True):
    """A call that a person is asked about. `diff` is what it would change, `trouble` why that cannot be told; `by`
    is the work of the sub-agent that would make it."""

    name: str
    about: str
    reason: str
    pattern: str = ""
    for_log: str = ""
    denied_before: str = ""
    diff: str = ""
    trouble: str = ""
    by: str = ""


class ApprovalDecision(Struct, frozen=True):
    decision: Literal["once", "log", "pattern", "deny"]
    reason: str = ""


class ChoiceQuestion(Struct, frozen=True):
    """A question with options, each a label and what follows from it."""

    question: str
    options: tuple[tuple[str, str], ...]
    multiple: bool = False


class ChoiceAnswer(Struct, frozen=True):
    labels: tuple[str, ...] = ()
    text: str = ""


class TodoLine(Struct, frozen=True):
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


class StatusFigures(Struct, frozen=True):
    """The status line. Numbers are 0 and `cached` is None where nothing is known yet; `dollars` is None where a
    price is not known."""

    model: str = ""
    branch: str = ""
    mode: str = ""
    used: int = 0
    trigger: int = 0
    window: int = 0
    cached: float | None = None
    dollars: float | None = 0.0
    is_partly_priced: bool = False


class RunEnding(Struct, frozen=True):
    """What a run came to, in a sentence for the person; empty where the last reply says it all."""

    sentence: str = ""
    hint: str = ""
    tone: Tone = "quiet"
    is_interrupted: bool = False


class CommandReply(Struct, frozen=True):
    """What a command answers: Markdown, the log or model to go on with, if another, what to say in the person's
    name, whether the talk is another now, and what to put into the prompt."""

    text: str = ""
    open_log: str = ""
    model: str = ""
    say: str = ""
    is_reread: bool = False
    draft: str = ""


# What the screen needs of a talk, and what a talk may ask of the screen.
#
# Rule: only values go across, so that neither side must be loaded for the other.


class SessionTarget(Struct, frozen=True):
    """Which talk is meant; empty is a new one, or the newest with `goes_on`, and the model that is configured."""

    log: str = ""
    model: str = ""
    goes_on: bool = False


class SessionDisplay(Protocol):
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

    async def approve(self, asked: ApprovalRequest) -> ApprovalDecision: ...

    async def choose(self, choices: Sequence[ChoiceQuestion]) -> Sequence[ChoiceAnswer]: ...


class ScreenSession(Protocol):
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

    def figures(self) -> StatusFigures: ...

    def todos(self) -> Sequence[TodoLine]: ...

    def commands(self) -> Sequence[tuple[str, str]]:
        """The commands besides those of the screen: `/name usage`, and what it is about."""
        ...

    async def say(self, text: str) -> RunEnding: ...

    async def go_on(self) -> RunEnding: ...

    def hear(self, text: str) -> str:
        """Take in what is said while it works; what the log will say."""
        ...

    def has_heard(self, texts: Sequence[str]) -> Sequence[bool]:
        """Which of them the agent has taken in by now."""
        ...

    def interrupt(self) -> None: ...

    async def command(self, line: str) -> CommandReply: ...

    async def aclose(self) -> None: ...


OpenSession = Callable[[SessionDisplay, SessionTarget], Awaitable[ScreenSession]]
"""Opens a talk. Raises `HoldfastError`. **Contract:** what takes long is done off the event loop."""
