"""The OpenAI Responses API.

Rule: nothing is stored at the provider. Reasoning arrives encrypted and goes back byte for byte, before the item it
led to, and to no other API.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import Json, SystemMessage
from holdfast.models.adapter import (
    EffortOff,
    ProviderAdapter,
    ReplyReader,
    StreamedCall,
    parse_event,
    requested_effort,
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
from holdfast.wire.foreign_json import Losses, count, items, obj, text
from holdfast.wire.responses import is_search, item_parts, responses_items, responses_tools, responses_usage

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
        body["input"] = [
            item
            for message in messages
            for item in responses_items(message, keeps_reasoning=self.keeps_reasoning)
        ]
        include = ["reasoning.encrypted_content"] if self.keeps_reasoning else []
        tools = responses_tools(request.tools)
        if request.searches and self.search:
            tools.append({"type": self.search})
            body["max_tool_calls"] = request.searches
            include.append("web_search_call.action.sources")
        if tools:
            body["tools"] = tools
        effort, room = requested_effort(request.effort, self.thinking_off)
        body["max_output_tokens"] = self.most_tokens(request, room)
        if include:
            body["include"] = include
        if effort:
            # What was thought is encrypted; a person reads the summary.
            shown = {"summary": "auto"} if request.effort != "off" else {}
            body["reasoning"] = {"effort": effort, **shown}
        if self.takes_temperature and request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    def reader(self) -> "OpenAIResponsesReader":
        return OpenAIResponsesReader(self.auth_hint)


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
        parts = [part for item in output for part in item_parts(item, Losses())]
        said: StopReason = "end"
        if response.get("status") == "incomplete":
            reason = text(obj(response.get("incomplete_details")).get("reason"))
            said = _INCOMPLETE.get(reason, "other")
        if any(obj(part).get("refusal") for item in output for part in items(item.get("content"))):
            said = "refused"
        usage = responses_usage(response.get("usage"))
        if usage:
            usage = replace(usage, searches=sum(map(is_search, output)))
        return self._completed(parts, said, usage, text(response.get("model")), _sources(output))


def _sources(output: list[dict[str, Json]]) -> Iterator[WebSource]:
    """The pages that were found; those that the reply cites come later, and with their titles."""
    for item in output:
        for source in items(obj(item.get("action")).get("sources")):
            yield WebSource(text(obj(source).get("url")))
    for item in output:
        for block in items(item.get("content")):
            for note in map(obj, items(obj(block).get("annotations"))):
                if note.get("type") == "url_citation":
                    yield WebSource(text(note.get("url")), text(note.get("title")))


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
