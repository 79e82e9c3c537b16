"""Claude Code sessions: replies split over lines, branches, compactions, side chains."""

from pathlib import Path
from typing import Any

import pytest
from recording_samples import (
    CLAUDE_CODE,
    PIXEL,
    calls_of,
    cc_call,
    cc_line,
    cc_result,
    events_of,
    texts_on_path,
    write_lines,
)

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    ChainStarted,
    LogStarted,
    Noted,
    OverflowReported,
    Recording,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import Image, Text, Thinking, ToolCall, Usage
from holdfast.recordings import find_recording


def read(tmp_path: Path, lines: list[dict[str, Any]]) -> Recording:
    return find_recording(write_lines(tmp_path / "session.jsonl", lines))


def reply(own: str, parent: str, said: str) -> dict[str, Any]:
    return cc_line("assistant", own, parent, [{"type": "text", "text": said}], message={"id": f"m-{own}"})


def test_lines_that_share_a_message_id_are_one_reply(tmp_path: Path) -> None:
    recording = read(tmp_path, CLAUDE_CODE)
    assert (recording.source, recording.id) == ("claude-code", "s-1")
    first, second = events_of(recording, AssistantReplied)
    assert first.parts == (
        Thinking("hm", signature="s"),
        ToolCall("t1", "Read", {"path": "a.py"}),
        ToolCall("t2", "Read", {"path": "b.py"}),
    )
    assert first.usage == Usage(100, 30, cache_read=90, cache_write=5)
    assert (first.model, first.stop, second.usage) == ("claude", "tool_use", None)
    kinds = [type(recorded.event).__name__ for recorded in recording.events]
    assert kinds == [
        "LogStarted", "UserSaid", "AssistantReplied", "ToolReturned", "ToolReturned", "AssistantReplied",
    ]  # fmt: skip
    assert [result.name for result in events_of(recording, ToolReturned)] == ["Read", "Read"]
    assert all(recorded.after is None for recorded in recording.events)


def test_bookkeeping_is_counted_and_a_summary_gives_the_title(tmp_path: Path) -> None:
    recording = read(tmp_path, CLAUDE_CODE)
    started = recording.events[0].event
    assert isinstance(started, LogStarted)
    assert started.title == "Parser fixed"
    assert recording.notes == (
        "left out: `file-history-snapshot` lines (1)",
        "left out: structured copies of results (`toolUseResult`) (1)",
    )


@pytest.mark.parametrize(
    ("content", "more", "origin"),
    [
        ("do it", {}, "person"),
        ("do it", {"isMeta": True}, "reminder"),
        ("<system-reminder>todo</system-reminder>", {}, "reminder"),
        ("<system-reminder>todo</system-reminder>\nand do it", {}, "person"),
        ("<command-name>/model</command-name>\n<command-args></command-args>", {}, "reminder"),
        ("<command-name>/loop</command-name>\n<command-args>watch it</command-args>", {}, "person"),
        ("<command-message>review</command-message>\n<command-name>/review</command-name>", {}, "person"),
        ("<local-command-stdout>ok</local-command-stdout>", {}, "reminder"),
        ("[Request interrupted by user]", {}, "reminder"),
        ("why <system-reminder>?", {}, "person"),
        ("<system-reminder>not <command-args>that</command-args></system-reminder>", {}, "reminder"),
        ("done", {"origin": {"kind": "task-notification"}}, "reminder"),
        ("from a colleague", {"origin": {"kind": "peer"}}, "agent"),
    ],
)
def test_who_wrote_a_user_line(tmp_path: Path, content: str, more: dict[str, Any], origin: str) -> None:
    recording = read(tmp_path, [cc_line("user", "u1", None, content, **more)])
    assert [said.origin for said in events_of(recording, UserSaid)] == [origin]


def test_a_message_sent_again_from_an_earlier_point_is_a_branch(tmp_path: Path) -> None:
    lines = [
        cc_line("user", "u1", None, "one"),
        reply("a1", "u1", "first"),
        cc_line("user", "u2", "a1", "two"),
        reply("a2", "u2", "second"),
        {"type": "progress", "uuid": "p1", "parentUuid": "a1", "data": {"type": "hook_progress"}},
        cc_line("user", "u3", "p1", "two, better"),
        reply("a3", "u3", "third"),
    ]
    recording = read(tmp_path, lines)
    assert [recorded.after for recorded in recording.events] == [None, None, None, None, None, 2, None]
    assert texts_on_path(recording) == ["one", "first", "two, better", "third"]


