"""Messages out to OpenAI and Anthropic, and back again."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_samples import PIXEL, messages_of

from holdfast.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from holdfast.wire.anthropic import anthropic_message, join_anthropic, to_anthropic
from holdfast.wire.message_lists import recording_from_messages
from holdfast.wire.openai import join_openai, openai_message, to_openai

TOOL = ToolDefinition("look", "Looks.", {"type": "object", "properties": {}})
PICTURE = Image("image/png", data=PIXEL)


def test_openai_takes_arguments_as_a_string_and_no_thinking() -> None:
    wire = to_openai(
        [
            SystemMessage("Be brief."),
            UserMessage((Text("What?"), PICTURE)),
            AssistantMessage(
                (Thinking("hm", signature="s"), Text("Hm."), ToolCall("c1", "look", {"é": [1, 2]}))
            ),
            ToolMessage("c1", "look", (Text("no"),), error=True),
        ],
        [TOOL],
    )
    assert wire.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "What?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
        {"role": "assistant", "content": "Hm.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"é":[1,2]}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "no"},
    ]  # fmt: skip
    assert wire.tools == [{"type": "function", "function": {
        "name": "look", "description": "Looks.", "parameters": TOOL.schema}}]  # fmt: skip
    assert wire.system is None
    assert wire.losses == ("left out: thinking blocks (1)", "left out: error flags of tool results (1)")


def test_pictures_of_parallel_results_wait_for_the_last_result() -> None:
    wire = to_openai([
        AssistantMessage((ToolCall("c1", "look", {}), ToolCall("c2", "look", {}))),
        ToolMessage("c1", "look", (PICTURE,)),
        ToolMessage("c2", "look", (Text("two"), PICTURE)),
        AssistantMessage((Text("Seen."),)),
    ])  # fmt: skip
    assert [m["role"] for m in wire.messages] == ["assistant", "tool", "tool", "user", "user", "assistant"]
    assert wire.messages[1]["content"] == "[image 1 of 1: see below]"
    assert PIXEL in wire.messages[3]["content"][1]["image_url"]["url"]
    assert wire.losses == ("moved to a user message: pictures in tool results (2)",)


def test_anthropic_merges_neighbours_and_puts_results_first() -> None:
    wire = to_anthropic(
        [
            SystemMessage("Be brief."),
            SystemMessage("Summary."),
            UserMessage((Text("go"),)),
            AssistantMessage((Thinking("hm", signature="s"), Thinking(redacted="xx"), Text("Now."))),
            AssistantMessage(
                (Thinking("unsigned"), ToolCall("c1", "look", {}), ToolCall("c2", "look", {}, raw="{"))
            ),
            ToolMessage("c1", "look", (Text("one"), PICTURE)),
            UserMessage((Text("hurry"),)),
            ToolMessage("c2", "look", (Text(""),), error=True),
        ],
        [TOOL],
    )
    assert wire.system == [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Summary."}]
    assert wire.messages == [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "xx"},
            {"type": "text", "text": "Now."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
            {"type": "tool_use", "id": "c2", "name": "look", "input": {"raw": "{"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [
                {"type": "text", "text": "one"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]},
            {"type": "tool_result", "tool_use_id": "c2", "is_error": True},
            {"type": "text", "text": "hurry"}]},
    ]  # fmt: skip
    assert wire.tools == [{"name": "look", "description": "Looks.", "input_schema": TOOL.schema}]
    assert wire.losses == (
        "left out: thinking blocks without a signature (1)",
        "wrapped as `raw`: arguments that are no JSON object (1)",
        "left out: blank texts (1)",
    )


def test_what_cannot_be_sent_is_left_out_and_said() -> None:
    messages: list[Message] = [
        UserMessage((Text("go"),)),
        AssistantMessage((Thinking("only this"),)),
        SystemMessage("late"),
    ]
    anthropic, openai = to_anthropic(messages), to_openai(messages)
    assert [m["role"] for m in anthropic.messages] == ["user"]
    assert "left out: messages with nothing to send (1)" in anthropic.losses
    assert "moved to the system field: system messages after the first turn (1)" in anthropic.losses
    assert [m["role"] for m in openai.messages] == ["user", "system"]
    assert "left out: assistant messages with neither text nor call (1)" in openai.losses


def test_reasoning_of_the_responses_api_does_not_go_to_anthropic() -> None:
    item = Thinking("so", redacted='{"id":"rs_1","encrypted_content":"gAAA"}')
    wire = to_anthropic([
        UserMessage((Text("go"),)),
        AssistantMessage((item, Thinking(redacted="b3Bh"), Text("Now."), item)),
        AssistantMessage((item,)),
    ])  # fmt: skip
    assert wire.messages[1:] == [{"role": "assistant", "content": [
        {"type": "redacted_thinking", "data": "b3Bh"}, {"type": "text", "text": "Now."}]}]  # fmt: skip
    assert wire.losses == (
        "left out: thinking blocks of another provider (3)",
        "left out: messages with nothing to send (1)",
    )


words = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda text: text.strip() == text and not text.startswith(("<", "[", "#")))  # fmt: skip
texts = words.map(Text)
images = st.builds(Image, st.sampled_from(["image/png", "image/webp"]), data=st.just(PIXEL)) | st.builds(
    Image, st.just(""), url=st.just("https://example.org/a.png")
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
)
arguments = st.dictionaries(
    words,
    st.recursive(scalars | words, lambda v: st.lists(v) | st.dictionaries(words, v), max_leaves=4),
    max_size=3,
)
opaque = words.filter(lambda text: not text.startswith("{"))
thoughts = st.builds(Thinking, words, signature=words) | st.builds(Thinking, redacted=opaque)
user_parts = st.lists(texts | images, min_size=1, max_size=3).map(tuple)


@st.composite
def steps(draw: st.DrawFn, *, pictures: bool, thinking: bool, raw: bool, errors: bool) -> list[Message]:
    """A user message, then a reply with calls and, in any order, their results."""
    ids = [f"c{draw(st.integers(0, 10**9))}" for _ in range(draw(st.integers(0, 3)))]
    ids = list(dict.fromkeys(ids))
    broken = st.sampled_from(["{", "[1]", "no"]) if raw else st.just("")
    calls = [
        ToolCall(i, f"tool_{i}", {} if wrong else draw(arguments), raw=wrong)
        for i in ids
        for wrong in [draw(st.just("") | broken)]
    ]
    thought = draw(st.lists(thoughts, max_size=1)) if thinking else []
    said = draw(st.lists(texts, min_size=0 if calls else 1, max_size=2))
    result = st.lists(texts | images if pictures else texts, max_size=2).map(tuple)
    results: list[Message] = [
        ToolMessage(call.id, call.name, draw(result), draw(st.booleans()) if errors else False)
        for call in calls
    ]
    reply = AssistantMessage((*thought, *said, *calls))
    return [UserMessage(draw(user_parts)), reply, *draw(st.permutations(results))]


def conversations(**kinds: bool) -> st.SearchStrategy[list[Message]]:
    system = st.lists(words.map(SystemMessage), max_size=1)
    rounds = st.lists(steps(**kinds), min_size=1, max_size=4)
    return st.tuples(system, rounds).map(lambda pair: [*pair[0], *(m for step in pair[1] for m in step)])


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(conversations(pictures=False, thinking=False, raw=True, errors=False))
def test_openai_and_back_is_the_same(messages: list[Message]) -> None:
    wire = to_openai(messages)
    assert wire.losses == ()
    recording = recording_from_messages(wire.messages, format="openai")
    assert messages_of(recording) == messages
    assert recording.notes == ()


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(conversations(pictures=True, thinking=True, raw=False, errors=True))
def test_anthropic_and_back_is_the_same(messages: list[Message]) -> None:
    wire = to_anthropic(messages)
    assert wire.losses == ()
    recording = recording_from_messages(wire.messages, system=wire.system, format="anthropic")
    assert messages_of(recording) == normal(messages)
    assert recording.notes == ()


def normal(messages: list[Message]) -> list[Message]:
    """Neighbouring user messages are one for Anthropic, behind the results they stand with."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            merged[-1] = UserMessage(last.parts + message.parts)
        elif isinstance(message, AssistantMessage) and isinstance(last, AssistantMessage):
            merged[-1] = AssistantMessage(last.parts + message.parts)
        else:
            merged.append(message)
    return merged


