"""The outcome of a step of the loop, and the answer of a slash command.

Rule: a step has exactly one outcome. After the first three the run continues; the others end it and leave a log
that can be resumed. The screen imports this before the agent is loaded, so it imports only values.
"""

from typing import Literal

from msgspec import Struct

from holdfast.effort import Effort
from holdfast.messages import ToolCall


class RunTools(Struct, frozen=True):
    calls: tuple[ToolCall, ...]


class Continue(Struct, frozen=True):
    """Ask the model again: its reply was cut off, or it was told something."""

    why: str


class Compact(Struct, frozen=True):
    """Write a summary first; the next request waits for it."""

    why: str


class Done(Struct, frozen=True):
    """The model ended with an answer."""

    text: str

    def __str__(self) -> str:
        return self.text


class Ask(Struct, frozen=True):
    """A person must decide something before the run can continue."""

    question: str

    def __str__(self) -> str:
        return self.question


RunStopReason = Literal[
    "steps", "cost", "time", "loop", "empty", "interrupted", "overflow", "refused", "model", "blocked"
]


class Stop(Struct, frozen=True):
    """Something ended the run before the model had an answer."""

    reason: RunStopReason
    sentence: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.sentence}\nhint: {self.hint}" if self.hint else self.sentence


Outcome = RunTools | Continue | Compact | Done | Ask | Stop
End = Done | Ask | Stop


class MenuItem(Struct, frozen=True):
    """Something to choose, and the command that it stands for."""

    label: str
    about: str
    line: str
    is_now: bool = False


class Menu(Struct, frozen=True):
    """What a command can be completed with, for a screen with a picker. `about` is what the person should know
    first. Typed words that match no item are put behind `other`, if that is given; `other_about` says what happens
    with them then."""

    title: str
    items: tuple[MenuItem, ...]
    about: str = ""
    other: str = ""
    other_about: str = ""


class CommandAnswer(Struct, frozen=True):
    """An answer in Markdown, and what the screen should do: open another log, switch to another model, keep this
    `effort` for sessions to come, send `say` as if the person had said it, read the session again after a rewind,
    put `draft` into the prompt. A screen may show the `menu` in place of the text."""

    text: str
    open_log: str = ""
    model: str = ""
    effort: Effort | None = None
    say: str = ""
    is_reread: bool = False
    draft: str = ""
    menu: Menu | None = None
