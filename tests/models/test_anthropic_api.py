"""The Messages API: what we send, and what we make of what comes."""

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserMessage,
)
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.errors import (
    AuthFailed,
    BadReply,
    ModelError,
    NetworkFailed,
    Overflowed,
    RateLimited,
    Refused,
)
from holdfast.models.model import ModelRequest, TextDelta
from holdfast.packing.validator import check
from support.adapters import Event, calls, in_turns, mixed, pieces, read, spoken, told

ADAPTER = AnthropicAdapter()
HELLO = UserMessage((Text("hello"),))
READ = ToolDefinition("Read", "reads a file", {"type": "object", "properties": {"path": {"type": "string"}}})


def body(*messages: Message, adapter: AnthropicAdapter = ADAPTER, **settings: Any) -> dict[str, Any]:
    return adapter.body("claude", ModelRequest(messages=messages, **settings))


def event(kind: str, **fields: Any) -> Event:
    return kind, {"type": kind, **fields}


def start(usage: dict[str, Any] | None = None) -> Event:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    return event(
        "message_start", message={**message, "usage": usage or {"input_tokens": 10, "output_tokens": 1}}
    )


def stop(reason: str = "end_turn", **usage: Any) -> list[Event]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [event("message_delta", delta=delta, usage={"output_tokens": 7, **usage}), event("message_stop")]


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[Event]:
    begin = event("content_block_start", index=index, content_block=content)
    middle = [event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [begin, *middle, event("content_block_stop", index=index)]


def text(index: int, *said: str) -> list[Event]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": one} for one in said))


def call(index: int, name: str, *partial: str) -> list[Event]:
    content = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    return block(index, content, *({"type": "input_json_delta", "partial_json": one} for one in partial))


def test_a_request_has_its_system_text_apart_with_the_summary_last():
    sent = body(SystemMessage("static"), SystemMessage("[History Summary]"), HELLO, tools=(READ,))
    assert sent == {
        "model": "claude",
        "stream": True,
        "max_tokens": 4_096,
        "system": [{"type": "text", "text": "static"}, {"type": "text", "text": "[History Summary]"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "tools": [{"name": "Read", "description": "reads a file", "input_schema": READ.schema}],
    }


def test_without_system_text_and_tools_their_fields_are_absent():
    assert set(body(SystemMessage(" "), HELLO)) == {"model", "messages", "stream", "max_tokens"}


def test_the_key_goes_into_a_header_of_its_own():
    assert ADAPTER.headers("sk-1") == {"anthropic-version": "2023-06-01", "x-api-key": "sk-1"}
    assert "x-api-key" not in ADAPTER.headers("")


def test_signed_and_redacted_thinking_goes_back_verbatim_and_unsigned_not_at_all():
    parts = (Thinking("so", signature="c2ln"), Thinking(redacted="b3BhcXVl"), Thinking("loud"), Text("done"))
    sent = body(HELLO, AssistantMessage(parts), HELLO)
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "done"},
    ]


def test_reasoning_of_another_provider_is_left_out():
    item = Thinking("so", redacted='{"id":"rs_1","encrypted_content":"gAAA"}')
    sent = body(HELLO, AssistantMessage((item, Text("done"))), HELLO)
    assert sent["messages"][1]["content"] == [{"type": "text", "text": "done"}]


def test_results_of_one_step_are_one_message_with_the_user_text_after_them():
    reply = AssistantMessage((ToolCall("a", "Read", {"path": "x"}), ToolCall("b", "Read", {}, raw='{"pa')))
    picture = Image("image/png", data="aWE=")
    results = (
        ToolMessage("a", "Read", (Text("1"), picture)),
        ToolMessage("b", "Read", (Text("no"),), error=True),
    )
    sent = body(HELLO, reply, *results, HELLO)
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]
    assert [b["input"] for b in sent["messages"][1]["content"]] == [{"path": "x"}, {"raw": '{"pa'}]
    assert [b["type"] for b in sent["messages"][2]["content"]] == ["tool_result", "tool_result", "text"]
    assert sent["messages"][2]["content"][1]["is_error"] is True


def test_a_last_reply_does_not_end_in_white_space():
    sent = body(HELLO, AssistantMessage((Text("It is \n"),)))
    assert sent["messages"][-1]["content"][-1]["text"] == "It is"


def test_room_for_thinking_comes_on_top_of_room_for_the_reply():
    sent = body(HELLO, effort="low", max_tokens=500)
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 4_096}
    assert sent["max_tokens"] == 4_596


