"""What a policy is: a small object with one method.

Rule: a new object for each recording, made with a `Task`; it is handed all messages so far, a list that only
grows, and answers with the messages it would send. They have OpenAI's chat shape, with a call as
`{"id", "name", "arguments"}` and `arguments` an object.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from holdfast.prices import PriceTable
from holdfast.wire.content_blocks import WireDict

LaterUse = dict[str, float]
"""What each line, or each name, is worth to later actions."""


class Task(Struct, frozen=True):
    """What a policy is told before a recording begins. `count` gives tokens as the scorer counts them."""

    budget: int
    count: Callable[[Sequence[WireDict]], int]
    prices: PriceTable | None = None
    """What the replay ranks by: a policy that weighs costs may look."""
    later: Callable[[int], tuple[LaterUse, LaterUse]] | None = None
    """Lines and names that actions will use after so many messages; only for a policy that `sees_future`."""


class ModelCall(Struct, frozen=True):
    """A call of a model that the policy itself made, in tokens: a summary is billed too."""

    prompt: int
    completion: int


class PolicyReply(Struct, frozen=True):
    """An answer with more to say than its messages: model calls to bill, and sizes of named layers."""

    messages: Sequence[WireDict]
    calls: tuple[ModelCall, ...] = ()
    layers: dict[str, int] = {}


class Policy(Protocol):
    """`at` is the recorded time of the request in Unix seconds, None where the recording has no clock.

    A policy whose stubs can be followed also has `fetch(id) -> str | None`; one that holds something open, such as
    a process, has `close()`, called when its recording is done.
    """

    def pack(self, messages: Sequence[WireDict], at: float | None) -> Sequence[WireDict] | PolicyReply: ...


class NamedPolicy(Struct, frozen=True):
    """A policy by name. `about` says its settings and versions; one not `budgeted` may exceed the budget.

    One that `sees_future` is told what later actions use: a ceiling, and said to be one wherever it is listed.
    """

    name: str
    start: Callable[[Task], Policy]
    about: str = ""
    budgeted: bool = True
    sees_future: bool = False
