"""LangChain's messages, in and out.

Rule: text, pictures, thoughts and calls have a place in the log. Any other block is only named there, and goes to
the model as long as its message is sent whole.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, HumanMessage, convert_to_messages
from langchain_core.messages import SystemMessage as SystemPrompt
from langchain_core.messages import ToolMessage as ToolResult
from langchain_core.prompt_values import PromptValue

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Event, SystemSet, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserPart,
    joined_text,
)
from holdfast.wire.content_blocks import CallNames, block_type, origin_of, tool_call, user_part
from holdfast.wire.foreign_json import Losses, count, obj, text
from holdfast.wire.message_checks import checked_list
from holdfast.wire.responses import item_from_thinking, thinking_from_item

CALL_BLOCKS = ("tool_use", "tool_call", "invalid_tool_call", "function_call", "input_json_delta")
"""Blocks that say what `tool_calls` and `invalid_tool_calls` say too."""
THINKING_BLOCKS = ("thinking", "redacted_thinking", "reasoning")


class ChatTranslation:
    """How LangChain's messages are read, and ours written as such."""

    def read(self, messages: Sequence[Any]) -> Iterator[tuple[Sequence[Any], list[Event]]]:
        names, opening = CallNames(), len(opening_prompts(messages))
        for place, message in enumerate(messages):
            try:
                events = _events(message, place, names, is_opening=place < opening)
                msgspec.json.encode(events)
            except (TypeError, UnicodeEncodeError) as error:
                what = f"message {place} holds something that JSON cannot: {error}"
                raise InputError(what, hint="texts, arguments and blocks of content are plain JSON") from None
            for event in events:
                names.note(event)
            yield [message], events

    def write(self, message: Message) -> list[Any]:
        match message:
            case SystemMessage():
                return [SystemPrompt(message.text)]
            case AssistantMessage():
                calls = [
                    {"id": c.id, "name": c.name, "args": c.arguments} for c in message.calls if not c.raw
                ]
                invalid = [
                    {"id": c.id, "name": c.name, "args": c.raw, "error": None} for c in message.calls if c.raw
                ]
                said = [part for part in message.parts if not isinstance(part, ToolCall)]
                return [AIMessage(_content(said), tool_calls=calls, invalid_tool_calls=invalid)]
            case ToolMessage():
                status = "error" if message.error else "success"
                about = {"tool_call_id": message.call_id, "name": message.name, "status": status}
                return [ToolResult(_content(message.parts), **about)]
        return [HumanMessage(_content(message.parts))]


def converted_messages(given: Any) -> list[Any]:
    """What LangChain takes for messages, as messages; those that are some already are the same objects."""
    if isinstance(given, PromptValue):
        return given.to_messages()
    found: list[Any] = []
    for place, message in enumerate(checked_list(given)):
        try:
            found += convert_to_messages([message])
        except (NotImplementedError, TypeError, ValueError):
            raise _no_message(message, place) from None
    return found


def opening_prompts(messages: Sequence[Any]) -> list[Any]:
    """The system messages that a list begins with."""
    return [*takewhile(lambda message: isinstance(message, SystemPrompt), messages)]


def system_text(message: Any) -> str:
    return joined_text(tuple(part for part in _user_parts(message) if isinstance(part, Text)))


def _events(message: Any, place: int, names: CallNames, *, is_opening: bool) -> list[Event]:
    match message:
        case SystemPrompt():
            said = system_text(message)
            # A later one adds to the prompt, where it is.
            event = SystemSet(said) if is_opening else UserSaid((Text(said),), origin="reminder")
            return [event] if said else []
        case HumanMessage():
            parts = _user_parts(message)
            return [UserSaid(parts, origin=origin_of(parts))]
        case AIMessage():
            about = message.response_metadata
            model = text(about.get("model_name")) or text(about.get("model"))
            stop = text(about.get("stop_reason")) or text(about.get("finish_reason"))
            return [AssistantReplied(_reply_parts(message), model=model, usage=_usage(message), stop=stop)]
        case ToolResult():
            name = names.get(message.tool_call_id) or message.name or ""
            is_error = message.status == "error"
            return [ToolReturned(message.tool_call_id, name, _user_parts(message), error=is_error)]
    raise _no_message(message, place)


