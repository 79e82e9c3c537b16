"""What the Messages API refuses in roles, content and tool use, one rule each.

Rule: a function judges the dicts that are really sent; a name with `strict-` says that the rule is ours.
"""

from collections.abc import Iterator

from holdfast.packing.validator.request import (
    NAME,
    Breach,
    ParsedRequest,
    ProviderRule,
    call_ids_unique,
    calls_answered,
    calls_answered_once,
    describe,
    id_of,
    is_name,
    messages_are_objects,
    messages_present,
    parts_outside,
    repeated,
    results_have_calls,
    roles_outside,
)

LONGEST_NAME = 128
MOST_MESSAGES = 100_000

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
    if len(request.turns) > MOST_MESSAGES:
        yield None, f"the request holds {len(request.turns)} messages", ""


def role_legal(request: ParsedRequest) -> Iterator[Breach]:
    return roles_outside(request, ("user", "assistant"))


def first_is_user(request: ParsedRequest) -> Iterator[Breach]:
    if request.turns and request.turns[0][1] == "assistant":
        yield request.turns[0][0], "the first message is the assistant's", ""


def roles_alternate(request: ParsedRequest) -> Iterator[Breach]:
    before = ""
    for index, role, _ in request.turns:
        if role == before:
            yield index, f"two `{describe(role).strip('`')}` messages stand in a row", ""
        before = role


def content_shape(request: ParsedRequest) -> Iterator[Breach]:
    for index, _, content in request.odd:
        what = "an empty list" if content == [] else describe(content)
        yield index, f"the content is {what}, not text or a list of blocks", ""


def block_legal(request: ParsedRequest) -> Iterator[Breach]:
    return parts_outside(request, BLOCK_TYPES)


def text_not_blank(request: ParsedRequest) -> Iterator[Breach]:
    for index, _, text in request.texts:
        if not text or text.isspace():
            yield index, "the message is empty or white space only", ""
    for index, block in request.of_kind("text"):
        said = block.get("text")
        if isinstance(said, str) and (not said or said.isspace()):
            yield index, "a text block is empty or white space only", ""


def no_trailing_space(request: ParsedRequest) -> Iterator[Breach]:
    if not request.turns or request.turns[-1][1] != "assistant":
        return
    index, _, message = request.turns[-1]
    content = message.get("content")
    last = content[-1] if isinstance(content, list) and content else content
    text = last.get("text") if isinstance(last, dict) and last.get("type") == "text" else last
    if isinstance(text, str) and text and text[-1].isspace():
        yield index, "the final assistant message ends in white space", ""


def tool_use_id(request: ParsedRequest) -> Iterator[Breach]:
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
    for index, call in request.calls:
        if not isinstance(given := call.get("input"), dict):
            yield index, f"the call's input is {describe(given)}, not an object", id_of(call)


def tool_name(request: ParsedRequest) -> Iterator[Breach]:
    for index, call in request.calls:
        if not (isinstance(name := call.get("name"), str) and is_name(name, LONGEST_NAME)):
            yield index, f"the tool's name is {describe(name)}", id_of(call)


def tool_use_last(request: ParsedRequest) -> Iterator[Breach]:
    for index, role, kinds in request.kinds:
        if role == "assistant" and "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]:
            yield index, "text stands behind a `tool_use` block", ""


def tool_result_first(request: ParsedRequest) -> Iterator[Breach]:
    for index, role, kinds in request.kinds:
        if role != "user" or "tool_result" not in kinds:
            continue
        results = kinds.count("tool_result")
        if kinds[:results].count("tool_result") < results:
            yield index, "another block stands before a `tool_result` block", ""


def tool_result_shape(request: ParsedRequest) -> Iterator[Breach]:
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
            yield None, f"the schema of tool {describe(name)} is no object of type `object`", ""


def tool_names_unique(request: ParsedRequest) -> Iterator[Breach]:
    if isinstance(request.tools, list):
        for name in repeated([tool.get("name") for tool in request.tools if isinstance(tool, dict)]):
            yield None, f"two tools are named {describe(name)}", ""


MESSAGE_RULES = (
    ProviderRule(
        "anthropic.messages-present", "`messages` is a list with at least one message.", messages_present
    ),
    ProviderRule("anthropic.messages-limit", "A request holds at most 100 000 messages.", messages_limit),
    ProviderRule("anthropic.message-object", "Every message is a JSON object.", messages_are_objects),
    ProviderRule(
        "anthropic.role-legal",
        "A role is `user` or `assistant`; `system` among the messages is refused: few models take it.",
        role_legal,
    ),
    ProviderRule("anthropic.first-is-user", "The first message is the user's.", first_is_user),
    ProviderRule(
        "anthropic.strict-roles-alternate",
        "Ours: user and assistant take turns; the API joins neighbours, compatible servers refuse them.",
        roles_alternate,
    ),
    ProviderRule(
        "anthropic.content-shape", "Content is text or a list of at least one block.", content_shape
    ),
    ProviderRule(
        "anthropic.block-legal",
        "A block is an object of a type its place allows, and a text block holds text.",
        block_legal,
    ),
    ProviderRule("anthropic.text-not-blank", "No text is empty or white space only.", text_not_blank),
    ProviderRule(
        "anthropic.no-trailing-space",
        "If the last message is the assistant's, its text does not end in white space.",
        no_trailing_space,
    ),
)

TOOL_RULES = (
    ProviderRule(
        "anthropic.tool-use-id",
        "The id of a `tool_use` block has letters, digits, underscores and dashes only.",
        tool_use_id,
    ),
    ProviderRule(
        "anthropic.tool-use-id-unique", "No `tool_use` id is used twice in a request.", call_ids_unique
    ),
    ProviderRule("anthropic.tool-use-input", "The input of a `tool_use` block is an object.", tool_use_input),
    ProviderRule(
        "anthropic.tool-name",
        "The name of a called tool has 1 to 128 letters, digits, underscores and dashes.",
        tool_name,
    ),
    ProviderRule(
        "anthropic.tool-use-last", "No text stands behind a `tool_use` block in its message.", tool_use_last
    ),
    ProviderRule(
        "anthropic.tool-use-answered",
        "Every `tool_use` block is answered in the very next message, which is the user's.",
        calls_answered,
    ),
    ProviderRule(
        "anthropic.tool-result-once", "Every `tool_use` block is answered exactly once.", calls_answered_once
    ),
    ProviderRule(
        "anthropic.tool-result-has-call",
        "A `tool_result` block answers a `tool_use` block of the message before.",
        results_have_calls,
    ),
    ProviderRule(
        "anthropic.tool-result-first",
        "In a user message the `tool_result` blocks come before all others.",
        tool_result_first,
    ),
    ProviderRule(
        "anthropic.tool-result-shape",
        "A `tool_result` block names its call, and its content is nothing, text or a list of blocks.",
        tool_result_shape,
    ),
    ProviderRule(
        "anthropic.tools-legal",
        "`tools` is a list of tools, each with a legal name and a schema of type `object`.",
        tools_legal,
    ),
    ProviderRule("anthropic.tool-names-unique", "No two tools have the same name.", tool_names_unique),
)