def test_the_very_first_message_can_be_sent_again(tmp_path: Path) -> None:
    lines = [
        cc_line("user", "u1", None, "one"),
        reply("a1", "u1", "first"),
        cc_line("user", "u2", None, "other"),
        reply("a2", "u2", "second"),
    ]
    assert texts_on_path(read(tmp_path, lines)) == ["other", "second"]


def test_a_resent_message_follows_all_results_of_the_step_it_hangs_under(tmp_path: Path) -> None:
    lines = [
        *CLAUDE_CODE,
        cc_line("user", "u5", "r1", "go another way"),
    ]
    recording = read(tmp_path, lines)
    assert recording.events[-1].after == 4
    assert texts_on_path(recording)[-3:] == ["A", "B", "go another way"]


def test_parallel_results_and_queued_prompts_are_no_branches(tmp_path: Path) -> None:
    queued = {
        "type": "queued_command",
        "prompt": "hurry",
        "commandMode": "prompt",
        "origin": {"kind": "human"},
    }
    lines = [
        cc_line("user", "u1", None, "go"),
        cc_line("assistant", "a1", "u1", [cc_call("t1")], message={"id": "m1"}),
        cc_line("assistant", "a2", "a1", [cc_call("t2")], message={"id": "m1"}),
        cc_line(
            "user", "r1", "a1", [*cc_result("t1", "one"), {"type": "text", "text": "<system-reminder>x"}]
        ),
        {"type": "attachment", "uuid": "q1", "parentUuid": "r1", "sessionId": "s-1", "attachment": queued},
        cc_line("user", "r2", "a2", cc_result("t2", "two")),
        reply("a3", "r1", "done"),
    ]
    recording = read(tmp_path, lines)
    assert all(recorded.after is None for recorded in recording.events)
    assert [said.origin for said in events_of(recording, UserSaid)] == ["person", "reminder", "person"]


def test_a_compaction_is_a_boundary_with_its_summary_and_the_session_continues(tmp_path: Path) -> None:
    lines = [
        cc_line("user", "u1", None, "one"),
        reply("a1", "u1", "first"),
        {
            "type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None,
            "logicalParentUuid": "a1", "sessionId": "s-1",
            "compactMetadata": {"trigger": "auto", "preTokens": 155000},
        },
        cc_line("user", "u2", "b1", "This session is being continued…", isCompactSummary=True),
        reply("a2", "u2", "second"),
    ]  # fmt: skip
    recording = read(tmp_path, lines)
    [boundary] = events_of(recording, BoundarySeen)
    assert (boundary.kind, boundary.trigger, boundary.tokens_before) == ("compact_boundary", "auto", 155000)
    assert boundary.summary == "This session is being continued…"
    assert events_of(recording, UserSaid)[1].origin == "reminder"
    assert texts_on_path(recording) == ["one", "first", "This session is being continued…", "second"]


def test_an_old_compaction_without_a_boundary_line_is_one_too(tmp_path: Path) -> None:
    lines = [
        cc_line("user", "u1", None, "one"),
        reply("a1", "u1", "first"),
        cc_line("user", "u2", None, "So far: one.", isCompactSummary=True),
        reply("a2", "u2", "second"),
    ]
    recording = read(tmp_path, lines)
    assert [b.kind for b in events_of(recording, BoundarySeen)] == ["compact_summary"]
    assert texts_on_path(recording) == ["one", "first", "So far: one.", "second"]


def test_an_interruption_is_a_boundary(tmp_path: Path) -> None:
    lines = [
        *CLAUDE_CODE,
        cc_line("user", "u2", "a4", [{"type": "text", "text": "[Request interrupted by user]"}]),
    ]
    assert [b.kind for b in events_of(read(tmp_path, lines), BoundarySeen)] == ["turn_aborted"]


