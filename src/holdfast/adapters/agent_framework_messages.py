"""Messages of Microsoft Agent Framework, read as events and written from ours.

Rule: contents that are sent as they were are the given objects, and so is a message of which every content is.
"""

import json
from base64 import b64decode
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec
from agent_framework import Content
from agent_framework import Message as FrameworkMessage

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Event, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    UserPart,
)
from holdfast.wire.content_blocks import image_at, origin_of, tool_call
from holdfast.wire.foreign_json import Losses


class FrameworkMessageList:
    """A list as it is packed: without the system messages at its beginning, and with one result a message."""

    def __init__(self, messages: Sequence[FrameworkMessage]) -> None:
        for at, message in enumerate(messages):
            if not isinstance(message, FrameworkMessage):
                raise InputError(
                    f"message {at} is a `{type(message).__name__}`, not a message of Agent Framework",
                    hint='pass texts or messages, such as Message("user", ["Fix the parser."])',
                )
        first = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
        self.opening = [*messages[:first]]
        """The system messages at the beginning, which every request has."""
        self.messages: list[FrameworkMessage] = []
        self._sources: dict[int, FrameworkMessage] = {}
        for message in messages[first:]:
            self.messages += self._split(message)
        self._given = {id(message) for message in self.messages}

    def _split(self, message: FrameworkMessage) -> list[FrameworkMessage]:
        """The results of a message, each in one of its own, so that one can be shortened alone."""
        if len(message.contents) < 2 or any(
            content.type != "function_result" for content in message.contents
        ):
            return [message]
        parts = [FrameworkMessage(message.role, [content]) for content in message.contents]
        self._sources |= {id(part): message for part in parts}
        return parts

    def joined(self, sent: Sequence[FrameworkMessage]) -> list[FrameworkMessage]:
        """What is sent, with the given messages where all of one is sent, after the system messages."""
        whole = [*self.opening]
        for _, run in groupby(sent, key=lambda message: id(self._sources.get(id(message), message))):
            parts = [*run]
            source = self._sources.get(id(parts[0]))
            is_whole = source is not None and len(parts) == len(source.contents)
            whole += [source] if is_whole else map(self._restored, parts)
        return whole

    def _restored(self, message: FrameworkMessage) -> FrameworkMessage:
        """A reply that was shortened, with the contents of the given one that were not."""
        calls = {content.call_id for content in message.contents if content.type == "function_call"}
        if not calls or id(message) in self._given:
            return message
        known = [
            (_reply_part(content), content)
            for given in self.messages
            if calls & {content.call_id for content in given.contents if content.type == "function_call"}
            for content in given.contents
        ]
        contents = [
            next((own for part, own in known if part == _reply_part(content)), content)
            for content in message.contents
        ]
        return FrameworkMessage("assistant", contents)


class FrameworkTranslation:
    """How messages are read and written."""

    def read(
        self, messages: Sequence[FrameworkMessage]
    ) -> Iterator[tuple[Sequence[FrameworkMessage], list[Event]]]:
        names: dict[str, str] = {}
        for group in _groups(messages):
            if group[0].role == "assistant":
                parts = tuple(_reply_parts(group))
                names |= {part.id: part.name for part in parts if isinstance(part, ToolCall)}
                yield group, [AssistantReplied(parts)] if parts else []
            else:
                yield group, [*_said(group[0], names)]

    def write(self, message: Message) -> list[FrameworkMessage]:
        if isinstance(message, AssistantMessage):
            return [FrameworkMessage("assistant", [_own_content(part) for part in message.parts])]
        assert not isinstance(message, SystemMessage), "the core takes them out"
        contents = [
            Content.from_text(part.text) if isinstance(part, Text) else _image(part) for part in message.parts
        ]
        if not isinstance(message, ToolMessage):
            return [FrameworkMessage("user", contents)]
        failure = "the tool failed" if message.error else None
        result = Content.from_function_result(message.call_id, result=contents, exception=failure)
        return [FrameworkMessage("tool", [result])]


def _groups(messages: Sequence[FrameworkMessage]) -> Iterator[list[FrameworkMessage]]:
    """Messages one at a time; one that holds only reasoning together with the reply it belongs to."""
    group: list[FrameworkMessage] = []
    for message in messages:
        if group and not (
            message.role == group[-1].role == "assistant"
            and (_is_reasoning(message) or _is_reasoning(group[-1]))
        ):
            yield group
            group = []
        group.append(message)
    if group:
        yield group


def _is_reasoning(message: FrameworkMessage) -> bool:
    return all(content.type == "text_reasoning" for content in message.contents)


def _said(message: FrameworkMessage, names: dict[str, str]) -> Iterator[Event]:
    said: list[UserPart] = []
    for content in message.contents:
        if content.type == "function_result":
            parts = tuple(map(_user_part, content.items or [Content.from_text(str(content.result or ""))]))
            name = names.get(content.call_id, "")
            yield ToolReturned(content.call_id, name, parts, error=content.exception is not None)
        elif (part := _user_part(content)) != Text(""):
            said.append(part)
    if said:
        parts = tuple(said)
        yield UserSaid(parts, "reminder" if message.role == "system" else origin_of(parts))


def _user_part(content: Any) -> UserPart:
    if content.type in ("data", "uri") and (content.media_type or "").startswith("image/"):
        return image_at(content.uri) or Text("")
    return _text(content)


def _reply_parts(group: Sequence[FrameworkMessage]) -> Iterator[AssistantPart]:
    parts = (_reply_part(content) for message in group for content in message.contents)
    return (part for part in parts if part != Text(""))


def _reply_part(content: Any) -> AssistantPart:
    if content.type == "text_reasoning":
        return Thinking(content.text or "", content.protected_data or content.id or "")
    if content.type == "function_call":
        arguments = content.arguments
        given = arguments if isinstance(arguments, str | None) else msgspec.json.encode(arguments).decode()
        return tool_call(content.call_id, content.name, given, Losses())
    return _text(content)


def _text(content: Any) -> Text:
    """What a content says; of what is no text, such as a document or a search of the provider's, what it is."""
    if content.type in ("text", "usage"):
        return Text(content.text or "")
    if content.type in ("data", "uri"):
        return Text(f"[{content.media_type} {text_id(content.uri)}]")
    return Text(f"[{content.type} {json.dumps(content.to_dict(), default=str)}]")


def _own_content(part: AssistantPart) -> Any:
    match part:
        case Text(text):
            return Content.from_text(text)
        case Thinking(text, signature):
            return Content.from_text_reasoning(text=text, protected_data=signature or None)
        case ToolCall():
            return Content.from_function_call(part.id, part.name, arguments=part.raw or part.arguments)


def _image(image: Image) -> Any:
    if image.url:
        return Content.from_uri(image.url, media_type=image.media_type or "image/png")
    return Content.from_data(b64decode(image.data), image.media_type)
