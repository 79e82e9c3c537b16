"""Items of the Responses API as agents have them: hosted tools, screenshots and opaque items among them.

Rule: no item is lost, whatever its type. What is no message, function call or reasoning is in the log as the call
and the result that it amounts to, or else as a reminder, and is sent as it was unless it is folded.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from holdfast.errors import InputError
from holdfast.events import Event, UserSaid
from holdfast.messages import Text
from holdfast.wire.content_blocks import WireDict
from holdfast.wire.foreign_json import obj, text
from holdfast.wire.responses import CALL_TYPES, OUTPUT_TYPES
from holdfast.wire.translation import WireTranslation

_CALLS_OF_OTHER_NAMES = ("mcp_approval_request", "program")
_OUTPUTS_OF_OTHER_NAMES = ("mcp_approval_response",)
_RESULTS = ("output", "outputs", "result", "results", "error")
"""Fields of a hosted tool's item that hold what came of the call."""
_NOT_READ = ("type", "id", "call_id", "approval_request_id", "status", "encrypted_content", "fingerprint")
"""Fields that no model reads as text."""

Group = tuple[list[WireDict], list[Event]]


class ResponsesItems(WireTranslation):
    """How items are read; ours are written as messages, function calls and their outputs."""

    def __init__(self) -> None:
        super().__init__("responses")

    def read(self, messages: Sequence[WireDict]) -> Iterator[Group]:
        for place, item in enumerate(messages):
            if not isinstance(item, dict) or not (item.get("type") or item.get("role")):
                raise InputError(
                    f"message {place} is a `{type(item).__name__}`, and no item of the Responses API",
                    hint='an item is a dict such as {"role": "user", "content": "Hello."}',
                )
        called = {_call_id(item) for item in messages if _is_call(item)}
        answered = {_call_id(item) for item in messages if _is_output(item)}
        given: dict[int, list[WireDict]] = {}
        known: list[WireDict] = []
        for item in messages:
            for number, one in enumerate(_known_items(item, called, answered)):
                given[id(one)] = [item] if number == 0 else []
                known.append(one)
        waiting: Group = ([], [])
        for group, events in super().read(known):
            own = [item for one in group for item in given[id(one)]]
            # The result that came with a hosted call is of the same item.
            if own and waiting[1]:
                yield waiting
                waiting = ([], [])
            waiting[0].extend(own)
            # An empty message, or one of a file alone, is no event by itself.
            is_told = not events or (isinstance(events[0], UserSaid) and own[0] is not group[0])
            waiting[1].extend([_reminder(own[0])] if is_told else events)
        if waiting[1]:
            yield waiting


def _known_items(item: WireDict, called: Collection[str], answered: Collection[str]) -> list[WireDict]:
    """An item as those that the log knows: itself, a call with or without its result, or a message about it."""
    kind, call_id = item.get("type") or "message", _call_id(item)
    if kind in ("message", "reasoning") or (kind in (*CALL_TYPES, *OUTPUT_TYPES) and call_id):
        return [item]
    if _is_call(item) and call_id:
        asked = {key: value for key, value in item.items() if key not in (*_NOT_READ, *_RESULTS)}
        name = text(item.get("name")) or kind.removesuffix("_call")
        call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": asked}
        return [call] if call_id in answered else [call, _result(item, call_id)]
    if _is_output(item) and call_id in called:
        return [_result(item, call_id)]
    return [{"role": "user", "content": f"[{kind}]"}]


def _is_call(item: WireDict) -> bool:
    kind = text(item.get("type"))
    return kind.endswith("_call") or kind in _CALLS_OF_OTHER_NAMES


def _is_output(item: WireDict) -> bool:
    kind = text(item.get("type"))
    return kind.endswith("_output") or kind in _OUTPUTS_OF_OTHER_NAMES


def _call_id(item: WireDict) -> str:
    return text(item.get("call_id")) or text(item.get("approval_request_id")) or text(item.get("id"))


def _result(item: WireDict, call_id: str) -> WireDict:
    """The output of a local tool, or what a hosted one's item says of it."""
    found = {key: value for key, value in item.items() if key in _RESULTS and value is not None}
    output = next(iter(found.values()), "") if len(found) < 2 else found
    if text(obj(output).get("type")).endswith("screenshot"):
        output = [{"type": "input_image", "image_url": obj(output).get("image_url")}]
    elif item["type"] == "image_generation_call" and isinstance(output, str):
        output = [{"type": "input_image", "image_url": f"data:image/png;base64,{output}"}]
    elif not isinstance(output, str):
        output = _json(output)
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _reminder(item: WireDict) -> UserSaid:
    rest = {key: value for key, value in item.items() if key not in _NOT_READ}
    return UserSaid((Text(f"[{item.get('type') or 'message'}] {_json(rest)}"),), origin="reminder")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
