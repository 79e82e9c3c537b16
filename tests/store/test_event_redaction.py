"""What is redacted on the way in, and what must not be."""

import types
import typing

import msgspec
import pytest
from hypothesis import given, settings

from holdfast import events, messages
from holdfast.events import (
    ApprovalGiven,
    AssistantReplied,
    Compacted,
    Event,
    LogStarted,
    Noted,
    ToolReturned,
    ToolsSet,
    UserSaid,
)
from holdfast.messages import Image, Text, Thinking, ToolCall, ToolDefinition
from holdfast.store.event_redaction import EXACT, Redactor, redact_event, valid_unicode
from store.event_strategies import EVENTS

SHOUT = Redactor(str.upper, lambda key, value: f"{key}={value.upper()}")
NONE = Redactor(lambda text: text, lambda _, value: value)


def test_texts_arguments_raw_meta_summaries_and_titles_are_redacted() -> None:
    call = ToolCall("id1", "Name", {"key": ["v", {"inner": "w"}], "n": 1}, raw="raw")
    reply = redact_event(AssistantReplied((Text("t"), call)), SHOUT)
    assert reply == AssistantReplied(
        (Text("T"), ToolCall("id1", "Name", {"KEY": ["key=V", {"INNER": "inner=W"}], "N": 1}, raw="RAW"))
    )
    started = redact_event(LogStarted(title="t", source="s", meta={"k": "v"}, forked_from="e1"), SHOUT)
    assert started == LogStarted(title="T", source="S", meta={"K": "k=V"}, forked_from="e1")
    assert redact_event(
        Compacted("state", "sum", first="e1", sources=("e2",), focus="f"), SHOUT
    ) == Compacted("state", "SUM", first="e1", sources=("e2",), by="RULE", focus="F")
    tools = redact_event(ToolsSet((ToolDefinition("Name", "what", {"d": "x"}),)), SHOUT)
    assert tools == ToolsSet((ToolDefinition("Name", "WHAT", {"D": "d=X"}),))


def test_ids_names_signatures_and_pictures_stay() -> None:
    kept = (
        ToolReturned(
            "call-abc", "read", (Image("image/png", data="abc"), Image("image/png", url="data:abc"))
        ),
        AssistantReplied((Thinking("", "sig", "opaque"),)),
    )
    for event in kept:
        assert redact_event(event, SHOUT) is event
    assert redact_event(ApprovalGiven("call-abc", "deny", reason="r"), SHOUT) == ApprovalGiven(
        "call-abc", "deny", reason="R"
    )


def test_thinking_that_was_changed_loses_its_signature() -> None:
    event = redact_event(AssistantReplied((Thinking("plan", "sig"),)), SHOUT)
    assert event == AssistantReplied((Thinking("PLAN", ""),))


def test_two_secret_keys_do_not_swallow_each_other() -> None:
    hide = Redactor(lambda text: "X" if text.startswith("sk-") else text, lambda _, value: value)
    event = redact_event(Noted("k", "t", {"sk-1": "a", "sk-2": "b", "X": "c"}), hide)
    assert isinstance(event, Noted)
    assert list(event.data.values()) == ["a", "b", "c"]


def test_keys_that_are_no_strings_become_strings_and_swallow_nothing() -> None:
    event = redact_event(Noted("k", "t", {1: "a", "1": "b", None: {2.5: "c"}}), NONE)
    assert isinstance(event, Noted)
    assert event.data == {"1": "a", "1 (2)": "b", "None": {"2.5": "c"}}


def test_lone_surrogates_become_replacement_characters_and_pairs_become_one() -> None:
    assert valid_unicode("a\ud800b\udc00c") == "a\ufffdb\ufffdc"
    assert valid_unicode("\ud83d\ude00") == "😀"
    event = redact_event(UserSaid((Text("\ud800"), Image("image/png", "\udfff"))), NONE)
    assert event == UserSaid((Text("\ufffd"), Image("image/png", "\ufffd")))
    odd = redact_event(AssistantReplied((ToolCall("\ud800", "n", {"\udc00": "v"}),)), NONE)
    msgspec.json.encode(odd)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(EVENTS)
def test_nothing_changes_where_nothing_has_to_go(event: Event) -> None:
    assert redact_event(event, NONE) is event


def test_every_string_field_is_redacted_or_named_as_exact() -> None:
    """A field that is added later must not slip through: only what `EXACT` names stays as it is."""
    for cls in _structs():
        strings = {f.name for f in msgspec.structs.fields(cls) if f.type is str}
        wrong = EXACT.get(cls, frozenset()) - set(cls.__struct_fields__)
        assert not wrong, f"{cls.__name__} has no {wrong}"
        for name in strings - EXACT.get(cls, frozenset()):
            values = {f.name: _sample(f.type) for f in msgspec.structs.fields(cls) if f.required}
            event = cls(**{**values, name: "loud"})
            changed = redact_event(event, SHOUT)
            assert getattr(changed, name) == "LOUD", f"{cls.__name__}.{name}"


def _structs() -> list[type[msgspec.Struct]]:
    found = [
        c
        for m in (events, messages)
        for c in vars(m).values()
        if isinstance(c, type) and issubclass(c, msgspec.Struct)
    ]
    outside = (msgspec.Struct, events.Entry, events.Recorded, events.Recording)
    return [c for c in dict.fromkeys(found) if c not in outside]


def _sample(kind: object) -> object:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return typing.get_args(kind)[0]
    if origin in (tuple, types.UnionType, typing.Union):
        return ()
    if kind is messages.Usage:
        return messages.Usage(0)
    return {} if origin is dict else "" if kind is str else 0
