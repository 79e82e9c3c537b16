"""What the Messages API refuses, one rule each.

Rule: a function judges the dicts that are really sent; a name with `strict-` says that the rule is ours. Whether
thinking was modified shows in its signature, which only the provider can check; here a block is whole or it is not.
"""

from collections.abc import Iterator

from holdfast.messages import Json
from holdfast.packing.validator.request import (
    IMAGE_TYPES,
    NAME,
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

LONGEST_NAME = 128
MOST_MESSAGES = 100_000
MOST_CACHE_MARKS = 4
THINKING = frozenset(("thinking", "redacted_thinking"))

_SERVER_RESULTS = (
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
)
BLOCK_TYPES = {
    "user": ("text", "tool_result", "image", "document", "search_result", "container_upload"),
    "assistant": (
        "text",
        "tool_use",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "container_upload",
        *_SERVER_RESULTS,
    ),
    "tool_result": ("text", "image", "document", "search_result", "tool_reference"),
}


def messages_limit(request: ParsedRequest) -> Iterator[Breach]:
    """A request holds at most 100,000 messages."""
    if len(request.turns) > MOST_MESSAGES:
        yield None, f"the request holds {len(request.turns)} messages", ""


def role_legal(request: ParsedRequest) -> Iterator[Breach]:
    """A role is `user` or `assistant`; `system` among the messages is refused: few models take it."""
    return roles_outside(request, ("user", "assistant"))


def first_is_user(request: ParsedRequest) -> Iterator[Breach]:
    """The first message is the user's."""
    if request.turns and request.turns[0][1] == "assistant":
        yield request.turns[0][0], "the first message is the assistant's", ""


def strict_roles_alternate(request: ParsedRequest) -> Iterator[Breach]:
    """Ours: user and assistant take turns; the API joins neighbours, compatible servers refuse them."""
    before = ""
    for index, role, _ in request.turns:
        if role == before:
            yield index, f"two `{describe(role).strip('`')}` messages follow each other", ""
        before = role


def content_shape(request: ParsedRequest) -> Iterator[Breach]:
    """Content is text or a list of at least one block."""
    for index, _, content in request.odd:
        what = "an empty list" if content == [] else describe(content)
        yield index, f"the content is {what}, not text or a list of blocks", ""


def block_legal(request: ParsedRequest) -> Iterator[Breach]:
    """A block is an object of a type its place allows, and a text block holds text."""
    return parts_outside(request, BLOCK_TYPES)


def text_not_blank(request: ParsedRequest) -> Iterator[Breach]:
    """No text is empty or white space only."""
    for index, _, text in request.texts:
        if not text or text.isspace():
            yield index, "the message is empty or white space only", ""
    for index, block in request.of_kind("text"):
        said = block.get("text")
        if isinstance(said, str) and (not said or said.isspace()):
            yield index, "a text block is empty or white space only", ""


def no_trailing_space(request: ParsedRequest) -> Iterator[Breach]:
    """If the last message is the assistant's, its text does not end in white space."""
    if not request.turns or request.turns[-1][1] != "assistant":
        return
    index, _, message = request.turns[-1]
    content = message.get("content")
    last = content[-1] if isinstance(content, list) and content else content
    text = last.get("text") if isinstance(last, dict) and last.get("type") == "text" else last
    if isinstance(text, str) and text and text[-1].isspace():
        yield index, "the final assistant message ends in white space", ""


def tool_use_id(request: ParsedRequest) -> Iterator[Breach]:
    """The id of a `tool_use` block has letters, digits, underscores and dashes only."""
    for index, call in request.calls:
        call_id = call.get("id")
        if not isinstance(call_id, str):
            yield index, f"the call's id is {describe(call_id)}", ""
        elif not NAME.match(call_id):
            yield (
                index,
                f"the call id {describe(call_id)} has characters other than `a-z A-Z 0-9 _ -`",
                call_id,
            )


def tool_use_input(request: ParsedRequest) -> Iterator[Breach]:
    """The input of a `tool_use` block is an object."""
    for index, call in request.calls:
        if not isinstance(given := call.get("input"), dict):
            yield index, f"the call's input is {describe(given)}, not an object", id_of(call)


def tool_name(request: ParsedRequest) -> Iterator[Breach]:
    """The name of a called tool has 1 to 128 letters, digits, underscores and dashes."""
    for index, call in request.calls:
        if not (isinstance(name := call.get("name"), str) and is_name(name, LONGEST_NAME)):
            yield index, f"the tool's name is {describe(name)}", id_of(call)


def tool_use_last(request: ParsedRequest) -> Iterator[Breach]:
    """No text comes after a `tool_use` block in its message."""
    for index, role, kinds in request.kinds:
        if role == "assistant" and "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]:
            yield index, "text comes after a `tool_use` block", ""


def tool_result_first(request: ParsedRequest) -> Iterator[Breach]:
    """In a user message the `tool_result` blocks come before all others."""
    for index, role, kinds in request.kinds:
        if role != "user" or "tool_result" not in kinds:
            continue
        results = kinds.count("tool_result")
        if kinds[:results].count("tool_result") < results:
            yield index, "another block comes before a `tool_result` block", ""


def tool_result_shape(request: ParsedRequest) -> Iterator[Breach]:
    """A `tool_result` block names its call, and its content is nothing, text or a list of blocks."""
    for index, block in request.of_kind("tool_result"):
        call_id = block.get("tool_use_id")
        content = block.get("content", "")
        if not isinstance(call_id, str):
            yield index, f"the result's `tool_use_id` is {describe(call_id)}", ""
        elif not isinstance(content, str | list):
            yield index, f"the result's content is {describe(content)}, not text or a list of blocks", call_id
        elif not isinstance(block.get("is_error", False), bool):
            yield (
                index,
                f"the result's `is_error` is {describe(block['is_error'])}, not true or false",
                call_id,
            )


def tools_legal(request: ParsedRequest) -> Iterator[Breach]:
    """`tools` is a list of tools, each with a legal name and a schema of type `object`."""
    tools = request.tools
    if tools is None:
        return
    if not isinstance(tools, list):
        yield None, f"`tools` is {describe(tools)}, not a list", ""
        return
    for number, tool in enumerate(tools):
        if not isinstance(tool, dict):
            yield None, f"tool {number} is {describe(tool)}, not an object", ""
        elif not (isinstance(name := tool.get("name"), str) and is_name(name, LONGEST_NAME)):
            yield None, f"tool {number} is named {describe(name)}", ""
        elif tool.get("type") not in (None, "custom"):
            continue  # a tool of the provider's own brings its schema itself
        elif not isinstance(tool.get("description", ""), str):
            yield None, f"the description of tool {describe(name)} is not text", ""
        elif not isinstance(schema := tool.get("input_schema"), dict) or schema.get("type") != "object":
            yield None, f"the schema of tool {describe(name)} is not an object of type `object`", ""


def tool_names_unique(request: ParsedRequest) -> Iterator[Breach]:
    """No two tools have the same name."""
    if isinstance(request.tools, list):
        for name in repeated([tool.get("name") for tool in request.tools if isinstance(tool, dict)]):
            yield None, f"two tools are named {describe(name)}", ""


def tool_use_id_unique(request: ParsedRequest) -> Iterator[Breach]:
    """No `tool_use` id is used twice in a request."""
    return call_ids_unique(request)


def tool_use_answered(request: ParsedRequest) -> Iterator[Breach]:
    """Every `tool_use` block is answered in the very next message, which is the user's."""
    return calls_answered(request)


def tool_result_once(request: ParsedRequest) -> Iterator[Breach]:
    """Every `tool_use` block is answered exactly once."""
    return calls_answered_once(request)


def tool_result_has_call(request: ParsedRequest) -> Iterator[Breach]:
    """A `tool_result` block answers a `tool_use` block of the message before."""
    return results_have_calls(request)


def thinking_whole(request: ParsedRequest) -> Iterator[Breach]:
    """A thinking block has its text, which may be empty, and a signature; a redacted one has its data."""
    for index, block in request.of_kind("redacted_thinking"):
        if not _filled(data := block.get("data")):
            yield index, f"the data of a redacted thinking block is {describe(data)}", ""
    for index, block in request.of_kind("thinking"):
        if not isinstance(text := block.get("thinking"), str):
            yield index, f"the text of a thinking block is {describe(text)}", ""
        elif not _filled(signature := block.get("signature")):
            yield index, f"the signature of a thinking block is {describe(signature)}", ""


def thinking_first(request: ParsedRequest) -> Iterator[Breach]:
    """An assistant message with thinking begins with it, and none comes after a `tool_use` block."""
    for index, role, kinds in _rows_with_thinking(request):
        if role != "assistant":
            continue
        if kinds[0] not in THINKING:
            yield index, f"the message has thinking blocks and begins with {describe(kinds[0])}", ""
        elif "tool_use" in kinds and not THINKING.isdisjoint(kinds[kinds.index("tool_use") :]):
            yield index, "a thinking block comes after a `tool_use` block", ""


def thinking_not_last(request: ParsedRequest) -> Iterator[Breach]:
    """No assistant message ends in a thinking block."""
    for index, role, kinds in _rows_with_thinking(request):
        if role == "assistant" and kinds[-1] in THINKING:
            yield index, "the message ends in a thinking block", ""


def thinking_not_marked(request: ParsedRequest) -> Iterator[Breach]:
    """A thinking block carries no `cache_control`."""
    for thinking in sorted(THINKING):
        for index, block in request.of_kind(thinking):
            if block.get("cache_control") is not None:
                yield index, f"a `{thinking}` block carries `cache_control`", ""


def cache_mark_shape(request: ParsedRequest) -> Iterator[Breach]:
    """A `cache_control` has the type `ephemeral` and, if any, a `ttl` of `5m` or `1h`."""
    for index, mark in request.marks:
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            yield index, "a `cache_control` is not an object of type `ephemeral`", ""
        elif mark.get("ttl", "5m") not in ("5m", "1h"):
            yield index, f"the `ttl` of a `cache_control` is {describe(mark['ttl'])}, not `5m` or `1h`", ""


def cache_mark_limit(request: ParsedRequest) -> Iterator[Breach]:
    """A request carries at most 4 `cache_control` marks."""
    if len(marks := request.marks) > MOST_CACHE_MARKS:
        yield marks[MOST_CACHE_MARKS][0], f"the request carries {len(marks)} `cache_control` marks", ""


def cache_mark_order(request: ParsedRequest) -> Iterator[Breach]:
    """Counted over tools, system and messages, marks of `1h` come before marks of `5m`."""
    short = False
    for index, mark in request.marks:
        if isinstance(mark, dict):
            if mark.get("ttl", "5m") != "1h":
                short = True
            elif short:
                yield index, "a `1h` mark comes after a `5m` mark", ""


def system_legal(request: ParsedRequest) -> Iterator[Breach]:
    """`system` is text or a list of text blocks, and each says something."""
    system = request.system
    if system is None:
        return
    if isinstance(system, str):
        if not system.strip():
            yield None, "`system` is empty or white space only", ""
    elif not isinstance(system, list) or not system:
        yield None, f"`system` is {describe(system)}, not text or a list of text blocks", ""
    else:
        for number, block in enumerate(system):
            text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
            if not isinstance(text, str) or not text.strip():
                yield None, f"block {number} of `system` is not a text block with content", ""


def image_source(request: ParsedRequest) -> Iterator[Breach]:
    """An image comes as base64 data of a JPEG, PNG, GIF or WebP picture, as a URL or as a file id."""
    for index, block in request.of_kind("image"):
        if fault := _source_fault(block.get("source")):
            yield index, fault, ""


def _rows_with_thinking(request: ParsedRequest) -> list[tuple[int, str, list[str]]]:
    return [row for row in request.kinds if "thinking" in row[2] or "redacted_thinking" in row[2]]


def _source_fault(source: Json) -> str:
    if not isinstance(source, dict):
        return f"the image's source is {describe(source)}, not an object"
    match source.get("type"):
        case "base64":
            if source.get("media_type") not in IMAGE_TYPES:
                return f"the image's media type is {describe(source.get('media_type'))}"
            return "" if _filled(source.get("data")) else "the image has no base64 data"
        case "url":
            return "" if _filled(source.get("url")) else "the image has no URL"
        case "file":
            return "" if _filled(source.get("file_id")) else "the image has no file id"
        case other:
            return f"the type of the image's source is {describe(other)}"


def _filled(value: Json) -> bool:
    return isinstance(value, str) and value != ""


RULES = named_rules(
    "anthropic",
    messages_present,
    messages_limit,
    message_object,
    role_legal,
    first_is_user,
    strict_roles_alternate,
    content_shape,
    block_legal,
    text_not_blank,
    no_trailing_space,
    tool_use_id,
    tool_use_id_unique,
    tool_use_input,
    tool_name,
    tool_use_last,
    tool_use_answered,
    tool_result_once,
    tool_result_has_call,
    tool_result_first,
    tool_result_shape,
    tools_legal,
    tool_names_unique,
    thinking_whole,
    thinking_first,
    thinking_not_last,
    thinking_not_marked,
    cache_mark_shape,
    cache_mark_limit,
    cache_mark_order,
    system_legal,
    image_source,
)
