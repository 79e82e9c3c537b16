"""What the screen shows, as plain values: the pieces of a talk, what is asked of a person, the figures below.

Rule: no widget and nothing of an agent is known here, so that the screen is there before the agent is loaded.
"""

from typing import Literal

from msgspec import Struct

Tone = Literal["quiet", "plain", "warning", "error"]
State = Literal["writing", "waiting", "running", "done", "failed", "refused", "uncertain"]
"""Of a call: the model writes it, it waits for its turn or a person, it runs, it ended in one way or another."""


class Said(Struct):
    """What the person said. `is_queued` until the agent has taken it in."""

    text: str
    is_queued: bool = False


class Answer(Struct):
    """What the model says. While it streams it is plain text, and Markdown when it is whole."""

    text: str = ""
    is_whole: bool = False


class Thought(Struct):
    text: str = ""
    is_whole: bool = False


class Work(Struct):
    """How far a sub-agent is: its step, of how many it may make (0 without end), what it does, what it took so far.
    `dollars` is None where a price is not known."""

    step: int = 0
    most: int = 0
    doing: str = ""
    tokens: int = 0
    dollars: float | None = 0.0


class Card(Struct):
    """A call of a tool. `shown` is the short result, `full` what the model read of it; `work` is that of the
    sub-agent that it was given to."""

    name: str
    about: str = ""
    state: State = "writing"
    shown: str = ""
    full: str = ""
    started: float = 0.0
    seconds: float = 0.0
    written: int = 0
    """Characters of arguments that came so far."""
    work: Work | None = None

    @property
    def is_over(self) -> bool:
        return self.state not in ("writing", "waiting", "running")


class Note(Struct):
    """What neither of the two said: a fold, a retry, a stop, the answer of a command (as Markdown)."""

    text: str
    tone: Tone = "quiet"
    is_markdown: bool = False


Piece = Said | Answer | Thought | Card | Note


class Approval(Struct, frozen=True):
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


class Verdict(Struct, frozen=True):
    decision: Literal["once", "log", "pattern", "deny"]
    reason: str = ""


class Choice(Struct, frozen=True):
    """A question with options, each a label and what follows from it."""

    question: str
    options: tuple[tuple[str, str], ...]
    multiple: bool = False


class Chosen(Struct, frozen=True):
    labels: tuple[str, ...] = ()
    text: str = ""


class Todo(Struct, frozen=True):
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


class Figures(Struct, frozen=True):
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


class Ending(Struct, frozen=True):
    """What a run came to, in a sentence for the person; empty where the last reply says it all."""

    sentence: str = ""
    hint: str = ""
    tone: Tone = "quiet"
    is_interrupted: bool = False


class Shown(Struct, frozen=True):
    """What a command answers: Markdown, the log or model to go on with, if another, what to say in the person's
    name, whether the talk is another now, and what to put into the prompt."""

    text: str = ""
    open_log: str = ""
    model: str = ""
    say: str = ""
    is_reread: bool = False
    draft: str = ""
