"""The Responses API: items out, items in, and reasoning that comes back unopened."""

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
from holdfast.models.errors import BadReply, ModelError, NetworkFailed, Overflowed, RateLimited, Refused
from holdfast.models.model import ModelRequest
from holdfast.models.openai_responses_api import OpenAIResponsesAdapter
from support.adapters import Event, calls, mixed, pieces, read, said, told

ADAPTER = OpenAIResponsesAdapter()
HELLO = UserMessage((Text("hello"),))
READ = ToolDefinition("Read", "reads a file", {"type": "object", "properties": {"path": {"type": "string"}}})


def body(*messages: Message, adapter: OpenAIResponsesAdapter = ADAPTER, **settings: Any) -> dict[str, Any]:
    return adapter.body("gpt", ModelRequest(messages=messages, **settings))


def event(kind: str, **fields: Any) -> Event:
    return f"response.{kind}", {"type": f"response.{kind}", **fields}


def last(output: list[Any] | None = None, status: str = "completed", **fields: Any) -> Event:
    counts = {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 80}}
    whole = {
        "id": "resp_1",
        "status": status,
        "model": "gpt",
        "output": output or [],
        "usage": counts,
        **fields,
    }
    return event(status, response=whole)


def message(index: int, *texts: str) -> list[Event]:
    item = {"id": f"msg_{index}", "type": "message", "role": "assistant", "status": "completed"}
    place = {"output_index": index, "item_id": f"msg_{index}", "content_index": 0}
    whole = {**item, "content": [{"type": "output_text", "text": "".join(texts), "annotations": []}]}
    return [
        event("output_item.added", output_index=index, item={**item, "content": []}),
        event("content_part.added", **place, part={"type": "output_text", "text": ""}),
        *(event("output_text.delta", **place, delta=text) for text in texts),
        event("output_text.done", **place, text="".join(texts)),
        event("output_item.done", output_index=index, item=whole),
    ]


def call(index: int, name: str, *written: str, given: str = "") -> list[Event]:
    item = {"id": f"fc_{index}", "type": "function_call", "call_id": given or f"call_{index}", "name": name}
    place = {"output_index": index, "item_id": f"fc_{index}"}
    return [
        event("output_item.added", output_index=index, item={**item, "arguments": ""}),
        *(event("function_call_arguments.delta", **place, delta=piece) for piece in written),
        event("function_call_arguments.done", **place, arguments="".join(written)),
        event("output_item.done", output_index=index, item={**item, "arguments": "".join(written)}),
    ]


def reasoning(index: int, encrypted: str | None, *summary: str, **fields: Any) -> list[Event]:
    item = {"id": f"rs_{index}", "type": "reasoning", "summary": [], "status": None, **fields}
    place = {"output_index": index, "item_id": f"rs_{index}", "summary_index": 0}
    texts = [{"type": "summary_text", "text": "".join(summary)}] if summary else []
    return [
        event("output_item.added", output_index=index, item={**item, "encrypted_content": "half"}),
        *(event("reasoning_summary_text.delta", **place, delta=text) for text in summary),
        event(
            "output_item.done",
            output_index=index,
            item={**item, "summary": texts, "encrypted_content": encrypted},
        ),
    ]


def test_a_request_is_made_of_items_and_nothing_is_stored():
    sent = body(
        SystemMessage("static"), SystemMessage("[History Summary]"), HELLO, tools=(READ,), temperature=0.0
    )
    assert sent == {
        "model": "gpt",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 4_096,
        "instructions": "static",
        "input": [
            {"type": "message", "role": "system", "content": "[History Summary]"},
            {"type": "message", "role": "user", "content": "hello"},
        ],
        "tools": [
            {
                "type": "function",
                "name": "Read",
                "description": "reads a file",
                "parameters": READ.schema,
                "strict": False,
            }
        ],
    }