@pytest.mark.parametrize(("most", "budget"), [(4_596, 4_096), (3_500, 3_000), (1_400, None)])
def test_thinking_takes_no_more_than_the_longest_reply_leaves(most: int, budget: int | None):
    sent = body(HELLO, effort="low", max_tokens=500, adapter=AnthropicAdapter(max_output=most))
    assert sent.get("thinking", {}).get("budget_tokens") == budget
    assert sent["max_tokens"] == (most if budget else 500)


NEWER = AnthropicAdapter(thinking="adaptive")
DROPPING = {
    "type": "adaptive",
    "display": "summarized",
    "block_binding": {"prefix_mismatch_behavior": "drop_block"},
}


def test_newer_models_are_told_an_effort_and_to_drop_what_no_longer_fits():
    sent = body(HELLO, effort="xhigh", max_tokens=500, adapter=NEWER)
    assert sent["thinking"] == DROPPING
    assert sent["output_config"] == {"effort": "xhigh"}
    assert sent["max_tokens"] == 33_268
    assert NEWER.headers("k")["anthropic-beta"] == "thinking-binding-controls-2026-08-01"
    assert "anthropic-beta" not in ADAPTER.headers("k")


@pytest.mark.parametrize(
    ("off", "fields", "room"),
    [
        ("", {}, 0),
        ("disabled", {"thinking": {"type": "disabled"}}, 0),
        ("between_tools", {"thinking": {"type": "between_tools"}}, 2_048),
        ("low", {"thinking": DROPPING, "output_config": {"effort": "low"}}, 2_048),
    ],
)
def test_a_newer_model_is_told_not_to_think_as_far_as_it_can(off: Any, fields: dict[str, Any], room: int):
    sent = body(HELLO, adapter=AnthropicAdapter(thinking="adaptive", thinking_off=off))
    assert {key: value for key, value in sent.items() if key in ("thinking", "output_config")} == fields
    assert sent["max_tokens"] == 4_096 + room


def test_a_newer_model_gets_no_thinking_back_that_could_make_it_refuse():
    conversation = (HELLO, AssistantMessage((Thinking("so", signature="s"), Text("done"))), HELLO)
    told = AnthropicAdapter(thinking="adaptive", thinking_off="low")
    for adapter, asked, expected in (
        (NEWER, "off", 0),
        (NEWER, "high", 1),
        (told, "off", 1),
        (ADAPTER, "off", 1),
    ):
        content = body(*conversation, adapter=adapter, effort=asked)["messages"][1]["content"]
        assert [block["type"] for block in content].count("thinking") == expected


def test_no_thinking_is_asked_for_in_a_step_whose_thinking_was_dropped():
    bare, result = AssistantMessage((ToolCall("a", "Read", {}),)), ToolMessage("a", "Read", (Text("1"),))
    sent = body(HELLO, bare, result, effort="low")
    assert "thinking" not in sent
    assert sent["max_tokens"] == 4_096
    signed = AssistantMessage((Thinking("so", signature="s"), *bare.parts))
    assert "thinking" in body(HELLO, signed, result, effort="low")
    assert "thinking" in body(HELLO, bare, result, AssistantMessage((Text("done"),)), HELLO, effort="low")


def test_temperature_is_sent_only_where_the_model_takes_it_and_never_beside_thinking():
    older = AnthropicAdapter(takes_temperature=True)
    assert "temperature" not in body(HELLO, temperature=0.0)
    assert body(HELLO, temperature=0.0, adapter=older)["temperature"] == 0.0
    assert "temperature" not in body(HELLO, temperature=0.0, effort="low", adapter=older)


def test_a_reply_is_read_whole():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 20,
        "output_tokens": 1,
    }
    thinking = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Let me "},
        {"type": "thinking_delta", "thinking": "see."},
        {"type": "signature_delta", "signature": "c2ln"},
    )
    hidden = block(1, {"type": "redacted_thinking", "data": "b3Bh"})
    made = call(3, "Read", "", '{"path": ', '"a.py"}')
    events = [start(usage), ("ping", {"type": "ping"}), *thinking, *hidden, *text(2, "I ", "look."), *made]
    reply = read(ADAPTER.reader(), [*events, *stop("tool_use")])
    assert reply.parts == (
        Thinking("Let me see.", signature="c2ln"),
        Thinking(redacted="b3Bh"),
        Text("I look."),
        ToolCall("toolu_3", "Read", {"path": "a.py"}),
    )
    assert (reply.stop, reply.model) == ("calls", "claude")
    assert reply.usage == Usage(prompt=100, completion=7, cache_read=70, cache_write=20)


