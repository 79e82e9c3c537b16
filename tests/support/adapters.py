"""Replies of a provider as events, cut and mixed at will, and what a reader makes of them."""

import itertools
from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from holdfast.messages import Text, Thinking, ToolCall
from holdfast.models.adapter import ReplyReader
from holdfast.models.model import (
    ArgumentsDelta,
    CallAnnounced,
    ModelReply,
    ReplyCompleted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from holdfast.wire.content_blocks import tool_call
from holdfast.wire.foreign_json import Losses

Event = tuple[str, Any]
"""A name, and data: JSON, or text as it is."""


def told(reader: ReplyReader, events: Iterable[Event]) -> list[StreamEvent]:
    """Everything a reader says to these events and to the end of the stream behind them."""
    came: list[StreamEvent] = []
    for name, data in events:
        came += reader.feed(name, data if isinstance(data, str) else msgspec.json.encode(data).decode())
    return came + list(reader.end())


def read(reader: ReplyReader, events: Iterable[Event], *, streamed: bool = True) -> ModelReply:
    """The reply; if it was `streamed`, after a look at whether what came before it says the same."""
    came = told(reader, events)
    assert [type(one) for one in came].count(ReplyCompleted) == 1, came
    done = came[-1]
    assert isinstance(done, ReplyCompleted)
    if streamed:
        _agree(came, done.reply)
    return done.reply


def _agree(came: list[StreamEvent], reply: ModelReply) -> None:
    texts = "".join(one.text for one in came if isinstance(one, TextDelta))
    assert sorted(texts) == sorted("".join(p.text for p in reply.parts if isinstance(p, Text)))
    thoughts = "".join(one.text for one in came if isinstance(one, ThinkingDelta))
    assert sorted(thoughts) == sorted("".join(p.text for p in reply.parts if isinstance(p, Thinking)))
    began = [one for one in came if isinstance(one, CallAnnounced)]
    assert [one.number for one in began] == list(range(len(reply.calls)))
    calls = {call.id: call for call in reply.calls}
    assert {one.id: one.name for one in began} == {call.id: call.name for call in reply.calls}
    for one in began:
        arguments = "".join(a.text for a in came if isinstance(a, ArgumentsDelta) and a.number == one.number)
        assert tool_call(one.id, one.name, arguments, Losses()) == calls[one.id]


def pieces(text: str, random: Random) -> list[str]:
    """The text in pieces of any length; none for an empty one."""
    cuts = sorted({0, len(text), *(random.randint(0, len(text)) for _ in range(random.randint(0, 4)))})
    return [text[a:b] for a, b in itertools.pairwise(cuts)]


def mixed(strands: list[list[Event]], random: Random) -> list[Event]:
    """All events of all strands, each strand in its order and begun in the order of the strands."""
    left = [list(strand) for strand in strands if strand]
    out = []
    begun = 1
    while left:
        number = random.randrange(min(begun, len(left)))
        out.append(left[number].pop(0))
        if not left[number]:
            del left[number]
            begun -= 1
        begun = max(1, min(len(left), begun + random.randint(0, 1)))
    return out


def in_turns(*strands: list[Event]) -> list[Event]:
    longest = max(map(len, strands))
    return [strand[i] for i in range(longest) for strand in strands if i < len(strand)]


said = st.text(min_size=1, max_size=30)
spoken = said.filter(lambda text: bool(text.strip()))
_atoms = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
)
values = st.recursive(
    _atoms.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(st.text(max_size=6), values, max_size=3)
raws = st.one_of(
    said,
    st.sampled_from(['{"path": "src/a', "[1, 2]", '"text"', "null", '{"a": 1} and more', "{'a': 1}"]),
).filter(lambda raw: bool(tool_call("", "", raw, Losses()).raw))
names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,12}", fullmatch=True)


def calls(raw: bool = True) -> st.SearchStrategy[tuple[ToolCall, ...]]:
    """Calls of one reply, each with an id of its own."""
    whole = st.builds(lambda name, given: ToolCall("", name, given), names, arguments)
    broken = st.builds(lambda name, text: ToolCall("", name, {}, text), names, raws)
    some = st.lists(whole | broken if raw else whole, max_size=3)
    return some.map(
        lambda made: tuple(msgspec.structs.replace(c, id=f"call_{n}x") for n, c in enumerate(made))
    )
