"""The Anthropic Messages API, and servers that are compatible with it.

Rule: thinking goes back verbatim or not at all. The order of a request (tools, system, messages) is the order of
stability, so a cache mark at the end of a layer covers everything that is more stable.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.effort import THINKING_ROOM
from holdfast.messages import AssistantMessage, Json, Message, SystemMessage, Text, Thinking
from holdfast.models.adapter import (
    UNREQUESTED_THINKING_ROOM,
    ProviderAdapter,
    ReplyReader,
    StreamedCall,
    parse_event,
)
from holdfast.models.errors import error_from_event
from holdfast.models.model import (
    ModelRequest,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    WebSource,
)
from holdfast.wire.anthropic import (
    SEARCH_RESULT,
    THINKING_TYPES,
    USAGE_FIELDS,
    Lifetime,
    MessageBlocks,
    anthropic_message,
    anthropic_tool,
    anthropic_usage,
    join_anthropic,
    mark_layer_ends,
    reply_parts,
    to_anthropic,
)
from holdfast.wire.content_blocks import WireDict
from holdfast.wire.foreign_json import Losses, count, items, obj, text

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


class AnthropicAdapter(ProviderAdapter, frozen=True, kw_only=True):
    """`thinking` says how it is asked for: by a `budget`, or `adaptive`, the only way for newer models.
    `thinking_off` is how a model that thinks by default is told not to; some only know a low effort.
    `takes_temperature` is for older models and other servers: newer models refuse the field, and so does the
    newer `version` 2026-10-21, which brings us nothing else.
    `cache` is how long marked layers are kept; empty sets no marks, for servers that do not know them."""

    path = "/v1/messages"
    version: str = "2023-06-01"
    thinking: Literal["budget", "adaptive"] = "budget"
    thinking_off: Literal["", "disabled", "between_tools", "low"] = ""
    cache: Lifetime | Literal[""] = "5m"

    def headers(self, key: str) -> dict[str, str]:
        headers = {"anthropic-version": self.version}
        if self.thinking == "adaptive":
            headers["anthropic-beta"] = BINDING_CONTROLS
        return {**headers, **({"x-api-key": key} if key else {})}

    def body(self, model: str, request: ModelRequest) -> dict[str, Json]:
        asked, room = self._asked(request)
        # Where a newer model cannot be told to drop thinking whose prefix has changed, none goes back.
        is_safe = self.thinking == "budget" or "output_config" in asked
        sent = [message if is_safe else _without_thinking(message) for message in request.messages]
        wired = [anthropic_message(message) for message in sent]
        written = [_written(message, turns) for message, turns in zip(sent, wired, strict=True)]
        tools = [anthropic_tool(tool) for tool in request.tools]
        if self.cache:
            mark_layer_ends(request.layer_ends, tools, written, self.cache)
        messages = join_anthropic(wired)
        # The model continues a last assistant message, and the API refuses one that ends in white space.
        if messages and messages[-1]["role"] == "assistant":
            block = messages[-1]["content"][-1]
            block |= {"text": block["text"].rstrip()} if block["type"] == "text" else {}
        body: dict[str, Json] = {"model": model, "messages": messages, "stream": True}
        if system := [block for is_system, blocks in written if is_system for block in blocks]:
            body["system"] = system
        if request.searches and self.search:
            tools.append({"type": self.search, "name": "web_search", "max_uses": request.searches})
        if tools:
            body["tools"] = tools
        if self.takes_temperature and request.temperature is not None and not asked:
            body["temperature"] = request.temperature
        return {**body, "max_tokens": self.most_tokens(request, room), **asked}

    def reader(self) -> "AnthropicReader":
        return AnthropicReader(self.auth_hint)

    def _asked(self, request: ModelRequest) -> tuple[dict[str, Json], int]:
        """The fields about thinking, and its tokens, which come on top of those of the reply."""
        effort, room = request.effort, THINKING_ROOM[request.effort]
        if self.thinking == "adaptive":
            if room:
                return _adaptive(effort), room
            if self.thinking_off == "low":
                return _adaptive("low"), UNREQUESTED_THINKING_ROOM
        elif room and _may_think(request.messages):
            budget = self.most_tokens(request, room) - request.max_tokens
            if budget >= LEAST_BUDGET:
                return {"thinking": {"type": "enabled", "budget_tokens": budget}}, budget
        if not room and self.thinking_off in ("disabled", "between_tools"):
            least = UNREQUESTED_THINKING_ROOM if self.thinking_off == "between_tools" else 0
            return {"thinking": {"type": self.thinking_off}}, least
        return {}, 0


class AnthropicReader(ReplyReader):
    """One reply: blocks by their index, in whatever order their pieces arrive."""

    def __init__(self, auth_hint: str = "") -> None:
        super().__init__(auth_hint)
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._usage: dict[str, Json] = {}
        self._model = ""
        self._explanation = ""

    def _read(self, event: str, data: str) -> Iterator[StreamEvent]:
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

    def _begin(self, value: dict[str, Json]) -> Iterator[StreamEvent]:
        content = obj(value.get("content_block"))
        block = self._blocks[count(value.get("index"))] = _Block(text(content.get("type")), content)
        self._check_count(len(self._blocks))
        if block.kind == "tool_use":
            block.call = StreamedCall(self._calls, text(content.get("id")), text(content.get("name")))
            self._calls += 1
            yield block.call.began
        for kind in ("text", "thinking", "signature"):
            yield from block.say(kind, content.get(kind))

    def _add(self, value: dict[str, Json]) -> Iterator[StreamEvent]:
        delta = obj(value.get("delta"))
        kind = text(delta.get("type")).removesuffix("_delta")
        block = self._blocks.setdefault(count(value.get("index")), _Block(kind, {"type": kind}))
        self._check_count(len(self._blocks))
        if kind == "signature":
            # The only piece that is kept without an event for it.
            self._count_piece(text(delta.get(kind)))
        if kind == "input_json" and block.call and (piece := text(delta.get("partial_json"))):
            yield block.call.add(piece)
        else:
            yield from block.say(kind, delta.get(kind))

    def _count(self, value: dict[str, Json]) -> None:
        """Counts are totals so far; a count that is not repeated stays."""
        usage = obj(value.get("usage"))
        names = (*USAGE_FIELDS, "server_tool_use")
        self._usage |= {name: usage[name] for name in names if usage.get(name) is not None}

    def _finish(self) -> Iterator[StreamEvent]:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        for block in blocks:
            # Some servers send all arguments of a call with its start.
            if block.call and not block.call.arguments and (given := block.start.get("input")):
                yield block.call.add(msgspec.json.encode(given).decode())
        kept = [b for b in blocks if b.kind != "redacted_thinking" or text(b.start.get("data"))]
        parts = reply_parts([block.whole() for block in kept], Losses())
        said = _STOPS.get(self._stop, "other")
        if said == "refused" and not parts and self._explanation:
            parts = (Text(self._explanation),)
            yield TextDelta(self._explanation)
        results = [block.start.get("content") for block in kept if block.kind == SEARCH_RESULT]
        found = [obj(one) for result in results for one in items(result)]
        sources = [WebSource(text(one.get("url")), text(one.get("title"))) for one in found]
        yield self._completed(parts, said, anthropic_usage(self._usage), self._model, sources)


class _Block(Struct):
    """A content block that is still arriving: how it began, and the pieces of its fields."""

    kind: str
    start: dict[str, Json]
    call: StreamedCall | None = None
    pieces: dict[str, list[str]] = field(
        default_factory=lambda: {"text": [], "thinking": [], "signature": []}
    )

    def say(self, kind: str, piece: Json) -> Iterator[StreamEvent]:
        if kind not in (self.kind, "signature") or kind not in self.pieces or not text(piece):
            return
        self.pieces[kind].append(piece)
        if kind != "signature":
            yield TextDelta(piece) if kind == "text" else ThinkingDelta(piece)

    def whole(self) -> dict[str, Json]:
        if self.call:
            known = {"id": self.call.id, "name": self.call.name, "input": self.call.arguments}
            return {"type": "tool_use", **known}
        return {**self.start, **{name: "".join(pieces) for name, pieces in self.pieces.items()}}


def _written(message: Message, turns: list[WireDict]) -> MessageBlocks:
    """The same objects that are sent, so that a mark on one is a mark in the request."""
    if isinstance(message, SystemMessage):
        return True, to_anthropic((message,)).system or []
    return False, [block for turn in turns for block in turn["content"]]


def _without_thinking(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    return replace(message, parts=tuple(part for part in message.parts if not isinstance(part, Thinking)))


def _adaptive(effort: str) -> dict[str, Json]:
    """Newer models bind thinking to every byte before it, and a fold or a new recap changes some. By default the
    API then refuses the whole request; told to, it drops the thinking instead."""
    binding = {"prefix_mismatch_behavior": "drop_block"}
    # Without `display`, newer models send only the signature of what they thought.
    thinking = {"type": "adaptive", "display": "summarized", "block_binding": binding}
    return {"thinking": thinking, "output_config": {"effort": effort}}


def _may_think(messages: Sequence[Message]) -> bool:
    """With a budget, the newest reply must begin with thinking if it called tools; the pack may have dropped it."""
    reply = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    if reply is None or not reply.calls:
        return True
    first = anthropic_message(reply)[0]["content"][0]
    return first["type"] in THINKING_TYPES
