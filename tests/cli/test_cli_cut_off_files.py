"""Files of several recordings that are cut off: what can be read is used, and the loss is said."""

import gzip
import json
from pathlib import Path

import pytest
from command_line import holdfast, neutral, work
from test_cli_fit import PROFILE, SMALL

from support.fit_recordings import write_fit_recordings

LOST = "the gzip data is cut off in line 3; the rest is missing"


@pytest.fixture
def cut_off(tmp_path: Path) -> Path:
    """Three recordings, the last of them half there. Stored, so that the cut falls at a known place."""
    lines = [json.dumps(neutral(name, work(2, 2)[1:])).encode() + b"\n" for name in ("one", "two", "three")]
    data = gzip.compress(b"".join(lines), compresslevel=0)
    path = tmp_path / "sessions.jsonl.gz"
    path.write_bytes(data[: -len(lines[-1]) // 2])
    return path


def test_show_lists_what_is_whole_and_says_what_is_missing(cut_off: Path) -> None:
    shown = holdfast("show", cut_off)
    assert shown.code == 2
    assert [line.split()[0] for line in shown.text.splitlines()[-2:]] == ["one", "two"]
    assert LOST in shown.err
    assert "hint: the recordings before the damage were used" in shown.err
    as_json = holdfast("show", cut_off, "--json")
    assert (as_json.code, [row["id"] for row in as_json.json]) == (2, ["one", "two"])


def test_import_stores_what_is_whole_and_says_what_is_missing(cut_off: Path) -> None:
    imported = holdfast("logs", "import", cut_off)
    assert imported.code == 2
    assert "2 logs stored" in imported.err
    assert LOST in imported.err
    assert len(holdfast("logs", "--json").json) == 2


def test_a_recording_that_is_whole_can_still_be_shown(cut_off: Path) -> None:
    assert holdfast("show", cut_off, "--id", "one").code == 0
    missing = holdfast("show", cut_off, "--id", "three")
    assert missing.code == 3
    assert LOST in missing.err


def test_a_replay_uses_what_is_whole_and_says_what_is_missing(cut_off: Path) -> None:
    for sample in ((), ("--sample", "2")):
        replayed = holdfast("replay", cut_off, "--policy", "newest", "--jobs", "1", "--json", *sample)
        assert (replayed.code, replayed.json["recordings"]) == (2, 2)
        assert LOST in replayed.err
        assert "hint: the recordings before the damage were used" in replayed.err


def test_a_fit_uses_what_is_whole_and_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(PROFILE)
    whole = write_fit_recordings(tmp_path / "whole.jsonl", "one", "two", "three")
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(whole.read_bytes(), compresslevel=0)[:-200])
    fitted = holdfast("fit", cut, *SMALL, "--json")
    assert (fitted.code, fitted.json["recordings"]) == (2, 2)
    assert LOST in fitted.err