def test_what_models_and_servers_disagree_on_is_set():
    plain = OpenAIResponsesAdapter(keeps_reasoning=False, takes_temperature=True)
    reply = AssistantMessage((Thinking("so", redacted='{"encrypted_content":"gAAA"}'), Text("done")))
    sent = body(SystemMessage("a"), SystemMessage("b"), reply, adapter=plain, temperature=0.5, effort="high")
    assert sent == {
        "model": "gpt",
        "stream": True,
        "store": False,
        "max_output_tokens": 20_480,
        "temperature": 0.5,
        "reasoning": {"effort": "high", "summary": "auto"},
        "instructions": "a",
        "input": [
            {"type": "message", "role": "system", "content": "b"},
            {"type": "message", "role": "assistant", "content": "done", "phase": "final_answer"},
        ],
    }
    assert "instructions" not in body(HELLO)


@pytest.mark.parametrize(("off", "room"), [("none", 0), ("minimal", 2_048), ("low", 2_048)])
def test_a_model_that_thinks_by_itself_is_told_how_little(off: Any, room: int):
    sent = body(HELLO, adapter=OpenAIResponsesAdapter(thinking_off=off))
    assert (sent["reasoning"], sent["max_output_tokens"]) == ({"effort": off}, 4_096 + room)


def test_the_key_goes_into_a_bearer_header():
    assert ADAPTER.headers("sk-1") == {"authorization": "Bearer sk-1"}
    assert ADAPTER.headers("") == {}


def test_a_step_is_sent_in_the_order_it_was_said():
    item = Thinking("so", redacted='{"id":"rs_1","encrypted_content":"gAAA"}')
    step = AssistantMessage(
        (item, Text("I look."), ToolCall("a", "Read", {"path": "x"}), ToolCall("b", "Read", {}, "{"))
    )
    picture = Image("image/png", data="aWE=")
    results = (
        ToolMessage("a", "Read", (Text("1"), picture)),
        ToolMessage("b", "Read", (Text("no"),), error=True),
    )
    sent = body(HELLO, step, *results, AssistantMessage((Text("Done."),)))["input"]
    assert sent[1:] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "so"}],
            "encrypted_content": "gAAA",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": "I look.",
            "phase": "commentary",
        },
        {"type": "function_call", "call_id": "a", "name": "Read", "arguments": '{"path":"x"}'},
        {"type": "function_call", "call_id": "b", "name": "Read", "arguments": "{"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [
                {"type": "input_text", "text": "1"},
                {"type": "input_image", "image_url": "data:image/png;base64,aWE=", "detail": "auto"},
            ],
        },
        {"type": "function_call_output", "call_id": "b", "output": "no"},
        {
            "type": "message",
            "role": "assistant",
            "content": "Done.",
            "phase": "final_answer",
        },
    ]


def test_thinking_of_another_origin_is_left_out():
    foreign = (Thinking("loud"), Thinking("so", signature="c2ln"), Thinking(redacted="b3Bh"))
    assert [i["type"] for i in body(AssistantMessage((*foreign, Text("x"))))["input"]] == ["message"]


def test_reasoning_that_led_to_nothing_is_left_out():
    item = Thinking("so", redacted='{"id":"rs_1","encrypted_content":"gAAA"}')
    assert body(HELLO, AssistantMessage((item,)))["input"] == body(HELLO)["input"]
    sent = body(HELLO, AssistantMessage((item, Text("x"), item)))["input"]
    assert [one["type"] for one in sent] == ["message", "reasoning", "message"]


@pytest.mark.parametrize("named", [True, False], ids=["output named", "output not named"])
def test_a_reply_is_read_whole(named: bool):
    made = [
        *reasoning(0, "gAAAAfull", "I should ", "look."),
        *message(1, "I ", "look."),
        *call(2, "Read", '{"path": ', '"a.py"}'),
    ]
    output = [data["item"] for name, data in made if name == "response.output_item.done"]
    events = [event("created", response={}), *made, last(output if named else [])]
    reply = read(ADAPTER.reader(), events)
    assert reply.parts == (
        Thinking("I should look.", redacted='{"id":"rs_0","encrypted_content":"gAAAAfull"}'),
        Text("I look."),
        ToolCall("call_2", "Read", {"path": "a.py"}),
    )
    assert (reply.stop, reply.model) == ("calls", "gpt")
    assert reply.usage == Usage(prompt=100, completion=7, cache_read=80)


