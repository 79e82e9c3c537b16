"""The neutral shape, OpenAI chat and Anthropic messages, from files and from plain lists."""

import json
from pathlib import Path
from typing import Any

import pytest
from recording_samples import (
    ANTHROPIC,
    NEUTRAL,
    OPENAI,
    PIXEL,
    calls_of,
    events_of,
    messages_of,
    write_lines,
)

from holdfast.errors import InputError
from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    LogStarted,
    Noted,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UsageReported,
    UserSaid,
)
from holdfast.messages import Image, Text, Thinking, ToolCall, Usage
from holdfast.recordings import find_recording, read_recordings
from holdfast.wire.content_blocks import CallNames
from holdfast.wire.message_lists import events_from_message, recording_from_messages


def test_a_neutral_recording_keeps_messages_usage_clocks_and_boundaries(tmp_path: Path) -> None:
    recording = find_recording(write_lines(tmp_path / "a.jsonl", [NEUTRAL]))
    assert (recording.id, recording.source, recording.notes) == ("demo/one", "neutral", ())
    started = recording.events[0]
    assert isinstance(started.event, LogStarted)
    assert started.event.title == "Fix the parser"
    assert started.event.meta == {
        "id": "demo/one", "source": "demo", "repo": "demo/demo", "models": ["claude"],
    }  # fmt: skip
    reply = events_of(recording, AssistantReplied)[0]
    assert [type(part) for part in reply.parts] == [Thinking, Text, ToolCall, ToolCall]
    assert reply.usage == Usage(100, 20, cache_read=60)
    assert reply.model == "claude"
    assert [r.at for r in recording.events if isinstance(r.event, ToolReturned)] == [
        1767225602.0,
        1767225603.0,
    ]
    [boundary] = events_of(recording, BoundarySeen)
    assert (boundary.kind, boundary.trigger, boundary.tokens_before) == ("compact_boundary", "auto", 9000)
    assert boundary.summary.startswith("This session is being continued")
    kinds = [type(r.event).__name__ for r in recording.events]
    assert kinds[kinds.index("BoundarySeen") + 1] == "UserSaid"
    assert [said.origin for said in events_of(recording, UserSaid)] == ["person", "reminder"]


