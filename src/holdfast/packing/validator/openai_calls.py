"""What the Chat Completions API refuses in tool calls, their answers and tool definitions, one rule each.

Rule: arguments are judged as the string that is sent, not as the object it came from.
"""

from collections.abc import Iterator

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder

from holdfast.packing.validator.request import Found, Request, Rule, kind
from holdfast.packing.validator.shared import (
    call_ids_unique,
    calls_answered,
    calls_answered_once,
    id_of,
    is_name,
    repeated,
    results_have_calls,
)

LONGEST_NAME = 64
LONGEST_CALL_ID = 40
MOST_CALLS = 128
MOST_TOOLS = 128

_OBJECT: Decoder[dict[str, Raw]] = Decoder(dict[str, Raw])


def calls_list(request: Request) -> Iterator[Found]:
    for index, role, message in request.turns:
        if "tool_calls" not in message:
            continue
        calls = message["tool_calls"]
        if role != "assistant":
            yield index, "`tool_calls` stands in a message that is not the assistant's", ""
        elif not isinstance(calls, list) or not calls:
            what = "an empty list" if calls == [] else kind(calls)
            yield index, f"`tool_calls` is {what}, not a list of calls", ""


def calls_limit(request: Request) -> Iterator[Found]:
    for exchange in request.exchanges:
        if (count := len(exchange.asked)) > MOST_CALLS:
            yield exchange.index, f"the message makes {count} calls, at most {MOST_CALLS} may stand", ""


def call_shape(request: Request) -> Iterator[Found]:
    for index, call in request.stray_calls:
        yield index, f"a call is {kind(call)}, not an object", ""
    for index, call in request.calls:
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id:
            yield index, f"a call's id is {kind(call_id)}", ""
        elif call.get("type") != "function":
            yield index, f"the call's type is {kind(call.get('type'))}, not `function`", call_id
        elif not isinstance(function := call.get("function"), dict):
            yield index, f"the call's function is {kind(function)}, not an object", call_id


def call_arguments(request: Request) -> Iterator[Found]:
    for index, call in request.calls:
        if isinstance(function := call.get("function"), dict):
            arguments = function.get("arguments")
            if not isinstance(arguments, str):
                yield index, f"the arguments are {kind(arguments)}, not a JSON string", id_of(call)
            elif not _is_object(arguments):
                yield index, "the arguments do not parse to a JSON object", id_of(call)


def call_id_length(request: Request) -> Iterator[Found]:
    for exchange in request.exchanges:
        for call_id in exchange.asked:
            if len(call_id) > LONGEST_CALL_ID:
                yield exchange.index, f"a call id has {len(call_id)} characters", call_id


def result_names_call(request: Request) -> Iterator[Found]:
    for index, role, message in request.turns:
        if role == "tool" and not (isinstance(call_id := message.get("tool_call_id"), str) and call_id):
            yield index, f"the result's `tool_call_id` is {kind(call_id)}", ""


def tool_name(request: Request) -> Iterator[Found]:
    for index, call in request.calls:
        function = call.get("function")
        if isinstance(function, dict) and not (
            isinstance(name := function.get("name"), str) and is_name(name, LONGEST_NAME)
        ):
            yield index, f"the tool's name is {kind(name)}", id_of(call)


def tools_legal(request: Request) -> Iterator[Found]:
    tools = request.tools
    if tools is None:
        return
    if not isinstance(tools, list) or not 1 <= len(tools) <= MOST_TOOLS:
        count = f"a list of {len(tools)}" if isinstance(tools, list) else kind(tools)
        yield None, f"`tools` is {count}, not a list of 1 to {MOST_TOOLS} tools", ""
        return
    for number, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            yield None, f"tool {number} is no object of type `function`", ""
        elif not (isinstance(name := function.get("name"), str) and is_name(name, LONGEST_NAME)):
            yield None, f"tool {number} is named {kind(name)}", ""
        elif not isinstance(function.get("description", ""), str):
            yield None, f"the description of tool {kind(name)} is not text", ""
        elif not isinstance(schema := function.get("parameters", {}), dict):
            yield None, f"the parameters of tool {kind(name)} are {kind(schema)}, not an object", ""


def tool_names_unique(request: Request) -> Iterator[Found]:
    if isinstance(request.tools, list):
        functions = [tool.get("function") for tool in request.tools if isinstance(tool, dict)]
        for name in repeated([f.get("name") for f in functions if isinstance(f, dict)]):
            yield None, f"two tools are named {kind(name)}", ""


def _is_object(text: str) -> bool:
    try:
        _OBJECT.decode(text)
    except (MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return True


CALL_RULES = (
    Rule("openai.calls-list", "`tool_calls` is a non-empty list, in assistant messages only.", calls_list),
    Rule("openai.calls-limit", "One message makes at most 128 calls.", calls_limit),
    Rule("openai.call-shape", "A call has an id, the type `function` and a function object.", call_shape),
    Rule(
        "openai.call-arguments",
        "A call's arguments are a string of JSON that parses to an object.",
        call_arguments,
    ),
    Rule("openai.call-id-length", "A call id has at most 40 characters.", call_id_length),
    Rule("openai.call-id-unique", "No call id is used twice in a request.", call_ids_unique),
    Rule(
        "openai.call-answered",
        "Every call is answered by a tool message behind its assistant message, before any other role.",
        calls_answered,
    ),
    Rule("openai.call-answered-once", "Every call is answered exactly once.", calls_answered_once),
    Rule(
        "openai.result-has-call",
        "A tool message answers a call of the assistant message it stands behind.",
        results_have_calls,
    ),
    Rule("openai.result-names-call", "A tool message names the call it answers.", result_names_call),
    Rule(
        "openai.tool-name",
        "The name of a called tool has 1 to 64 letters, digits, underscores and dashes.",
        tool_name,
    ),
    Rule(
        "openai.tools-legal",
        "`tools` holds 1 to 128 functions, each with a legal name and a schema that is an object.",
        tools_legal,
    ),
    Rule("openai.strict-tool-names", "Ours: no two tools have the same name.", tool_names_unique),
)
