"""Chat completions, as OpenAI and those who speak its language stream them."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
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
from holdfast.models.errors import BadReply, ModelError, NetworkFailed, Overflowed, RateLimited, Refused
from holdfast.models.model import ModelRequest
from holdfast.models.openai_chat_api import OpenAIChatAdapter, chat_usage
from holdfast.packing.validator import check
from support.adapters import Event, calls, mixed, pieces, read, said, spoken, told

ADAPTER = OpenAIChatAdapter()
HELLO = UserMessage((Text("hello"),))
READ = ToolDefinition("Read", "reads a file", {"type": "object", "properties": {"path": {"type": "string"}}})
DONE: Event = ("", "[DONE]")


def body(*messages: Message, adapter: OpenAIChatAdapter = ADAPTER, **settings: Any) -> dict[str, Any]:
    return adapter.body("gpt", ModelRequest(messages=messages, **settings))


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return "", {"id": "c-1", "object": "chat.completion.chunk", "model": "gpt", "choices": [choice], **fields}


def call(index: int | None, given: str | None, name: str | None, arguments: str | None = "") -> Event:
    function = {"name": name, "arguments": arguments}
    wired = {"index": index, "id": given, "type": "function", "function": function}
    kept = {key: value for key, value in wired.items() if value is not None}
    return chunk({"tool_calls": [kept]})


def usage(prompt: int, completion: int, **details: Any) -> Event:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}
    return "", {"model": "gpt", "choices": [], "usage": counts}


def test_a_request_has_its_system_messages_among_the_others():
    sent = body(
        SystemMessage("static"), SystemMessage("[History Summary]"), HELLO, tools=(READ,), temperature=0.0
    )
    assert sent == {
        "model": "gpt",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 4_096,
        "temperature": 0.0,
        "messages": [
            {"role": "system", "content": "static"},
            {"role": "system", "content": "[History Summary]"},
            {"role": "user", "content": "hello"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "Read", "description": "reads a file", "parameters": READ.schema},
            }
        ],
    }


def test_the_key_goes_into_a_bearer_header():
    assert ADAPTER.headers("sk-1") == {"authorization": "Bearer sk-1"}
    assert ADAPTER.headers("") == {}


def test_what_servers_disagree_on_is_set():
    plain = OpenAIChatAdapter(
        limit_field="max_tokens",
        system="merged",
        takes_temperature=False,
        thinking="effort",
    )
    sent = body(
        SystemMessage("a"), SystemMessage("b"), HELLO, adapter=plain, temperature=0.5, effort="medium"
    )
    assert sent == {
        "model": "gpt",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 12_288,
        "reasoning_effort": "medium",
        "messages": [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "hello"}],
    }
    switched = OpenAIChatAdapter(thinking="switch")
    on = body(HELLO, adapter=switched, effort="max")
    assert (on["thinking"], on.get("reasoning_effort")) == ({"type": "enabled"}, None)
    assert body(HELLO, adapter=switched)["thinking"] == {"type": "disabled"}
    both = OpenAIChatAdapter(thinking="switch and effort")
    on, off = body(HELLO, adapter=both, effort="max"), body(HELLO, adapter=both)
    assert (on["thinking"], on["reasoning_effort"]) == ({"type": "enabled"}, "max")
    assert (off["thinking"], off.get("reasoning_effort")) == ({"type": "disabled"}, None)
    plain = body(HELLO, adapter=OpenAIChatAdapter(), effort="max")
    assert plain["max_completion_tokens"] == 4_096
    assert "reasoning_effort" not in body(HELLO, adapter=OpenAIChatAdapter(thinking="effort"))
    paired = body(SystemMessage("a"), HELLO, adapter=OpenAIChatAdapter(system="mock_pair"))["messages"]
    assert [m["role"] for m in paired] == ["user", "assistant", "user"]


@pytest.mark.parametrize(("off", "room"), [("none", 0), ("minimal", 2_048), ("low", 2_048)])
def test_a_model_that_thinks_by_itself_is_told_how_little(off: Any, room: int):
    sent = body(HELLO, adapter=OpenAIChatAdapter(thinking="effort", thinking_off=off))
    assert (sent["reasoning_effort"], sent["max_completion_tokens"]) == (off, 4_096 + room)


def test_thinking_goes_back_where_the_server_wants_it():
    step = AssistantMessage((Thinking("first "), Text("I look."), ToolCall("a", "Read", {})))
    bare = AssistantMessage((ToolCall("b", "Read", {}),))
    conversation = (
        HELLO,
        step,
        ToolMessage("a", "Read", (Text("1"),)),
        bare,
        ToolMessage("b", "Read", (Text("2"),)),
    )
    wanted = body(*conversation, adapter=OpenAIChatAdapter(reasoning_field="reasoning_content"))["messages"]
    assert wanted[1]["reasoning_content"] == "first "
    assert wanted[3]["reasoning_content"] == " "
    assert [m for m in wanted if "reasoning_content" in m] == [wanted[1], wanted[3]]
    assert not any("reasoning_content" in message for message in body(*conversation)["messages"])


def test_arguments_that_were_no_object_go_back_as_they_were_written():
    sent = body(HELLO, AssistantMessage((ToolCall("a", "Read", {}, raw='{"pa'),)))
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"pa'


def test_a_reply_is_read_whole():
    events = [
        chunk({"role": "assistant", "content": "", "refusal": None}),
        chunk({"content": "I "}),
        chunk({"content": "look."}),
        call(0, "call_a", "Read"),
        call(0, None, None, '{"path": '),
        call(1, "call_b", "Bash"),
        call(0, None, None, '"a.py"}'),
        call(1, None, None, "{}"),
        chunk({}, "tool_calls"),
        usage(100, 7, cached_tokens=80, cache_write_tokens=5),
        DONE,
    ]
    reply = read(ADAPTER.reader(), events)
    read_, ran = ToolCall("call_a", "Read", {"path": "a.py"}), ToolCall("call_b", "Bash", {})
    assert reply.parts == (Text("I look."), read_, ran)
    assert (reply.stop, reply.model) == ("calls", "gpt")
    assert reply.usage == Usage(prompt=100, completion=7, cache_read=80, cache_write=5)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_read_under_either_name(field: str):
    thought = [chunk({field: "Let ", "content": None}), chunk({field: "me see.", "content": ""})]
    reply = read(ADAPTER.reader(), [*thought, chunk({"content": "Yes."}), chunk({}, "stop"), DONE])
    assert reply.parts == (Thinking("Let me see."), Text("Yes."))


def test_thinking_given_under_both_names_is_read_once():
    both = chunk({"reasoning_content": "hm", "reasoning": "hm"})
    assert read(ADAPTER.reader(), [both, chunk({"content": "x"}, "stop")]).parts == (
        Thinking("hm"),
        Text("x"),
    )


def test_content_in_parts_is_read():
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [chunk({"content": [thinking]}), chunk({"content": [{"type": "text", "text": "so"}]}, "stop")]
    assert read(ADAPTER.reader(), parts).parts == (Thinking("hm"), Text("so"))


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "refused"),
        ("tool_calls", "other"),
        ("of_tomorrow", "other"),
    ],
)
def test_why_a_reply_ended(finish: str, expected: str):
    reply = read(ADAPTER.reader(), [chunk({"content": "so far"}), chunk({}, finish), DONE])
    assert (reply.stop, reply.text) == (expected, "so far")


def test_a_refusal_is_kept_and_said():
    events = [chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"), DONE]
    reply = read(ADAPTER.reader(), events)
    assert (reply.stop, reply.parts) == ("refused", (Text("I cannot."),))


def test_servers_that_say_stop_after_a_call_mean_a_call():
    events = [call(0, "a", "Read", '{"path": "x"}'), chunk({}, "stop"), DONE]
    assert read(ADAPTER.reader(), events).stop == "calls"
    cut = [call(0, "a", "Read", '{"path": "x'), chunk({}, "length"), DONE]
    reply = read(ADAPTER.reader(), cut)
    assert (reply.stop, reply.calls) == ("length", (ToolCall("a", "Read", {}, raw='{"path": "x'),))


@pytest.mark.parametrize(
    "events",
    [
        [call(0, "a", "Read", "{}"), call(0, "b", "Bash", "{}")],
        [call(None, "a", "Read", "{}"), call(None, "b", "Bash", "{}")],
        [
            call(None, "a", "Read"),
            call(None, None, None, "{}"),
            call(None, "b", "Bash"),
            call(None, "b", None, "{}"),
        ],
        [
            call(0, "a", "Read"),
            call(0, "new-1", None, "{"),
            call(0, "new-2", None, "}"),
            call(1, "b", "Bash", "{}"),
        ],
        [call(1, "a", "Read", "{}"), call(2, "b", "Bash", "{}")],
        [call(0, "a", "Read", "{"), call(0, "a", "Read", "}"), call(1, "b", "Bash", "{}")],
    ],
    ids=[
        "one index for all",
        "no index",
        "no index, in pieces",
        "an id per piece",
        "from one",
        "all repeated",
    ],
)
def test_calls_are_told_apart_whatever_servers_do_to_their_numbers(events: list[Event]):
    reply = read(ADAPTER.reader(), [*events, chunk({}, "tool_calls"), DONE])
    assert reply.calls == (ToolCall("a", "Read", {}), ToolCall("b", "Bash", {}))


def test_calls_without_an_id_are_given_one():
    reply = read(
        ADAPTER.reader(), [call(0, None, "Read", "{}"), call(1, "", "Bash", "{}"), chunk({}, "tool_calls")]
    )
    assert [made.id for made in reply.calls] == ["call_0", "call_1"]


def test_arguments_as_an_object_are_understood():
    delta = {
        "tool_calls": [{"index": 0, "id": "a", "function": {"name": "Read", "arguments": {"path": "x"}}}]
    }
    assert read(ADAPTER.reader(), [chunk(delta, "tool_calls")]).calls == (
        ToolCall("a", "Read", {"path": "x"}),
    )


def test_a_server_that_does_not_stream_is_understood():
    whole = {"index": 0, "message": {"role": "assistant", "content": "all"}, "finish_reason": "stop"}
    assert read(ADAPTER.reader(), [("", {"object": "chat.completion", "choices": [whole]})]).text == "all"


def test_what_a_server_invents_is_passed_over():
    invented = [
        ("", ""),
        ("of.tomorrow", {"timings": {"prompt_ms": 3}}),
        ("", {"choices": None, "prompt_filter_results": []}),
        ("", {"choices": [None, {"index": 1, "delta": {"content": "another choice"}}]}),
        chunk({"content": 5, "tool_calls": "none", "audio": {"id": "x"}}, error=None),
        chunk({"tool_calls": [None, {"index": 4, "function": {"arguments": "lost"}}], "annotations": []}),
    ]
    reply = read(
        ADAPTER.reader(),
        [chunk({"content": "a"}), *invented, chunk({"content": "b"}, "stop"), DONE, *invented],
    )
    assert reply.parts == (Text("ab"),)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, Usage(9, 2)),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, Usage(9)),
        (
            {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
            Usage(9, cache_read=4),
        ),
        ({"prompt_tokens": 9, "cached_tokens": 4}, Usage(9, cache_read=4)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}, Usage(9, 2)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 61}, Usage(9, 52)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 0}, Usage(9, 2)),
        ({"prompt_tokens": 0}, None),
        (None, None),
        ("many", None),
    ],
    ids=[
        "plain",
        "no details",
        "deepseek",
        "moonshot",
        "total",
        "thinking in the total",
        "no total",
        "nothing",
        "none",
        "nonsense",
    ],
)
def test_usage_under_the_names_that_servers_give_it(counts: Any, expected: Usage | None):
    assert chat_usage(counts) == expected


def test_usage_in_the_choice_or_in_every_chunk_is_found():
    counts = {"prompt_tokens": 9, "completion_tokens": 2}
    last = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": counts}
    assert read(ADAPTER.reader(), [("", {"choices": [last]}), DONE]).usage == Usage(9, 2)
    growing = [
        chunk({"content": "a"}, usage={**counts, "completion_tokens": 1}),
        chunk({}, "stop", usage=counts),
    ]
    assert read(ADAPTER.reader(), [*growing, ("", {"choices": [], "usage": None}), DONE]).usage == Usage(9, 2)


def test_a_reply_that_breaks_off_is_no_reply():
    for events in ([], [chunk({"content": "half"})], [usage(9, 2)], [DONE], [call(0, "a", "Read", "{}")]):
        with pytest.raises(BadReply, match="ended too early"):
            told(ADAPTER.reader(), events)


def test_a_finished_reply_is_whole_without_the_final_event():
    assert read(ADAPTER.reader(), [chunk({"content": "all"}, "stop")]).stop == "end"
    assert read(ADAPTER.reader(), [chunk({"content": "all"}), DONE]).stop == "other"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (("", {"error": {"message": "Overloaded", "code": 502}}), NetworkFailed),
        (("", {"error": {"message": "limit", "code": 429}, "choices": []}), RateLimited),
        (("", {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}), Refused),
        (("", {"error": {"message": "x", "type": "invalid_request_error", "code": None}}), Refused),
        (("error", {"message": "Context size has been exceeded."}), Overflowed),
        (
            ("", {"error": {"code": 500, "message": "Context size has been exceeded.", "n_ctx": 4096}}),
            Overflowed,
        ),
        (chunk({}, "insufficient_system_resource"), RateLimited),
        (chunk({"content": ""}, "error"), NetworkFailed),
    ],
    ids=["router", "rate", "old vllm", "openai", "lm studio", "llama.cpp", "deepseek", "finished so"],
)
def test_an_error_inside_a_stream(event: Event, expected: type[ModelError]):
    with pytest.raises(expected) as raised:
        told(ADAPTER.reader(), [chunk({"content": "half"}), event])
    assert type(raised.value) is expected


def test_an_overflow_in_the_stream_names_the_window_where_the_server_does():
    error = {"error": {"code": 500, "message": "Context size has been exceeded.", "n_ctx": 4096}}
    with pytest.raises(Overflowed) as raised:
        told(ADAPTER.reader(), [("", error)])
    assert raised.value.limit == 4_096


KEEPING = OpenAIChatAdapter(reasoning_field="reasoning_content")


@st.composite
def replies(draw: st.DrawFn) -> tuple[AssistantPart, ...]:
    """A chat message in the only order it has: thinking, one text, calls."""
    thought = draw(st.none() | spoken.map(Thinking))
    text = draw(st.none() | said.map(Text))
    made = draw(calls())
    parts = [part for part in (thought, text or (None if made else Text("x"))) if part]
    return (*parts, *made)


def events_of(message: dict[str, Any], random: Random) -> list[Event]:
    """A reply that is this message, its kinds and its calls mixed."""
    thinking = message["reasoning_content"].removesuffix(" ") and message["reasoning_content"]
    strands = [
        [chunk({"reasoning_content": piece}) for piece in pieces(thinking, random)],
        [chunk({"content": piece}) for piece in pieces(message["content"] or "", random)],
    ]
    for index, made in enumerate(message.get("tool_calls", ())):
        function = made["function"]
        begin = call(index, made["id"], function["name"])
        strands.append([begin, *(call(index, None, None, p) for p in pieces(function["arguments"], random))])
    return mixed(strands, random)


def conversation(parts: tuple[AssistantPart, ...]) -> list[Message]:
    reply = AssistantMessage(parts)
    results = [ToolMessage(made.id, made.name, (Text("ok"),)) for made in reply.calls]
    return [SystemMessage("static"), HELLO, reply, *results]


@pytest.mark.slow
@given(replies(), st.randoms(use_true_random=False))
def test_a_reply_goes_back_as_it_came_however_it_was_cut(parts: tuple[AssistantPart, ...], random: Random):
    sent = body(*conversation(parts), adapter=KEEPING)
    broken = {violation.rule for violation in check(sent["messages"], "openai")}
    assert broken <= (
        {"openai.call-arguments"} if any(c.raw for c in AssistantMessage(parts).calls) else set()
    )
    events = [*events_of(sent["messages"][2], random), chunk({}, "stop"), DONE]
    reply = read(KEEPING.reader(), events)
    assert body(*conversation(reply.parts), adapter=KEEPING) == sent
    assert reply.parts == parts


@pytest.mark.slow
@given(replies(), st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_no_cut_and_no_mixture_changes_the_reply(
    parts: tuple[AssistantPart, ...], one: Random, other: Random
):
    message = body(*conversation(parts), adapter=KEEPING)["messages"][2]
    ending = [chunk({}, "stop"), usage(9, 2), DONE]
    first, second = ([*events_of(message, random), *ending] for random in (one, other))
    assert read(KEEPING.reader(), first) == read(KEEPING.reader(), second)
