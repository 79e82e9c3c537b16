"""The providers' protocols: a request of ours as the body one takes, and its events as ours.

Rule: pure. A wire module writes and reads values; who carries them over the network is not its matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

import msgspec
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
from holdfast.models.errors import BadReply, ModelError
from holdfast.models.model import ArgumentsDelta, CallAnnounced, ModelRequest, StopReason, StreamEvent
from holdfast.models.provider_errors import redacted_line
from holdfast.wire.anthropic import is_reasoning_item
from holdfast.wire.content_blocks import tool_call
from holdfast.wire.foreign_json import Losses, decode_text, items, obj, text


class ReplyReader(Protocol):
    """Reads one reply, event by event."""

    def feed(self, event: str, data: str) -> Iterator[StreamEvent]:
        """What one server-sent event says; `Done` at the end of the reply. Raises a `ModelError`."""
        ...

    def end(self) -> Iterator[StreamEvent]:
        """The stream ended: `Done` if the reply was whole and not yet given, else `BadReply`."""
        ...


class ProviderAdapter(Protocol):
    """How one provider is spoken to."""

    @property
    def path(self) -> str:
        """Behind the base address, such as `/chat/completions`."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """What says who asks; an empty key says nothing."""
        ...

    def body(self, model: str, request: ModelRequest) -> dict[str, Json]: ...

    def reader(self) -> ReplyReader:
        """A new one for each reply."""
        ...

    def error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ModelError:
        """What an answer that is no reply means."""
        ...


# Role shaping: where system messages stand for a provider or model that has its own ideas of them.
#
# Rule: no text is lost and the order stays, so a summary follows the static text it stood behind.

SystemStyle = Literal["blocks", "merged", "mock_pair"]
"""`blocks`: each stays a message of its own. `merged`: all are one, the first. `mock_pair`: the model knows no
system role, so a user message says it all and a short reply stands behind it."""

ACKNOWLEDGED = "Understood."


def apply_system_style(messages: Sequence[Message], style: SystemStyle) -> tuple[Message, ...]:
    """The messages with system messages in that style; blank ones are dropped where they would be joined."""
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


# Thinking that only one provider can open, and how much of it to ask for.
#
# Rule: an opaque block goes back to the API it came from, byte for byte, and to no other.
#
# `Thinking.redacted` holds Anthropic's redacted blocks, which are base64, or what is opaque of a reasoning item of
# the Responses API, as a JSON object: a first brace tells them apart. The readable summary of an item stays in
# `Thinking.text`, where secrets are found before a store sees them.

Effort = Literal["low", "medium", "high"]
EffortOff = Literal["", "none", "minimal", "low"]
"""What a model that thinks by itself is told where no thinking is asked for; empty tells it nothing."""

UNREQUESTED_THINKING_ROOM = 2_048
"""For a model that thinks a little even when it is told not to, so that its reply is not cut short."""

_READABLE = ("type", "summary", "content", "status")
"""Fields of an item that are not opaque: its text, and what only the API itself says of it."""


def effort_for(tokens: int) -> Effort:
    """Room for thinking in the words of APIs that take no number."""
    if tokens <= 2_048:
        return "low"
    return "medium" if tokens <= 8_192 else "high"


def requested_effort(tokens: int, off: EffortOff) -> tuple[str, int]:
    """The effort to ask for, empty for none, and the room that it takes beside the reply."""
    if tokens:
        return effort_for(tokens), tokens
    return off, UNREQUESTED_THINKING_ROOM if off in ("minimal", "low") else 0


def thinking_from_item(item: dict[str, Json]) -> Thinking | None:
    """A reasoning item as thinking; None if there is nothing in it."""
    summary = [text(obj(part).get("text")) for part in items(item.get("summary"))]
    content = [text(obj(part).get("text")) for part in items(item.get("content"))]
    said = "\n\n".join(filter(None, summary)) or "\n\n".join(filter(None, content))
    opaque = {key: value for key, value in item.items() if key not in _READABLE and value is not None}
    redacted = msgspec.json.encode(opaque).decode() if text(item.get("encrypted_content")) else ""
    return Thinking(said, redacted=redacted) if said or redacted else None


def item_from_thinking(thinking: Thinking) -> dict[str, Json] | None:
    """The reasoning item as the Responses API takes it back; None for thinking of another origin."""
    if not is_reasoning_item(thinking):
        return None
    summary = [{"type": "summary_text", "text": thinking.text}] if thinking.text else []
    opaque: dict[str, Json] = msgspec.json.decode(thinking.redacted)
    return {"type": "reasoning", "summary": summary, **opaque}


def without_thinking(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    return replace(message, parts=tuple(part for part in message.parts if not isinstance(part, Thinking)))


# A reply on its way in: events decoded, calls gathered piece by piece.
#
# Rule: what a server invents is passed over; only an event that is no JSON object at all makes a reply a bad one.


class StreamedCall:
    """A call whose arguments are still coming. `number` counts the calls of a reply in the order they begin."""

    __slots__ = ("_pieces", "id", "name", "number")

    def __init__(self, number: int, call_id: str, name: str) -> None:
        self.number = number
        # Some servers give none, and nothing could answer a call without one.
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
        """The call; arguments that are no JSON object stay as the model wrote them, in `raw`."""
        return tool_call(self.id, self.name, self.arguments, Losses())


def parse_event(data: str) -> dict[str, Json]:
    try:
        value = decode_text(data, Losses())
    except ValueError as error:
        raise BadReply(f"the provider sent an event that is no JSON: `{redacted_line(data)}`") from error
    if not isinstance(value, dict):
        raise BadReply(f"the provider sent an event that is no object: `{redacted_line(data)}`")
    return value


def stop_reason(said: StopReason, *, calls: bool) -> StopReason:
    """Why a reply ended, by what it holds: servers say `end` behind a call, and `calls` where none is for us."""
    if said in ("length", "refused"):
        return said
    if calls:
        return "calls"
    return "other" if said == "calls" else said


def truncated_reply() -> BadReply:
    return BadReply("the provider's reply broke off before its end")
