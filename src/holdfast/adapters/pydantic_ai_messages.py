"""Messages of Pydantic AI, taken apart for the log and put together again for the model.

Rule: a part that is sent as it was is the given object, and so is a message of which every part is.
"""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from operator import is_
from typing import Any

import msgspec
from msgspec import Struct
from pydantic_ai.messages import (
    ERROR_OUTCOMES,
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Event, ToolReturned, UserSaid
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    UserPart,
)
from holdfast.wire.content_blocks import origin_of
from holdfast.wire.followed_lists import Turn


class MessagePiece(Struct, eq=False):
    """A reply, or a part of a request with those `beside` it that nobody said; or a message of ours instead."""

    event: Turn | None = None
    source: Any = None
    parts: Sequence[Any] = ()
    beside: Sequence[Any] = ()
    written: Message | None = None

    @property
    def is_reply(self) -> bool:
        return isinstance(self.source, ModelResponse) or isinstance(self.written, AssistantMessage)


class PieceTranslation:
    """How pieces are read and written; what they say was read when the list was taken apart."""

    def read(self, messages: Sequence[MessagePiece]) -> Iterator[tuple[Sequence[MessagePiece], list[Event]]]:
        for piece in messages:
            assert piece.event is not None, "only pieces of a given list are read"
            yield [piece], [piece.event]

    def write(self, message: Message) -> list[MessagePiece]:
        return [MessagePiece(written=message)]


class PieceList:
    """Messages taken apart, so that each result in a request is a piece of its own, and put together again.

    `opening` are the system prompts at the beginning, which every request has. What else nobody said, such as a
    change of settings, stays beside what follows it, and moves on where that is left out.
    """

    def __init__(self, messages: Sequence[ModelMessage]) -> None:
        self.opening: list[Any] = []
        self.pieces: list[MessagePiece] = []
        waiting: list[Any] = []
        for at, message in enumerate(messages):
            if isinstance(message, ModelRequest):
                waiting = self._take_apart(message, waiting)
            elif isinstance(message, ModelResponse):
                self.pieces.append(MessagePiece(_reply_event(message), message))
            else:
                raise InputError(
                    f"message {at} is a `{type(message).__name__}`, not a message of Pydantic AI",
                    hint="pass ModelRequest and ModelResponse; ModelMessagesTypeAdapter reads them from JSON",
                )
        self._rest = waiting

    def _take_apart(self, request: ModelRequest, waiting: list[Any]) -> list[Any]:
        """Add a request's pieces; what is left over is for the next."""
        last: MessagePiece | None = None
        for part in request.parts:
            event = _request_event(part)
            if part.part_kind == "system-prompt" and not self.pieces:
                self.opening.append(part)
            elif event is None:
                waiting.append(part)
            else:
                last = MessagePiece(event, request, [*waiting, part], waiting)
                self.pieces.append(last)
                waiting = []
        if last is None or not waiting:
            return waiting
        last.parts, last.beside = [*last.parts, *waiting], [*last.beside, *waiting]
        return []

    def messages(self, sent: Sequence[MessagePiece]) -> list[ModelMessage]:
        """What is sent, as messages: the given ones where all of one is sent."""
        moved, rest = self._moved(sent)
        written: list[ModelMessage] = []
        parts: list[Any] = [*self.opening]
        aside: list[Any] = []
        source: ModelRequest | None = None
        for piece in sent:
            if not piece.is_reply:
                parts += piece.parts or _request_parts(piece.written)
                aside += moved.get(id(piece), ())
                source = piece.source or source
                continue
            if parts:
                written.append(_request([*parts, *aside], source))
            parts, aside, source = [], [], None
            written.append(piece.source or self._reply(piece.written))
        if parts or rest:
            written.append(_request([*parts, *aside, *rest], source))
        return written

    def _moved(self, sent: Sequence[MessagePiece]) -> tuple[dict[int, list[Any]], list[Any]]:
        """What was beside pieces that are not sent: by the piece that has it now, and what goes to the end."""
        kept = {id(piece) for piece in sent}
        moved: dict[int, list[Any]] = {}
        waiting: list[Any] = []
        for piece in self.pieces:
            if id(piece) not in kept:
                waiting += piece.beside
            elif waiting and not piece.is_reply:
                moved[id(piece)], waiting = waiting, []
        return moved, [*waiting, *self._rest]

    def _reply(self, message: Message | None) -> ModelResponse:
        """A reply that was shortened, with the parts of the given one that were not, and all it says besides."""
        assert isinstance(message, AssistantMessage), "it is a reply"
        source = next((self._by_call[call.id] for call in message.calls if call.id in self._by_call), None)
        known = [(_reply_part(part), part) for part in source.parts] if source else []
        parts = [
            next((own for p, own in known if p == part), None) or _own_part(part) for part in message.parts
        ]
        return replace(source, parts=parts) if source else ModelResponse(parts)

    @cached_property
    def _by_call(self) -> dict[str, ModelResponse]:
        given = [piece.source for piece in self.pieces if isinstance(piece.source, ModelResponse)]
        return {call.tool_call_id: response for response in given for call in response.tool_calls}


