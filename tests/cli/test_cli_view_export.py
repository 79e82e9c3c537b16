"""`holdfast view --export`: a file, or stdout; nothing written over, nothing stored, no secret."""

from pathlib import Path

import pytest

from cli.command_line import holdfast, json_file
from holdfast.store import SqliteStore
from recordings.recording_samples import NEUTRAL, write_lines
from viewer.session_samples import keep, long_work

SECRET = "ghp_76dfZTPtLLKjAyS96HBqcbCtx3GIobuiF9Pl"
TALK = [{"role": "user", "content": f"use {SECRET}"}, {"role": "assistant", "content": "done"}]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return json_file(tmp_path / "talk.json", TALK)


def test_a_recording_becomes_a_private_file_without_its_secret(tmp_path: Path, recording: Path) -> None:
    store, file = tmp_path / "store.db", tmp_path / "view.html"
    done = holdfast("view", recording, "--store", store, "--export", file)
    assert (done.code, done.out) == (0, b""), done.err
    assert f"`{file}`: This file has the timeline of 1 request and every window." in done.err
    assert "It is 0.1 MB" in done.err
    page = file.read_text()
    assert page.startswith("<!doctype html>")
    assert SECRET not in page
    assert file.stat().st_mode & 0o077 == 0
    assert not store.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["talk.json", "view.html"]


def test_a_log_goes_to_stdout_at_the_request_that_was_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    with SqliteStore(place) as store:
        log = keep(store, "sample", long_work(8, 2))
    done = holdfast("view", log, "--store", place, "--request", 3, "--export", "-")
    assert done.code == 0, done.err
    assert '"request":3' in done.text
    assert "the export: This file has the timeline of 8 requests" in done.err
    assert holdfast("view", log, "--store", place, "--request", 3, "--export", "-").out == done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{talk}", "--export", "{talk}"), "talk.json` exists already"),
        (("{talk}", "--export", "{folder}"), "cannot be written: it is a folder"),
        (("{talk}", "--export", "{folder}/none/view.html"), "cannot be written: its folder does not exist"),
        (("{talk}", "--export", ""), "cannot be written: it is a folder"),
        (("--export", "-"), "an export has one session, and 0 sessions were named"),
        (("{talk}", "{other}", "--export", "-"), "an export has one session, and 2 sessions were named"),
        (("{several}", "--export", "-"), "an export has one session, and 2 sessions were named"),
        (("{talk}", "--request", "2", "--export", "-"), "there is no request 2 to export"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(tmp_path: Path, recording: Path, words, said) -> None:
    other = json_file(tmp_path / "other.json", [*TALK, *TALK])
    several = tmp_path / "folder"
    several.mkdir()
    write_lines(several / "two.jsonl", [NEUTRAL, {**NEUTRAL, "id": "demo/two"}])
    before = recording.read_bytes()
    filled = [word.format(talk=recording, folder=tmp_path, other=other, several=several) for word in words]
    done = holdfast("view", "--store", tmp_path / "store.db", *filled)
    assert (done.code, done.out) == (2, b""), done.err
    assert said in done.err
    assert "hint:" in done.err
    assert recording.read_bytes() == before
