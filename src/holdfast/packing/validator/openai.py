"""What the Chat Completions API refuses, one rule each.

Rule: a function judges the dicts that are really sent, and arguments as the string that is sent; a name with
`strict-` says that the rule is ours.
"""

import re
from collections.abc import Iterator

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder

from holdfast.messages import Json
from holdfast.packing.validator.request import (
    IMAGE_TYPES,
    Breach,
    ParsedRequest,
    call_ids_unique,
    calls_answered,
    calls_answered_once,
    describe,
    id_of,
    is_name,
    message_object,
    messages_present,
    named_rules,
    parts_outside,
    repeated,
    results_have_calls,
    roles_outside,
)

PART_TYPES = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text", "image_url", "input_audio", "file"),
}
"""What each role's content may hold. That a tool's is text only is a rule of its own."""

_IMAGE_URL = re.compile(rf"https?://\S+|data:(?:{'|'.join(IMAGE_TYPES)});base64,.", re.IGNORECASE)
_PARTICIPANT = re.compile(r"[^\s<|\\/>]{1,64}\Z")


def role_legal(request: ParsedRequest) -> Iterator[Breach]:
    """A role is `system`, `developer`, `user`, `assistant` or `tool`; the retired `function` is refused."""
    return roles_outside(request, PART_TYPES)


def content_shape(request: ParsedRequest) -> Iterator[Breach]:
    """Content is text or a list of at least one part, and only an assistant's may be null."""
    for index, role, content in request.odd:
        if content is not None or role != "assistant":
            what = "an empty list" if content == [] else describe(content)
            yield index, f"the content is {what}, not text or a list of parts", ""


def part_legal(request: ParsedRequest) -> Iterator[Breach]:
    """A content part is an object of a type its role allows, and a text part holds text."""
    return parts_outside(request, PART_TYPES)


def image_shape(request: ParsedRequest) -> Iterator[Breach]:
    """An image part has an http(s) URL, or base64 data of a JPEG, PNG, GIF or WebP picture."""
    for index, part in request.of_kind("image_url"):
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else None
        if not isinstance(url, str) or not _IMAGE_URL.match(url):
            yield index, "the image has no http(s) URL and no base64 data of type JPEG, PNG, GIF or WebP", ""
        elif isinstance(image, dict) and image.get("detail", "auto") not in ("auto", "low", "high"):
            yield index, f"the image's detail is {describe(image['detail'])}", ""


def tool_content_text(request: ParsedRequest) -> Iterator[Breach]:
    """The content of a tool message is text only."""
    for (role, part_kind), parts in request.parts.items():
        if role == "tool" and part_kind != "text":
            for index, _ in parts:
                yield index, f"a tool result holds a part of type {describe(part_kind)}", ""


def message_not_empty(request: ParsedRequest) -> Iterator[Breach]:
    """No message is empty: an assistant says or calls something, everyone else but a tool says something."""
    mute = [(index, role) for index, role, text in request.texts if not text]
    mute += [(index, role) for index, role, content in request.odd if content is None and role == "assistant"]
    mute += [(index, role) for index, role, content in request.lists if _only_empty_text(content)]
    for index, role in mute:
        message = request.messages[index]
        if role != "tool" and not any(message.get(key) for key in ("tool_calls", "refusal", "audio")):
            yield index, f"the message of {describe(role)} says nothing and calls nothing", ""


def participant_name(request: ParsedRequest) -> Iterator[Breach]:
    """A participant's name has 1 to 64 characters, no white space, angle bracket, bar or slash among them."""
    for index, role, message in request.turns:
        name = None if role == "tool" else message.get("name")
        if name is not None and not (isinstance(name, str) and _PARTICIPANT.match(name)):
            yield index, f"the participant's name is {describe(name)}", ""


def strict_assistant_run(request: ParsedRequest) -> Iterator[Breach]:
    """Ours: no two assistant messages in a row, because chat templates of compatible servers refuse them."""
    before = ""
    for index, role, _ in request.turns:
        if role == "assistant" == before:
            yield index, "two assistant messages follow each other", ""
        before = role


def system_in_messages(request: ParsedRequest) -> Iterator[Breach]:
    """The system prompt is a message; this API has no field for it."""
    if request.system is not None:
        yield None, "`system` is a separate field", ""


def _only_empty_text(content: list[Json]) -> bool:
    return all(isinstance(p, dict) and p.get("type") == "text" and p.get("text") == "" for p in content)


LONGEST_NAME = 64
LONGEST_CALL_ID = 40
MOST_CALLS = 128
MOST_TOOLS = 128

_OBJECT: Decoder[dict[str, Raw]] = Decoder(dict[str, Raw])


def calls_list(request: ParsedRequest) -> Iterator[Breach]:
    """`tool_calls` is a non-empty list, in assistant messages only."""
    for index, role, message in request.turns:
        if "tool_calls" not in message:
            continue
        calls = message["tool_calls"]
        if role != "assistant":
            yield index, "`tool_calls` is in a message that is not the assistant's", ""
        elif not isinstance(calls, list) or not calls:
            what = "an empty list" if calls == [] else describe(calls)
            yield index, f"`tool_calls` is {what}, not a list of calls", ""


