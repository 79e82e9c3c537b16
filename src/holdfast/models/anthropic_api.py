"""The Anthropic Messages API, and servers that are compatible with it.

Rule: thinking goes back verbatim or not at all. The order of a request (tools, system, messages) is the order of
stability, so a cache mark at the end of a layer covers everything that is more stable.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.messages import AssistantMessage, AssistantPart, Json, Message, SystemMessage, Text, Thinking
from holdfast.models.adapter import (
    UNREQUESTED_THINKING_ROOM,
    StreamedCall,
    effort_for,
    parse_event,
    stop_reason,
    truncated_reply,
    without_thinking,
)
from holdfast.models.errors import ModelError
from holdfast.models.model import (
    ModelReply,
    ModelRequest,
    ReplyCompleted,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from holdfast.models.provider_errors import error_from_event, error_from_response
from holdfast.wire import WireDict, anthropic_message, anthropic_tool, join_anthropic, to_anthropic
from holdfast.wire.anthropic import anthropic_usage
from holdfast.wire.foreign_json import obj, text

MAX_BREAKPOINTS = 4
"""The API's limit for cache marks. The newest are kept: each covers everything before it."""
Lifetime = Literal["5m", "1h"]

_UNMARKABLE = ("thinking", "redacted_thinking")

LEAST_BUDGET = 1_024
"""Fewer tokens for thinking are refused."""
BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"
"""The beta that lets a request say what happens to thinking whose prefix has changed."""
_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class WrittenBlocks(Struct, frozen=True):
    """One message as blocks. Blocks of system messages are sent before all others, wherever the message was."""

    is_system: bool
    blocks: list[dict[str, Json]]


def mark_layer_ends(
    ends: Sequence[int],
    tools: list[dict[str, Json]],
    written: Sequence[WrittenBlocks],
    lifetime: Lifetime = "5m",
) -> None:
    """Mark the last block before each end with `cache_control`, in place. `ends` are `ModelRequest.layer_ends`."""
    mark: dict[str, Json] = {"type": "ephemeral"}
    if lifetime != "5m":
        mark["ttl"] = lifetime
    last: list[dict[str, Json]] = []
    for end in sorted(set(ends)):
        block = next(_blocks_before(end, tools, written), None)
        # An empty layer ends where the one before it does.
        if block is not None and not (last and last[-1] is block):
            last.append(block)
    for block in last[-MAX_BREAKPOINTS:]:
        block["cache_control"] = dict(mark)


def _blocks_before(
    end: int, tools: list[dict[str, Json]], written: Sequence[WrittenBlocks]
) -> Iterator[dict[str, Json]]:
    """Blocks that may be marked, backwards from an end in the order in which they are sent."""
    for is_system in (False, True):
        for one in reversed(written[:end]):
            if one.is_system is is_system:
                yield from (block for block in reversed(one.blocks) if block["type"] not in _UNMARKABLE)
    yield from reversed(tools)