def test_one_file_holds_many_neutral_recordings(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl.gz", [{**NEUTRAL, "id": f"demo/{n}"} for n in range(3)])
    assert [recording.id for recording in read_recordings(path)] == ["demo/0", "demo/1", "demo/2"]


@pytest.mark.parametrize("shape", ["list", "object", "pretty", "lines"])
def test_openai_messages_come_in_four_shapes(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "chat.json"
    tools = [{"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}]
    value: Any = OPENAI if shape == "list" else {"messages": OPENAI, "tools": tools, "model": "gpt"}
    if shape == "lines":
        write_lines(path, OPENAI)
    else:
        path.write_text(json.dumps(value, indent=2 if shape == "pretty" else None))
    recording = find_recording(path)
    assert recording.source == "openai"
    assert [type(e).__name__ for e in messages_of(recording)] == [
        "SystemMessage", "UserMessage", "AssistantMessage", "ToolMessage", "ToolMessage", "AssistantMessage",
    ]  # fmt: skip
    said = events_of(recording, UserSaid)[0]
    assert said.parts == (Text("What is this?"), Image("image/png", data=PIXEL))
    good, broken = calls_of(recording)
    assert (good.arguments, good.raw) == ({"at": 1}, "")
    assert (broken.arguments, broken.raw) == ({}, "{broken")
    assert [result.name for result in events_of(recording, ToolReturned)] == ["look", "look"]
    assert len(events_of(recording, ToolsSet)) == (shape in ("object", "pretty"))


def test_requests_and_fine_tuning_lines_are_several_recordings(tmp_path: Path) -> None:
    lines = [
        {"messages": OPENAI},
        {"custom_id": "req-7", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": OPENAI}},
        {"messages": OPENAI[:2]},
    ]
    recordings = list(read_recordings(write_lines(tmp_path / "batch.jsonl", lines)))
    assert [len(messages_of(recording)) for recording in recordings] == [6, 6, 2]
    assert recordings[1].id == "req-7"
    assert len({recording.id for recording in recordings}) == 3
    assert find_recording(tmp_path / "batch.jsonl", recordings[2].id) == recordings[2]


def test_an_id_from_content_is_the_same_in_any_packaging(tmp_path: Path) -> None:
    ids = {find_recording(write_lines(tmp_path / name, [OPENAI])).id for name in ("a.json", "b.json.gz")}
    (tmp_path / "c.json").write_text(json.dumps(OPENAI, indent=4))
    ids.add(find_recording(tmp_path / "c.json").id)
    assert len(ids) == 1
    assert ids.pop().startswith("openai-")


def test_anthropic_messages_keep_thinking_images_and_errors(tmp_path: Path) -> None:
    recording = find_recording(write_lines(tmp_path / "a.json", [ANTHROPIC]))
    assert recording.source == "anthropic"
    assert events_of(recording, SystemSet) == [SystemSet("Be brief.")]
    assert [tool.name for tool in events_of(recording, ToolsSet)[0].tools] == ["look"]
    reply = events_of(recording, AssistantReplied)[0]
    assert reply.parts == (
        Thinking("hm", signature="sig=="),
        Thinking(redacted="opaque"),
        Text("Looking."),
        ToolCall("t1", "look", {"at": 1}),
    )
    [result] = events_of(recording, ToolReturned)
    assert result == ToolReturned("t1", "look", (Text("here"), Image("image/png", data=PIXEL)), error=True)
    assert [said.parts for said in events_of(recording, UserSaid)] == [
        (Text("What is this?"),), (Text("and be quick"),),
    ]  # fmt: skip


def test_anthropic_is_told_from_its_blocks_even_one_message_a_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", ANTHROPIC["messages"])
    assert find_recording(path).source == "anthropic"


def test_a_system_message_after_the_first_turn_does_not_replace_the_prompt() -> None:
    recording = recording_from_messages([*OPENAI[:2], {"role": "system", "content": "And in French."}])
    assert events_of(recording, SystemSet) == [SystemSet("Be brief.")]
    assert events_of(recording, UserSaid)[1] == UserSaid((Text("And in French."),), origin="reminder")
    assert recording.notes == (
        "kept as reminders: system messages after the first turn (1), first in message 2",
    )


def test_what_has_no_place_is_counted() -> None:
    recording = recording_from_messages([
        {"role": "user", "content": [{"type": "text", "text": "hear"}, {"type": "input_audio", "input_audio": {}}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "reasoning_content": "only a thought"},
        {"role": "user", "content": ""},
    ])  # fmt: skip
    assert len(messages_of(recording)) == 1
    assert recording.notes == (
        "left out: `input_audio` blocks (1), first in message 0",
        "left out: assistant messages with neither text nor call (2), first in message 1",
        "left out: empty user messages (1), first in message 3",
    )


def test_function_calls_without_ids_pair_by_name() -> None:
    recording = recording_from_messages([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "seen"},
    ])  # fmt: skip
    [call], [result] = calls_of(recording), events_of(recording, ToolReturned)
    assert call.id == result.call_id == "function_look"


@pytest.mark.parametrize(
    ("arguments", "decoded", "raw"),
    [
        ('{"a": [1]}', {"a": [1]}, ""),
        ("", {}, ""),
        (None, {}, ""),
        ({"a": 1}, {"a": 1}, ""),
        ("[1]", {}, "[1]"),
        ("{'a': 1}", {}, "{'a': 1}"),
        ([1, 2], {}, "[1,2]"),
        ('{"a": "\\ud800"}', {"a": "�"}, ""),
        ('{"a":' * 300 + "1" + "}" * 300, {}, '{"a":' * 300 + "1" + "}" * 300),
    ],
)
def test_arguments_are_decoded_or_kept_raw(arguments: Any, decoded: Any, raw: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    [found] = calls_of(recording_from_messages([{"role": "assistant", "tool_calls": [call]}]))
    assert (found.arguments, found.raw) == (decoded, raw)


def test_nothing_is_repaired() -> None:
    call = {"id": "same", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    recording = recording_from_messages([
        {"role": "tool", "tool_call_id": "before", "content": "early"},
        {"role": "assistant", "content": None, "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": "same", "content": "one"},
        {"role": "tool", "tool_call_id": "same", "content": "two"},
        {"role": "assistant", "content": "next, unanswered", "tool_calls": [{**call, "id": "open"}]},
    ])  # fmt: skip
    assert [result.call_id for result in events_of(recording, ToolReturned)] == ["before", "same", "same"]
    assert [call.id for call in calls_of(recording)] == ["same", "same", "open"]


@pytest.mark.slow
def test_ten_thousand_parallel_calls(tmp_path: Path) -> None:
    ids = [f"c{n}" for n in range(10_000)]
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    results = [{"role": "tool", "tool_call_id": i, "content": i} for i in ids]
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": calls}, *results]
    recording = find_recording(write_lines(tmp_path / "many.jsonl", messages))
    assert len(calls_of(recording)) == len(events_of(recording, ToolReturned)) == 10_000


def test_one_message_at_a_time_gives_the_same_events() -> None:
    whole = [r.event for r in recording_from_messages(OPENAI).events[1:]]
    names = CallNames()
    one_by_one = []
    for message in OPENAI:
        events = events_from_message(message, "openai", names=names)
        one_by_one += events
    assert one_by_one == whole


def test_one_message_says_its_losses_as_events() -> None:
    events = events_from_message({"role": "assistant", "content": ""})
    assert events == [Noted("import", "left out: assistant messages with neither text nor call (1)")]
    late = events_from_message({"role": "system", "content": "x"}, opening=False)
    assert late[0] == UserSaid((Text("x"),), origin="reminder")


def test_lone_surrogates_of_a_program_are_replaced_and_said() -> None:
    recording = recording_from_messages([{"role": "user", "content": "a\ud800b"}])
    assert events_of(recording, UserSaid)[0].parts == (Text("a�b"),)
    assert recording.notes == ("replaced by U+FFFD: texts with lone surrogates (1)",)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"content": "who?"}], "message 0 has no `role`"),
        ([{"role": "user", "content": object()}], "something that JSON cannot"),
        ([{"role": "critic", "content": "?"}], "message 0 has the role `critic`, which no provider knows"),
    ],
)
def test_wrong_messages_are_refused_in_one_sentence(messages: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        recording_from_messages(messages)
    assert caught.value.hint


def test_deep_messages_are_refused() -> None:
    deep: Any = "x"
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(InputError, match="too deep"):
        recording_from_messages([{"role": "user", "content": deep}])


def test_an_unknown_format_of_messages_is_refused() -> None:
    with pytest.raises(InputError, match="`codex` is not a format of message lists"):
        recording_from_messages([{"role": "user", "content": "x"}], format="codex")


@pytest.mark.parametrize(
    ("request_", "source"),
    [
        ({"system": "x", "messages": OPENAI}, "openai"),
        ({"system": "x", "messages": [{"role": "user", "content": "hi"}]}, "anthropic"),
        ({"tools": ANTHROPIC["tools"], "messages": [{"role": "user", "content": "hi"}]}, "anthropic"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "openai"),
    ],
)
def test_messages_outweigh_the_request_around_them(tmp_path: Path, request_: Any, source: str) -> None:
    assert find_recording(write_lines(tmp_path / "a.json", [request_])).source == source


def test_usage_of_a_reply_that_is_not_there_is_kept(tmp_path: Path) -> None:
    value = {**NEUTRAL, "meta": {"usage": [[4, 70, 1, 0], [9, 80, 1, 0]]}}
    recording = find_recording(write_lines(tmp_path / "a.jsonl", [value]))
    assert [e.usage.prompt for e in events_of(recording, UsageReported)] == [70, 80]
    assert [e.usage for e in events_of(recording, AssistantReplied)] == [None, None]
