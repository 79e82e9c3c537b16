"""The rules of the Responses API and of Gemini: each is broken once, legal requests pass, and nothing raises."""

import copy
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseInputItem

from holdfast.packing.validator import check
from holdfast.packing.validator.responses import ITEM_TYPES

ITEM: dict[str, Any] = {"type": "message", "role": "user", "content": "go"}
REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
FUNCTION: dict[str, Any] = {"type": "function", "name": "Read", "parameters": {"type": "object"}}


def said(content: Any = "done") -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content}


def asked(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def call(call_id: Any = "c1", name: Any = "Read", arguments: Any = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: Any = "c1", value: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def custom(given: Any = "ls") -> dict[str, Any]:
    return {"type": "custom_tool_call", "call_id": "c1", "name": "Bash", "input": given}


RESPONSES_LEGAL: list[list[dict[str, Any]]] = [
    [ITEM],
    [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "go"}],
    [ITEM, REASONING, call("c1"), call("c2"), output("c2"), output("c1", "")],
    [ITEM, call("c1"), said("and"), call("c2"), output("c1"), output("c2"), REASONING, said()],
    [ITEM, custom(), {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.py"}],
    [ITEM, REASONING, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, said()],
    [ITEM, REASONING, {**REASONING, "id": "rs_2"}, said([{"type": "output_text", "text": "done"}])],
    [
        asked(
            {"type": "input_text", "text": "go"}, {"type": "input_image", "image_url": "https://a.org/a.png"}
        ),
        call(),
        output("c1", [{"type": "input_text", "text": ""}, {"type": "input_image", "file_id": "file-1"}]),
        said([{"type": "refusal", "refusal": "no"}]),
    ],
]
RESPONSES_BROKEN: list[tuple[str, Any]] = [
    ("messages-present", []),
    ("messages-present", "go"),
    ("message-object", [ITEM, "go"]),
    ("item-legal", [{"role": "tool", "content": "x"}]),
    ("item-legal", [{"role": ["user"], "content": "x"}]),
    ("item-legal", [ITEM, {"type": "tool_use"}]),
    ("item-legal", [ITEM, {"type": None, "role": "user", "content": "x"}]),
    ("content-shape", [{"role": "user"}]),
    ("content-shape", [{"role": "user", "content": ""}]),
    ("content-shape", [ITEM, said([])]),
    ("part-legal", [asked("go")]),
    ("part-legal", [asked({"type": "text", "text": "go"})]),
    ("part-legal", [asked({"type": "input_text", "text": None})]),
    ("part-legal", [asked({"type": "input_image"})]),
    ("part-legal", [ITEM, said([{"type": "input_text", "text": "x"}])]),
    ("part-legal", [ITEM, call(), output("c1", [{"type": "output_text", "text": "x"}])]),
    ("call-shape", [ITEM, call(None)]),
    ("call-shape", [ITEM, call(name="a b"), output()]),
    ("call-shape", [ITEM, call(name="a" * 129), output()]),
    ("call-shape", [ITEM, call(arguments={}), output()]),
    ("call-shape", [ITEM, custom(None), output()]),
    ("call-id-length", [ITEM, call("c" * 65), output("c" * 65)]),
    ("output-shape", [ITEM, call(), output(), output(None)]),
    ("output-shape", [ITEM, call(), output("c1", {"ok": True})]),
    ("reasoning-led-somewhere", [ITEM, REASONING]),
    ("reasoning-led-somewhere", [ITEM, REASONING, ITEM]),
    ("reasoning-led-somewhere", [ITEM, call(), REASONING, output()]),
    ("call-id-unique", [ITEM, call(), output(), call(), output()]),
    ("call-answered", [ITEM, call()]),
    ("call-answered", [ITEM, call("c1"), call("c2"), output("c1"), ITEM]),
    ("call-answered-once", [ITEM, call(), output(), output()]),
    ("output-has-call", [ITEM, output()]),
    ("output-has-call", [ITEM, call(), output(), output("c9")]),
]

CONTENT: dict[str, Any] = {"role": "user", "parts": [{"text": "go"}]}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def use(name: Any = "Read", args: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {} if args is None else args}, **more}


def answer(name: Any = "Read", response: Any = None) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "x"} if response is None else response}}


def data(media: Any = "image/png", encoded: Any = "AAAA") -> dict[str, Any]:
    return {"inlineData": {"mimeType": media, "data": encoded}}