def test_pieces_alone_make_a_reply_where_items_are_never_done():
    made = [*reasoning(0, "x", "hm"), *message(1, "so"), *call(2, "Read", "{", "}")]
    bare = [one for one in made if not one[0].endswith("done")]
    reply = read(ADAPTER.reader(), [*bare, last()])
    assert [type(part) for part in reply.parts] == [Thinking, Text, ToolCall]
    assert reply.parts[0] == Thinking("hm", redacted='{"id":"rs_0","encrypted_content":"half"}')
    assert (reply.text, reply.calls) == ("so", (ToolCall("call_2", "Read", {}),))


def test_items_that_come_only_whole_make_a_reply():
    made = [*reasoning(0, "gA", "hm"), *message(1, "so"), *call(2, "Read", '{"a": 1}')]
    done = [data["item"] for name, data in made if name == "response.output_item.done"]
    expected = read(ADAPTER.reader(), [*made, last()])
    assert read(ADAPTER.reader(), [last(done)], streamed=False) == expected
    only = [one for one in made if one[0].endswith("item.done")]
    assert read(ADAPTER.reader(), [*only, last()], streamed=False) == expected


def test_reasoning_is_kept_with_every_field_that_is_not_to_be_read():
    encrypted = read(ADAPTER.reader(), [*reasoning(0, "gA", model_hint="x"), *message(1, "a"), last()]).parts[
        0
    ]
    assert encrypted == Thinking(redacted='{"id":"rs_0","model_hint":"x","encrypted_content":"gA"}')


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"content": [{"type": "reasoning_text", "text": "aloud"}]}, (Thinking("aloud"),)),
        ({"encrypted_content": None}, ()),
        ({"summary": None, "content": "odd"}, ()),
    ],
    ids=["open", "empty", "odd"],
)
def test_reasoning_without_encryption_is_plain_thinking_or_nothing(fields: dict[str, Any], expected: Any):
    item = {"type": "reasoning", "id": "rs_0", "summary": [], **fields}
    assert read(ADAPTER.reader(), [last([item])], streamed=False).parts == expected


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("completed", None, "end"),
        ("incomplete", "max_output_tokens", "length"),
        ("incomplete", "content_filter", "refused"),
        ("incomplete", "of_tomorrow", "other"),
    ],
)
def test_why_a_reply_ended(status: str, reason: str | None, expected: str):
    ending = last(status=status, incomplete_details={"reason": reason} if reason else None)
    reply = read(ADAPTER.reader(), [*message(0, "so far"), ending])
    assert (reply.stop, reply.text) == (expected, "so far")


