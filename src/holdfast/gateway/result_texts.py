"""Results of tools in the messages of a request: which text each has, and where in the message it stands.

Rule: only a result that is one text counts. One with pictures, several texts or a shape that is not known is left
alone.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.events import AssistantReplied, ToolReturned
from holdfast.gateway.json_spans import Step
from holdfast.messages import Json, ToolCall
from holdfast.wire.content_blocks import FormatName
from holdfast.wire.foreign_json import Losses, items, obj, text
from holdfast.wire.message_lists import grouped_events
from holdfast.wire.responses import OUTPUT_TYPES, is_reply_item

_TEXT_BLOCKS = ("text", "input_text", "output_text")


class ResultText(Struct, frozen=True):
    """`call_id` is as the message has it; `steps` lead to the text in the message."""

    call_id: str
    text: str
    steps: tuple[Step, ...]


def result_texts(message: Json, format_: FormatName) -> list[ResultText | None]:
    """The results that a message of this format holds, in their order; None for one that is not a single text."""
    found = obj(message)
    match format_:
        case "anthropic":
            blocks = enumerate(map(obj, items(found.get("content"))))
            return [
                _content(block, "tool_use_id", "content", ("content", place))
                for place, block in blocks
                if block.get("type") == "tool_result"
            ]
        case "openai":
            return [_content(found, "tool_call_id", "content")] if found.get("role") == "tool" else []
        case "responses":
            return [_content(found, "call_id", "output")] if found.get("type") in OUTPUT_TYPES else []
        case "gemini":
            return [
                _response(obj(part[name]), ("parts", place, name))
                for place, part in enumerate(map(obj, items(found.get("parts"))))
                for name in ("functionResponse", "function_response")
                if name in part
            ]


def _content(
    holder: dict[str, Json], id_key: str, key: str, steps: tuple[Step, ...] = ()
) -> ResultText | None:
    """A text, or a list with one block of text."""
    call_id, content = text(holder.get(id_key)), holder.get(key)
    if isinstance(content, str):
        return ResultText(call_id, content, (*steps, key))
    if isinstance(content, list) and len(content) == 1:
        block = obj(content[0])
        if block.get("type") in _TEXT_BLOCKS and isinstance(block.get("text"), str):
            return ResultText(call_id, block["text"], (*steps, key, 0, "text"))
    return None


def _response(given: dict[str, Json], steps: tuple[Step, ...]) -> ResultText | None:
    """Gemini's: an object, which counts if one text is all it has."""
    response = obj(given.get("response"))
    key, value = next(iter(response.items()), ("", None))
    if len(response) != 1 or not isinstance(value, str):
        return None
    return ResultText(text(given.get("id")) or text(given.get("name")), value, (*steps, "response", key))


class NewResult(Struct, frozen=True):
    """A result that no model has replied to yet: the place of its message, and the call that it answers."""

    place: int
    result: ResultText
    call: ToolCall
    returned: ToolReturned


def new_results(messages: Sequence[Json], format_: FormatName) -> list[NewResult]:
    """The results after the last reply in a list. What a model replied to was sent before."""
    start = last_reply(messages, format_)
    if start is None:
        return []
    calls: dict[str, ToolCall] = {}
    found: list[NewResult] = []
    place = start
    for group, events in grouped_events(messages[start:], format_, Losses()):
        for event in events:
            if isinstance(event, AssistantReplied):
                calls |= {part.id: part for part in event.parts if isinstance(part, ToolCall)}
        returned = [event for event in events if isinstance(event, ToolReturned)]
        texts = result_texts(group[0], format_) if len(group) == 1 else []
        if len(texts) == len(returned):
            found += [
                NewResult(place, result, calls[event.call_id], event)
                for result, event in zip(texts, returned, strict=True)
                if result is not None and event.call_id in calls
            ]
        place += len(group)
    return found


def last_reply(messages: Sequence[Json], format_: FormatName) -> int | None:
    """The place where the last reply begins; None where nobody has replied yet."""
    replies = [_is_reply(message, format_) for message in messages]
    if True not in replies:
        return None
    at = len(replies) - 1 - replies[::-1].index(True)
    while format_ == "responses" and at and replies[at - 1]:
        at -= 1
    return at


def _is_reply(message: Json, format_: FormatName) -> bool:
    if format_ == "responses":
        return is_reply_item(message)
    return obj(message).get("role") in ("assistant", "model")
