"""The interface of a model: a request goes in, events come out, and the last of them is the whole reply.

Rule: our own values on both sides; a provider's shapes, names and quirks stay in its adapter.
"""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.effort import Effort
from holdfast.messages import AssistantPart, Message, ToolCall, ToolDefinition, Usage, joined_text

StopReason = Literal["end", "calls", "length", "refused", "other"]
"""Why a reply ended: it is complete, it calls tools, `max_tokens` was reached, the provider declined, other."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """What is sent. `layer_ends` counts the messages up to the end of each layer of the pack, where a provider may
    keep a cache; a 0 marks the end of the tool definitions."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    layer_ends: tuple[int, ...] = ()
    max_tokens: int = 4_096
    room_left: int = 0
    """About how many tokens the window has left for the reply with its thinking; 0 if that is not known."""
    temperature: float | None = None
    effort: Effort = "off"
    """How much to think, for models that can; those that always think then think as little as they can."""
    searches: int = 0
    """How often the provider may search the web for the reply, for models whose provider has a tool for that."""


class WebSource(Struct, frozen=True):
    """A page that a provider's search found."""

    url: str
    title: str = ""


class ModelReply(Struct, frozen=True, kw_only=True):
    """A whole reply, as it goes into the log: thinking verbatim, calls in their order. `sources` are pages that the
    provider's search found for it."""

    parts: tuple[AssistantPart, ...]
    stop: StopReason
    usage: Usage | None = None
    model: str = ""
    sources: tuple[WebSource, ...] = ()

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
    """A piece of a call's arguments as JSON text."""

    number: int
    text: str


class RetryScheduled(Struct, frozen=True):
    """The request is made again after some seconds; everything received for it so far is void."""

    seconds: float
    reason: str

    @property
    def sentence(self) -> str:
        return f"retrying in {self.seconds:.1f} s: {self.reason}"


class ReplyCompleted(Struct, frozen=True):
    reply: ModelReply


StreamEvent = TextDelta | ThinkingDelta | CallAnnounced | ArgumentsDelta | RetryScheduled | ReplyCompleted


class Model(Protocol):
    """A model that can be asked. `ReplyCompleted` is the last event, and the only one that must be acted upon."""

    @property
    def name(self) -> str:
        """The name that the user chose, such as `anthropic/claude-opus-4-6`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Raises a `ModelError`."""
        ...

    async def aclose(self) -> None:
        """Close what is kept open for the next request."""
        ...


async def ask(model: Model, request: ModelRequest) -> ModelReply:
    """The whole reply, for callers that need no events."""
    async for event in model.stream(request):
        if isinstance(event, ReplyCompleted):
            return event.reply
    raise AssertionError("a model's stream ended without its reply")
