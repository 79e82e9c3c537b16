"""`holdfast fit`: weights that are the same every time, figures on what was held out, and what people get wrong."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from command_line import Outcome, holdfast
from test_cli_replay_process import interrupted, running, session

from holdfast import pack
from holdfast.cli.fit import command as fit_command
from holdfast.cli.replay import command as replay_command
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES
from holdfast.packing.lines.weights import Weights, read_weights
from support.evidence_recordings import make_recording, write_recordings
from support.fit_recordings import BUDGET, definition, fit_recording, write_fit_recordings
from support.waiting import wait_until
from test_session import openai_conversation

PROFILE = """
[profile.lines]
extends = "code"
excerpt_ratio = 0.9
fold_to_ratio = 0.6
first_sight_ratio = 0.25
recent_ratio = 0.1
steps_floor = 1

[profile.levels]
extends = "code"
excerpt_ratio = 0.0
"""
SMALL = ("--profile", "lines", "--budget", str(BUDGET), "--jobs", "1")


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(PROFILE)


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Recordings of two projects."""
    return [
        write_fit_recordings(tmp_path / "a.jsonl", "one", "two", source="first"),
        write_fit_recordings(tmp_path / "b.jsonl", "three", source="second"),
    ]


def refused(done: Outcome, sentence: str, hint: str = "", code: int = 2) -> None:
    assert (done.code, done.out) == (code, b""), done.err
    lines = done.err.rstrip("\n").split("\n")
    assert [line.split(":")[0] for line in lines] == ["error", "hint"], done.err
    assert sentence in lines[0]
    assert hint in lines[1]


