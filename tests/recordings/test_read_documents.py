"""Gemini CLI, mini-swe-agent and opencode."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from document_samples import (
    GEMINI,
    GEMINI_HEAD,
    GEMINI_MESSAGES,
    MINI_SWE_AGENT,
    OPENCODE,
    OPENCODE_CHILD,
    PIXEL,
    gemini_said,
    opencode_said,
    write_opencode_database,
)
from recording_samples import calls_of, events_of, messages_of, texts_on_path, write_lines

from holdfast.errors import InputError
from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    ChainStarted,
    LogStarted,
    Noted,
    Recording,
    SystemSet,
    ToolReturned,
    UsageReported,
    UserSaid,
)
from holdfast.messages import Image, Text, Thinking, ToolCall, Usage
from holdfast.recordings import find_recording, read_recordings

PICTURE = Image("image/png", data=PIXEL)


def read(tmp_path: Path, *values: Any) -> Recording:
    return find_recording(write_lines(tmp_path / "recorded", values))


def started(recording: Recording) -> LogStarted:
    event = recording.events[0].event
    assert isinstance(event, LogStarted)
    return event


def test_a_gemini_session(tmp_path: Path) -> None:
    recording = read(tmp_path, GEMINI)
    assert (recording.id, recording.source) == ("g-1", "gemini")
    assert [said.parts for said in events_of(recording, UserSaid)] == [(Text("What is this?"), PICTURE)]
    first, last = events_of(recording, AssistantReplied)
    assert first.parts == (
        Thinking("Look\n\nI look at it."),
        Text("Looking."),
        ToolCall("c1", "read_file", {"file_path": "a.png"}),
        ToolCall("c2", "run_shell_command", {"command": "ls"}),
    )
    assert (first.model, first.usage) == ("gemini-3", Usage(100, 12, cache_read=60))
    assert last.parts == (Text("A pixel."),)
    assert [(r.name, r.parts, r.error) for r in events_of(recording, ToolReturned)] == [
        ("read_file", (Text("a pixel"),), False),
        ("run_shell_command", (Text("[Cancelled]"),), True),
    ]
    assert [(b.kind, b.trigger) for b in events_of(recording, BoundarySeen)] == [("turn_aborted", "user")]
    assert events_of(recording, Noted) == [Noted(kind="error", text="quota exceeded")]
    assert [recorded.at for recorded in recording.events[1:4]] == [1767225602.0, 1767225602.0, 1767225603.0]
    assert started(recording).meta["model"] == "gemini-3"


def test_a_gemini_session_in_lines_is_the_same(tmp_path: Path) -> None:
    half = {**GEMINI_MESSAGES[1], "toolCalls": [{**GEMINI_MESSAGES[1]["toolCalls"][0], "result": None}]}
    lines = [
        GEMINI_HEAD,
        GEMINI_MESSAGES[0],
        half,
        *GEMINI_MESSAGES[1:],
        {"$set": {"summary": "A pixel it is"}},
    ]
    recording = read(tmp_path, *lines)
    assert messages_of(recording) == messages_of(read(tmp_path, GEMINI))
    assert started(recording).title == "A pixel it is"


def test_a_gemini_history_that_was_compressed_is_a_boundary(tmp_path: Path) -> None:
    summary = gemini_said("s1", "user", [{"text": "<state_snapshot>They looked.</state_snapshot>"}])
    kept = [summary, GEMINI_MESSAGES[4]]
    lines = [GEMINI_HEAD, *GEMINI_MESSAGES, {"$set": {"messages": kept}}, gemini_said("m6", "user", "go on")]
    recording = read(tmp_path, *lines)
    assert [(b.kind, b.summary) for b in events_of(recording, BoundarySeen)][1:] == [
        ("compaction", "<state_snapshot>They looked.</state_snapshot>")
    ]
    assert [said.parts[0] for said in events_of(recording, UserSaid)] == [
        Text("What is this?"),
        Text("go on"),
    ]


def test_a_gemini_session_that_was_rewound(tmp_path: Path) -> None:
    lines = [GEMINI_HEAD, *GEMINI_MESSAGES, gemini_said("m6", "user", "no"), {"$rewindTo": "m5"}]
    recording = read(tmp_path, *lines, gemini_said("m7", "gemini", "A dot."))
    assert texts_on_path(recording)[-1] == "A dot."
    assert "A pixel." not in texts_on_path(recording)
    assert "no" not in texts_on_path(recording)


def test_a_gemini_sub_agent_is_asked_by_an_agent(tmp_path: Path) -> None:
    recording = read(tmp_path, {**GEMINI, "kind": "subagent"})
    assert [said.origin for said in events_of(recording, UserSaid)] == ["agent"]


def test_mini_swe_agent_blocks_become_calls(tmp_path: Path) -> None:
    recording = read(tmp_path, MINI_SWE_AGENT)
    assert (recording.id, recording.source) == ("demo__demo-1", "mini-swe-agent")
    assert events_of(recording, SystemSet) == [SystemSet("One block of bash a turn.")]
    listed, unread, submitted = events_of(recording, AssistantReplied)
    assert listed.parts == (Text("THOUGHT: list"), ToolCall("call_0", "bash", {"command": "ls -F"}))
    assert (listed.model, listed.usage) == ("gemini-3", Usage(100, 5, cache_read=60))
    assert unread.parts == (Text("```bash\na\n```\nor\n```bash\nb\n```"),)
    assert submitted.parts[1] == ToolCall("call_1", "bash", {"command": "submit"})
    assert [(r.call_id, r.error) for r in events_of(recording, ToolReturned)] == [
        ("call_0", False),
        ("call_1", True),
    ]
    assert [said.origin for said in events_of(recording, UserSaid)] == ["person", "reminder"]
    assert recording.events[-1].at == 1763506900.5
    assert started(recording).meta["exit_status"] == "Submitted"


def test_mini_swe_agent_blank_lines_around_a_command_are_none_of_it(tmp_path: Path) -> None:
    said = ("```bash\n\n  \nls\n\n```", "```bash" + "\n" * 60_000)
    messages = [{"role": "user", "content": "Go."}, *({"role": "assistant", "content": one} for one in said)]
    recording = read(tmp_path, {**MINI_SWE_AGENT, "messages": messages})
    replies = events_of(recording, AssistantReplied)
    assert replies[0].parts == (ToolCall("call_0", "bash", {"command": "ls"}),)
    assert not any(isinstance(part, ToolCall) for part in replies[1].parts)


def test_mini_swe_agent_with_calls_of_its_own(tmp_path: Path) -> None:
    call = {"id": "k1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Again."}]},
        {"type": "function_call", "call_id": "k2", "name": "bash", "arguments": '{"command": "pwd"}'},
    ]
    usage = {"input_tokens": 90, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 8}}
    messages = [
        *MINI_SWE_AGENT["messages"][:2],
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "look",
            "tool_calls": [call],
            "extra": {},
        },
        {"role": "tool", "tool_call_id": "k1", "content": "setup.py", "extra": {"returncode": 0}},
        {
            "object": "response",
            "output": output,
            "model": "gpt-5",
            "usage": usage,
            "extra": {"timestamp": 5.0},
        },
        {"type": "function_call_output", "call_id": "k2", "output": "/testbed", "extra": {"returncode": 0}},
        {"role": "exit", "content": "LimitsExceeded", "extra": {"exit_status": "LimitsExceeded"}},
    ]
    recording = read(
        tmp_path, {**MINI_SWE_AGENT, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    )
    first, second = events_of(recording, AssistantReplied)
    assert first.parts == (Thinking("look"), ToolCall("k1", "bash", {"command": "ls"}))
    assert second.parts == (Thinking("hm"), Text("Again."), ToolCall("k2", "bash", {"command": "pwd"}))
    assert (second.model, second.usage) == ("gpt-5", Usage(90, 4, cache_read=8))
    assert [(r.call_id, r.parts) for r in events_of(recording, ToolReturned)] == [
        ("k1", (Text("setup.py"),)), ("k2", (Text("/testbed"),)),
    ]  # fmt: skip
    assert events_of(recording, Noted) == [Noted(kind="error", text="LimitsExceeded")]


def test_an_opencode_session(tmp_path: Path) -> None:
    recording = read(tmp_path, OPENCODE)
    assert (recording.id, recording.source, started(recording).title) == ("ses_1", "opencode", "A pixel")
    assert events_of(recording, SystemSet) == [SystemSet("You are opencode.")]
    assert events_of(recording, UserSaid) == [
        UserSaid((Text("What is this?"), PICTURE)),
        UserSaid((Text("<file>a</file>"),), origin="reminder"),
    ]
    first, second, last = events_of(recording, AssistantReplied)
    task = {"prompt": "look", "description": "Look", "subagent_type": "explore"}
    assert first.parts == (
        Thinking("hm", signature="sig"),
        Text("Looking."),
        ToolCall("c1", "task", task),
        ToolCall("c2", "read", {"filePath": "/a"}),
    )
    assert (first.usage, first.stop) == (Usage(100, 12, cache_read=60, cache_write=3), "tool-calls")
    assert second.usage == Usage(103, 12, cache_read=60, cache_write=3)
    assert (last.parts, last.stop) == ((Text("A pixel."),), "stop")
    assert [(r.call_id, r.parts, r.error) for r in events_of(recording, ToolReturned)] == [
        ("c1", (Text("seen"),), False),
        ("c2", (Text("no such file"),), True),
        ("c3", (Text("a pixel"), PICTURE), False),
    ]
    assert [(b.kind, b.trigger, b.summary) for b in events_of(recording, BoundarySeen)] == [
        ("compaction", "auto", "They looked."), ("turn_aborted", "aborted", ""),
    ]  # fmt: skip
    assert [usage.usage.prompt for usage in events_of(recording, UsageReported)] == [900]
    assert recording.notes == (
        "left out: `agent` parts of user messages (1)", "left out: `patch` parts (1)",
    )  # fmt: skip
    assert {recorded.at for recorded in recording.events} == {1767225600.0, 1767225602.0}


def test_an_opencode_session_that_was_reverted(tmp_path: Path) -> None:
    info = {**OPENCODE["info"], "revert": {"messageID": "msg_5"}}
    recording = read(tmp_path, {**OPENCODE, "info": info})
    assert "A pixel." not in texts_on_path(recording)
    assert "Looking." in str(messages_of(recording))


def test_an_opencode_database_has_every_session_with_its_sub_agents(tmp_path: Path) -> None:
    other = {"info": {**OPENCODE["info"], "id": "ses_3", "title": "Another"}, "messages": [
        opencode_said("msg_8", "user", {"type": "text", "text": "hello"}),
        opencode_said("msg_9", "assistant", {"type": "text", "text": "hi"}),
    ]}  # fmt: skip
    path = write_opencode_database(tmp_path / "opencode.db", OPENCODE, OPENCODE_CHILD, other)
    first, second = read_recordings(path)
    assert [first.id, second.id] == ["ses_1", "ses_3"]
    assert messages_of(first) == messages_of(read(tmp_path, OPENCODE))
    [chain] = [recorded for recorded in first.events if isinstance(recorded.event, ChainStarted)]
    assert chain.event == ChainStarted(agent="explore", call_id="c1", title="Look")
    assert chain.after is not None
    assert isinstance(first.events[chain.after].event, AssistantReplied)
    assert [part.text for message in messages_of(first, "ses_2") for part in message.parts] == [
        "look",
        "seen",
    ]
    assert find_recording(path, "ses_3") == second
    with pytest.raises(InputError, match="is not codex: it is a database"):
        find_recording(path, format="codex")


def test_an_opencode_database_is_read_while_opencode_writes(tmp_path: Path) -> None:
    path = write_opencode_database(tmp_path / "opencode.db", OPENCODE)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE session SET title = 'A dot'")
        database.commit()
        before = path.read_bytes()
        assert b"A dot" not in before, "the change is beside the file"
        assert started(find_recording(path)).title == "A dot"
        assert path.read_bytes() == before


def test_what_is_no_opencode_database_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE other (id TEXT)")
    with pytest.raises(InputError, match=r"store\.db is a database, but not opencode's: no such table"):
        find_recording(path)
    path = write_opencode_database(tmp_path / "empty.db")
    with pytest.raises(InputError, match=r"empty\.db holds no session"):
        find_recording(path)
    path = write_opencode_database(tmp_path / "damaged.db", OPENCODE)
    path.write_bytes(path.read_bytes()[:5_000])
    with pytest.raises(
        InputError, match=r"damaged\.db is damaged: it cannot be read as a database"
    ) as caught:
        find_recording(path)
    assert caught.value.hint


def test_a_database_with_a_damaged_schema_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = write_opencode_database(tmp_path / "opencode.db", OPENCODE)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE part", b"CREATE\xb0TABLE part"))
    with pytest.raises(InputError, match=r"opencode.db is damaged.*\nhint: give opencode's"):
        list(read_recordings(path))


def test_text_of_a_database_that_is_not_utf_8_costs_only_its_characters(tmp_path: Path) -> None:
    path = write_opencode_database(tmp_path / "opencode.db", OPENCODE)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE session SET title = CAST(x'61FF' AS TEXT)")
        database.execute("UPDATE part SET data = CAST(replace(data, 'A pixel.', x'FF') AS TEXT)")
    [recording] = read_recordings(path)
    assert started(recording).title == "a\ufffd"


def test_a_damaged_row_of_a_database_is_counted(tmp_path: Path) -> None:
    path = write_opencode_database(tmp_path / "opencode.db", OPENCODE)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE part SET data = '{torn' WHERE id = 'prt_msg_5_0'")
    recording = find_recording(path)
    assert "left out: rows that are not valid JSON (1)" in recording.notes
    assert "A pixel." not in str(messages_of(recording))


@pytest.mark.parametrize("document", [GEMINI, OPENCODE, MINI_SWE_AGENT], ids=["gemini", "opencode", "mini"])
def test_a_document_that_is_cut_off_is_refused_in_a_sentence(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(document, indent=1)[:-200])
    with pytest.raises(InputError, match=r"cut\.json line \d+ is not valid JSON: the file ends") as caught:
        find_recording(path)
    assert caught.value.hint


@pytest.mark.parametrize("document", [GEMINI, OPENCODE, MINI_SWE_AGENT], ids=["gemini", "opencode", "mini"])
def test_a_document_without_messages_is_refused_in_a_sentence(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, {**document, "messages": []})
    assert caught.value.hint
    assert calls_of(read(tmp_path, document))