def _request(parts: list[Any], source: ModelRequest | None) -> ModelRequest:
    if source and len(parts) == len(source.parts) and all(map(is_, parts, source.parts)):
        return source
    return replace(source, parts=parts) if source else ModelRequest(parts)


def _request_event(part: Any) -> UserSaid | ToolReturned | None:
    """What a part of a request says; None for one that only sets something."""
    match part.part_kind:
        case "user-prompt":
            parts = tuple(p for p in _content_parts(part.content) if p != Text(""))
            return UserSaid(parts, origin_of(parts)) if parts else None
        case "tool-return":
            content = part.content_items(mode="str", wrap_if_error=False)
            is_error = part.outcome in ERROR_OUTCOMES
            return ToolReturned(part.tool_call_id, part.tool_name, _content_parts(content), error=is_error)
        case "retry-prompt" if part.tool_name:
            said = (Text(part.model_response()),)
            return ToolReturned(part.tool_call_id, part.tool_name, said, error=True)
        case "retry-prompt" | "retry-feedback":
            return UserSaid((Text(part.model_response()),), "reminder")
        case "system-prompt" | "compaction" | "speech" if part.content:
            return UserSaid(
                (Text(part.content),), "reminder" if part.part_kind == "system-prompt" else "person"
            )
    return None


def _content_parts(content: str | Sequence[Any]) -> tuple[UserPart, ...]:
    parts: list[UserPart] = []
    items: Sequence[Any] = [content] if isinstance(content, str) else content
    for item in items:
        kind = "text" if isinstance(item, str) else item.kind
        if kind == "image-url":
            parts.append(Image("", url=item.url))
        elif kind == "binary" and item.is_image:
            parts.append(Image(item.media_type, data=item.base64))
        elif kind != "cache-point":
            text = item if isinstance(item, str) else getattr(item, "content", None)
            parts.append(Text(text if isinstance(text, str) else f"[{kind} {item.identifier}]"))
    return tuple(parts)


def _reply_event(response: ModelResponse) -> AssistantReplied:
    counted = response.usage
    usage = Usage(
        counted.input_tokens, counted.output_tokens, counted.cache_read_tokens, counted.cache_write_tokens
    )
    parts = tuple(part for part in map(_reply_part, response.parts) if part != Text(""))
    return AssistantReplied(parts, response.model_name or "", usage if usage.prompt else None)


def _reply_part(part: Any) -> AssistantPart:
    match part.part_kind:
        case "thinking":
            return Thinking(part.content, part.signature or "")
        case "tool-call":
            # What is no JSON object is one here too, as the models of Pydantic AI send it.
            arguments = msgspec.json.decode(part.args_as_json_str())
            return ToolCall(part.tool_call_id, part.tool_name, arguments)
        case "builtin-tool-call":
            return Text(f"[{part.tool_name} called with {part.args_as_json_str()}]")
        case "builtin-tool-return":
            return Text(f"[{part.tool_name} returned {part.model_response_str()}]")
        case "file":
            return Text(f"[file {part.content.identifier}]")
    return Text(part.content or "")


def _own_part(part: AssistantPart) -> Any:
    match part:
        case Text(text):
            return TextPart(text)
        case Thinking(text, signature):
            return ThinkingPart(text, signature=signature or None)
        case ToolCall():
            return ToolCallPart(part.name, part.arguments, tool_call_id=part.id)


def _request_parts(message: Message | None) -> list[Any]:
    """A message of ours as a part of a request."""
    if isinstance(message, ToolMessage):
        outcome = "failed" if message.error else "success"
        content = _content(message.parts)
        return [ToolReturnPart(message.name, content, tool_call_id=message.call_id, outcome=outcome)]
    assert isinstance(message, UserMessage), "replies and system prompts are written elsewhere"
    return [UserPromptPart(_content(message.parts))]


def _content(parts: tuple[UserPart, ...]) -> Any:
    items = [part.text if isinstance(part, Text) else _image(part) for part in parts]
    return items[0] if len(items) == 1 else items


def _image(image: Image) -> Any:
    return (
        ImageUrl(image.url)
        if image.url
        else BinaryContent(b64decode(image.data), media_type=image.media_type)
    )