def test_later_counts_replace_earlier_ones_and_missing_ones_stay():
    counted = read(
        ADAPTER.reader(), [start(), *text(0, "a"), *stop(input_tokens=90, cache_read_input_tokens=None)]
    )
    assert counted.usage == Usage(prompt=90, completion=7)
    assert read(ADAPTER.reader(), [start({"output_tokens": 1}), *text(0, "a"), *stop()]).usage is None


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refused"),
        ("pause_turn", "other"),
        ("tool_use", "other"),
        ("of_tomorrow", "other"),
    ],
)
def test_why_a_reply_ended(reason: str, expected: str):
    reply = read(ADAPTER.reader(), [start(), *text(0, "as far as"), *stop(reason)])
    assert (reply.stop, reply.text) == (expected, "as far as")


def test_a_refusal_without_a_word_is_explained_by_the_provider():
    details = {"type": "refusal", "category": "cyber", "explanation": "This could do harm."}
    ending = event("message_delta", delta={"stop_reason": "refusal", "stop_details": details}, usage={})
    assert read(ADAPTER.reader(), [start(), ending]).parts == (Text("This could do harm."),)
    assert read(ADAPTER.reader(), [start(), *text(0, "no"), ending]).parts == (Text("no"),)


def test_a_call_cut_short_keeps_what_was_written():
    reply = read(ADAPTER.reader(), [start(), *call(0, "Write", '{"path": "a', ".py"), *stop("max_tokens")])
    assert reply.calls == (ToolCall("toolu_0", "Write", {}, raw='{"path": "a.py'),)
    assert reply.stop == "length"


def test_calls_come_in_turns():
    first, second = call(0, "Read", '{"a"', ": 1}"), call(1, "Bash", '{"b"', ": 2}")
    reply = read(ADAPTER.reader(), [start(), *in_turns(first, second), *stop("tool_use")])
    assert reply.calls == (ToolCall("toolu_0", "Read", {"a": 1}), ToolCall("toolu_1", "Bash", {"b": 2}))


def test_a_server_that_sends_arguments_at_once_is_understood():
    content = {"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "a"}}
    reply = read(ADAPTER.reader(), [start(), *block(0, content), *stop("end_turn")])
    assert (reply.calls, reply.stop) == ((ToolCall("c", "Read", {"path": "a"}),), "calls")


def test_what_a_server_invents_is_passed_over():
    invented = [
        event(
            "content_block_start", index=1, content_block={"type": "server_tool_use", "id": "s", "input": {}}
        ),
        event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"q": 1}'}),
        event(
            "content_block_delta", index=0, delta={"type": "citations_delta", "citation": {"cited_text": "x"}}
        ),
        event("content_block_start", index=2, content_block="nonsense"),
        event("content_block_delta", index="x", delta=None),
        event("of_tomorrow", index=[]),
        ("", ""),
        ("message", {"no": "type"}),
    ]
    events = [start(), *text(0, "still ", "here")]
    reply = read(ADAPTER.reader(), [*events[:3], *invented, *events[3:], *stop(), *text(0, "late")])
    assert reply.parts == (Text("still here"),)


def test_a_stream_that_names_its_events_in_the_head_only_is_understood():
    events = [
        (name, {key: v for key, v in data.items() if key != "type"}) for name, data in (start(), *stop())
    ]
    assert read(ADAPTER.reader(), events).stop == "end"


def test_a_reply_that_breaks_off_is_no_reply():
    whole = [start(), *text(0, "half"), *stop()]
    for number in range(len(whole) - 1):
        if whole[number][0] != "message_delta":
            with pytest.raises(BadReply, match="ended too early"):
                told(ADAPTER.reader(), whole[: number + 1])
    assert read(ADAPTER.reader(), whole[:-1]).text == "half"
    with pytest.raises(BadReply):
        told(ADAPTER.reader(), [])


