"""The Anthropic Messages API, and servers that speak it.

Rule: thinking goes back verbatim or not at all, and the order on the wire (tools, system, messages) is the order of
stability, so that a cache mark at the end of a layer covers all that is more stable.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
)
from holdfast.models.breakpoints import Lifetime, Written, mark_ends
from holdfast.models.errors import ModelError
from holdfast.models.protocol import Came, Done, Reply, Request, Stop, TextCame, ThinkingCame
from holdfast.models.wire.failures import failure, stream_failure
from holdfast.models.wire.gathering import GatheredCall, broken_off, event_object, told_stop
from holdfast.models.wire.thinking import UNASKED_ROOM, effort_for, without_thinking
from holdfast.recordings.anthropic import anthropic_usage
from holdfast.recordings.shapes import obj, text
from holdfast.recordings.wire import Wired, anthropic_message, anthropic_tool, join_anthropic, to_anthropic

LEAST_BUDGET = 1_024
"""Fewer tokens for thinking are refused."""

BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"
"""The beta that lets a request say what becomes of thinking that no longer fits."""

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class AnthropicWire(Struct, frozen=True, kw_only=True):
    """`thinking` says how it is asked for: by a `budget`, or `adaptive`, the only way newer models take.
    `thinking_off` is how a model that thinks by itself is told not to; some only know a low effort.
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

    def body(self, model: str, request: Request) -> dict[str, Json]:
        asked, room = self._asked(request)
        # Where a newer model cannot be told what becomes of thinking that no longer fits, none goes back.
        is_safe = self.thinking == "budget" or "output_config" in asked
        sent = request.messages if is_safe else tuple(map(without_thinking, request.messages))
        wired = [anthropic_message(message) for message in sent]
        written = [_written(message, turns) for message, turns in zip(sent, wired, strict=True)]
        tools = [anthropic_tool(tool) for tool in request.tools]
        if self.cache:
            mark_ends(request.layer_ends, tools, written, self.cache)
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
        return failure(status, body, headers, auth_hint=self.auth_hint)

    def _asked(self, request: Request) -> tuple[dict[str, Json], int]:
        """The fields that speak of thinking, and its room, which comes on top of that of the reply."""
        room = request.thinking_tokens
        if self.thinking == "adaptive":
            if room:
                return _adaptive(effort_for(room)), room
            if self.thinking_off == "low":
                return _adaptive("low"), UNASKED_ROOM
        elif room and _may_think(request.messages):
            budget = max(LEAST_BUDGET, room)
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}, budget
        if not room and self.thinking_off in ("disabled", "between_tools"):
            least = UNASKED_ROOM if self.thinking_off == "between_tools" else 0
            return {"thinking": {"type": self.thinking_off}}, least
        return {}, 0


class AnthropicReader:
    """One reply: blocks by their index, whichever order their pieces come in."""

    def __init__(self, auth_hint: str = "") -> None:
        self._auth_hint = auth_hint
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._usage: dict[str, Json] = {}
        self._model = ""
        self._stop = ""
        self._explanation = ""
        self._is_done = False

    def feed(self, event: str, data: str) -> Iterator[Came]:
        if self._is_done or not data.strip():
            return
        value = event_object(data)
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
                raise stream_failure(value, auth_hint=self._auth_hint)

    def end(self) -> Iterator[Came]:
        if self._is_done:
            return
        if not self._stop:
            raise broken_off()
        yield from self._finish()

    def _begin(self, value: dict[str, Json]) -> Iterator[Came]:
        content = obj(value.get("content_block"))
        block = self._blocks[_index(value)] = _Block(text(content.get("type")), content)
        if block.kind == "tool_use":
            block.call = GatheredCall(self._calls, text(content.get("id")), text(content.get("name")))
            self._calls += 1
            yield block.call.began
        yield from block.say("text", content.get("text"))
        yield from block.say("thinking", content.get("thinking"))
        block.sign(content.get("signature"))

    def _add(self, value: dict[str, Json]) -> Iterator[Came]:
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
        """Counts are totals so far; one that is not repeated stays."""
        usage = obj(value.get("usage"))
        self._usage |= {name: number for name, number in usage.items() if number is not None}

    def _finish(self) -> Iterator[Came]:
        self._is_done = True
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        for block in blocks:
            yield from block.close()
        parts = tuple(part for block in blocks if (part := block.part()) is not None)
        stop = told_stop(_STOPS.get(self._stop, "other"), calls=self._calls > 0)
        if stop == "refused" and not parts and self._explanation:
            parts = (Text(self._explanation),)
            yield TextCame(self._explanation)
        usage = anthropic_usage(self._usage)
        yield Done(Reply(parts=parts, stop=stop, usage=usage, model=self._model))


class _Block:
    """A content block on its way in. Kinds we have no part for keep nothing."""

    __slots__ = ("_said", "_signature", "_start", "call", "kind")

    def __init__(self, kind: str, start: dict[str, Json]) -> None:
        self.kind = kind
        self.call: GatheredCall | None = None
        self._start = start
        self._said: list[str] = []
        self._signature: list[str] = []

    def say(self, kind: str, piece: Json) -> Iterator[Came]:
        if kind != self.kind or not isinstance(piece, str) or not piece:
            return
        if kind == "text":
            self._said.append(piece)
            yield TextCame(piece)
        elif kind == "thinking":
            self._said.append(piece)
            yield ThinkingCame(piece)

    def sign(self, piece: Json) -> None:
        self._signature.append(text(piece))

    def close(self) -> Iterator[Came]:
        """Some servers send a call's arguments with its start, and nothing more."""
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


def _written(message: Message, turns: list[Wired]) -> Written:
    """The very blocks that are sent, so that a mark on one is a mark in the request."""
    if isinstance(message, SystemMessage):
        return Written(True, to_anthropic((message,)).system or [])
    return Written(False, [block for turn in turns for block in turn["content"]])


def _adaptive(effort: str) -> dict[str, Json]:
    """Newer models bind thinking to every byte before it, and a fold or a new recap changes some. By default the
    whole request is then refused; told so, the API drops the thinking instead."""
    binding = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": {"type": "adaptive", "block_binding": binding}, "output_config": {"effort": effort}}


def _may_think(messages: Sequence[Message]) -> bool:
    """With a budget, the newest reply must begin with thinking if it called tools; a pack may have dropped it."""
    reply = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    if reply is None or not reply.calls:
        return True
    first = anthropic_message(reply)[0]["content"][0]
    return first["type"] in ("thinking", "redacted_thinking")


def _strip_end(messages: list[Wired]) -> None:
    """A last reply is a beginning for the model, and one that ends in white space is refused."""
    if messages and messages[-1]["role"] == "assistant" and messages[-1]["content"][-1]["type"] == "text":
        block = messages[-1]["content"][-1]
        block["text"] = block["text"].rstrip()
