"""The OpenAI Responses API.

Rule: nothing is stored at the provider. Reasoning arrives encrypted and goes back byte for byte, before the item it
led to, and to no other API.
"""

from collections.abc import Iterator

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
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    UserPart,
)
from holdfast.models.adapter import (
    EffortOff,
    ProviderAdapter,
    ReplyReader,
    StreamedCall,
    parse_event,
    requested_effort,
)
from holdfast.models.errors import error_from_event
from holdfast.models.model import ModelRequest, StopReason, StreamEvent, TextDelta, ThinkingDelta
from holdfast.wire.anthropic import is_reasoning_item
from holdfast.wire.content_blocks import WireDict, tool_call
from holdfast.wire.foreign_json import Losses, count, items, obj, text
from holdfast.wire.openai import openai_message, openai_tool

_READABLE = ("type", "summary", "content", "status")
"""Fields of a reasoning item that are not opaque: its text, and what only the API itself says of it."""
_INCOMPLETE: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "refused"}


class OpenAIResponsesAdapter(ProviderAdapter, frozen=True, kw_only=True):
    """`keeps_reasoning` asks for encrypted reasoning, which models that do not reason refuse.
    `thinking_off` is the effort of a model that thinks by default where none is asked for."""

    path = "/responses"
    keeps_reasoning: bool = True
    thinking_off: EffortOff = ""

    def body(self, model: str, request: ModelRequest) -> dict[str, Json]:
        body: dict[str, Json] = {"model": model, "stream": True, "store": False}
        messages = request.messages
        if messages and isinstance(first := messages[0], SystemMessage):
            body["instructions"] = first.text
            messages = messages[1:]
        body["input"] = [item for message in messages for item in self._items(message)]
        if request.tools:
            # The chat API's functions without the wrapper. Strict mode, the default, would refuse most schemas.
            functions = [openai_tool(tool)["function"] for tool in request.tools]
            body["tools"] = [{"type": "function", **function, "strict": False} for function in functions]
        effort, room = requested_effort(request.thinking_tokens, self.thinking_off)
        body["max_output_tokens"] = request.max_tokens + room
        if self.keeps_reasoning:
            body["include"] = ["reasoning.encrypted_content"]
        if effort:
            body["reasoning"] = {"effort": effort}
        if self.takes_temperature and request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    def reader(self) -> "OpenAIResponsesReader":
        return OpenAIResponsesReader(self.auth_hint)

    def _items(self, message: Message) -> list[WireDict]:
        if isinstance(message, AssistantMessage):
            return self._reply_items(message)
        if isinstance(message, ToolMessage):
            output = _content(message.parts)
            return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
        role = "system" if isinstance(message, SystemMessage) else "user"
        parts = (Text(message.text),) if isinstance(message, SystemMessage) else message.parts
        content = _content(parts)
        return [{"type": "message", "role": role, "content": content}] if content else []

    def _reply_items(self, message: AssistantMessage) -> list[WireDict]:
        """The parts in order; reasoning that led to nothing is left out, because the API refuses it alone."""
        wired: list[WireDict] = []
        spoken = max((n for n, p in enumerate(message.parts) if not isinstance(p, Thinking)), default=-1)
        for number, part in enumerate(message.parts[: spoken + 1]):
            if isinstance(part, Thinking):
                item = item_from_thinking(part) if self.keeps_reasoning else None
                wired += [item] if item else []
            elif isinstance(part, ToolCall):
                function = openai_message(AssistantMessage((part,)))[0]["tool_calls"][0]["function"]
                wired.append({"type": "function_call", "call_id": part.id, **function})
            elif part.text:
                called = any(isinstance(later, ToolCall) for later in message.parts[number:])
                # Newer models want to be told which texts were only comments before a call.
                phase = "commentary" if called else "final_answer"
                wired.append({"type": "message", "role": "assistant", "content": part.text, "phase": phase})
        return wired