GEMINI_LEGAL: list[list[dict[str, Any]]] = [
    [CONTENT],
    [{"parts": [{"text": "go"}, data()]}, model({"text": "well"}), CONTENT],
    [
        CONTENT,
        model({"text": "first"}, use(thoughtSignature="c2ln"), use()),
        user(answer(), answer(), data()),
    ],
    [
        CONTENT,
        model(use("mcp.files:read-1")),
        user(answer("mcp.files:read-1")),
        CONTENT,
        model({"text": "done"}),
    ],
    [CONTENT, model({"text": "", "thoughtSignature": "c2ln"}, {"text": "hm", "thought": True}), CONTENT],
    [CONTENT, model({"executableCode": {"language": "PYTHON", "code": "1"}}), model({"text": "1"})],
    [
        CONTENT,
        model({"function_call": {"name": "Read"}}),
        user({"function_response": {"name": "Read", "response": {}}}),
        user({"inline_data": {"mime_type": "image/png", "data": "AAAA"}}),
        user({"fileData": {"fileUri": "https://a.org/a.png"}}),
    ],
]
GEMINI_BROKEN: list[tuple[str, Any]] = [
    ("messages-present", None),
    ("message-object", [CONTENT, ["go"]]),
    ("role-legal", [{**CONTENT, "role": "assistant"}]),
    ("role-legal", [{**CONTENT, "role": 5}]),
    ("first-is-user", [model({"text": "hello"}), CONTENT]),
    ("parts-present", [{"role": "user"}]),
    ("parts-present", [user()]),
    ("parts-present", [{"role": "user", "parts": "go"}]),
    ("part-legal", [user("go")]),
    ("part-legal", [user({})]),
    ("part-legal", [CONTENT, model({"thoughtSignature": "c2ln"})]),
    ("text-shape", [user({"text": 5})]),
    ("data-shape", [user(data("png"))]),
    ("data-shape", [user(data(None))]),
    ("data-shape", [user(data(encoded=""))]),
    ("data-shape", [user({"inlineData": "AAAA"})]),
    ("call-shape", [CONTENT, model(use("a b")), user(answer())]),
    ("call-shape", [CONTENT, model(use("1st")), user(answer())]),
    ("call-shape", [CONTENT, model(use("a" * 129)), user(answer())]),
    ("call-shape", [CONTENT, model(use(args="{}")), user(answer())]),
    ("call-shape", [CONTENT, model({"function_call": 5}), user(answer())]),
    ("response-shape", [CONTENT, model(use()), user(answer(""))]),
    ("response-shape", [CONTENT, model(use()), user(answer(response="x"))]),
    ("calls-follow-user", [CONTENT, model({"text": "first"}), model(use()), user(answer())]),
    ("calls-answered", [CONTENT, model(use())]),
    ("calls-answered", [CONTENT, model(use(), use()), user(answer())]),
    ("calls-answered", [CONTENT, model(use()), user(answer(), answer())]),
    ("calls-answered", [CONTENT, model({"function_call": {"name": "Read"}}), CONTENT]),
    ("responses-have-calls", [user(answer())]),
    ("responses-have-calls", [CONTENT, model(use()), user(answer()), user(answer())]),
]
DECLARATION: dict[str, Any] = {"functionDeclarations": [{"name": "Read"}]}
FORMATS_BROKEN_AROUND: list[tuple[Any, str, dict[str, Any]]] = [
    ("responses", "tools-legal", {"tools": "Read"}),
    ("responses", "tools-legal", {"tools": ["Read"]}),
    ("responses", "tools-legal", {"tools": [{"name": "Read"}]}),
    ("responses", "tools-legal", {"tools": [{**FUNCTION, "name": "a b"}]}),
    ("responses", "tools-legal", {"tools": [{**FUNCTION, "parameters": ["path"]}]}),
    ("responses", "tools-legal", {"tools": [{**FUNCTION, "parameters": {"title": "\ud800"}}]}),
    ("gemini", "tools-legal", {"tools": DECLARATION}),
    ("gemini", "tools-legal", {"tools": ["Read"]}),
    ("gemini", "tools-legal", {"tools": [{"functionDeclarations": [{"name": "a b"}]}]}),
    ("gemini", "tools-legal", {"tools": [{"function_declarations": ["Read"]}]}),
]
FORMATS_BROKEN = {
    *(f"responses.{rule}" for rule, _ in RESPONSES_BROKEN),
    *(f"gemini.{rule}" for rule, _ in GEMINI_BROKEN),
    *(f"{provider}.{rule}" for provider, rule, _ in FORMATS_BROKEN_AROUND),
}
"""The rules that some case here breaks."""


def rules_broken(messages: Any, provider: Any, **around: Any) -> set[str]:
    return {violation.rule for violation in check(messages, provider, **around)}