def test_a_refusal_is_kept_and_said():
    place = {"output_index": 0, "content_index": 0}
    whole = {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    deltas = [event("refusal.delta", **place, delta=piece) for piece in ("I can", "not.")]
    for ending in (
        [last()],
        [event("output_item.done", output_index=0, item=whole), last()],
        [last([whole])],
    ):
        reply = read(ADAPTER.reader(), [*deltas, *ending])
        assert (reply.stop, reply.parts) == ("refused", (Text("I cannot."),))


def test_what_a_server_invents_is_passed_over():
    invented = [
        ("", ""),
        ("", "[DONE]"),
        event("output_text.annotation.added", output_index=0, annotation={}),
        event("of_tomorrow", output_index="x"),
        event("output_item.added", output_index=5, item={"type": "web_search_call", "id": "ws"}),
        event("output_item.done", output_index=5, item={"type": "web_search_call", "id": "ws"}),
        event("output_text.delta", output_index=9, delta=None),
        event("function_call_arguments.delta", output_index=8, delta="{}"),
        ("", {"no": "type"}),
    ]
    made = message(0, "still ", "here")
    reply = read(ADAPTER.reader(), [*made[:3], *invented, *made[3:], last(), *invented, *message(0, "late")])
    assert reply.parts == (Text("still here"),)


def test_a_reply_that_breaks_off_is_no_reply():
    whole = [*message(0, "half"), last()]
    for number in range(len(whole)):
        with pytest.raises(BadReply, match="ended too early"):
            told(ADAPTER.reader(), whole[:number])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": "rate_limit_exceeded", "message": "slow. Please try again in 3s."}, RateLimited),
        ({"code": "server_error", "message": "sorry"}, NetworkFailed),
        ({"code": "invalid_prompt", "message": "not this"}, Refused),
        ({"code": "context_length_exceeded", "message": "Your input exceeds the context window"}, Overflowed),
        ({"code": "insufficient_quota", "message": "no more"}, Refused),
    ],
    ids=["rate", "server", "prompt", "overflow", "quota"],
)
def test_an_error_inside_a_stream(error: dict[str, str], expected: type[ModelError]):
    failed = event("failed", response={"status": "failed", "error": error})
    bare = ("error", {"type": "error", "sequence_number": 9, "param": None, **error})
    nested = ("error", {"type": "error", "error": error})
    for one in (failed, bare, nested):
        with pytest.raises(ModelError, match=error["message"][:6]) as raised:
            told(ADAPTER.reader(), [*message(0, "half"), one])
        assert type(raised.value) is expected
        if expected is RateLimited:
            assert raised.value.retry_after == 3.0


items = st.builds(
    lambda text, number, data: Thinking(
        text, redacted=f'{{"id":"rs_{number}","encrypted_content":"{data}"}}'
    ),
    st.text(max_size=20),
    st.integers(0, 99),
    st.from_regex(r"gAAAA[A-Za-z0-9_=-]{1,20}", fullmatch=True),
)


@st.composite
def replies(draw: st.DrawFn) -> tuple[AssistantPart, ...]:
    """Items in an order that the API gives them: reasoning in front of what it led to."""
    groups = draw(st.lists(st.tuples(st.lists(items, max_size=2), said.map(Text)), max_size=2))
    parts = [part for thoughts, text in groups for part in (*thoughts, text)]
    made = draw(calls())
    thoughts = draw(st.lists(items, max_size=1)) if made else []
    return (*parts, *thoughts, *made) or (Text("x"),)


def events_of(sent: list[dict[str, Any]], random: Random, named: bool) -> list[Event]:
    """A reply whose output is the items that we would send back."""
    strands = []
    for index, item in enumerate(sent):
        match item["type"]:
            case "message":
                strands.append(message(index, *pieces(item["content"], random)))
            case "function_call":
                written = pieces(item["arguments"], random)
                strands.append(call(index, item["name"], *written, given=item["call_id"]))
            case _:
                summary = [piece for part in item["summary"] for piece in pieces(part["text"], random)]
                strands.append(reasoning(index, item["encrypted_content"], *summary, id=item["id"]))
    events = mixed(strands, random)
    done = sorted((d["output_index"], n) for n, (name, d) in enumerate(events) if name.endswith("item.done"))
    return [*events, last([events[number][1]["item"] for _, number in done] if named else [])]


def conversation(parts: tuple[AssistantPart, ...]) -> list[Message]:
    reply = AssistantMessage(parts)
    results = [ToolMessage(made.id, made.name, (Text("ok"),)) for made in reply.calls]
    return [SystemMessage("static"), HELLO, reply, *results]


@pytest.mark.slow
@given(replies(), st.randoms(use_true_random=False), st.booleans())
def test_a_reply_goes_back_as_it_came_however_it_was_cut(
    parts: tuple[AssistantPart, ...], random: Random, named: bool
):
    sent = body(*conversation(parts))
    output = [item for item in sent["input"][1:] if item["type"] != "function_call_output"]
    reply = read(ADAPTER.reader(), events_of(output, random, named))
    assert reply.parts == parts
    assert body(*conversation(reply.parts)) == sent
    assert msgspec.json.decode(msgspec.json.encode(sent)) == sent
