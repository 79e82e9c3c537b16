"""What passes between the screen and a session: plain values, and one protocol for each side.

Rule: only values pass, and neither a widget nor an agent is known here, so that each side is loaded without the
other.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import CommandAnswer, End, Menu
from holdfast.effort import Effort
from holdfast.errors import HoldfastError
from holdfast.events import ApprovalScope

Tone = Literal["quiet", "plain", "warning", "error"]
CallState = Literal["writing", "waiting", "running", "done", "failed", "refused", "uncertain", "interrupted"]
"""Of a call: the model writes it, it waits for its turn or a person, it runs, or it ended in one of five ways."""


KeptIn = Literal["folder", "everywhere", "project"]
"""Where a rule is kept: for the person in this folder, for the person everywhere, for everyone in the project."""


class UserPiece(Struct):
    """A message of the person. `is_queued` until the agent has read it."""

    text: str
    is_queued: bool = False


class ReplyPiece(Struct):
    """A reply of the model, as Markdown."""

    text: str = ""
    is_whole: bool = False


class ThinkingPiece(Struct):
    text: str = ""
    is_whole: bool = False


class TaskProgress(Struct):
    """How far a sub-agent is: its step, of how many (0 is no limit), what it does, and what it has used so far.
    `dollars` is None where a price is not known."""

    step: int = 0
    most: int = 0
    doing: str = ""
    tokens: int = 0
    dollars: float | None = 0.0


class CallCard(Struct):
    """A tool call. `shown` is the short result, `full` what the model reads; `work` is the progress of its
    sub-agent."""

    name: str
    about: str = ""
    state: CallState = "writing"
    shown: str = ""
    full: str = ""
    started: float = 0.0
    seconds: float = 0.0
    written: int = 0
    """Characters of arguments received so far."""
    work: TaskProgress | None = None
    live: str = ""
    """The end of what a command has printed while it runs."""
    live_lines: int = 0
    """How many lines it has printed."""

    @property
    def is_over(self) -> bool:
        return self.state not in ("writing", "waiting", "running")


class NotePiece(Struct):
    """A line by neither of the two: a fold, a retry, a stop, the output of a command (as Markdown)."""

    text: str
    tone: Tone = "quiet"
    is_markdown: bool = False


Piece = UserPiece | ReplyPiece | ThinkingPiece | CallCard | NotePiece


class ApprovalRequest(Struct, frozen=True):
    """A call that a person is asked about. `diff` is what it would change, `trouble` why it would fail; `by` is the
    task of the sub-agent that makes it."""

    name: str
    about: str
    reason: str
    offered_rules: tuple[str, ...] = ()
    session_scope: str = ""
    denied_before: str = ""
    diff: str = ""
    added: int = 0
    removed: int = 0
    trouble: str = ""
    by: str = ""
    places: tuple[tuple[KeptIn, str], ...] = ()
    """Where the offered rules can be kept, each with its file."""


class ApprovalDecision(Struct, frozen=True):
    decision: ApprovalScope
    reason: str = ""
    place: KeptIn = "folder"


class ChoiceQuestion(Struct, frozen=True):
    """A question with options, each a label and a description."""

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
    """The status line. Numbers are 0 and `cached` is None while they are not known; `dollars` is None without a
    price."""

    model: str = ""
    branch: str = ""
    mode: str = ""
    effort: str = ""
    used: int = 0
    trigger: int = 0
    window: int = 0
    cached: float | None = None
    dollars: float | None = 0.0
    is_partly_priced: bool = False
    jobs: int = 0
    """Commands that run in the background."""


class SessionDisplay(Protocol):
    """What conversation and session ask of the screen. **Contract:** called on the screen's own thread."""

    def load(self, pieces: Sequence[Piece]) -> None: ...

    def add(self, piece: Piece) -> None: ...

    def change(self, piece: Piece) -> None: ...

    def drop(self, piece: Piece) -> None: ...

    def stepped(self, number: int) -> None:
        """A request was sent: queued messages may have been read, and the figures changed."""
        ...

    def refresh_figures(self) -> None:
        """The figures or the todos changed."""
        ...

    async def approve(self, asked: ApprovalRequest) -> ApprovalDecision: ...

    async def choose(self, choices: Sequence[ChoiceQuestion]) -> Sequence[ChoiceAnswer]: ...

    async def pick(self, menu: Menu) -> str:
        """Let the person choose; the command that was chosen, or nothing."""
        ...

    def opened(self, session: "ScreenSession") -> None: ...

    def busy(self, what: str) -> None: ...

    def idle(self) -> None: ...

    def draft(self, text: str) -> None:
        """Put text into the prompt to be changed and sent; what was in it is kept."""
        ...

    def put_back(self, texts: Sequence[str]) -> None:
        """Put messages and own commands that were not sent into the prompt, with what is in it."""
        ...

    def work(self, doing: Coroutine[None, None, None]) -> None: ...

    def fail(self, error: HoldfastError) -> None:
        """No session could be opened; leave with this error."""
        ...

    def action_leave(self) -> None: ...


class ScreenSession(Protocol):
    """What the screen needs of a session. **Contract:** `aclose` is called once, when nothing runs any more."""

    log: str
    mode: str
    """One of the modes in the status line; may be set."""
    notes: Sequence[str]
    """What the person should know first."""
    history: Path | None
    """The file in which typed lines are kept."""

    def earlier(self) -> list[Piece]:
        """What was said and done before, oldest first."""
        ...

    def figures(self) -> StatusFigures: ...

    def todos(self) -> Sequence[TodoLine]: ...

    def commands(self) -> Sequence[tuple[str, str]]:
        """The commands besides those of the screen: `/name usage`, and what each does."""
        ...

    async def say(self, text: str) -> End: ...

    def add_message(self, text: str) -> str:
        """Give a message to the agent while it works; its text as the log will have it."""
        ...

    def take_back(self, text: str) -> bool:
        """Take back such a message; False if the agent has read it."""
        ...

    def has_read(self, texts: Sequence[str]) -> Sequence[bool]:
        """Which of these messages the agent has read."""
        ...

    async def run_own_command(self, command: str) -> None:
        """Run a command of the person, and show what it prints."""
        ...

    def interrupt(self) -> None:
        """End what runs: the agent, or a command of the person."""
        ...

    def next_effort(self) -> Effort | None:
        """The model's next level of thinking, from now on; None if it has none."""
        ...

    def waits(self, name: str) -> bool:
        """Whether a command is run only when the agent has ended its work."""
        ...

    async def command(self, line: str) -> CommandAnswer: ...

    async def aclose(self) -> None: ...


OpenSession = Callable[[SessionDisplay, AgentOptions], Awaitable[ScreenSession]]
"""Opens a session. Raises `HoldfastError`. **Contract:** what takes long is done off the event loop."""
