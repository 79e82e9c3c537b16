"""What a provider adapter is, and what adapters have in common.

An adapter writes a request as the body that a provider's API takes, and reads its server-sent events.

Rule: pure values in and out; an adapter never touches the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

from msgspec.structs import replace

from holdfast.messages import (
    AssistantMessage,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    UserMessage,
)
from holdfast.models.catalogue_schema import SystemStyle
from holdfast.models.errors import BadReply, ModelError
from holdfast.models.model import ArgumentsDelta, CallAnnounced, ModelRequest, StopReason, StreamEvent
from holdfast.models.provider_errors import redacted_line
from holdfast.wire.content_blocks import tool_call
from holdfast.wire.foreign_json import Losses, decode_text

ACKNOWLEDGED = "Understood."
Effort = Literal["low", "medium", "high"]
EffortOff = Literal["", "none", "minimal", "low"]
"""The effort for a model that thinks by default, where no thinking is asked for; empty sends none."""
UNREQUESTED_THINKING_ROOM = 2_048
"""Tokens for a model that thinks a little even when told not to, so that its reply is not cut short."""


class ReplyReader(Protocol):
    """Reads one reply, event by event."""

    def feed(self, event: str, data: str) -> Iterator[StreamEvent]:
        """What one server-sent event says; `ReplyCompleted` at the end of the reply. Raises a `ModelError`."""
        ...

    def end(self) -> Iterator[StreamEvent]:
        """The stream ended: `ReplyCompleted` if the reply is whole and was not given yet, else `BadReply`."""
        ...


class ProviderAdapter(Protocol):
    """How requests to one provider are written and its answers read."""

    @property
    def path(self) -> str:
        """The path below the base address, such as `/chat/completions`."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """Headers with the key; none of them where the key is empty."""
        ...

    def body(self, model: str, request: ModelRequest) -> dict[str, Json]: ...

    def reader(self) -> ReplyReader:
        """A new one for each reply."""
        ...

    def error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ModelError:
        """The error that an answer other than a reply means."""
        ...


def apply_system_style(messages: Sequence[Message], style: SystemStyle) -> tuple[Message, ...]:
    """The messages with system messages in that style; blank ones are dropped where they are joined."""
    if style == "blocks":
        return tuple(messages)
    texts = [m.text for m in messages if isinstance(m, SystemMessage) and m.text.strip()]
    rest = [m for m in messages if not isinstance(m, SystemMessage)]
    if not texts:
        return tuple(rest)
    if style == "merged":
        return (SystemMessage("\n\n".join(texts)), *rest)
    pair = UserMessage(tuple(map(Text, texts))), AssistantMessage((Text(ACKNOWLEDGED),))
    return (*pair, *rest)


def effort_for(tokens: int) -> Effort:
    """A number of thinking tokens as an effort, for APIs that take no number."""
    if tokens <= 2_048:
        return "low"
    return "medium" if tokens <= 8_192 else "high"


def requested_effort(tokens: int, off: EffortOff) -> tuple[str, int]:
    """The effort to ask for, empty for none, and the tokens that it needs on top of the reply."""
    if tokens:
        return effort_for(tokens), tokens
    return off, UNREQUESTED_THINKING_ROOM if off in ("minimal", "low") else 0


def without_thinking(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    return replace(message, parts=tuple(part for part in message.parts if not isinstance(part, Thinking)))


class StreamedCall:
    """A call whose arguments are still arriving. `number` counts the calls of a reply in the order they begin."""

    __slots__ = ("_pieces", "id", "name", "number")

    def __init__(self, number: int, call_id: str, name: str) -> None:
        self.number = number
        # Some servers send no id, and a result could not be matched to a call without one.
        self.id = call_id or f"call_{number}"
        self.name = name
        self._pieces: list[str] = []

    @property
    def began(self) -> CallAnnounced:
        return CallAnnounced(self.number, self.id, self.name)

    def add(self, piece: str) -> ArgumentsDelta:
        self._pieces.append(piece)
        return ArgumentsDelta(self.number, piece)

    @property
    def arguments(self) -> str:
        return "".join(self._pieces)

    def part(self) -> ToolCall:
        """The call. Arguments that are not a JSON object stay in `raw`, as the model wrote them."""
        return tool_call(self.id, self.name, self.arguments, Losses())


def parse_event(data: str) -> dict[str, Json]:
    """The object of an event. Unknown objects are the caller's to ignore; anything else is a `BadReply`."""
    try:
        value = decode_text(data, Losses())
    except ValueError as error:
        raise BadReply(f"the provider sent an event that is not JSON: `{redacted_line(data)}`") from error
    if not isinstance(value, dict):
        raise BadReply(f"the provider sent an event that is not a JSON object: `{redacted_line(data)}`")
    return value


def stop_reason(said: StopReason, *, calls: bool) -> StopReason:
    """Why a reply ended, by what it holds: servers say `end` after a call, or `calls` where there is none."""
    if said in ("length", "refused"):
        return said
    if calls:
        return "calls"
    return "other" if said == "calls" else said


def truncated_reply() -> BadReply:
    return BadReply("the provider's reply ended too early")
