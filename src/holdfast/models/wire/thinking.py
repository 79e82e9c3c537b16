"""Thinking that only one provider can open, and how much of it to ask for.

Rule: an opaque block goes back to the API it came from, byte for byte, and to no other.

`Thinking.redacted` holds Anthropic's redacted blocks, which are base64, or what is opaque of a reasoning item of
the Responses API, as a JSON object: a first brace tells them apart. The readable summary of an item stays in
`Thinking.text`, where secrets are found before a store sees them.
"""

from typing import Literal

import msgspec
from msgspec.structs import replace

from holdfast.messages import AssistantMessage, Json, Message, Thinking
from holdfast.recordings.shapes import items, obj, text
from holdfast.recordings.wire import is_reasoning_item

Effort = Literal["low", "medium", "high"]
EffortOff = Literal["", "none", "minimal", "low"]
"""What a model that thinks by itself is told where no thinking is asked for; empty tells it nothing."""

UNASKED_ROOM = 2_048
"""For a model that thinks a little even when it is told not to, so that its reply is not cut short."""

_READABLE = ("type", "summary", "content", "status")
"""Fields of an item that are not opaque: its text, and what only the API itself says of it."""


def effort_for(tokens: int) -> Effort:
    """Room for thinking in the words of APIs that take no number."""
    if tokens <= 2_048:
        return "low"
    return "medium" if tokens <= 8_192 else "high"


def asked_effort(tokens: int, off: EffortOff) -> tuple[str, int]:
    """The effort to ask for, empty for none, and the room that it takes beside the reply."""
    if tokens:
        return effort_for(tokens), tokens
    return off, UNASKED_ROOM if off in ("minimal", "low") else 0


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
