"""A recording as a case: every message in its place, whatever the format."""

from pathlib import Path

import pytest

from holdfast.lab.case import ReplayCase, make_case, project_of
from holdfast.lab.scored_message import read_message
from holdfast.recordings import FORMATS, find_recording
from recordings.recording_samples import ANTHROPIC, FILES, OPENAI, PIXEL, write_lines
from support.evidence import called, result, user

SAMPLES = {name: lines for name, (_, lines) in FILES.items()}
REPLY = {"role": "assistant", "content": "Done."}
SILENT = {"role": "assistant", "content": "", "reasoning": "thinking, and no word"}


def read(path: Path, lines: list, format_: str | None = None) -> ReplayCase:
    return make_case(find_recording(write_lines(path / "recorded", lines), format=format_), "p")


def neutral(path: Path, *messages: dict, **more: object) -> ReplayCase:
    return read(path, [{"id": "r", "source": "s", "messages": list(messages), **more}])


def roles(case: ReplayCase) -> list[tuple[int, str]]:
    return [(turn.index, turn.message["role"] if turn.message else "-") for turn in case.turns]


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_gives_turns(tmp_path, format_):
    case = read(tmp_path, SAMPLES[format_], format_)
    replies = [turn for turn in case.turns if turn.is_reply]
    assert case.requests == len(replies) >= 2
    assert {turn.message["role"] for turn in case.turns if turn.message} == {"user", "assistant", "tool"}
    assert [turn.index for turn in case.turns] == sorted(turn.index for turn in case.turns)
    made = [call.id for turn in case.turns if turn.message for call in read_message(turn.message).calls]
    answered = [turn.message["tool_call_id"] for turn in case.turns if turn.message and not turn.is_reply
                and turn.message["role"] == "tool"]  # fmt: skip
    assert set(answered) <= set(made)


@pytest.mark.parametrize("format_", ["codex", "claude-code", "copilot", "pi"])
def test_where_there_is_no_list_messages_are_numbered(tmp_path, format_):
    case = read(tmp_path, SAMPLES[format_], format_)
    assert [turn.index for turn in case.turns] == list(range(len(case.turns)))


def test_a_system_message_takes_a_place_and_no_turn(tmp_path):
    case = read(tmp_path, [[{"role": "system", "content": "Be brief."}, user("hello"), REPLY]])
    assert roles(case) == [(1, "user"), (2, "assistant")]
    assert case.stable == ("Be brief.",)
    same = neutral(tmp_path, {"role": "system", "content": "Be brief."}, user("hello"), REPLY)
    assert (roles(same), same.stable) == (roles(case), case.stable)


def test_a_message_that_is_left_out_keeps_its_place(tmp_path):
    case = neutral(tmp_path, user("hello"), {"role": "robot", "content": "?"}, REPLY)
    assert roles(case) == [(0, "user"), (2, "assistant")]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("a"), SILENT, user("b"), REPLY], [(0, "user"), (1, "-"), (2, "user"), (3, "assistant")]),
        ([SILENT, user("a"), REPLY], [(0, "-"), (1, "user"), (2, "assistant")]),
        ([user("a"), REPLY, SILENT], [(0, "user"), (1, "assistant"), (2, "-")]),
        ([user("a"), SILENT, SILENT, REPLY], [(0, "user"), (1, "-"), (2, "-"), (3, "assistant")]),
    ],
    ids=["between", "first", "last", "twice"],
)
@pytest.mark.parametrize("usage", [[], [[1, 50, 5, 0], [2, 60, 5, 0]]], ids=["plain", "with usage"])
def test_a_reply_that_said_nothing_is_a_request_without_a_message(tmp_path, messages, expected, usage):
    case = neutral(tmp_path, *messages, meta={"usage": usage})
    assert roles(case) == expected
    assert case.requests == sum(role in ("-", "assistant") for _, role in expected)


def test_results_in_one_user_message_share_its_place(tmp_path):
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "look", "input": {"at": n}} for n in range(2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"seen {n}"} for n in range(2)]
    messages = [user("What is this?"), {"role": "assistant", "content": calls},
                {"role": "user", "content": [*results, {"type": "text", "text": "quick"}]}, REPLY]  # fmt: skip
    case = read(tmp_path, [{"messages": messages}])
    assert roles(case) == [
        (0, "user"),
        (1, "assistant"),
        (2, "tool"),
        (2, "tool"),
        (2, "user"),
        (3, "assistant"),
    ]
    assert [turn.message["content"] for turn in case.turns[2:5]] == ["seen 0", "seen 1", "quick"]
    assert [turn.message["tool_call_id"] for turn in case.turns[2:4]] == ["t0", "t1"]


def test_calls_are_flat_with_arguments_as_an_object(tmp_path):
    case = neutral(tmp_path, user("go"), called("c1", "Read", path="a.py"), result("c1", "text"), REPLY)
    assert case.turns[1].message == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "Read", "arguments": {"path": "a.py"}}],
    }
    assert case.turns[2].message == {"role": "tool", "tool_call_id": "c1", "name": "Read", "content": "text"}


@pytest.mark.parametrize("written", ["{broken", "[1, 2]", '"text"'])
def test_arguments_that_are_no_object_go_on_as_they_were_written(tmp_path, written):
    call = {"id": "c1", "function": {"name": "look", "arguments": written}}
    case = neutral(tmp_path, user("go"), {"role": "assistant", "content": "", "tool_calls": [call]})
    assert case.turns[1].message["tool_calls"][0]["arguments"] == written


def test_pictures_stay_parts_and_count_as_no_text(tmp_path):
    case = read(tmp_path, [OPENAI])
    parts = case.turns[0].message["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"]
    assert parts[1]["image_url"]["url"] == f"data:image/png;base64,{PIXEL}"
    assert read_message(case.turns[0].message).text == "What is this?"


def test_times_are_those_of_the_messages(tmp_path):
    clock = [f"2026-01-01T00:00:0{n}Z" for n in range(3)]
    case = neutral(tmp_path, user("a"), SILENT, REPLY, meta={"ts": clock})
    first, _, last = [turn.at for turn in case.turns]
    assert last - first == 2
    assert [turn.at for turn in neutral(tmp_path, user("a"), REPLY).turns] == [None, None]


def test_system_prompt_and_tools_are_stable_texts(tmp_path):
    case = read(tmp_path, [ANTHROPIC])
    assert case.stable == ("Be brief.", "look\nLooks.", '{"type":"object"}')


def test_a_recording_of_a_system_prompt_alone_has_no_turns(tmp_path):
    case = neutral(tmp_path, {"role": "system", "content": "Be brief."})
    assert (case.turns, case.requests, case.stable) == ((), 0, ("Be brief.",))


@pytest.mark.parametrize(
    ("key", "project"),
    [
        ("source", "s"),
        ("file", "stem"),
        ("recording", "r"),
        ("repo", "me/mine"),
        ("size", "stem"),
        ("none", "stem"),
    ],
)
def test_what_tells_projects_apart(tmp_path, key, project):
    value = {"id": "r", "source": "s", "messages": [user("a")], "meta": {"repo": "me/mine", "size": 7}}
    recording = find_recording(write_lines(tmp_path / "recorded", [value]))
    assert project_of(recording, "stem", key) == project


def test_formats_that_name_no_source_are_told_apart_by_file(tmp_path):
    recording = find_recording(write_lines(tmp_path / "recorded", [OPENAI]))
    assert project_of(recording, "stem", "source") == "stem"
