"""What a step of the loop comes to.

Rule: exactly one of these. The first three go on, the others end the run and leave a log that can be continued.
"""

from typing import Literal

from msgspec import Struct

from holdfast.messages import ToolCall


class RunTools(Struct, frozen=True):
    calls: tuple[ToolCall, ...]


class Continue(Struct, frozen=True):
    """The model is asked again: its reply was cut off, or it was told something."""

    why: str


class Compact(Struct, frozen=True):
    """A summary is written first, and the next request waits for it."""

    why: str


class Done(Struct, frozen=True):
    """The model has said what it had to say."""

    text: str


class Ask(Struct, frozen=True):
    """A person is to decide something before this can go on."""

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
