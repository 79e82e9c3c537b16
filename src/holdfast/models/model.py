"""What a model is to us: a request goes in, events come out, the last of them is the whole reply.

Rule: values of ours on both sides; a provider's shapes, names and quirks stay in its wire module.
"""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.messages import AssistantPart, Message, ToolCall, ToolDefinition, Usage, joined_text

StopReason = Literal["end", "calls", "length", "refused", "other"]
"""Why a reply ended: it was done, it wants tools, it met `max_tokens`, the provider declined, something else."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """What is sent. `layer_ends` are the numbers of messages after which a layer of the pack ends, where a provider
    that is told may keep a cache; 0 as the first of them stands for the end of the tool definitions."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    layer_ends: tuple[int, ...] = ()
    max_tokens: int = 4_096
    temperature: float | None = None
    thinking_tokens: int = 0
    """Room for thinking where the model has some; 0 leaves it off."""


class ModelReply(Struct, frozen=True, kw_only=True):
    """A whole reply, as it goes into the log: thinking verbatim, calls in their order."""

    parts: tuple[AssistantPart, ...]
    stop: StopReason
    usage: Usage | None = None
    model: str = ""

    @property
    def text(self) -> str:
        return joined_text(self.parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class TextDelta(Struct, frozen=True):
    text: str


class ThinkingDelta(Struct, frozen=True):
    text: str


class CallAnnounced(Struct, frozen=True):
    """A call's name is known; `number` counts the calls of the reply from 0."""

    number: int
    id: str
    name: str


class ArgumentsDelta(Struct, frozen=True):
    """A piece of a call's arguments as JSON text, not yet whole."""

    number: int
    text: str


class RetryScheduled(Struct, frozen=True):
    """The request is made again after some seconds, and what came of it so far is void."""

    seconds: float
    reason: str


class ReplyCompleted(Struct, frozen=True):
    reply: ModelReply


StreamEvent = TextDelta | ThinkingDelta | CallAnnounced | ArgumentsDelta | RetryScheduled | ReplyCompleted


class Model(Protocol):
    """A model that can be asked. `ReplyCompleted` is the last event, and the only one that must be acted upon."""

    @property
    def name(self) -> str:
        """As the user chose it, such as `anthropic/claude-opus-4-6`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Raises a `ModelError`."""
        ...

    async def aclose(self) -> None:
        """Let go of what is kept for the next request."""
        ...


async def ask(model: Model, request: ModelRequest) -> ModelReply:
    """The whole reply, for those who need not look on."""
    async for came in model.stream(request):
        if isinstance(came, ReplyCompleted):
            return came.reply
    raise AssertionError("a model's stream ended without its reply")
