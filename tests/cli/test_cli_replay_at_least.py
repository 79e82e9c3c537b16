"""`holdfast replay --at-least`: what is long enough, a note on the rest, and what people get wrong."""

import json
from pathlib import Path

import pytest
from command_line import holdfast, on_terminal
from test_cli_replay_bad_input import refused

from support.evidence_recordings import make_recording, write_recordings

SMALL = ("--budget", "1k", "--policy", "newest")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Two of some 800 tokens around two of more than 2 000."""
    short = [make_recording(name, 9, words=60) for name in ("short1", "short2")]
    long = [make_recording(name, 14) for name in ("long1", "long2")]
    return write_recordings(tmp_path / "r.jsonl", short[0], *long, short[1])


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_shorter_recordings_are_left_out_and_it_is_said(mixed: Path, jobs: int) -> None:
    told = ("replay", mixed, *SMALL, "--jobs", jobs)
    done = holdfast(*told, "--at-least", "1.5k")
    assert done.code == 0, done.err
    assert "note: shorter than 1500 tokens, and so left out: 2 of 4 recordings\n" in done.err
    assert "\n2 recordings of 1 project in " in done.err
    report = holdfast(*told, "--at-least", "1.5k", "--json").json
    assert (report["at_least"], report["recordings"], report["projects"]) == (1_500, 2, {"evidence": 2})
    assert {row["recordings"] for row in report["rows"]} == {2}


@pytest.mark.slow
def test_without_a_limit_all_are_taken_and_nothing_is_said(mixed: Path) -> None:
    for options in ((), ("--at-least", "0"), ("--at-least", "100")):
        done = holdfast("replay", mixed, *SMALL, "--jobs", 1, *options, "--json")
        assert (done.json["recordings"], done.json["notes"]) == (4, [])
        assert done.json["at_least"] == int(options[-1] if options else 0)


def test_packs_pages_and_documents_know_only_what_is_long_enough(mixed: Path, tmp_path: Path) -> None:
    told = ("replay", mixed, *SMALL, "--jobs", 1, "--at-least", "1.5k")
    dumped = [json.loads(line) for line in holdfast(*told, "--dump", "-").text.splitlines()]
    assert {line["recording"] for line in dumped} == {"long1", "long2"}
    document = holdfast(*told, "--markdown", "--html", "out.html").text
    said = "shorter than 1500 tokens, and so left out: 2 of 4 recordings"
    for text in (document, (tmp_path / "out.html").read_text()):
        assert said in text
        assert "short1" not in text


def test_a_sample_is_taken_first(mixed: Path) -> None:
    told = ("replay", mixed, *SMALL, "--jobs", 1, "--at-least", "1.5k")
    refused(holdfast(*told, "--sample", 2), "no recording has 1500 tokens or more", "a smaller `--at-least`")
    done = holdfast(*told, "--sample", 3, "--json")
    assert done.json["recordings"] == 1
    assert "left out: 2 of 3 recordings\n" in done.err


@pytest.mark.slow
def test_a_bar_is_full_when_most_was_left_out(mixed: Path) -> None:
    shown = on_terminal("replay", mixed, *SMALL, "--at-least", "1.5k", env={"COLUMNS": "100"}).out.decode()
    assert "100%" in shown


@pytest.mark.slow
def test_limits_that_cannot_be_read_or_reached(mixed: Path, tmp_path: Path) -> None:
    told = ("replay", mixed, *SMALL, "--html", "out.html")
    for amount in ("many", "-5", "1.5", ""):
        refused(holdfast(*told, f"--at-least={amount}"), f"`{amount}` is not a number of tokens", "`32k`")
    refused(holdfast(*told, "--at-least", "1M"), "no recording has 1M tokens or more", "longer recordings")
    assert not (tmp_path / "out.html").exists()
