"""Replies as they passed, read into events: streams of any provider, or one JSON object.

Rule: a reply that cannot be read is None. What passed has passed already.
"""

from collections.abc import Iterator, Mapping

import httpx2
import msgspec

from holdfast.errors import HoldfastError
from holdfast.events import AssistantReplied
from holdfast.gateway.exchange import PassedExchange
from holdfast.messages import Json
from holdfast.models.adapter import ReplyReader
from holdfast.models.anthropic_api import AnthropicReader
from holdfast.models.model import ReplyCompleted
from holdfast.models.openai_chat_api import OpenAIChatReader
from holdfast.models.openai_responses_api import OpenAIResponsesReader
from holdfast.models.transport import SseDecoder
from holdfast.wire.content_blocks import CallNames, FormatName
from holdfast.wire.foreign_json import items, obj
from holdfast.wire.message_lists import events_from_messages
from holdfast.wire.sdk_objects import read_response

READERS: Mapping[FormatName, type[ReplyReader]] = {
    "anthropic": AnthropicReader,
    "openai": OpenAIChatReader,
    "responses": OpenAIResponsesReader,
}


MOST_PLAIN = 128 * 1024 * 1024
"""Bytes of a body without its compression: a small one may expand a thousand times."""
_SLICE = 4_096


def plain_bytes(body: bytes | bytearray, encoding: str) -> bytes:
    """A body without its compression. Raises httpx2.DecodingError for what is none, and for what is too large."""
    if not encoding or encoding == "identity":
        return bytes(body)
    slices = (bytes(body[at : at + _SLICE]) for at in range(0, len(body), _SLICE))
    plain = bytearray()
    for piece in httpx2.Response(200, headers={"content-encoding": encoding}, content=slices).iter_bytes():
        plain += piece
        if len(plain) > MOST_PLAIN:
            raise httpx2.DecodingError(f"a body has more than {MOST_PLAIN} bytes without its compression")
    return bytes(plain)


def error_text(exchange: PassedExchange) -> str:
    """What a provider says in place of a reply; nothing where its compression cannot be read."""
    try:
        return plain_bytes(exchange.reply, exchange.reply_encoding)[:4_000].decode("utf-8", "replace")
    except httpx2.DecodingError:
        return ""


def read_reply(exchange: PassedExchange, calls: CallNames) -> AssistantReplied | None:
    """The reply of an exchange; None where there is none, or none that can be read. `calls` are those before it."""
    if exchange.status != 200 or exchange.route.format is None:
        return None
    try:
        body = plain_bytes(exchange.reply, exchange.reply_encoding)
        if "event-stream" in exchange.reply_type:
            return _streamed(body, exchange.route.format, calls)
        return _replied(msgspec.json.decode(body), calls)
    except (HoldfastError, msgspec.DecodeError, httpx2.DecodingError, UnicodeDecodeError):
        return None


def _streamed(body: bytes, format_: FormatName, calls: CallNames) -> AssistantReplied | None:
    events = list(SseDecoder().feed(body + b"\n\n"))
    if format_ not in READERS:
        return _replied(_joined(msgspec.json.decode(event.data) for event in events), calls)
    reader = READERS[format_]()
    found = [read for event in events for read in reader.feed(event.name, event.data)]
    reply = next((r.reply for r in (*found, *reader.end()) if isinstance(r, ReplyCompleted)), None)
    return AssistantReplied(reply.parts, reply.model, reply.usage, reply.stop) if reply else None


def _joined(pieces: Iterator[Json]) -> Json:
    """Gemini's pieces of a reply as one: their parts in order, what the last one says besides."""
    parts: list[Json] = []
    last: dict[str, Json] = {}
    for piece in map(obj, pieces):
        candidate = obj(next(iter(items(piece.get("candidates"))), None))
        for part in items(obj(candidate.get("content")).get("parts")):
            known = obj(parts[-1]) if parts else {}
            if set(known) == set(obj(part)) == {"text"}:
                parts[-1] = {"text": known["text"] + part["text"]}
            else:
                parts.append(part)
        last = {**last, **piece, "candidates": [{**candidate, "content": {"role": "model", "parts": parts}}]}
    return last


def _replied(body: Json, calls: CallNames) -> AssistantReplied | None:
    """The reply in a whole response."""
    response = read_response(body)
    if response is None:
        return None
    for event in events_from_messages(response.messages, response.format, names=calls.copy()):
        if isinstance(event, AssistantReplied):
            return AssistantReplied(event.parts, response.model, response.usage, response.stop)
    return None