@pytest.mark.parametrize("messages", RESPONSES_LEGAL)
def test_legal_responses_requests_pass(messages: list[dict[str, Any]]) -> None:
    assert check(messages, "responses", tools=[FUNCTION, {"type": "web_search"}]) == ()


@pytest.mark.parametrize("messages", GEMINI_LEGAL)
def test_legal_gemini_requests_pass(messages: list[dict[str, Any]]) -> None:
    tools = [DECLARATION, {"googleSearch": {}}]
    assert check(messages, "gemini", system=[{"text": "be brief"}], tools=tools) == ()


@pytest.mark.parametrize(("rule", "messages"), RESPONSES_BROKEN)
def test_each_responses_rule_is_found_alone(rule: str, messages: Any) -> None:
    assert rules_broken(messages, "responses") == {f"responses.{rule}"}


@pytest.mark.parametrize(("rule", "messages"), GEMINI_BROKEN)
def test_each_gemini_rule_is_found_alone(rule: str, messages: Any) -> None:
    assert rules_broken(messages, "gemini") == {f"gemini.{rule}"}


@pytest.mark.parametrize(("provider", "rule", "around"), FORMATS_BROKEN_AROUND)
def test_tools_of_both_formats_have_their_rules(provider: Any, rule: str, around: dict[str, Any]) -> None:
    messages = [ITEM] if provider == "responses" else [CONTENT]
    assert rules_broken(messages, provider, **around) == {f"{provider}.{rule}"}


def test_a_violation_of_the_responses_api_says_where_and_which_call() -> None:
    messages = [ITEM, call("c1"), call("c2"), output("c1"), output("c7")]
    first, second = check(messages, "responses")
    assert (first.rule, first.index, first.id) == ("responses.call-answered", 2, "c2")
    assert (second.rule, second.index, second.id) == ("responses.output-has-call", 4, "c7")


def test_every_type_of_item_that_the_sdk_knows_is_legal() -> None:
    union = get_args(ResponseInputItem)[0]
    fields = [member.model_fields["type"].annotation for member in get_args(union)]
    known = {word for field in fields for word in (*get_args(field), *map(get_args, get_args(field)))}
    flat = {
        word for one in known for word in (one if isinstance(one, tuple) else (one,)) if isinstance(word, str)
    }
    assert flat == set(ITEM_TYPES)


def deep(depth: int = 100_000) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("provider", ["responses", "gemini"])
@pytest.mark.parametrize("key", ["type", "role", "content", "parts", "call_id", "output"])
def test_values_nested_without_end_are_judged(provider: Any, key: str) -> None:
    nested = deep()
    for message in ({**ITEM, key: nested}, {**CONTENT, key: nested}, {**call(), key: nested}):
        check([message], provider)
    assert check([ITEM if provider == "responses" else CONTENT], provider, tools=nested)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    "role content type text call_id name arguments output input summary image_url parameters parts functionCall "
    "function_call functionResponse function_response args response id inlineData mimeType data thought "
    "thoughtSignature functionDeclarations function_declarations".split()
)
WORDS = st.sampled_from(
    "user assistant model system message reasoning function_call function_call_output custom_tool_call "
    "custom_tool_call_output input_text output_text input_image function c1".split()
)
LIKELY = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
PROVIDERS = st.sampled_from(["responses", "gemini"])


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    messages=LIKELY | st.lists(LIKELY, max_size=4),
    provider=PROVIDERS,
    system=JSON | LIKELY,
    tools=JSON | LIKELY | st.lists(LIKELY, max_size=2),
)
def test_no_json_makes_the_new_formats_raise(messages: Any, provider: Any, system: Any, tools: Any) -> None:
    check(messages, provider, system=system, tools=tools)


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """A legal request with one value, anywhere in it, replaced by any JSON."""
    provider = draw(PROVIDERS)
    legal = RESPONSES_LEGAL if provider == "responses" else GEMINI_LEGAL
    messages = copy.deepcopy(draw(st.sampled_from(legal)))
    place: Any = messages
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            place[key] = draw(LIKELY)
            return provider, messages
        place = place[key]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(request=spoilt())
def test_a_spoilt_request_of_a_new_format_is_judged_and_left_alone(
    request: tuple[Any, list[dict[str, Any]]],
) -> None:
    provider, messages = request
    before = repr(messages)
    violations = check(messages, provider)
    assert repr(messages) == before
    for violation in violations:
        assert violation.index is None or 0 <= violation.index < len(messages)
        assert violation.message
        assert len(violation.message) < 300