def _no_message(message: object, place: int) -> InputError:
    return InputError(
        f"message {place} is a `{type(message).__name__}`, which cannot be sent to a model",
        hint="HumanMessage, AIMessage, ToolMessage and SystemMessage can",
    )


def _blocks(message: Any) -> list[Any]:
    return [message.content] if isinstance(message.content, str) else message.content


def _user_parts(message: Any) -> tuple[UserPart, ...]:
    return tuple(part for part in map(_user_part, _blocks(message)) if part != Text(""))


def _user_part(block: Any) -> UserPart:
    found = obj(block)
    data = text(found.get("base64")) or text(found.get("data"))
    if found.get("type") == "image" and data:
        return Image(text(found.get("mime_type")) or "image/png", data)
    return user_part(block) or _placeholder(block)


def _placeholder(block: Any) -> Text:
    """A block that has no other place in a log. Blocks that differ have placeholders that differ."""
    return Text(f"[{block_type(block)} {text_id(msgspec.json.encode(block).decode())[1:]}]")


def _reply_parts(message: Any) -> tuple[AssistantPart, ...]:
    parts: list[AssistantPart] = []
    for block in _blocks(message):
        kind = block_type(block)
        if kind in THINKING_BLOCKS:
            parts += _thinking(block)
        elif kind not in CALL_BLOCKS:
            part = _user_part(block)
            parts.append(part if isinstance(part, Text) else _placeholder(block))
    for call in message.tool_calls:
        parts.append(
            ToolCall(call["id"] or "", call["name"], msgspec.json.decode(msgspec.json.encode(call["args"])))
        )
    for call in message.invalid_tool_calls:
        parts.append(tool_call(call["id"], call["name"], call["args"], Losses()))
    return tuple(part for part in parts if part != Text(""))


def _thinking(block: dict[str, Json]) -> list[Thinking]:
    """A thought in the form of Anthropic's, of LangChain's own, or of OpenAI's Responses."""
    said = text(block.get("thinking")) or text(block.get("reasoning"))
    signature = text(block.get("signature")) or text(obj(block.get("extras")).get("signature"))
    found = Thinking(said, signature, text(block.get("data")))
    item = thinking_from_item(block) if found == Thinking() else found
    return [item] if item else []


def _usage(message: Any) -> Usage | None:
    found = obj(message.usage_metadata)
    details = obj(found.get("input_token_details"))
    # A service tier is put before these names, and how long a cache lasts takes the place of `cache_creation`.
    read = sum(count(details[name]) for name in details if name.endswith("cache_read"))
    write = sum(count(details[name]) for name in details if name.endswith("cache_creation"))
    write += sum(count(details[name]) for name in details if name.startswith("ephemeral_"))
    prompt, completion = count(found.get("input_tokens")), count(found.get("output_tokens"))
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None


def _content(parts: Sequence[AssistantPart | UserPart]) -> str | list[dict[str, Json]]:
    """A text as such, anything else as blocks; of thoughts only those that a provider wants back."""
    if len(parts) <= 1 and all(isinstance(part, Text) for part in parts):
        return joined_text(tuple(parts))
    return [block for part in parts for block in _written(part)]


def _written(part: AssistantPart | UserPart) -> list[dict[str, Json]]:
    match part:
        case Text():
            return [{"type": "text", "text": part.text}]
        case Image():
            is_here = {"base64": part.data, "mime_type": part.media_type}
            return [{"type": "image", **(is_here if part.data else {"url": part.url})}]
        case Thinking(signature=signature) if signature:
            return [{"type": "thinking", "thinking": part.text, "signature": signature}]
        case Thinking(redacted=redacted) if redacted:
            item = item_from_thinking(part)
            return [item or {"type": "redacted_thinking", "data": redacted}]
    return []