def calls_limit(request: ParsedRequest) -> Iterator[Breach]:
    """One message makes at most 128 calls."""
    for exchange in request.exchanges:
        if (count := len(exchange.asked)) > MOST_CALLS:
            yield exchange.index, f"the message makes {count} calls; at most {MOST_CALLS} are allowed", ""


def call_shape(request: ParsedRequest) -> Iterator[Breach]:
    """A call has an id, the type `function` and a function object."""
    for index, call in request.stray_calls:
        yield index, f"a call is {describe(call)}, not an object", ""
    for index, call in request.calls:
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id:
            yield index, f"a call's id is {describe(call_id)}", ""
        elif call.get("type") != "function":
            yield index, f"the call's type is {describe(call.get('type'))}, not `function`", call_id
        elif not isinstance(function := call.get("function"), dict):
            yield index, f"the call's function is {describe(function)}, not an object", call_id


def call_arguments(request: ParsedRequest) -> Iterator[Breach]:
    """A call's arguments are a string of JSON that parses to an object."""
    for index, call in request.calls:
        if isinstance(function := call.get("function"), dict):
            arguments = function.get("arguments")
            if not isinstance(arguments, str):
                yield index, f"the arguments are {describe(arguments)}, not a JSON string", id_of(call)
            elif not _is_object(arguments):
                yield index, "the arguments do not parse to a JSON object", id_of(call)


def call_id_length(request: ParsedRequest) -> Iterator[Breach]:
    """A call id has at most 40 characters."""
    for exchange in request.exchanges:
        for call_id in exchange.asked:
            if len(call_id) > LONGEST_CALL_ID:
                yield exchange.index, f"a call id has {len(call_id)} characters", call_id


def result_names_call(request: ParsedRequest) -> Iterator[Breach]:
    """A tool message names the call it answers."""
    for index, role, message in request.turns:
        if role == "tool" and not (isinstance(call_id := message.get("tool_call_id"), str) and call_id):
            yield index, f"the result's `tool_call_id` is {describe(call_id)}", ""


def tool_name(request: ParsedRequest) -> Iterator[Breach]:
    """The name of a called tool has 1 to 64 letters, digits, underscores and dashes."""
    for index, call in request.calls:
        function = call.get("function")
        if isinstance(function, dict) and not (
            isinstance(name := function.get("name"), str) and is_name(name, LONGEST_NAME)
        ):
            yield index, f"the tool's name is {describe(name)}", id_of(call)


def tools_legal(request: ParsedRequest) -> Iterator[Breach]:
    """`tools` holds 1 to 128 functions, each with a legal name and a schema that is an object."""
    tools = request.tools
    if tools is None:
        return
    if not isinstance(tools, list) or not 1 <= len(tools) <= MOST_TOOLS:
        count = f"a list of {len(tools)}" if isinstance(tools, list) else describe(tools)
        yield None, f"`tools` is {count}, not a list of 1 to {MOST_TOOLS} tools", ""
        return
    for number, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            yield None, f"tool {number} is not an object of type `function`", ""
        elif not (isinstance(name := function.get("name"), str) and is_name(name, LONGEST_NAME)):
            yield None, f"tool {number} is named {describe(name)}", ""
        elif not isinstance(function.get("description", ""), str):
            yield None, f"the description of tool {describe(name)} is not text", ""
        elif not isinstance(schema := function.get("parameters", {}), dict):
            yield None, f"the parameters of tool {describe(name)} are {describe(schema)}, not an object", ""


def strict_tool_names(request: ParsedRequest) -> Iterator[Breach]:
    """Ours: no two tools have the same name."""
    if isinstance(request.tools, list):
        functions = [tool.get("function") for tool in request.tools if isinstance(tool, dict)]
        for name in repeated([f.get("name") for f in functions if isinstance(f, dict)]):
            yield None, f"two tools are named {describe(name)}", ""


def _is_object(text: str) -> bool:
    try:
        _OBJECT.decode(text)
    except (MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return True


def call_id_unique(request: ParsedRequest) -> Iterator[Breach]:
    """No call id is used twice in a request."""
    return call_ids_unique(request)


def call_answered(request: ParsedRequest) -> Iterator[Breach]:
    """Every call is answered by a tool message after its assistant message, before any other role."""
    return calls_answered(request)


def call_answered_once(request: ParsedRequest) -> Iterator[Breach]:
    """Every call is answered exactly once."""
    return calls_answered_once(request)


def result_has_call(request: ParsedRequest) -> Iterator[Breach]:
    """A tool message answers a call of the assistant message it follows."""
    return results_have_calls(request)


RULES = named_rules(
    "openai",
    messages_present,
    message_object,
    role_legal,
    content_shape,
    part_legal,
    image_shape,
    tool_content_text,
    message_not_empty,
    participant_name,
    strict_assistant_run,
    system_in_messages,
    calls_list,
    calls_limit,
    call_shape,
    call_arguments,
    call_id_length,
    call_id_unique,
    call_answered,
    call_answered_once,
    result_has_call,
    result_names_call,
    tool_name,
    tools_legal,
    strict_tool_names,
)
