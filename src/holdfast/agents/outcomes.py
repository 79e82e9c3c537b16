"""The outcome of a step of the loop.

Rule: exactly one of these. After the first three the run continues; the others end it and leave a log that can be
resumed.
"""

from typing import Literal

from msgspec import Struct

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


class Ask(Struct, frozen=True):
    """A person must decide something before the run can continue."""

    question: str


RunStopReason = Literal[
    "steps", "cost", "time", "loop", "empty", "interrupted", "overflow", "refused", "model"
]


class Stop(Struct, frozen=True):
    reason: RunStopReason
    sentence: str
    hint: str = ""


Outcome = RunTools | Continue | Compact | Done | Ask | Stop
End = Done | Ask | Stop
