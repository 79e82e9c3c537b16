"""What the OpenAI Responses API refuses, one rule each.

Rule: a function judges the items that are really sent. A call and its output are paired by id, wherever they are;
each call is an exchange of its own. Items of the provider's own tools are left to the provider.
"""

from collections.abc import Iterator

import msgspec

from holdfast.messages import Json
from holdfast.packing.validator.request import (
    Breach,
    Exchange,
    ParsedRequest,
    call_ids_unique,
    calls_answered_once,
    describe,
    is_name,
    message_object,
    messages_present,
    named_rules,
    open_exchange,
)

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The types of calls, each with the field that holds what the tool is given."""
OUTPUTS = ("function_call_output", "custom_tool_call_output")
_REPLIES = (
    *(
        "apply_patch_call",
        "code_interpreter_call",
        "computer_call",
        "file_search_call",
        "image_generation_call",
    ),
    *("local_shell_call", "mcp_approval_request", "mcp_call", "mcp_list_tools", "program", "shell_call"),
    *("tool_search_call", "web_search_call"),
)
_OTHERS = (
    *(
        "additional_tools",
        "apply_patch_call_output",
        "compaction",
        "compaction_trigger",
        "computer_call_output",
    ),
    *("configuration_update", "item_reference", "local_shell_call_output", "mcp_approval_response"),
    *("program_output", "shell_call_output", "tool_search_output"),
)
ITEM_TYPES = ("message", "reasoning", *CALLS, *OUTPUTS, *_REPLIES, *_OTHERS)
ROLES = ("system", "developer", "user", "assistant")
SAID = ("output_text", "refusal")
GIVEN = ("input_text", "input_image", "input_file")
LONGEST_NAME = 128
LONGEST_ID = 64


def read_responses(messages: Json, system: Json, tools: Json) -> ParsedRequest:
    request = ParsedRequest(messages, system, tools)
    asked: dict[str, Exchange] = {}
    for index, item in enumerate(messages if isinstance(messages, list) else ()):
        if not isinstance(item, dict):
            continue
        kind = item.get("type", "message")
        kind = kind if isinstance(kind, str) else ""
        request.turns.append((index, kind, item))
        call_id = item.get("call_id")
        if kind in CALLS:
            request.calls.append((index, item))
            if isinstance(call_id, str):
                asked[call_id] = open_exchange(request, index, [call_id])
        elif kind in OUTPUTS and isinstance(call_id, str):
            exchange = asked.get(call_id) or open_exchange(request, index, [])
            exchange.answered.append(call_id)
            exchange.places.append(index)
    return request


def item_legal(request: ParsedRequest) -> Iterator[Breach]:
    """An item has a type that the API knows, and a message a known role."""
    for index, kind, item in request.turns:
        if kind == "message" and item.get("role") not in ROLES:
            yield index, f"the role is {describe(item.get('role'))}", ""
        elif kind not in ITEM_TYPES:
            yield index, f"the type is {describe(item.get('type'))}", ""


def content_shape(request: ParsedRequest) -> Iterator[Breach]:
    """The content of a message is text or a list of parts, and not empty."""
    for index, kind, item in request.turns:
        content = item.get("content")
        if kind == "message" and not (isinstance(content, str | list) and content):
            yield index, f"the content is {describe(content) if content else 'empty'}", ""


def part_legal(request: ParsedRequest) -> Iterator[Breach]:
    """A part has a type that its place allows: what a model said is output, all else input."""
    for index, kind, item in request.turns:
        legal = SAID if item.get("role") == "assistant" else GIVEN
        held = item.get("content") if kind == "message" else item.get("output") if kind in OUTPUTS else None
        for part in held if isinstance(held, list) else ():
            part_kind = part.get("type") if isinstance(part, dict) else None
            if part_kind not in legal:
                yield index, f"the type of a part is {describe(part_kind)}", ""
            elif part_kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
                yield index, f"the text of a part is {describe(part.get('text'))}", ""
            elif part_kind == "input_image" and not (_filled(part, "image_url") or _filled(part, "file_id")):
                yield index, "an image has neither `image_url` nor `file_id`", ""


def _filled(part: dict[str, Json], name: str) -> bool:
    return isinstance(value := part.get(name), str) and bool(value)


def call_shape(request: ParsedRequest) -> Iterator[Breach]:
    """A call has an id, a name that the API takes, and what the tool is given as a string."""
    for index, call in request.calls:
        call_id, name, field = call.get("call_id"), call.get("name"), CALLS[call["type"]]
        if not isinstance(call_id, str) or not call_id:
            yield index, "the call has no `call_id`", ""
        elif not isinstance(name, str) or not is_name(name, LONGEST_NAME):
            yield index, f"the call's name is {describe(name)}", call_id
        elif not isinstance(call.get(field), str):
            yield index, f"the call's `{field}` is {describe(call.get(field))}, not a string", call_id


def call_id_length(request: ParsedRequest) -> Iterator[Breach]:
    """A call id has at most 64 characters."""
    for exchange in request.exchanges:
        for call_id in exchange.asked:
            if len(call_id) > LONGEST_ID:
                yield exchange.index, f"the call id has {len(call_id)} characters", call_id


def output_shape(request: ParsedRequest) -> Iterator[Breach]:
    """An output has the id of its call, and is a string or a list of parts."""
    for index, kind, item in request.turns:
        if kind not in OUTPUTS:
            continue
        if not isinstance(item.get("call_id"), str):
            yield index, f"the output's `call_id` is {describe(item.get('call_id'))}", ""
        elif not isinstance(item.get("output"), str | list):
            yield index, f"the output is {describe(item.get('output'))}", item["call_id"]


def reasoning_led_somewhere(request: ParsedRequest) -> Iterator[Breach]:
    """A reasoning item is followed by the item of the same reply that it led to."""
    items = {index: (kind, item) for index, kind, item in request.turns}
    for index, kind, _ in request.turns:
        if kind != "reasoning":
            continue
        led, item = items.get(index + 1, ("", {}))
        is_said = led == "message" and item.get("role") == "assistant"
        if not is_said and led != "reasoning" and led not in CALLS and led not in _REPLIES:
            yield index, "nothing of the same reply follows the reasoning", ""


def call_id_unique(request: ParsedRequest) -> Iterator[Breach]:
    """A call id is used by one call only."""
    return call_ids_unique(request)


def call_answered(request: ParsedRequest) -> Iterator[Breach]:
    """Every call has an output after it."""
    for exchange in request.exchanges:
        if exchange.asked and not exchange.answered:
            call_id = exchange.asked[0]
            yield exchange.index, f"call {describe(call_id)} has no output", call_id


def call_answered_once(request: ParsedRequest) -> Iterator[Breach]:
    """A call has one output."""
    return calls_answered_once(request)


def output_has_call(request: ParsedRequest) -> Iterator[Breach]:
    """An output belongs to a call before it."""
    for exchange in request.exchanges:
        if not exchange.asked:
            call_id = exchange.answered[0]
            yield exchange.index, f"output of {describe(call_id)}, which no item before it called", call_id


def tools_legal(request: ParsedRequest) -> Iterator[Breach]:
    """`tools` is a list of tools with a type, and a function has a name that the API takes and a schema."""
    if not isinstance(request.tools, list | None):
        yield None, f"`tools` is {describe(request.tools)}, not a list", ""
    for tool in request.tools if isinstance(request.tools, list) else ():
        if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
            yield None, "a tool is no object with a type", ""
        elif tool["type"] == "function":
            name, schema = tool.get("name"), tool.get("parameters")
            if not isinstance(name, str) or not is_name(name, LONGEST_NAME):
                yield None, f"the name of a tool is {describe(name)}", ""
            elif not isinstance(schema, dict | None) or not _is_json(schema):
                yield None, f"the parameters of {describe(name)} are {describe(schema)}", ""


def _is_json(value: Json) -> bool:
    try:
        msgspec.json.encode(value)
    except (TypeError, RecursionError, UnicodeEncodeError):
        return False
    return True


RULES = named_rules(
    "responses",
    messages_present,
    message_object,
    item_legal,
    content_shape,
    part_legal,
    call_shape,
    call_id_length,
    output_shape,
    reasoning_led_somewhere,
    call_id_unique,
    call_answered,
    call_answered_once,
    output_has_call,
    tools_legal,
)
