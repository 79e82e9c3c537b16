"""Codex, Copilot CLI, pi and SWE-agent."""

from pathlib import Path
from typing import Any

from recording_samples import (
    CODEX,
    COPILOT,
    PI,
    PIXEL,
    SWE_AGENT,
    calls_of,
    codex_item,
    codex_line,
    codex_said,
    codex_tokens,
    events_of,
    messages_of,
    pi_line,
    pi_said,
    texts_on_path,
    write_lines,
)

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    ChainStarted,
    LogStarted,
    Recording,
    Rewound,
    SystemSet,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import Image, Text, Thinking, ToolCall, Usage
from holdfast.recordings import find_recording


def read(tmp_path: Path, lines: list[Any]) -> Recording:
    return find_recording(write_lines(tmp_path / "recorded", lines))


def test_codex_items_of_one_response_are_one_reply(tmp_path: Path) -> None:
    recording = read(tmp_path, CODEX)
    assert (recording.id, recording.source) == ("x-1", "codex")
    first, second, third = events_of(recording, AssistantReplied)
    assert first.parts == (
        Thinking("look"),
        Text("Reading."),
        ToolCall("c1", "exec_command", {"cmd": "ls"}),
        ToolCall("c2", "apply_patch", {"input": "*** Begin Patch"}),
    )
    assert second.parts == (ToolCall("c3", "local_shell", {"type": "exec", "command": ["ls"]}),)
    assert third.parts == (Text("Done."),)
    assert [reply.usage for reply in (first, second, third)] == [
        Usage(100, 3, cache_read=7), None, Usage(120, 3, cache_read=7),
    ]  # fmt: skip
    assert {reply.model for reply in (first, second, third)} == {"gpt-5"}


def test_codex_keeps_instructions_results_boundaries_and_says_the_rest(tmp_path: Path) -> None:
    recording = read(tmp_path, CODEX)
    assert events_of(recording, SystemSet) == [SystemSet("You are Codex.")]
    assert [said.origin for said in events_of(recording, UserSaid)] == ["reminder", "reminder", "person"]
    results = events_of(recording, ToolReturned)
    assert [(r.name, r.error) for r in results] == [
        ("exec_command", False), ("apply_patch", True), ("local_shell", False),
    ]  # fmt: skip
    assert results[2].parts == (Text("shot"), Image("image/png", data=PIXEL))
    assert [(b.kind, b.summary, b.trigger) for b in events_of(recording, BoundarySeen)] == [
        ("compacted", "They fixed the parser.", ""), ("turn_aborted", "", "interrupted"),
    ]  # fmt: skip
    assert set(recording.notes) == {
        "kept as reminders: developer messages (1)",
        "left out: notices that repeat an item (1)",
        "left out: encrypted reasoning (1)",
        "left out: `web_search_call` items (1)",
    }


def test_codex_without_the_envelope(tmp_path: Path) -> None:
    bare = [line["payload"] for line in CODEX if line["type"] == "response_item"]
    head = {"id": "old-1", "timestamp": "2025-06-01T00:00:00Z", "instructions": "Be brief."}
    recording = read(tmp_path, [head, {"record_type": "state"}, *bare])
    assert (recording.id, recording.source) == ("old-1", "codex")
    enveloped = read(tmp_path, CODEX)
    assert messages_of(recording)[1:] == messages_of(enveloped)[1:]


def test_codex_turns_taken_back_stay_in_the_log_off_the_path(tmp_path: Path) -> None:
    lines = [
        codex_line("session_meta", id="x-1"),
        codex_said("user", "keep"),
        codex_said("assistant", "kept"),
        codex_said("user", "drop"),
        codex_said("assistant", "dropped"),
        codex_line("event_msg", type="thread_rolled_back", num_turns=1),
        codex_said("user", "instead"),
        codex_said("assistant", "better"),
    ]
    recording = read(tmp_path, lines)
    assert len(events_of(recording, Rewound)) == 1
    assert texts_on_path(recording) == ["keep", "kept", "instead", "better"]


def test_codex_replies_without_calls_end_when_their_tokens_are_counted(tmp_path: Path) -> None:
    lines = [
        codex_line("session_meta", id="x-1"),
        codex_said("user", "go"),
        codex_said("assistant", "thinking aloud"),
        codex_tokens(10, 5),
        codex_said("assistant", "now"),
        codex_item("function_call", name="f", call_id="c", arguments="{}"),
    ]
    assert [len(reply.parts) for reply in events_of(read(tmp_path, lines), AssistantReplied)] == [1, 2]


def test_a_codex_sub_agent_is_spoken_to_by_an_agent(tmp_path: Path) -> None:
    lines = [codex_line("session_meta", id="x-2", source={"subagent": "review"}), codex_said("user", "judge")]
    assert [said.origin for said in events_of(read(tmp_path, lines), UserSaid)] == ["agent"]