class OpenAIResponsesReader(ReplyReader):
    """One reply: the output that its last event names, or, where it names none, the items as they arrived."""

    def __init__(self, auth_hint: str = "") -> None:
        super().__init__(auth_hint)
        self._items: dict[int, _Item] = {}
        self._calls = 0

    def _read(self, event: str, data: str) -> Iterator[StreamEvent]:
        if data.strip() == "[DONE]":
            return
        value = parse_event(data)
        item = self._items.setdefault(count(value.get("output_index")), _Item())
        self._check_count(max(len(self._items), len(item.pieces)))
        match (text(value.get("type")) or event).removeprefix("response."):
            case "output_item.added":
                yield from self._begin(item, obj(value.get("item")))
            case "output_item.done":
                yield from self._begin(item, obj(value.get("item")))
                item.is_done = True
            case "output_text.delta" | "refusal.delta" | "reasoning_text.delta" as kind:
                yield from item.say(kind, value.get("content_index"), text(value.get("delta")))
            case "reasoning_summary_text.delta" as kind:
                yield from item.say(kind, value.get("summary_index"), text(value.get("delta")))
            case "function_call_arguments.delta":
                if item.call and (piece := text(value.get("delta"))):
                    yield item.call.add(piece)
            case "completed" | "incomplete":
                yield self._reply(obj(value.get("response")))
            case "failed" | "error":
                raise error_from_event(obj(value.get("response")) or value, auth_hint=self._auth_hint)

    def _begin(self, item: "_Item", value: dict[str, Json]) -> Iterator[StreamEvent]:
        """An item began or is whole; a call is announced once."""
        item.value = value
        if value.get("type") != "function_call" or item.call:
            return
        item.call = StreamedCall(self._calls, text(value.get("call_id")), text(value.get("name")))
        self._calls += 1
        yield item.call.began
        if arguments := text(value.get("arguments")):
            yield item.call.add(arguments)

    def _reply(self, response: dict[str, Json]) -> StreamEvent:
        gathered = [self._items[index].whole() for index in sorted(self._items)]
        output = [obj(item) for item in items(response.get("output"))] or gathered
        parts = [part for item in output for part in _parts(item)]
        said: StopReason = "end"
        if response.get("status") == "incomplete":
            reason = text(obj(response.get("incomplete_details")).get("reason"))
            said = _INCOMPLETE.get(reason, "other")
        if any(obj(part).get("refusal") for item in output for part in items(item.get("content"))):
            said = "refused"
        usage = responses_usage(response.get("usage"))
        return self._completed(parts, said, usage, text(response.get("model")))


class _Item(Struct):
    """An output item that is still arriving: its last known form, and the pieces received for it."""

    value: dict[str, Json] = {}
    is_done: bool = False
    call: StreamedCall | None = None
    pieces: dict[tuple[int, str], list[str]] = {}

    def say(self, kind: str, index: Json, piece: str) -> Iterator[StreamEvent]:
        if piece:
            self.pieces.setdefault((count(index), kind), []).append(piece)
            yield ThinkingDelta(piece) if kind.startswith("reasoning") else TextDelta(piece)

    def whole(self) -> dict[str, Json]:
        """The item in its last form, or put together from its pieces where the API never completed it."""
        if self.is_done:
            return self.value
        if self.call:
            return {**self.value, "arguments": self.call.arguments}
        said = [(kind, "".join(self.pieces[index, kind])) for index, kind in sorted(self.pieces)]
        summary = [{"text": piece} for kind, piece in said if kind.startswith("reasoning")]
        if summary:
            return {**self.value, "type": "reasoning", "summary": summary}
        names = {"output_text.delta": "text", "refusal.delta": "refusal"}
        return {**self.value, "type": "message", "content": [{names[kind]: piece} for kind, piece in said]}


def responses_usage(value: Json) -> Usage | None:
    usage = obj(value)
    details = obj(usage.get("input_tokens_details"))
    read, write = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    prompt, completion = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None


def _parts(item: dict[str, Json]) -> list[AssistantPart]:
    """The parts of an output item; items of the provider's own tools hold nothing for us."""
    match item.get("type"):
        case "message":
            content = [obj(part) for part in items(item.get("content"))]
            said = [text(part.get("text")) or text(part.get("refusal")) for part in content]
            return [Text(one) for one in said if one]
        case "function_call":
            return [tool_call(item.get("call_id"), item.get("name"), item.get("arguments"), Losses())]
        case "reasoning":
            thinking = thinking_from_item(item)
            return [thinking] if thinking else []
    return []


def _content(parts: tuple[UserPart, ...]) -> str | list[WireDict]:
    """Content of the chat API under the names of this one."""
    content: str | list[WireDict] = openai_message(UserMessage(parts))[0]["content"]
    if isinstance(content, str):
        return content
    return [
        {"type": "input_text", "text": part["text"]}
        if part["type"] == "text"
        else {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
        for part in content
    ]


def thinking_from_item(item: dict[str, Json]) -> Thinking | None:
    """A reasoning item as thinking; None if there is nothing in it.

    `Thinking.redacted` holds what is opaque of the item, as a JSON object (Anthropic's redacted blocks are base64:
    the first brace tells them apart). The readable summary stays in `Thinking.text`, where secrets are found
    before a store sees them.
    """
    summary = [text(obj(part).get("text")) for part in items(item.get("summary"))]
    content = [text(obj(part).get("text")) for part in items(item.get("content"))]
    said = "\n\n".join(filter(None, summary)) or "\n\n".join(filter(None, content))
    opaque = {key: value for key, value in item.items() if key not in _READABLE and value is not None}
    redacted = msgspec.json.encode(opaque).decode() if text(item.get("encrypted_content")) else ""
    return Thinking(said, redacted=redacted) if said or redacted else None


def item_from_thinking(thinking: Thinking) -> dict[str, Json] | None:
    """The reasoning item as the Responses API takes it back; None for thinking of another provider."""
    if not is_reasoning_item(thinking):
        return None
    summary = [{"type": "summary_text", "text": thinking.text}] if thinking.text else []
    opaque: dict[str, Json] = msgspec.json.decode(thinking.redacted)
    return {"type": "reasoning", "summary": summary, **opaque}