class AnthropicAdapter(Struct, frozen=True, kw_only=True):
    """`thinking` says how it is asked for: by a `budget`, or `adaptive`, the only way for newer models.
    `thinking_off` is how a model that thinks by default is told not to; some only know a low effort.
    `takes_temperature` is for older models and other servers: newer models refuse the field, and so does the
    newer `version` 2026-10-21, which brings us nothing else.
    `cache` is how long marked layers are kept; empty sets no marks, for servers that do not know them."""

    path: str = "/v1/messages"
    version: str = "2023-06-01"
    thinking: Literal["budget", "adaptive"] = "budget"
    thinking_off: Literal["", "disabled", "between_tools", "low"] = ""
    takes_temperature: bool = False
    cache: Lifetime | Literal[""] = "5m"
    auth_hint: str = ""

    def headers(self, key: str) -> dict[str, str]:
        headers = {"anthropic-version": self.version}
        if self.thinking == "adaptive":
            headers["anthropic-beta"] = BINDING_CONTROLS
        return {**headers, **({"x-api-key": key} if key else {})}

    def body(self, model: str, request: ModelRequest) -> dict[str, Json]:
        asked, room = self._asked(request)
        # Where a newer model cannot be told to drop thinking whose prefix has changed, none goes back.
        is_safe = self.thinking == "budget" or "output_config" in asked
        sent = request.messages if is_safe else tuple(map(without_thinking, request.messages))
        wired = [anthropic_message(message) for message in sent]
        written = [_written(message, turns) for message, turns in zip(sent, wired, strict=True)]
        tools = [anthropic_tool(tool) for tool in request.tools]
        if self.cache:
            mark_layer_ends(request.layer_ends, tools, written, self.cache)
        messages = join_anthropic(wired)
        _strip_end(messages)
        body: dict[str, Json] = {"model": model, "messages": messages, "stream": True}
        if system := [block for one in written if one.is_system for block in one.blocks]:
            body["system"] = system
        if tools:
            body["tools"] = tools
        if self.takes_temperature and request.temperature is not None and not asked:
            body["temperature"] = request.temperature
        return {**body, "max_tokens": request.max_tokens + room, **asked}

    def reader(self) -> "AnthropicReader":
        return AnthropicReader(self.auth_hint)

    def error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ModelError:
        return error_from_response(status, body, headers, auth_hint=self.auth_hint)

    def _asked(self, request: ModelRequest) -> tuple[dict[str, Json], int]:
        """The fields about thinking, and its tokens, which come on top of those of the reply."""
        room = request.thinking_tokens
        if self.thinking == "adaptive":
            if room:
                return _adaptive(effort_for(room)), room
            if self.thinking_off == "low":
                return _adaptive("low"), UNREQUESTED_THINKING_ROOM
        elif room and _may_think(request.messages):
            budget = max(LEAST_BUDGET, room)
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}, budget
        if not room and self.thinking_off in ("disabled", "between_tools"):
            least = UNREQUESTED_THINKING_ROOM if self.thinking_off == "between_tools" else 0
            return {"thinking": {"type": self.thinking_off}}, least
        return {}, 0


class AnthropicReader:
    """One reply: blocks by their index, in whatever order their pieces arrive."""

    def __init__(self, auth_hint: str = "") -> None:
        self._auth_hint = auth_hint
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._usage: dict[str, Json] = {}
        self._model = ""
        self._stop = ""
        self._explanation = ""
        self._is_done = False

    def feed(self, event: str, data: str) -> Iterator[StreamEvent]:
        if self._is_done or not data.strip():
            return
        value = parse_event(data)
        match text(value.get("type")) or event:
            case "message_start":
                message = obj(value.get("message"))
                self._model = text(message.get("model"))
                self._count(message)
            case "content_block_start":
                yield from self._begin(value)
            case "content_block_delta":
                yield from self._add(value)
            case "message_delta":
                delta = obj(value.get("delta"))
                self._stop = text(delta.get("stop_reason")) or self._stop
                details = obj(delta.get("stop_details"))
                self._explanation = text(details.get("explanation")) or self._explanation
                self._count(value)
            case "message_stop":
                yield from self._finish()
            case "error":
                raise error_from_event(value, auth_hint=self._auth_hint)

    def end(self) -> Iterator[StreamEvent]:
        if self._is_done:
            return
        if not self._stop:
            raise truncated_reply()
        yield from self._finish()

    def _begin(self, value: dict[str, Json]) -> Iterator[StreamEvent]:
        content = obj(value.get("content_block"))
        block = self._blocks[_index(value)] = _Block(text(content.get("type")), content)
        if block.kind == "tool_use":
            block.call = StreamedCall(self._calls, text(content.get("id")), text(content.get("name")))
            self._calls += 1
            yield block.call.began
        yield from block.say("text", content.get("text"))
        yield from block.say("thinking", content.get("thinking"))
        block.sign(content.get("signature"))

    def _add(self, value: dict[str, Json]) -> Iterator[StreamEvent]:
        delta = obj(value.get("delta"))
        kind = text(delta.get("type")).removesuffix("_delta")
        block = self._blocks.setdefault(_index(value), _Block(kind, {}))
        if kind == "input_json" and block.call and (piece := text(delta.get("partial_json"))):
            yield block.call.add(piece)
        elif kind == "signature":
            block.sign(delta.get("signature"))
        else:
            yield from block.say(kind, delta.get(kind))

    def _count(self, value: dict[str, Json]) -> None:
        """Counts are totals so far; a count that is not repeated stays."""
        usage = obj(value.get("usage"))
        self._usage |= {name: number for name, number in usage.items() if number is not None}

    def _finish(self) -> Iterator[StreamEvent]:
        self._is_done = True
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        for block in blocks:
            yield from block.close()
        parts = tuple(part for block in blocks if (part := block.part()) is not None)
        stop = stop_reason(_STOPS.get(self._stop, "other"), calls=self._calls > 0)
        if stop == "refused" and not parts and self._explanation:
            parts = (Text(self._explanation),)
            yield TextDelta(self._explanation)
        usage = anthropic_usage(self._usage)
        yield ReplyCompleted(ModelReply(parts=parts, stop=stop, usage=usage, model=self._model))


