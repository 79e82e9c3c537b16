"""Folders of other agents: which files are found, and what a first look at each of them tells."""

import json
import os
import time

import pytest

from holdfast.errors import InputError
from holdfast.recordings.first_look import BEGINNINGS, close_json, look_at_file
from holdfast.recordings.folders import folder_files
from holdfast.recordings.json_lines import RecordingFile
from holdfast.recordings.recording_files import read_recordings
from recordings.document_samples import GEMINI
from recordings.recording_samples import FILES, NEUTRAL, write_lines


def found_in(place):
    refused = []
    names = [
        str(file.path.relative_to(place))
        for file in folder_files(place, lambda path, _: refused.append(path.name))
    ]
    return sorted(names), refused


def make(place, *names):
    for name in names:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


def test_a_walk_finds_recordings_and_nothing_that_is_hidden(tmp_path):
    taken = [
        ".claude/projects/-home-me/a.jsonl",
        ".claude/projects/-home-me/a/subagents/agent-1.jsonl",
        ".local/share/opencode/opencode.db",
        "b.json.gz",
    ]
    make(tmp_path, *taken)
    make(tmp_path, ".git/c.json", ".claude/.credentials.json", "notes.txt", "node_modules/d.json")
    make(tmp_path, ".local/share/opencode/auth.json", ".gemini/tmp/x/logs.json")
    assert found_in(tmp_path) == (taken, [])


def test_links_are_not_followed_and_a_pipe_is_not_opened(tmp_path):
    inside = tmp_path / "inside"
    make(inside, "a.jsonl")
    make(tmp_path, "outside/secret.jsonl")
    (inside / "loop").symlink_to(inside, target_is_directory=True)
    (inside / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    (inside / "b.jsonl").symlink_to(tmp_path / "outside" / "secret.jsonl")
    os.mkfifo(inside / "c.jsonl")
    assert found_in(inside) == (["a.jsonl"], [])
    link = tmp_path / "link"
    link.symlink_to(inside, target_is_directory=True)
    assert found_in(link) == (["a.jsonl"], [])


def test_a_place_that_cannot_be_read_is_said(tmp_path):
    refused = []
    assert not list(
        folder_files(tmp_path / "gone", lambda path, error: refused.append((path.name, error.strerror)))
    )
    assert refused == [("gone", "No such file or directory")]


@pytest.mark.parametrize("name", FILES)
def test_a_look_tells_what_reading_tells(name, tmp_path):
    path = write_lines(tmp_path / "a.jsonl.gz", FILES[name][1])
    look = look_at_file(RecordingFile(path))
    (recording,) = read_recordings(path)
    assert (look.format, look.title, look.is_one) == (name, recording.events[0].event.title, True)


def test_a_long_document_is_known_by_its_beginning(tmp_path):
    rest = [{"id": f"x{n}", "type": "user", "content": "y" * 5_000} for n in range(1_000)]
    whole = {**GEMINI, "messages": [*GEMINI["messages"], *rest]}
    for indent, name in ((2, "lines.json"), (None, "line.json")):
        path = tmp_path / name
        path.write_text(json.dumps(whole, indent=indent))
        look = look_at_file(RecordingFile(path))
        assert (look.format, look.title, look.model) == ("gemini", "What is this?", "gemini-3")


def test_a_title_behind_a_long_system_prompt_is_found(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [{**NEUTRAL, "system": "s" * (BEGINNINGS[0] + 1)}])
    assert look_at_file(RecordingFile(path)).title == "Fix the parser"


def test_a_file_with_several_recordings_is_told_from_one(tmp_path):
    several = write_lines(tmp_path / "several.jsonl", [NEUTRAL, {**NEUTRAL, "id": "other"}])
    listed = write_lines(tmp_path / "listed.json", [[NEUTRAL, NEUTRAL]])
    one = write_lines(tmp_path / "one.jsonl", [NEUTRAL])
    looks = [look_at_file(RecordingFile(path)).is_one for path in (several, listed, one)]
    assert looks == [False, False, True]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', "no JSON", "[[[", '"text', "\0\0"])
def test_what_is_no_recording_is_refused_in_a_sentence(content, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"a\.json"):
        look_at_file(RecordingFile(path))


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_value_that_is_cut_off_anywhere_is_closed(cut):
    whole = json.dumps({"a": ['x,"]}\\', {"b": [1, 2.5, True, None]}, "é\\"], "c": {"d": {}}}).encode()
    closed = json.loads(close_json(whole[:cut]))
    assert closed.keys() <= {"a", "c"}
    assert json.loads(close_json(whole)) == json.loads(whole)


def test_a_look_costs_the_same_for_a_large_file(tmp_path):
    small = write_lines(tmp_path / "small.jsonl", FILES["claude-code"][1])
    large = tmp_path / "large.jsonl"
    with large.open("wb") as file:
        file.write(small.read_bytes())
        file.truncate(1 << 32)
    began = time.process_time()
    assert look_at_file(RecordingFile(large)).title
    assert time.process_time() - began < 5
