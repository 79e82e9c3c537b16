"""Cache marks stand where layers end, and a request is cached up to there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.model import ModelRequest
from holdfast.packing.validator import check
from holdfast.wire.anthropic import MOST_CACHE_MARKS

TOOLS = (
    ToolDefinition("Read", "reads", {"type": "object"}),
    ToolDefinition("Bash", "runs", {"type": "object"}),
)


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def step(number: int, *, signed: bool = False, results: int = 1) -> list[Message]:
    calls = tuple(ToolCall(f"c{number}-{i}", "Read", {"n": i}) for i in range(results))
    thinking = (Thinking("hm", signature="sig"),) if signed else ()
    answers = [ToolMessage(call.id, "Read", (Text(f"result {call.id}"),)) for call in calls]
    return [AssistantMessage((*thinking, Text(f"step {number}"), *calls)), *answers]


PACK: list[Message] = [
    SystemMessage("stable"),
    SystemMessage("rules"),
    SystemMessage("summary"),
    user("first"),
    *step(1),
    user("second"),
    *step(2),
    user("recap"),
]
ENDS = (0, 2, 3, 6, 9)
"""Tools, stable, summary, window, round; the recap behind them is the tail."""


def body(
    messages: list[Message], ends: tuple[int, ...], adapter: AnthropicAdapter | None = None
) -> dict[str, Any]:
    request = ModelRequest(messages=tuple(messages), tools=TOOLS, layer_ends=ends)
    return (adapter or AnthropicAdapter()).body("test", request)


def flat(sent: dict[str, Any]) -> list[dict[str, Any]]:
    """Every block in the order of the adapter."""
    spoken = [block for message in sent["messages"] for block in message["content"]]
    return [*sent.get("tools", []), *sent.get("system", []), *spoken]


def bare(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]


def marked(sent: dict[str, Any]) -> list[str]:
    return [named(block) for block in flat(sent) if "cache_control" in block]


def named(block: dict[str, Any]) -> str:
    if block.get("type") == "tool_result":
        return str(block["content"][0]["text"])
    return str(block.get("text") or block.get("name"))


def test_of_five_ends_the_last_four_are_marked():
    assert marked(body(PACK, ENDS)) == ["rules", "summary", "result c1-0", "result c2-0"]


def test_the_tools_are_marked_where_there_is_room():
    ends = (0, 2, 2, 6, 9)
    without_summary = [m for m in PACK if m != SystemMessage("summary")]
    assert marked(body(without_summary, (0, 2, 2, 5, 8))) == ["Bash", "rules", "result c1-0", "result c2-0"]
    assert marked(body(PACK, ends)) == ["Bash", "rules", "result c1-0", "result c2-0"]


def test_a_mock_pair_is_marked_as_the_summary():
    pair = [user("what happened?"), AssistantMessage((Text("this happened"),))]
    sent = body([SystemMessage("stable"), *pair, *PACK[3:]], (0, 1, 3, 6, 9))
    assert marked(sent) == ["stable", "this happened", "result c1-0", "result c2-0"]


def test_without_ends_or_where_it_is_turned_off_nothing_is_marked():
    assert marked(body(PACK, ())) == []
    assert marked(body(PACK, ENDS, AnthropicAdapter(cache=""))) == []


@pytest.mark.parametrize(
    ("lifetime", "mark"),
    [("5m", {"type": "ephemeral"}), ("1h", {"type": "ephemeral", "ttl": "1h"})],
    ids=["5m", "1h"],
)
def test_the_mark_says_how_long(lifetime: Any, mark: dict[str, str]):
    sent = body(PACK, ENDS, AnthropicAdapter(cache=lifetime))
    assert [block["cache_control"] for block in flat(sent) if "cache_control" in block] == [mark] * 4


def test_a_layer_end_without_tools_or_after_the_last_message_does_no_harm():
    request = ModelRequest(messages=(user("hi"),), layer_ends=(0, 1, 7))
    assert marked(AnthropicAdapter().body("test", request)) == ["hi"]


def test_thinking_is_passed_over():
    thought = AssistantMessage((Text("said"), Thinking("more", signature="sig")))
    assert marked(body([user("hi"), thought, user("go on")], (2,))) == ["said"]


def test_a_late_system_message_comes_before_the_marks_of_messages():
    sent = body([SystemMessage("stable"), user("hi"), SystemMessage("late")], (1, 2, 3))
    assert marked(sent) == ["stable", "hi"]


@st.composite
def packs(draw: st.DrawFn) -> tuple[list[Message], tuple[int, ...]]:
    system: list[Message] = [SystemMessage(f"system {n}") for n in range(draw(st.integers(0, 3)))]
    conversation: list[Message] = [user("begin")]
    for number in range(draw(st.integers(0, 5))):
        conversation += step(number, signed=draw(st.booleans()), results=draw(st.integers(1, 3)))
        if draw(st.booleans()):
            conversation.append(user(f"round {number}"))
    messages = system + conversation
    ends = draw(st.lists(st.integers(0, len(messages)), max_size=6))
    return messages, tuple(sorted(ends))


@given(packs())
def test_marks_are_legal_and_cover_what_their_end_says(pack: tuple[list[Message], tuple[int, ...]]):
    messages, ends = pack
    sent = body(messages, ends)
    assert check(sent["messages"], "anthropic", system=sent.get("system"), tools=sent["tools"]) == ()
    blocks = flat(sent)
    at = [number for number, block in enumerate(blocks) if "cache_control" in block]
    assert len(at) <= MOST_CACHE_MARKS
    assert bare(blocks) == flat(body(messages, ()))
    expected = {
        len(flat(body(messages[:end], ()))) - 1 for end in ends if _is_cut_between_steps(messages, end)
    }
    assert expected <= set(at) or len(set(ends)) > MOST_CACHE_MARKS


def _is_cut_between_steps(messages: list[Message], end: int) -> bool:
    """Whether an end leaves no call without its result, as the ends of layers do."""
    return end == len(messages) or not isinstance(messages[end], ToolMessage)


@given(packs())
def test_with_more_ends_than_marks_the_newest_win(pack: tuple[list[Message], tuple[int, ...]]):
    messages, ends = pack
    sent = flat(body(messages, ends))
    last = max(ends, default=None)
    at = [number for number, block in enumerate(sent) if "cache_control" in block]
    assert bool(at) == (last is not None)
    if last is not None and _is_cut_between_steps(messages, last):
        assert at[-1] == len(flat(body(messages[:last], ()))) - 1
