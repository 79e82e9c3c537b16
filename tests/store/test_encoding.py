"""Events as stored: they come back as they went in, whatever untrusted arguments hold."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings

from holdfast.errors import InputError, StoreError
from holdfast.events import (
    AssistantReplied,
    Event,
    Folded,
    FoldNote,
    LogStarted,
    Noted,
    ToolReturned,
    UserSaid,
)
from holdfast.ids import text_id
from holdfast.messages import Image, Text, Thinking, ToolCall, joined_text
from holdfast.store.encoding import (
    INLINE_LIMIT,
    decode_entry,
    decode_event,
    encode_event,
    referenced_ids,
)
from holdfast.store.protocol import EntryRow
from store.event_strategies import EVENTS, JSON


def texts(event: Event) -> dict[str, str]:
    return {id_: artifact.text for id_, artifact in encode_event(event)[1].items()}


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(EVENTS)
def test_an_event_comes_back_as_it_went_in(event: Event) -> None:
    body, kept = encode_event(event)
    assert decode_event(body, {id_: a.text for id_, a in kept.items()}) == event
    assert all(text_id(artifact.text) == id_ == artifact.id for id_, artifact in kept.items())
    assert referenced_ids(body) <= kept.keys()
    assert encode_event(event)[0] == body


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(JSON)
def test_arguments_that_look_like_references_round_trip(value: object) -> None:
    arguments = {"$a": "x", "$$a": {"$a": value}, "deep": [{"$a": text_id("secret")}, value]}
    event = AssistantReplied((ToolCall("c", "T", arguments),))
    body, kept = encode_event(event)
    assert decode_event(body, {id_: a.text for id_, a in kept.items()}) == event


def test_texts_and_long_strings_are_references_and_short_ones_are_not() -> None:
    event = AssistantReplied(
        (
            Text("hi"),
            ToolCall(
                "c1",
                "Write",
                {"path": "a.py", "content": "x" * INLINE_LIMIT, "short": "y" * (INLINE_LIMIT - 1)},
            ),
        )
    )
    assert set(texts(event).values()) == {"hi", "x" * INLINE_LIMIT}
    body = encode_event(event)[0]
    assert b"x" * INLINE_LIMIT not in body
    assert b"y" * (INLINE_LIMIT - 1) in body


def test_every_text_that_a_pack_may_name_has_an_id() -> None:
    note = FoldNote("e1", "e2", "note", "index")
    assert set(texts(Folded("pressure", notes=(note,))).values()) == {"note", "index"}
    assert set(texts(UserSaid((Image("image/png", url="http://h/p"), Text("")))).values()) == {
        "http://h/p",
        "",
    }
    two = UserSaid((Text("one"), Text("two")))
    assert joined_text(two.parts) in texts(two).values()


def test_kinds_say_what_search_may_find() -> None:
    event = AssistantReplied((Text("said"), Thinking("thought", "s" * 300, "")))
    kinds = {a.text: a.kind for a in encode_event(event)[1].values()}
    assert kinds == {"said": "text", "thought": "text", "s" * 300: "opaque"}
    assert [a.kind for a in encode_event(UserSaid((Image("image/png", "QUJD"),)))[1].values()] == ["image"]
    assert [a.kind for a in encode_event(ToolReturned("c", "Recall", (Text("again"),)))[1].values()] == [
        "echo"
    ]


def test_defaults_are_left_out_except_the_schema() -> None:
    assert encode_event(LogStarted())[0] == b'{"type":"log_started","schema":1}'
    assert set(msgspec.json.decode(encode_event(ToolReturned("c", "Bash", ()))[0])) == {
        "type",
        "call_id",
        "name",
        "parts",
    }


def test_every_event_class_has_a_tag_of_its_own() -> None:
    tags = [cls.__struct_config__.tag for cls in get_args(Event)]
    assert tags
    assert len(set(tags)) == len(tags)


def test_an_event_of_a_newer_version_is_named_with_its_entry() -> None:
    row = EntryRow("e123456789abc", "l1", 7, None, "", None, b'{"type":"dreamt","of":"sheep"}')
    with pytest.raises(StoreError, match=r"`e123456789abc`.*`dreamt`.*schema 1") as caught:
        decode_entry(row, {})
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"type":[]}',
        b'{"type":"user_said"}',
        b'{"type":"system_set","text":{"$a":{}}}',
        b"\xff",
    ],
)
def test_damaged_bodies_are_store_errors_that_name_the_entry(body: bytes) -> None:
    with pytest.raises(StoreError, match="e123456789abc"):
        decode_entry(EntryRow("e123456789abc", "l1", 7, None, "", None, body), {})


def test_arguments_nested_too_deeply_are_refused_with_a_sentence() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="nested too deeply"):
        encode_event(Noted("k", "t", {"deep": deep}))
    # Unwound by hand: the interpreter frees nested lists recursively only up to a limit of its own.
    while deep:
        deep = deep.pop()