@pytest.mark.parametrize("style", ["flag", "progress", "stream"])
def test_a_sub_agent_is_a_chain_under_its_call(tmp_path: Path, style: str) -> None:
    start = [
        cc_line("user", "u1", None, "go"),
        cc_line(
            "assistant", "a1", "u1",
            [cc_call("t1", "Task", prompt="look around", subagent_type="Explore", description="Look")],
            message={"id": "m1"},
        ),
    ]  # fmt: skip
    side = [
        cc_line("user", "s1", None, [{"type": "text", "text": "look around"}]),
        cc_line("assistant", "s2", "s1", [cc_call("t9", "Glob", pattern="*")], message={"id": "m9"}),
        cc_line("user", "s3", "s2", cc_result("t9", "a.py")),
        reply("s4", "s3", "one file"),
    ]
    if style == "flag":
        side = [{**line, "isSidechain": True} for line in side]
    elif style == "stream":
        side = [{**line, "parent_tool_use_id": "t1"} for line in side]
    else:
        side = [
            {
                "type": "progress", "uuid": f"p{n}", "parentUuid": "a1", "sessionId": "s-1",
                "parentToolUseID": "t1",
                "data": {"type": "agent_progress", "agentId": "ag1", "message": line},
            }
            for n, line in enumerate(side)
        ]  # fmt: skip
    end = [cc_line("user", "r1", "a1", cc_result("t1", "one file")), reply("a2", "r1", "done")]
    recording = read(tmp_path, [*start, *side, *end])
    [started] = [r for r in recording.events if isinstance(r.event, ChainStarted)]
    assert started.event == ChainStarted(agent="Explore", call_id="t1", title="Look")
    assert started.after == 2
    chain = [r for r in recording.events if r.chain == started.chain]
    assert [type(r.event).__name__ for r in chain] == [
        "ChainStarted", "UserSaid", "AssistantReplied", "ToolReturned", "AssistantReplied",
    ]  # fmt: skip
    assert isinstance(chain[1].event, UserSaid)
    assert chain[1].event.origin == "agent"
    assert texts_on_path(recording) == ["go", "one file", "done"]


def test_a_sub_agents_own_file_is_a_recording_of_its_own(tmp_path: Path) -> None:
    lines = [
        {**line, "isSidechain": True, "agentId": "ag1"} for line in CLAUDE_CODE if line["type"] != "summary"
    ]
    recording = read(tmp_path, lines)
    assert recording.id == "s-1/ag1"
    assert {r.chain for r in recording.events} == {""}
    assert events_of(recording, UserSaid)[0].origin == "agent"


def test_errors_of_the_api_are_no_replies(tmp_path: Path) -> None:
    lines = [
        *CLAUDE_CODE,
        {**reply("e1", "a4", "API Error: 529"), "isApiErrorMessage": True},
        {**reply("e2", "e1", "Prompt is too long"), "isApiErrorMessage": True},
    ]
    recording = read(tmp_path, lines)
    assert len(events_of(recording, AssistantReplied)) == 2
    assert events_of(recording, Noted) == [Noted("error", "API Error: 529")]
    assert events_of(recording, OverflowReported) == [OverflowReported(message="Prompt is too long")]


def test_two_objects_on_one_line_and_a_repeated_uuid_are_said(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", CLAUDE_CODE)
    lines = path.read_text().split("\n")
    lines[2] = lines[2] + lines[2] + lines[3]
    del lines[3]
    path.write_text("\n".join(lines))
    recording = find_recording(path)
    assert "read apart: values that share line 3 (a lost newline) (3)" in recording.notes
    assert "left out: lines that repeat an earlier uuid (1)" in recording.notes
    assert recording.events == read(tmp_path, CLAUDE_CODE).events


def test_line_breaks_inside_text_are_no_line_ends(tmp_path: Path) -> None:
    said = "a\u2028b\x85c\x0cd"
    recording = read(tmp_path, [cc_line("user", "u1", None, said)])
    assert events_of(recording, UserSaid)[0].parts == (Text(said),)


def test_pictures_stay_pictures_also_in_results(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    lines = [
        cc_line("user", "u1", None, [picture, {"type": "text", "text": "what?"}]),
        cc_line("assistant", "a1", "u1", [cc_call("t1")], message={"id": "m1"}),
        cc_line("user", "r1", "a1", [{"type": "tool_result", "tool_use_id": "t1", "content": [picture]}]),
    ]
    recording = read(tmp_path, lines)
    assert events_of(recording, UserSaid)[0].parts == (Image("image/png", data=PIXEL), Text("what?"))
    assert events_of(recording, ToolReturned)[0].parts == (Image("image/png", data=PIXEL),)
    assert [call.id for call in calls_of(recording)] == ["t1"]
