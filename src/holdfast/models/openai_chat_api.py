"""The OpenAI chat completions API, and the servers that are compatible with it.

Rule: where servers differ there is a setting, never a guess by name; a chunk of an unknown kind never ends a reply.
"""

from collections.abc import Iterator, Sequence
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
    Usage,
    UserMessage,
)
from holdfast.models.adapter import (
    EffortOff,
    ProviderAdapter,
    ReplyReader,
    StreamedCall,
    parse_event,
    requested_effort,
)
from holdfast.models.catalogue_keys import LimitField, SystemStyle
from holdfast.models.errors import error_from_event
from holdfast.models.model import ModelRequest, StopReason, StreamEvent, TextDelta, ThinkingDelta
from holdfast.wire.content_blocks import WireDict
from holdfast.wire.foreign_json import items, obj, text
from holdfast.wire.openai import chat_usage, join_openai, openai_message, openai_tool

ACKNOWLEDGED = "Understood."
_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refused",
    "sensitive": "refused",
}
_FAILED = ("error", "network_error", "insufficient_system_resource")
"""Finish reasons that are failures: what arrived is not a reply."""

_UNSAID = " "
"""For a reply without thinking: servers that want the field refuse a reply without it, and some an empty one."""


class OpenAIChatAdapter(ProviderAdapter, frozen=True, kw_only=True):
    """`limit_field`: compatible servers know only `max_tokens`, OpenAI's newer models only the other name.
    `reasoning_field` is where thinking goes back, such as `reasoning_content`; empty sends none.
    `thinking` says how it is asked for: not at all, by `reasoning_effort`, by a switch, or by a switch and an
    effort (DeepSeek). `thinking_off` is the effort of a model that thinks by default where none is asked for."""

    path = "/chat/completions"
    system: SystemStyle = "blocks"
    limit_field: LimitField = "max_completion_tokens"
    reasoning_field: str = ""
    thinking: Literal["", "effort", "switch", "switch and effort"] = ""
    thinking_off: EffortOff = ""
    takes_temperature: bool = True

    def body(self, model: str, request: ModelRequest) -> dict[str, Json]:
        messages = join_openai(
            self._written(message) for message in apply_system_style(request.messages, self.system)
        )
        body: dict[str, Json] = {
            "model": model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [openai_tool(tool) for tool in request.tools]
        effort, room = requested_effort(request.effort, self.thinking_off)
        most = self.most_tokens(request, room if self.thinking else 0)
        # Local servers refuse a limit that the window has no room for.
        body[self.limit_field] = min(most, request.room_left) if request.room_left else most
        if self.takes_temperature and request.temperature is not None:
            body["temperature"] = request.temperature
        if self.thinking.startswith("switch"):
            body["thinking"] = {"type": "disabled" if request.effort == "off" else "enabled"}
        if self.thinking.endswith("effort") and effort:
            body["reasoning_effort"] = effort
        return body

    def reader(self) -> "OpenAIChatReader":
        return OpenAIChatReader(self.auth_hint)

    def _written(self, message: Message) -> list[WireDict]:
        wired = openai_message(message)
        if self.reasoning_field and wired and isinstance(message, AssistantMessage):
            thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and part.text]
            wired[0][self.reasoning_field] = "\n\n".join(thoughts) or _UNSAID
        return wired


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
    return (UserMessage(tuple(map(Text, texts))), AssistantMessage((Text(ACKNOWLEDGED),)), *rest)


class OpenAIChatReader(ReplyReader):
    """One reply: one thinking part, one text, one refusal, and calls by their index."""

    def __init__(self, auth_hint: str = "") -> None:
        super().__init__(auth_hint)
        self._thinking: list[str] = []
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._usage: Usage | None = None
        self._model = ""

    def _read(self, event: str, data: str) -> Iterator[StreamEvent]:
        if data.strip() == "[DONE]":
            if self._thinking or self._text or self._refusal or self._calls:
                self._stop = self._stop or "unsaid"
            yield from self.end()
            return
        chunk = parse_event(data)
        if event == "error" or chunk.get("error") or chunk.get("object") == "error":
            raise error_from_event(chunk, auth_hint=self._auth_hint)
        self._model = text(chunk.get("model")) or self._model
        self._usage = chat_usage(chunk.get("usage")) or self._usage
        for choice in map(obj, items(chunk.get("choices"))):
            if not choice.get("index"):
                yield from self._read_choice(choice)

    def _read_choice(self, choice: dict[str, Json]) -> Iterator[StreamEvent]:
        # A server that does not stream sends the whole message in one chunk.
        delta = obj(choice.get("delta")) or obj(choice.get("message"))
        if thought := _thought(delta):
            self._thinking.append(thought)
            yield ThinkingDelta(thought)
        if said := text(delta.get("content")) or _joined(delta.get("content")):
            self._text.append(said)
            yield TextDelta(said)
        if refusal := text(delta.get("refusal")):
            self._refusal.append(refusal)
            yield TextDelta(refusal)
        for call in map(obj, items(delta.get("tool_calls"))):
            yield from self._read_call(call)
        self._usage = chat_usage(choice.get("usage")) or self._usage
        reason = text(choice.get("finish_reason"))
        if reason in _FAILED:
            raise error_from_event(
                {"error": {"code": reason, "message": f"the reply finished with `{reason}`"}}
            )
        self._stop = reason or self._stop

    def _read_call(self, delta: dict[str, Json]) -> Iterator[StreamEvent]:
        function = obj(delta.get("function"))
        index, given, name = delta.get("index"), text(delta.get("id")), text(function.get("name"))
        call = next((one for one in reversed(self._calls) if one.takes(index, given, name)), None)
        if call is None:
            if not given and not name:
                return
            place = index if isinstance(index, int) else len(self._calls)
            call = _Call(place, given, StreamedCall(len(self._calls), given, name))
            self._calls.append(call)
            yield call.gathered.began
        arguments = function.get("arguments")
        piece = msgspec.json.encode(arguments).decode() if isinstance(arguments, dict) else text(arguments)
        if piece:
            yield call.gathered.add(piece)

    def _finish(self) -> Iterator[StreamEvent]:
        parts: list[AssistantPart] = [Thinking("".join(self._thinking))] if self._thinking else []
        parts += [Text("".join(said)) for said in (self._text, self._refusal) if said]
        parts += [call.gathered.part() for call in sorted(self._calls, key=lambda call: call.index)]
        said: StopReason = "refused" if self._refusal else _STOPS.get(self._stop, "other")
        yield self._completed(parts, said, self._usage, self._model)


class _Call(Struct, frozen=True):
    index: int
    given: str
    gathered: StreamedCall

    def takes(self, index: Json, given: str, name: str) -> bool:
        """Whether a delta belongs to this call.

        Calls differ by index, but some servers give every call the index 0, some none at all, and some a new id
        with every delta. Only a name begins a call.
        """
        if given and name:
            return given == self.given and index in (None, self.index)
        return index == self.index if isinstance(index, int) else given in ("", self.given)


def _thought(delta: dict[str, Json]) -> str:
    """Thinking under either of its names, or as parts of the content (Mistral)."""
    said = text(delta.get("reasoning_content")) or text(delta.get("reasoning"))
    parts = [obj(part) for part in items(delta.get("content"))]
    return said or "".join(_joined(part.get("thinking")) for part in parts if part.get("type") == "thinking")


def _joined(parts: Json) -> str:
    return "".join(text(obj(part).get("text")) for part in items(parts))