@pytest.mark.parametrize("data", ['{"type": "mess', "[]", "<html>"], ids=["torn", "list", "html"])
def test_an_event_that_is_no_object_is_no_reply(data: str):
    reader = ADAPTER.reader()
    with pytest.raises(BadReply):
        list(reader.feed("message_start", data))


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("overloaded_error", "Overloaded", RateLimited),
        ("rate_limit_error", "slow down", RateLimited),
        ("api_error", "Internal server error", NetworkFailed),
        ("authentication_error", "invalid x-api-key", AuthFailed),
        ("invalid_request_error", "messages: bad", Refused),
        ("invalid_request_error", "prompt is too long: 205351 tokens > 200000 maximum", Overflowed),
        ("of_tomorrow", "who knows", NetworkFailed),
    ],
)
def test_an_error_inside_a_stream(kind: str, message: str, expected: type[ModelError]):
    reader = AnthropicAdapter(auth_hint="set ANTHROPIC_API_KEY").reader()
    list(reader.feed(*_encoded(start())))
    with pytest.raises(expected, match=message[:20]) as raised:
        list(reader.feed(*_encoded(event("error", error={"type": kind, "message": message}))))
    assert type(raised.value) is expected
    if isinstance(raised.value, Overflowed):
        assert raised.value.limit == 200_000
    if expected is AuthFailed:
        assert raised.value.hint == "set ANTHROPIC_API_KEY"


def _encoded(one: Event) -> tuple[str, str]:
    return one[0], msgspec.json.encode(one[1]).decode()


def test_text_comes_as_it_is_sent():
    came = told(ADAPTER.reader(), [start(), *text(0, "a", "b"), *stop()])
    assert came[:-1] == [TextDelta("a"), TextDelta("b")]


signed = st.builds(lambda text, name: Thinking(text, signature=name), st.text(max_size=20), spoken)
hidden = st.builds(
    lambda data: Thinking(redacted=data), st.from_regex(r"[A-Za-z0-9+/]{4,20}", fullmatch=True)
)


@st.composite
def replies(draw: st.DrawFn) -> tuple[AssistantPart, ...]:
    """Thinking, text and calls in an order that the API gives them."""
    thoughts = draw(st.lists(signed | hidden, max_size=2))
    texts = draw(st.lists(spoken.map(Text), max_size=2))
    made = draw(calls())
    return (*thoughts, *(texts or ([] if made else [Text("x")])), *made)


def events_of(content: list[dict[str, Any]], random: Random) -> list[Event]:
    """A reply whose blocks are these, as one that was sent back came first."""
    strands = []
    for index, sent in enumerate(content):
        match sent["type"]:
            case "text":
                strands.append(text(index, *pieces(sent["text"], random)))
            case "thinking":
                thoughts = [
                    {"type": "thinking_delta", "thinking": p} for p in pieces(sent["thinking"], random)
                ]
                sign = {"type": "signature_delta", "signature": sent["signature"]}
                strands.append(block(index, {"type": "thinking", "thinking": ""}, *thoughts, sign))
            case "tool_use":
                written = msgspec.json.encode(sent["input"]).decode()
                deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(written, random)]
                strands.append(block(index, {**sent, "input": {}}, *deltas))
            case _:
                strands.append(block(index, sent))
    return mixed(strands, random)


def conversation(parts: tuple[AssistantPart, ...]) -> list[Message]:
    reply = AssistantMessage(parts)
    results = [ToolMessage(call.id, call.name, (Text("ok"),)) for call in reply.calls]
    return [SystemMessage("static"), HELLO, reply, *results, HELLO]


@pytest.mark.slow
@given(replies(), st.randoms(use_true_random=False))
def test_a_reply_goes_back_as_it_came_however_it_was_cut(parts: tuple[AssistantPart, ...], random: Random):
    sent = body(*conversation(parts))
    assert check(sent["messages"], "anthropic", system=sent["system"]) == ()
    events = events_of(sent["messages"][1]["content"], random)
    reply = read(ADAPTER.reader(), [start(), *events, *stop()])
    assert body(*conversation(reply.parts)) == sent
    plain = [part for part in parts if not (isinstance(part, ToolCall) and part.raw)]
    assert [part for part in reply.parts if part in plain] == plain


@pytest.mark.slow
@given(replies(), st.randoms(use_true_random=False))
def test_arguments_that_are_no_object_are_kept_as_written(parts: tuple[AssistantPart, ...], random: Random):
    strands = [
        call(index, made.name, *pieces(made.raw or msgspec.json.encode(made.arguments).decode(), random))
        for index, made in enumerate(part for part in parts if isinstance(part, ToolCall))
    ]
    reply = read(ADAPTER.reader(), [start(), *mixed(strands, random), *stop("tool_use")])
    expected = [part for part in parts if isinstance(part, ToolCall)]
    assert [(c.name, c.arguments, c.raw) for c in reply.calls] == [
        (c.name, c.arguments, c.raw) for c in expected
    ]