class _Block:
    """A content block that is still arriving. Blocks of unknown kinds keep nothing."""

    __slots__ = ("_said", "_signature", "_start", "call", "kind")

    def __init__(self, kind: str, start: dict[str, Json]) -> None:
        self.kind = kind
        self.call: StreamedCall | None = None
        self._start = start
        self._said: list[str] = []
        self._signature: list[str] = []

    def say(self, kind: str, piece: Json) -> Iterator[StreamEvent]:
        if kind != self.kind or not isinstance(piece, str) or not piece:
            return
        if kind == "text":
            self._said.append(piece)
            yield TextDelta(piece)
        elif kind == "thinking":
            self._said.append(piece)
            yield ThinkingDelta(piece)

    def sign(self, piece: Json) -> None:
        self._signature.append(text(piece))

    def close(self) -> Iterator[StreamEvent]:
        """Some servers send all arguments of a call with its start."""
        if self.call and not self.call.arguments and (given := self._start.get("input")):
            yield self.call.add(msgspec.json.encode(given).decode())

    def part(self) -> AssistantPart | None:
        said = "".join(self._said)
        if self.kind == "thinking":
            signature = "".join(self._signature)
            return Thinking(said, signature=signature) if said or signature else None
        if self.kind == "redacted_thinking":
            data = text(self._start.get("data"))
            return Thinking(redacted=data) if data else None
        if self.call:
            return self.call.part()
        return Text(said) if self.kind == "text" and said else None


def _index(value: dict[str, Json]) -> int:
    index = value.get("index")
    return index if isinstance(index, int) else 0


def _written(message: Message, turns: list[WireDict]) -> WrittenBlocks:
    """The same objects that are sent, so that a mark on one is a mark in the request."""
    if isinstance(message, SystemMessage):
        return WrittenBlocks(True, to_anthropic((message,)).system or [])
    return WrittenBlocks(False, [block for turn in turns for block in turn["content"]])


def _adaptive(effort: str) -> dict[str, Json]:
    """Newer models bind thinking to every byte before it, and a fold or a new recap changes some. By default the
    API then refuses the whole request; told to, it drops the thinking instead."""
    binding = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": {"type": "adaptive", "block_binding": binding}, "output_config": {"effort": effort}}


def _may_think(messages: Sequence[Message]) -> bool:
    """With a budget, the newest reply must begin with thinking if it called tools; the pack may have dropped it."""
    reply = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    if reply is None or not reply.calls:
        return True
    first = anthropic_message(reply)[0]["content"][0]
    return first["type"] in ("thinking", "redacted_thinking")


def _strip_end(messages: list[WireDict]) -> None:
    """The model continues a last assistant message, and the API refuses one that ends in white space."""
    if messages and messages[-1]["role"] == "assistant" and messages[-1]["content"][-1]["type"] == "text":
        block = messages[-1]["content"][-1]
        block["text"] = block["text"].rstrip()