@pytest.mark.slow
def test_tables_are_the_data_and_nothing_is_written(two: list[Path], tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = holdfast("fit", *two, *SMALL)
    assert done.code == 0, done.err
    titles = [line for line in done.text.split("\n") if "largest effect" in line or "quality on" in line]
    assert titles == [
        "what makes lines worth keeping, largest effect first",
        "what makes names worth keeping, largest effect first",
        "lines: quality on each project, fitted on the others",
        "names: quality on each project, fitted on the others",
    ]
    assert max(map(len, done.text.split("\n"))) <= 80
    shown = {line.split()[0] for line in done.text.split("\n") if line.strip()}
    assert shown >= {*LINE_FEATURES, *NAME_FEATURES, "first", "second", "mean"}
    assert "in 3 recordings of 2 projects\n" in done.err
    assert "note: the weights are not kept; `--out FILE` writes them\n" in done.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_the_same_file_however_many_processes(two: list[Path], tmp_path: Path) -> None:
    files = []
    for jobs in (1, 2):
        out = tmp_path / f"weights{jobs}.json"
        done = holdfast("fit", *two, *SMALL, "--jobs", jobs, "--out", out, "--json")
        assert done.code == 0, done.err
        assert f"note: the weights are in `{out}`\n" in done.err
        files.append(out.read_bytes())
        assert out.stat().st_mode == two[0].stat().st_mode
    assert files[0] == files[1]
    assert done.json["weights"]["lines"] == read_weights(files[0], "weights.json").lines
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_json_has_everything(two: list[Path]) -> None:
    found = holdfast("fit", *two, *SMALL, "--json", "--replay").json
    assert (found["held_out"], found["projects"]) == ("project", {"first": 2, "second": 1})
    assert [row["held_out"] for row in found["lines"]] == ["first", "second"]
    assert min(row["curve"] for row in found["lines"]) > 0.95
    rows = found["trial"]["rows"]
    assert [(row["project"], row["budget"]) for row in rows] == [(p, BUDGET) for p in ("first", "second", "")]
    assert all(0 < row["learned"]["hard"] <= 1 and row["hand"]["dollars"] > 0 for row in rows)
    [difference] = found["trial"]["differences"]
    mean = rows[-1]
    assert difference["hard"]["mean"] == pytest.approx(mean["learned"]["hard"] - mean["hand"]["hard"])
    assert difference["hard"]["low"] <= difference["hard"]["mean"] <= difference["hard"]["high"]


@pytest.mark.slow
def test_a_replay_is_shown_by_project(two: list[Path]) -> None:
    done = holdfast("fit", *two, *SMALL, "--replay")
    assert f"replay at {BUDGET}, fitted on the other projects" in done.text
    assert "learned minus hand-written, paired by recording" in done.text


@pytest.mark.slow
def test_one_project_is_judged_by_recording(tmp_path: Path) -> None:
    path = write_fit_recordings(tmp_path / "a.jsonl", "one", "two", "three")
    done = holdfast("fit", path, *SMALL)
    assert "lines: quality on each recording, fitted on the others" in done.text
    assert "note: all recordings are of one project: quality is of recordings held out" in done.err
    by_recording = holdfast("fit", path, *SMALL, "--project-from", "recording", "--sample", 2, "--json").json
    assert (by_recording["held_out"], list(by_recording["projects"])) == ("project", ["one", "three"])


def test_one_recording_is_fitted_and_not_judged(tmp_path: Path) -> None:
    path = write_fit_recordings(tmp_path / "a.jsonl", "one")
    done = holdfast("fit", path, *SMALL, "--replay")
    assert done.code == 0
    assert "quality" not in done.text
    assert "replay" not in done.text
    assert "note: only one recording folds, so nothing can be held out to judge the weights by\n" in done.err


@pytest.mark.slow
def test_what_teaches_nothing_is_said(two: list[Path], tmp_path: Path) -> None:
    short = write_fit_recordings(tmp_path / "short.jsonl", "short", steps=2)
    bad = {"id": "broken", "source": "s", "messages": 7}
    broken = write_recordings(tmp_path / "broken.jsonl", fit_recording("four", source="second"), bad)
    done = holdfast("fit", *two, short, broken, *SMALL, "--replay")
    assert done.code == 0
    assert f"note: too short to fold at {BUDGET}, and so left out: 1 of 6 recordings\n" in done.err
    assert "note: broken was left out: broken.jsonl line 2 has no list of `messages`" in done.err
    assert "note: broken was not replayed: " in done.err
    refused(holdfast("fit", short, *SMALL), f"no recording is long enough to fold at {BUDGET}", "--budget")
    dull = write_recordings(tmp_path / "dull.jsonl", make_recording("dull", 30))
    refused(
        holdfast("fit", dull, *SMALL), "no later action used a line that a fold dropped", "longer recordings"
    )


@pytest.mark.slow
def test_shorter_recordings_teach_nothing(two: list[Path], tmp_path: Path) -> None:
    short = write_fit_recordings(tmp_path / "short.jsonl", "four", "five", source="third", steps=16)
    told = ("fit", two[0], short, two[1], *SMALL, "--replay", "--json")
    every, found = holdfast(*told).json, holdfast(*told, "--at-least", "3k")
    alone = holdfast("fit", *two, *SMALL, "--replay", "--json").json
    assert "note: shorter than 3k tokens, and so left out: 2 of 5 recordings\n" in found.err
    assert (every["at_least"], found.json["at_least"], alone["at_least"]) == (0, 3_000, 0)
    assert list(every["projects"]) == ["first", "second", "third"]
    for key in ("recordings", "projects", "folds", "lines", "names", "trial"):
        assert found.json[key] == alone[key] != every[key]
    for key in ("lines", "names"):
        assert found.json["weights"][key] == alone["weights"][key] != every["weights"][key]
    assert found.json["weights"]["about"]["at_least"] == "3k"
    sampled = holdfast("fit", two[0], short, two[1], *SMALL, "--at-least", "3k", "--sample", 1)
    assert "note: shorter than 3k tokens, and so left out: 1 of 3 recordings\n" in sampled.err


def test_where_none_is_long_enough_nothing_is_written(two: list[Path], tmp_path: Path) -> None:
    done = holdfast("fit", *two, *SMALL, "--at-least", "1M", "--out", "weights.json")
    refused(done, "no recording has 1M tokens or more", "a smaller `--at-least`")
    assert not (tmp_path / "weights.json").exists()


@pytest.mark.slow
def test_packs_are_made_with_the_file(two: list[Path]) -> None:
    fitted = holdfast("fit", *two, *SMALL, "--out", "weights.json", "--json").json
    value = msgspec.convert(fitted["weights"], Weights)
    packs = [
        pack(openai_conversation(60), budget="8k", weights=given) for given in ("weights.json", value, None)
    ]
    assert packs[0].messages == packs[1].messages != packs[2].messages


def test_options_on_files_are_those_of_replay() -> None:
    fit, replay = (
        {p.name: p.to_info_dict() for p in command.params} for command in (fit_command, replay_command)
    )
    shared = ["at_least", "files", "format", "jobs", "project_from", "sample"]
    assert [fit[name] for name in shared] == [replay[name] for name in shared]
    words = {"default", "help"}
    assert {k: v for k, v in fit["budget"].items() if k not in words} == {
        k: v for k, v in replay["budget"].items() if k not in words
    }


def test_files_and_options_are_checked_before_any_work(two: list[Path], tmp_path: Path) -> None:
    told = ("fit", two[0], *SMALL)
    refused(holdfast("fit", tmp_path / "none.jsonl", *SMALL), "none.jsonl")
    (tmp_path / "empty").mkdir()
    refused(holdfast("fit", two[0], tmp_path / "empty", *SMALL), "there is no recording in")
    refused(holdfast(*told, "--from", "codex"), "a.jsonl is not codex")
    refused(holdfast(*told, "--budget", "many"), "`many`")
    refused(holdfast(*told, "--at-least", "many"), "`many`")
    refused(holdfast(*told, "--budget", "1"), "a budget of 1 tokens is too small")
    refused(holdfast(*told, "--budget", ","), "`--budget` names no budget", "16k,32k")
    refused(holdfast(*told, "--out", "none/weights.json"), "its folder does not exist", "another place")
    refused(holdfast(*told, "--out", tmp_path), "it is a folder")
    refused(holdfast(*told, "--profile", "levels"), "the profile `levels` keeps no lines", "`excerpt_ratio`")
    refused(holdfast(*told, "--profile", "lnies"), "there is no profile `lnies`", "`lines`")
    refused(holdfast(*told, "--jobs", "0"), "--jobs")
    refused(holdfast("fit"), "missing argument", "holdfast fit --help")


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_half(tmp_path: Path) -> None:
    path = write_fit_recordings(tmp_path / "long.jsonl", *(f"r{n}" for n in range(40)), steps=150)
    before = sorted(tmp_path.iterdir())
    with running("fit", path, *SMALL[:4], "--jobs", 2, "--out", "weights.json") as begun:
        wait_until(lambda: len(session(begun.pid)) >= 3)
        out, err = interrupted(begun)
    assert (out, err) == (b"", "interrupted\n")
    assert sorted(tmp_path.iterdir()) == before


def without_libraries(*args: object) -> Outcome:
    """A command where scikit-learn is not installed; what it loaded of the rest is its last line."""
    code = (
        "import sys; sys.modules['sklearn'] = None; from holdfast.cli.app import run; "
        "code = run(sys.argv[1:]); print('numpy' in sys.modules); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.slow
def test_scikit_learn_is_asked_for_when_it_is_missing(two: list[Path]) -> None:
    done = without_libraries("fit", two[0], *SMALL)
    assert (done.code, done.text) == (1, "False\n")
    assert done.err == (
        "error: fitting needs scikit-learn, which is not installed\n"
        "hint: run `pip install '.[fit]'` in a checkout of Holdfast\n"
    )


@pytest.mark.slow
def test_help_needs_no_library(two: list[Path]) -> None:
    done = without_libraries("fit", "--help")
    assert done.code == 0
    assert done.text.endswith("False\n")
    assert "holdfast fit recordings/*.jsonl.gz --out weights.json" in done.text
    assert "`pip install '.[fit]'` in a checkout" in " ".join(done.text.split())


def test_the_lesson_is_what_the_tests_think_it_is(two: list[Path]) -> None:
    """A definition is needed long after it was read, and nothing else that was read is."""
    text = two[0].read_text()
    assert text.count(definition("one", 3)) == 2
    assert text.count("the row 3 of part 3 says nothing") == 2
