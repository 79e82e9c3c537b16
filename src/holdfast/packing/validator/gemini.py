"""What the Gemini API refuses, one rule each.

Rule: a function judges the contents that are really sent, in camel case or snake case: the SDK takes both. Function
responses are counted, as the API counts them: ids are optional.
"""

import re
from collections.abc import Iterator

from holdfast.messages import Json
from holdfast.packing.validator.request import (
    Breach,
    ParsedRequest,
    describe,
    message_object,
    messages_present,
    named_rules,
)

FUNCTION_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}\Z")
ROLES = ("user", "model")
CALL, RESPONSE, DATA, TEXT = "functionCall", "functionResponse", "inlineData", "text"
_SNAKES = {
    CALL: "function_call",
    RESPONSE: "function_response",
    DATA: "inline_data",
    TEXT: TEXT,
    "mimeType": "mime_type",
    "functionDeclarations": "function_declarations",
}
_ABOUT = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata")
"""Fields that say something of a part and are not what it holds."""


def read_gemini(messages: Json, system: Json, tools: Json) -> ParsedRequest:
    request = ParsedRequest(messages, system, tools)
    for index, content in enumerate(messages if isinstance(messages, list) else ()):
        if not isinstance(content, dict):
            continue
        role = content.get("role")
        role = "user" if role in (None, "") else role if isinstance(role, str) else "?"
        request.turns.append((index, role, content))
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                kinds = (kind for kind in (CALL, RESPONSE, DATA, TEXT) if _value(part, kind) is not None)
                request.parts[role, next(kinds, "other")].append((index, part))
            else:
                request.strays.append((index, part))
    return request


def _value(part: dict[str, Json], name: str) -> Json:
    value = part.get(name)
    return part.get(_SNAKES[name]) if value is None else value


def role_legal(request: ParsedRequest) -> Iterator[Breach]:
    """A role is `user` or `model`."""
    for index, role, content in request.turns:
        if role not in ROLES:
            yield index, f"the role is {describe(content.get('role'))}", ""


def first_is_user(request: ParsedRequest) -> Iterator[Breach]:
    """The first content is the user's."""
    if request.turns and request.turns[0][1] == "model":
        yield request.turns[0][0], "the first content is the model's", ""


def parts_present(request: ParsedRequest) -> Iterator[Breach]:
    """A content has at least one part."""
    for index, _, content in request.turns:
        parts = content.get("parts")
        if not isinstance(parts, list) or not parts:
            yield index, "the content has no parts", ""


def part_legal(request: ParsedRequest) -> Iterator[Breach]:
    """A part is an object that holds something."""
    for index, part in request.strays:
        yield index, f"a part is {describe(part)}, not an object", ""
    for index, part in request.of_kind("other"):
        if not any(value is not None and key not in _ABOUT for key, value in part.items()):
            yield index, "a part holds nothing", ""


def text_shape(request: ParsedRequest) -> Iterator[Breach]:
    """The text of a part is text."""
    for index, part in request.of_kind(TEXT):
        if not isinstance(part.get(TEXT), str):
            yield index, f"the text of a part is {describe(part.get(TEXT))}", ""


def data_shape(request: ParsedRequest) -> Iterator[Breach]:
    """Inline data has a MIME type, and base64 text."""
    for index, part in request.of_kind(DATA):
        data = _held(part, DATA)
        media = _value(data, "mimeType")
        if not isinstance(media, str) or "/" not in media:
            yield index, f"the MIME type of inline data is {describe(media)}", ""
        elif not isinstance(data.get("data"), str) or not data["data"]:
            yield index, "inline data has no base64 text", ""


def call_shape(request: ParsedRequest) -> Iterator[Breach]:
    """A function call has a name that the API takes, and arguments that are an object."""
    for index, part in request.of_kind(CALL):
        call = _held(part, CALL)
        name, arguments = call.get("name"), call.get("args")
        if not _is_name(name):
            yield index, f"the call's name is {describe(name)}", _id_of(call)
        elif not isinstance(arguments, dict | None):
            yield index, f"the call's arguments are {describe(arguments)}, not an object", _id_of(call)


def response_shape(request: ParsedRequest) -> Iterator[Breach]:
    """A function response has the name of its function, and an object."""
    for index, part in request.of_kind(RESPONSE):
        response = _held(part, RESPONSE)
        if not isinstance(name := response.get("name"), str) or not name:
            yield index, "a function response has no name", _id_of(response)
        elif not isinstance(answer := response.get("response"), dict):
            yield index, f"a function response is {describe(answer)}, not an object", _id_of(response)


def calls_follow_user(request: ParsedRequest) -> Iterator[Breach]:
    """A content with function calls follows one of the user's."""
    before = ""
    for index, role, content in request.turns:
        if role == before == "model" and _count(content, CALL):
            yield index, "function calls follow a content of the model's", ""
        before = role


def calls_answered(request: ParsedRequest) -> Iterator[Breach]:
    """As many function responses follow in the next content as the model made function calls."""
    counts = {
        index: (_count(content, CALL), _count(content, RESPONSE)) for index, _, content in request.turns
    }
    for index, (calls, _) in counts.items():
        responses = counts.get(index + 1, (0, 0))[1]
        if calls and calls != responses:
            yield index, f"{calls} function calls are followed by {responses} function responses", ""


def responses_have_calls(request: ParsedRequest) -> Iterator[Breach]:
    """Function responses follow the content with their calls."""
    before = 0
    for index, _, content in request.turns:
        if _count(content, RESPONSE) and not before:
            yield index, "function responses follow no function call", ""
        before = _count(content, CALL)


def _held(part: dict[str, Json], kind: str) -> dict[str, Json]:
    return value if isinstance(value := _value(part, kind), dict) else {}


def _id_of(held: dict[str, Json]) -> str:
    return id_ if isinstance(id_ := held.get("id"), str) else ""


def _is_name(name: Json) -> bool:
    return isinstance(name, str) and FUNCTION_NAME.match(name) is not None


def _count(content: dict[str, Json], kind: str) -> int:
    parts = content.get("parts")
    if not isinstance(parts, list):
        return 0
    return sum(isinstance(part, dict) and _value(part, kind) is not None for part in parts)


def tools_legal(request: ParsedRequest) -> Iterator[Breach]:
    """`tools` is a list of objects, and a function declaration has a name that the API takes."""
    if not isinstance(request.tools, list | None):
        yield None, f"`tools` is {describe(request.tools)}, not a list", ""
    for tool in request.tools if isinstance(request.tools, list) else ():
        if not isinstance(tool, dict):
            yield None, f"a tool is {describe(tool)}, not an object", ""
            continue
        declared = _value(tool, "functionDeclarations")
        for function in declared if isinstance(declared, list) else ():
            name = function.get("name") if isinstance(function, dict) else None
            if not _is_name(name):
                yield None, f"the name of a function is {describe(name)}", ""


RULES = named_rules(
    "gemini",
    messages_present,
    message_object,
    role_legal,
    first_is_user,
    parts_present,
    part_legal,
    text_shape,
    data_shape,
    call_shape,
    response_shape,
    calls_follow_user,
    calls_answered,
    responses_have_calls,
    tools_legal,
)