def test_copilot_sessions(tmp_path: Path) -> None:
    recording = read(tmp_path, COPILOT)
    assert (recording.id, recording.source) == ("p-1", "copilot")
    assert events_of(recording, SystemSet) == [SystemSet("You are Copilot.")]
    asked, around, prompt = events_of(recording, UserSaid)
    assert asked.parts == (Text("What is this?"), Image("image/png", data=PIXEL))
    assert around == UserSaid((Text("<current_datetime>now</current_datetime>"),), origin="reminder")
    assert prompt == UserSaid((Text("look"),), origin="agent")
    failed, done = events_of(recording, ToolReturned)
    assert (failed.name, failed.parts, failed.error) == ("view", (Text("Path does not exist"),), True)
    assert done.parts == (Text("seen"), Image("image/png", data=PIXEL))
    assert [(b.kind, b.tokens_before, b.summary, b.trigger) for b in events_of(recording, BoundarySeen)] == [
        ("compaction_complete", 900, "They looked.", ""), ("turn_aborted", 0, "", "user_initiated"),
    ]  # fmt: skip
    assert "left out: `hook.start` lines (1)" in recording.notes
    assert "left out: `file` attachments (1)" in recording.notes


def test_a_copilot_sub_agent_is_a_chain_under_its_call(tmp_path: Path) -> None:
    recording = read(tmp_path, COPILOT)
    [started] = [r for r in recording.events if isinstance(r.event, ChainStarted)]
    assert started.event == ChainStarted(agent="explore", call_id="c1")
    assert started.after is not None
    assert isinstance(recording.events[started.after].event, AssistantReplied)
    assert len(messages_of(recording, "agent-1")) == 2


def test_pi_sessions(tmp_path: Path) -> None:
    recording = read(tmp_path, PI)
    assert (recording.id, recording.source) == ("pi-1", "pi")
    first, last = events_of(recording, AssistantReplied)
    assert first.parts == (
        Thinking("hm", signature="sig"),
        Text("Reading."),
        ToolCall("c1", "read", {"path": "p.py"}),
    )
    assert first.usage == Usage(20, 6, cache_read=7, cache_write=8)
    assert last.parts == (Text("Done."),)
    assert events_of(recording, ToolReturned)[0].parts == (Text("def p"), Image("image/png", data=PIXEL))
    assert [(b.kind, b.tokens_before) for b in events_of(recording, BoundarySeen)] == [
        ("turn_aborted", 0), ("compaction", 900),
    ]  # fmt: skip
    assert recording.notes == (
        "left out: assistant messages with neither text nor call (1)",
        "left out: `label` lines (1)",
    )
    assert all(recorded.after is None for recorded in recording.events)


def test_a_pi_branch_hangs_where_it_left(tmp_path: Path) -> None:
    lines = [
        *PI,
        pi_said("f1", "e3", "user", "try it differently"),
        pi_said("f2", "f1", "assistant", [{"type": "text", "text": "Differently."}]),
        pi_line("branch_summary", "g1", "f1", fromId="f2", summary="It went nowhere."),
        pi_said("g2", "g1", "bashExecution", None, command="ls", output="a", exitCode=1),
        pi_said("g3", "g2", "user", "once more"),
    ]
    recording = read(tmp_path, lines)
    assert texts_on_path(recording) == [
        "Fix the parser", "hm", "def p", "try it differently",
        "Ran `ls`\n```\na\n```\n\nCommand exited with code 1", "once more",
    ]  # fmt: skip
    assert [recorded.after is not None for recorded in recording.events].count(True) == 2


def test_an_old_pi_session_without_a_tree(tmp_path: Path) -> None:
    lines = [{k: v for k, v in line.items() if k not in ("id", "parentId")} for line in PI[1:]]
    recording = read(tmp_path, [PI[0], *lines])
    assert messages_of(recording) == messages_of(read(tmp_path, PI))


def test_swe_agent_actions_become_calls(tmp_path: Path) -> None:
    recording = read(tmp_path, [SWE_AGENT])
    assert recording.source == "swe-agent"
    started = recording.events[0].event
    assert isinstance(started, LogStarted)
    assert started.meta == {"environment": "main", "exit_status": "submitted"}
    assert [(call.name, call.arguments) for call in calls_of(recording)] == [
        ("bash", {"command": "ls -F\n"}), ("open", {"path": "setup.py"}),
    ]  # fmt: skip
    assert [(r.name, r.parts) for r in events_of(recording, ToolReturned)] == [
        ("bash", (Text("setup.py"),)), ("open", (Text("[File: setup.py]"),)),
    ]  # fmt: skip
    assert [said.origin for said in events_of(recording, UserSaid)] == ["reminder", "person", "reminder"]
    assert [reply.parts[0] for reply in events_of(recording, AssistantReplied)] == [
        Text("list"), Text("no action at all"), Text("open it"),
    ]  # fmt: skip


def test_a_bare_trajectory_will_do(tmp_path: Path) -> None:
    steps = [
        {"thought": "list", "action": "ls", "observation": "setup.py", "response": "list ls"},
        {"thought": "", "action": "", "observation": "", "response": "giving up"},
    ]
    recording = read(tmp_path, [{"trajectory": steps, "history": [], "info": {}}])
    assert len(calls_of(recording)) == len(events_of(recording, ToolReturned)) == 1
    assert recording.notes == ("the file has a trajectory only: system prompt and task are missing",)
    assert recording.id == read(tmp_path, [{"trajectory": steps, "history": [], "info": {}}]).id


def test_a_pi_branch_under_a_line_without_an_event(tmp_path: Path) -> None:
    lines = [*PI, pi_said("h1", "e8", "user", "first thought"), pi_said("h2", "e8", "user", "second thought")]
    assert texts_on_path(read(tmp_path, lines))[-2:] == ["Done.", "second thought"]