blank = st.sampled_from(["", " ", "\n"]).map(Text)
anything = st.lists(
    st.builds(SystemMessage, words | st.just(""))
    | st.builds(UserMessage, st.lists(texts | images | blank, max_size=3).map(tuple))
    | st.builds(
        AssistantMessage,
        st.lists(
            texts | blank | thoughts | st.builds(Thinking, words)
            | st.builds(ToolCall, words, words, arguments, raw=st.sampled_from(["", "{"])),
            max_size=4).map(tuple))
    | st.builds(ToolMessage, words, words, st.lists(texts | images | blank, max_size=2).map(tuple), st.booleans()),
    max_size=8,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(anything)
def test_any_messages_at_all_can_be_written(messages: list[Message]) -> None:
    """Total: no orphan, order or emptiness stops the exporters; Anthropic never gets a blank block or a run."""
    openai, anthropic = to_openai(messages), to_anthropic(messages)
    assert openai.messages == join_openai(map(openai_message, messages))
    assert anthropic.messages == join_anthropic(map(anthropic_message, messages))
    roles = [message["role"] for message in anthropic.messages]
    assert all(a != b for a, b in pairwise(roles))
    for message in anthropic.messages:
        assert message["content"]
        assert not any(is_blank(block) for block in blocks_in(message["content"]))
    results = [m.call_id for m in messages if isinstance(m, ToolMessage)]
    assert [m["tool_call_id"] for m in openai.messages if m["role"] == "tool"] == results
    found = [b["tool_use_id"] for m in anthropic.messages for b in m["content"] if b["type"] == "tool_result"]
    assert found == results


def blocks_in(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [inner for block in content for inner in (block, *block.get("content", []))]


def is_blank(block: dict[str, Any]) -> bool:
    return block["type"] == "text" and not block["text"].strip()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(anything)
def test_writing_does_not_change_what_a_caller_keeps(messages: list[Message]) -> None:
    kept = [anthropic_message(message) for message in messages]
    before = [[{**m, "content": list(m["content"])} for m in wired] for wired in kept]
    first = join_anthropic(kept)
    assert kept == before
    assert join_anthropic(kept) == first
