"""The validator: each rule is broken once, legal requests pass, and no JSON value makes it raise."""

import copy
import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_validator_formats import FORMATS_BROKEN

from holdfast.errors import NotFound
from holdfast.packing.validator import RULES, check, explain

DOC = Path(__file__).parents[2] / "docs" / "validator.md"

USER = {"role": "user", "content": "go"}
PNG = "data:image/png;base64,AAAA"


def call(call_id: Any = "c1", name: Any = "Read", arguments: Any = '{"path": "a.py"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(call_id: Any = "c1", content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def image(url: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url, **more}}]}


def tool(name: Any = "Read", parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters or {"type": "object"}}}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: Any = "well", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(call_id: Any = "t1", name: Any = "Read", given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}


def result(call_id: Any = "t1", content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def thinking(signature: Any = "s1g", words: Any = "hm", **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature, **more}


def picture(media_type: str = "image/png", data: Any = "AAAA") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def mark(ttl: str = "") -> dict[str, Any]:
    return {"cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


OPENAI_LEGAL: list[list[dict[str, Any]]] = [
    [USER],
    [{"role": "system", "content": "be brief"}, {"role": "developer", "content": "s"}, USER],
    [USER, calling(call()), answer()],
    [USER, calling(call("c1"), call("c2")), answer("c2"), answer("c1", ""), USER],
    [USER, calling(call(arguments="{}"), content="first"), answer(content=[text("a"), text("b")])],
    [image(PNG), {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
    [
        image("https://example.org/a.png", detail="low"),
        {"role": "assistant", "content": None, "refusal": "no"},
    ],
    [{"role": "user", "content": "go", "name": "Ada-1"}, {"role": "user", "content": "on"}],
]
ANTHROPIC_LEGAL: list[list[dict[str, Any]]] = [
    [USER],
    [
        user(
            text(),
            picture(),
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        )
    ],
    [
        USER,
        assistant(thinking(), text(), use("t1"), use("t2")),
        user(result("t2"), result("t1"), text("and")),
    ],
    [USER, assistant(thinking(words=""), text("done"))],
    [
        USER,
        assistant({"type": "redacted_thinking", "data": "x"}, use()),
        user(result(content=[text(), picture()])),
    ],
    [USER, assistant(use()), user({"type": "tool_result", "tool_use_id": "t1", "is_error": True})],
    [user(text(**mark("1h"))), assistant(text(**mark())), user(text(**mark("5m")))],
]

OPENAI_BROKEN: list[tuple[str, Any]] = [
    ("messages-present", []),
    ("messages-present", {"role": "user"}),
    ("message-object", [USER, "hello"]),
    ("role-legal", [{"role": "function", "content": "x"}]),
    ("role-legal", [{"content": "x"}]),
    ("role-legal", [{"role": ["user"], "content": "x"}]),
    ("content-shape", [{"role": "user", "content": 5}]),
    ("content-shape", [{"role": "user"}]),
    ("content-shape", [{"role": "user", "content": []}]),
    ("part-legal", [{"role": "user", "content": ["hello"]}]),
    ("part-legal", [{"role": "user", "content": [{"type": "text", "text": None}]}]),
    (
        "part-legal",
        [USER, {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": PNG}}]}],
    ),
    ("part-legal", [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]),
    ("image-shape", [image("file:///etc/passwd")]),
    ("image-shape", [image("data:image/tiff;base64,AAAA")]),
    ("image-shape", [image(PNG, detail="huge")]),
    ("image-shape", [{"role": "user", "content": [{"type": "image_url", "image_url": PNG}]}]),
    (
        "tool-content-text",
        [USER, calling(call()), answer(content=[{"type": "image_url", "image_url": {"url": PNG}}])],
    ),
    ("message-not-empty", [{"role": "user", "content": ""}]),
    ("message-not-empty", [USER, {"role": "assistant", "content": None}]),
    ("message-not-empty", [USER, {"role": "assistant", "content": ""}]),
    ("message-not-empty", [{"role": "user", "content": [{"type": "text", "text": ""}]}]),
    ("calls-list", [USER, {"role": "assistant", "content": "x", "tool_calls": []}]),
    ("calls-list", [USER, {"role": "assistant", "content": "x", "tool_calls": "x"}]),
    ("calls-list", [{**USER, "tool_calls": [call()]}, answer()]),
    (
        "calls-limit",
        [USER, calling(*(call(f"c{i}") for i in range(129))), *(answer(f"c{i}") for i in range(129))],
    ),
    ("call-shape", [USER, calling(call(), 7), answer()]),
    ("call-shape", [USER, calling({**call(), "type": "custom"}), answer()]),
    ("call-shape", [USER, calling(call(None))]),
    ("call-shape", [USER, calling({"id": "c1", "type": "function"}), answer()]),
    ("call-arguments", [USER, calling(call(arguments={"path": "a.py"})), answer()]),
    ("call-arguments", [USER, calling(call(arguments='{"path": ')), answer()]),
    ("call-arguments", [USER, calling(call(arguments="[1]")), answer()]),
    ("call-arguments", [USER, calling(call(arguments='{"a": nope}')), answer()]),
    ("call-arguments", [USER, calling(call(arguments='{"a": ' + "[" * 100_000)), answer()]),
    ("call-arguments", [USER, calling(call(arguments='{"a": "\ud800"}')), answer()]),
    ("call-id-length", [USER, calling(call("c" * 41)), answer("c" * 41)]),
    ("call-id-unique", [USER, calling(call()), answer(), calling(call()), answer()]),
    ("call-answered", [USER, calling(call())]),
    ("call-answered", [USER, calling(call("c1"), call("c2")), answer("c1"), USER]),
    ("call-answered-once", [USER, calling(call()), answer(), answer()]),
    ("result-has-call", [USER, answer()]),
    ("result-has-call", [USER, calling(call()), answer(), answer("c9")]),
    ("result-names-call", [USER, calling(call()), answer(), {"role": "tool", "content": "x"}]),
    ("tool-name", [USER, calling(call(name="a b")), answer()]),
    ("tool-name", [USER, calling(call(name="a" * 65)), answer()]),
    ("tool-name", [USER, calling(call(name=None)), answer()]),
    ("participant-name", [{**USER, "name": "Ada Lovelace"}]),
    (
        "strict-assistant-run",
        [USER, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
    ),
]
ANTHROPIC_BROKEN: list[tuple[str, Any]] = [
    ("messages-present", None),
    ("messages-limit", [USER, assistant(text())] * 50_000 + [USER]),
    ("message-object", [USER, None]),
    ("role-legal", [USER, {"role": "system", "content": "x"}]),
    ("role-legal", [{"role": None, "content": "x"}]),
    ("first-is-user", [assistant(text()), USER]),
    ("strict-roles-alternate", [USER, USER]),
    ("content-shape", [{"role": "user", "content": None}]),
    ("content-shape", [user()]),
    ("block-legal", [user(None)]),
    ("block-legal", [user({"text": "x"})]),
    ("block-legal", [user(text(5))]),
    ("block-legal", [USER, assistant(picture(), text())]),
    ("block-legal", [USER, assistant(use()), user(result(content=[thinking()]))]),
    ("block-legal", [USER, assistant(use()), user(result(content=[8]))]),
    ("text-not-blank", [{"role": "user", "content": " \n"}]),
    ("text-not-blank", [user(text(""))]),
    ("text-not-blank", [USER, assistant(use()), user(result(content=[text("\t")]))]),
    ("no-trailing-space", [USER, {"role": "assistant", "content": "The answer is "}]),
    ("no-trailing-space", [USER, assistant(text("The answer is\n"))]),
    ("tool-use-id", [USER, assistant(use("functions.Read:0")), user(result("functions.Read:0"))]),
    ("tool-use-id", [USER, assistant(use(None))]),
    ("tool-use-id-unique", [USER, assistant(use()), user(result()), assistant(use()), user(result())]),
    ("tool-use-input", [USER, assistant(use(given="{}")), user(result())]),
    ("tool-name", [USER, assistant(use(name="a.b")), user(result())]),
    ("tool-name", [USER, assistant(use(name="a" * 129)), user(result())]),
    ("tool-use-last", [USER, assistant(use(), text()), user(result())]),
    ("tool-use-answered", [USER, assistant(use())]),
    ("tool-use-answered", [USER, assistant(use("t1"), use("t2")), user(result("t1"))]),
    ("tool-use-answered", [USER, assistant(use()), USER]),
    ("tool-result-once", [USER, assistant(use()), user(result(), result())]),
    ("tool-result-has-call", [user(result())]),
    ("tool-result-has-call", [USER, assistant(text()), user(result())]),
    ("tool-result-has-call", [USER, assistant(use()), user(result(), result("t9"))]),
    ("tool-result-first", [USER, assistant(use()), user(text(), result())]),
    ("tool-result-shape", [USER, assistant(use()), user(result(), result(None))]),
    ("tool-result-shape", [USER, assistant(use()), user(result(content=5))]),
    ("tool-result-shape", [USER, assistant(use()), user(result(is_error="no"))]),
    ("thinking-whole", [USER, assistant(thinking(signature=""), text())]),
    ("thinking-whole", [USER, assistant({"type": "thinking", "thinking": "hm"}, text())]),
    ("thinking-whole", [USER, assistant(thinking(words=None), text())]),
    ("thinking-whole", [USER, assistant({"type": "redacted_thinking"}, text())]),
    ("thinking-first", [USER, assistant(text(), thinking(), text())]),
    (
        "thinking-first",
        [USER, assistant(thinking(), use(), thinking(), use("t2")), user(result(), result("t2"))],
    ),
    ("thinking-not-last", [USER, assistant(thinking())]),
    ("thinking-not-marked", [USER, assistant(thinking(**mark()), text())]),
    ("cache-mark-shape", [user(text(cache_control={"type": "forever"}))]),
    ("cache-mark-shape", [user(text(cache_control=True))]),
    ("cache-mark-shape", [user(text(cache_control={"type": "ephemeral", "ttl": "2h"}))]),
    ("cache-mark-limit", [user(*(text(**mark()) for _ in range(5)))]),
    ("cache-mark-order", [user(text(**mark("5m")), text(**mark("1h")))]),
    ("image-source", [user(picture("image/tiff"))]),
    ("image-source", [user(picture(data=""))]),
    ("image-source", [user({"type": "image", "source": PNG})]),
    ("image-source", [user({"type": "image", "source": {"type": "url"}})]),
    ("image-source", [user({"type": "image", "source": {"type": "ftp", "url": "x"}})]),
]
SCHEMA = {"type": "object"}
BROKEN_AROUND: list[tuple[Any, str, dict[str, Any]]] = [
    ("openai", "system-in-messages", {"system": "be brief"}),
    ("openai", "tools-legal", {"tools": []}),
    ("openai", "tools-legal", {"tools": "Read"}),
    ("openai", "tools-legal", {"tools": [tool(f"t{i}") for i in range(129)]}),
    ("openai", "tools-legal", {"tools": [{"name": "Read"}]}),
    ("openai", "tools-legal", {"tools": [tool("a b")]}),
    ("openai", "tools-legal", {"tools": [tool(parameters=["path"])]}),
    ("openai", "strict-tool-names", {"tools": [tool(), tool()]}),
    ("anthropic", "system-legal", {"system": " "}),
    ("anthropic", "system-legal", {"system": []}),
    ("anthropic", "system-legal", {"system": [text("be brief"), text("")]}),
    ("anthropic", "system-legal", {"system": 5}),
    ("anthropic", "tools-legal", {"tools": {}}),
    ("anthropic", "tools-legal", {"tools": [5]}),
    ("anthropic", "tools-legal", {"tools": [{"name": "a/b", "input_schema": SCHEMA}]}),
    ("anthropic", "tools-legal", {"tools": [{"name": "a", "input_schema": {"type": "string"}}]}),
    ("anthropic", "tools-legal", {"tools": [{"name": "a", "input_schema": SCHEMA, "description": 5}]}),
    ("anthropic", "tool-names-unique", {"tools": [{"name": "a", "input_schema": SCHEMA}] * 2}),
    ("anthropic", "cache-mark-order", {"system": [text(**mark())], "tools": None, "late": True}),
    ("anthropic", "cache-mark-limit", {"system": [text(**mark())] * 3, "tools": [{"name": "a", **mark()}]}),
]


def rules_broken(messages: Any, provider: Any, **around: Any) -> set[str]:
    return {violation.rule for violation in check(messages, provider, **around)}


@pytest.mark.parametrize("messages", OPENAI_LEGAL)
def test_legal_openai_requests_pass(messages: list[dict[str, Any]]) -> None:
    assert check(messages, "openai", tools=[tool(), tool("Grep")]) == ()


@pytest.mark.parametrize("messages", ANTHROPIC_LEGAL)
def test_legal_anthropic_requests_pass(messages: list[dict[str, Any]]) -> None:
    tools = [{"name": "Read", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "web_search"}]
    assert check(messages, "anthropic", system=[text("be brief"), text("summary")], tools=tools) == ()


@pytest.mark.parametrize(("rule", "messages"), OPENAI_BROKEN)
def test_each_openai_rule_is_found_alone(rule: str, messages: Any) -> None:
    assert rules_broken(messages, "openai") == {f"openai.{rule}"}


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "messages"), ANTHROPIC_BROKEN)
def test_each_anthropic_rule_is_found_alone(rule: str, messages: Any) -> None:
    assert rules_broken(messages, "anthropic") == {f"anthropic.{rule}"}


@pytest.mark.parametrize(("provider", "rule", "around"), BROKEN_AROUND)
def test_system_and_tools_have_their_rules(provider: Any, rule: str, around: dict[str, Any]) -> None:
    around = dict(around)
    messages = [user(text(**mark("1h")))] if around.pop("late", False) else [user(text(**mark()))]
    messages = [USER] if provider == "openai" else messages
    found = rules_broken(messages, provider, **around)
    if rule == "cache-mark-limit":
        found.discard("anthropic.tools-legal")
    assert found == {f"{provider}.{rule}"}


def test_every_rule_is_broken_by_some_case() -> None:
    cases = {f"openai.{rule}" for rule, _ in OPENAI_BROKEN} | {
        f"anthropic.{rule}" for rule, _ in ANTHROPIC_BROKEN
    }
    cases |= {f"{provider}.{rule}" for provider, rule, _ in BROKEN_AROUND}
    cases |= FORMATS_BROKEN
    assert cases == {rule.name for rules in RULES.values() for rule in rules}


def test_a_violation_says_where_and_which_call() -> None:
    messages = [USER, calling(call("c1"), call("c2")), answer("c1"), answer("c7"), USER]
    first, second = check(messages, "openai")
    assert (first.rule, first.index, first.id) == ("openai.call-answered", 1, "c2")
    assert (second.rule, second.index, second.id) == ("openai.result-has-call", 3, "c7")
    assert "`c2`" in first.message
    assert "`c7`" in second.message


def test_fault_12_cutting_by_messages_is_seen() -> None:
    """Keeping the newest 2N messages left an orphan result and two assistant messages in a row."""
    whole = [USER, calling(call("c1")), answer("c1"), calling(call("c2")), answer("c2"), USER]
    assert check(whole, "openai") == ()
    assert rules_broken(whole[2:], "openai") == {"openai.result-has-call"}
    without_results = [m for m in whole if m["role"] != "tool"]
    assert {"openai.call-answered", "openai.strict-assistant-run"} <= rules_broken(without_results, "openai")


def test_ten_thousand_parallel_calls_are_judged() -> None:
    ids = [f"c{i}" for i in range(10_000)]
    messages = [USER, calling(*map(call, ids)), *map(answer, reversed(ids))]
    assert [v.rule for v in check(messages, "openai")] == ["openai.calls-limit"]
    blocks = [USER, assistant(*map(use, ids)), user(*map(result, reversed(ids)))]
    assert check(blocks, "anthropic") == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "tool_call_id",
        "id",
        "name",
        "function",
        "arguments",
        "input",
        "source",
        "image_url",
        "url",
        "tool_use_id",
        "thinking",
        "signature",
        "data",
        "cache_control",
        "ttl",
        "is_error",
        "description",
        "parameters",
        "input_schema",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "image_url",
        "function",
        "ephemeral",
        "base64",
        "c1",
    ]
)
LIKELY = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
PROVIDERS = st.sampled_from(["openai", "anthropic"])


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    messages=LIKELY | st.lists(LIKELY, max_size=4),
    provider=PROVIDERS,
    system=JSON | LIKELY,
    tools=JSON | LIKELY,
)
def test_no_json_makes_it_raise(messages: Any, provider: Any, system: Any, tools: Any) -> None:
    check(messages, provider, system=system, tools=tools)


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """A legal request with one value, anywhere in it, replaced by any JSON."""
    provider = draw(PROVIDERS)
    messages = copy.deepcopy(draw(st.sampled_from(OPENAI_LEGAL if provider == "openai" else ANTHROPIC_LEGAL)))
    place: Any = messages
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            place[key] = draw(LIKELY)
            return provider, messages
        place = place[key]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(request=spoilt())
def test_a_spoilt_request_is_judged_and_left_alone(request: tuple[Any, list[dict[str, Any]]]) -> None:
    provider, messages = request
    before = repr(messages)
    violations = check(messages, provider)
    assert repr(messages) == before
    for violation in violations:
        assert violation.index is None or 0 <= violation.index < len(messages)
        assert violation.message
        assert len(violation.message) < 300


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rounds of steps with parallel calls, answered in any order, as Anthropic messages."""
    messages: list[dict[str, Any]] = []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(user(text("go")))
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"t{number + i}" for i in range(draw(st.integers(1, 3)))]
            number += len(ids)
            opening = [thinking()] * draw(st.integers(0, 1)) + [text()] * draw(st.integers(0, 1))
            messages.append(assistant(*opening, *map(use, ids)))
            messages.append(user(*map(result, draw(st.permutations(ids)))))
        messages.append(assistant(text("done")))
    return messages


def as_openai(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for message in messages:
        blocks = message["content"]
        if message["role"] == "assistant":
            calls = [call(b["id"]) for b in blocks if b["type"] == "tool_use"]
            said = "".join(b["text"] for b in blocks if b["type"] == "text")
            out.append(
                {"role": "assistant", "content": said or None, **({"tool_calls": calls} if calls else {})}
            )
        elif blocks[0]["type"] == "tool_result":
            out += [answer(b["tool_use_id"]) for b in blocks]
        else:
            out.append(USER)
    return out


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(messages=conversations())
def test_every_well_formed_conversation_passes(messages: list[dict[str, Any]]) -> None:
    assert check(messages, "anthropic") == ()
    assert check(as_openai(messages), "openai") == ()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(messages=conversations(), data=st.data())
def test_a_lost_or_doubled_answer_never_passes(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    chat = as_openai(messages)
    answers = [i for i, m in enumerate(chat) if m["role"] == "tool"]
    if answers:
        place = data.draw(st.sampled_from(answers))
        assert check(chat[:place] + chat[place + 1 :], "openai")
        assert check([*chat[: place + 1], chat[place], *chat[place + 1 :]], "openai")


def test_the_document_lists_exactly_the_rules() -> None:
    listed = re.findall(r"^\| `([a-z]+\.[a-z-]+)` \| (.*) \|$", DOC.read_text("utf-8"), re.MULTILINE)
    assert listed == [(rule.name, rule.explanation) for rules in RULES.values() for rule in rules]


def test_the_documents_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    exec(compile(example, str(DOC), "exec"), {})


def test_explain_is_one_sentence_and_knows_its_neighbours() -> None:
    for rules in RULES.values():
        for rule in rules:
            assert explain(rule.name) == rule.explanation
            assert rule.explanation.endswith(".")
            assert ". " not in rule.explanation
    with pytest.raises(NotFound) as caught:
        explain("openai.call-anwsered")
    assert caught.value.hint == "did you mean `openai.call-answered`?"


@pytest.mark.slow
@pytest.mark.recordings
def test_recorded_conversations_break_no_rule_of_the_provider() -> None:
    folder = Path(os.environ.get("HOLDFAST_RECORDINGS", ""))
    files = sorted(folder.glob("*.jsonl.gz")) if os.environ.get("HOLDFAST_RECORDINGS") else []
    if not files:
        pytest.skip("HOLDFAST_RECORDINGS names no folder with recordings")
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                messages = json.loads(line)["messages"]
                for message in messages:
                    if calls := message.get("tool_calls"):
                        message["tool_calls"] = [
                            call(c["id"], c["name"], json.dumps(c["arguments"])) for c in calls
                        ]
                found = rules_broken(messages, "openai")
                assert found <= {"openai.strict-assistant-run"}, (file.name, found)
