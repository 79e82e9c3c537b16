"""`holdfast show`: rounds, tools, usage, boundaries, side chains, branches; or the recordings of a file."""

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import call, holdfast, json_file, lines_file, neutral, work


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return json_file(tmp_path / "work.json", work())


def test_a_row_for_each_round(recording: Path) -> None:
    done = holdfast("show", recording)
    assert done.code == 0
    assert "2 rounds, 12 steps, " in done.text
    assert re.search(r"^1 +1-2 +[\d,]+ +Read 2 +Look around \[first\]$", done.text, re.MULTILINE)
    assert re.search(r"^2 +3-12 +[\d,]+ +Read 10 +Now read on$", done.text, re.MULTILINE)
    assert re.search(r"^read +12 +0 +[\d,]+ +[\d,]+ +Read 12$", done.text, re.MULTILINE)
    assert max(map(len, done.text.split("\n"))) <= 80


def test_the_words_of_a_round_are_the_persons(tmp_path: Path) -> None:
    said = "<system-reminder>\nBe careful.\n</system-reminder>\nFix the parser."
    done = holdfast("show", json_file(tmp_path / "one.json", [{"role": "user", "content": said}]))
    assert re.search(r"^1 .* Fix the parser\.$", done.text, re.MULTILINE)


def test_it_stores_nothing(recording: Path, store: Path) -> None:
    assert holdfast("show", recording).code == 0
    assert not store.exists()


def test_json_has_the_same_numbers(recording: Path) -> None:
    found = holdfast("show", recording, "--json").json
    assert [(r["first"], r["last"], r["calls"]) for r in found["rounds"]] == [
        (1, 2, {"Read": 2}),
        (3, 12, {"Read": 10}),
    ]
    assert found["tokens"] == sum(r["tokens"] for r in found["rounds"]) + found["fixed_tokens"]
    assert found["tools"][0]["result_tokens"] > found["tools"][0]["argument_tokens"] > 0
    assert found["usage"] is None
    assert found["tokens"] == holdfast("pack", recording, "--json").json["tokens_before"]


def test_a_stored_log_shows_the_same(recording: Path) -> None:
    log = holdfast("pack", recording, "--json").json["log"]
    from_store, from_file = (holdfast("show", what, "--json").json for what in (log, recording))
    assert from_store.pop("log") == log
    assert from_file.pop("log") == ""
    assert from_store == from_file


def test_a_file_of_several_recordings_is_listed(tmp_path: Path) -> None:
    values = [neutral(f"many/recording-{n}", work(n, 3)[1:]) for n in (1, 4)]
    path = lines_file(tmp_path / "many.jsonl", values)
    done = holdfast("show", path)
    assert done.code == 0
    assert re.search(r"^many/recording-1 +1 +1 +\d+ +Look around \[first\]$", done.text, re.MULTILINE)
    assert re.search(r"^many/recording-4 +2 +4 +\d+ ", done.text, re.MULTILINE)
    assert "note: 2 recordings; choose one with `--id`" in done.err
    rows = holdfast("show", path, "--json").json
    assert [(r["id"], r["steps"]) for r in rows] == [("many/recording-1", 1), ("many/recording-4", 4)]
    assert "4 steps" in holdfast("show", path, "--id", "recording-4").text


def test_long_ids_go_on_in_the_next_line_and_are_never_cut(tmp_path: Path) -> None:
    ids = ["x" * 90 + "1", "x" * 90 + "2"]
    path = lines_file(tmp_path / "a.jsonl", [neutral(i, [{"role": "user", "content": "hi"}]) for i in ids])
    lines = holdfast("show", path).text.split("\n")
    assert max(map(len, lines)) <= 80
    first_column = "".join(line.split(" ", 1)[0] for line in lines)
    assert all(i in first_column for i in ids)


def usage_recording(steps: int, factor: float, hidden: int) -> dict[str, Any]:
    """Work whose provider counts `factor` times what stands there, and a hidden system prompt."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look around"}]
    usage = []
    size = 0
    for n in range(steps):
        usage.append([len(messages), int(hidden + factor * size), 5])
        text = "\n".join(f"line {i} of file {n}" for i in range(40 + 7 * (n % 5)))
        messages.append({"role": "assistant", "tool_calls": [call(f"c{n}", "Read", path=f"f{n}")]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": text})
        size += 6 * text.count("\n") + 40
    return neutral("usage", messages, usage=usage, models=["gpt-5"])


def test_provider_usage_is_compared_and_corrected(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "a.jsonl", [usage_recording(40, 1.3, 9000)])
    usage = holdfast("show", path, "--json").json["usage"]
    assert usage["reports"] == 40
    assert usage["counted_median"] > 0.3
    assert usage["calibrated_median"] < 0.02
    shown = holdfast("show", path).text
    assert "provider usage, 40 reports" in shown
    assert re.search(r"^calibrated +\d\.\d% +\d+\.\d% +[\d,]+$", shown, re.MULTILINE)


def test_boundaries_and_a_torn_last_line_are_said(tmp_path: Path) -> None:
    events = [{"type": "compact_boundary", "at": 4, "trigger": "auto", "pre_tokens": 155000}]
    path = lines_file(tmp_path / "a.jsonl", [neutral("a", work(6, 3)[1:], events=events)])
    with path.open("a") as file:
        file.write('{"id": "b", "mess')
    done = holdfast("show", path)
    assert done.code == 0
    assert re.search(r"^ +2 +compact_boundary +auto +155,000$", done.text, re.MULTILINE)
    assert "note: import: line 2, the last one, is torn and was left out" in done.err


def test_side_chains_and_branches(tmp_path: Path) -> None:
    base = {"sessionId": "s", "timestamp": "2026-01-01T10:00:00Z"}

    def said(uuid: str, parent: str | None, role: str, text: str, **more: object) -> dict[str, object]:
        content = [{"type": "text", "text": text}]
        message = {"role": role, "content": content}
        return {**base, "type": role, "uuid": uuid, "parentUuid": parent, "message": message, **more}

    side = {"isSidechain": True, "agentId": "helper7"}
    lines = [
        said("1", None, "user", "Question"),
        said("2", "1", "assistant", "First try"),
        said("3", None, "user", "Count files", **side),
        said("4", "3", "assistant", "Seven.", **side),
        said("5", "1", "assistant", "Second try"),
    ]
    path = lines_file(tmp_path / "session.jsonl", lines)
    done = holdfast("show", path)
    assert re.search(r"^helper7 +1 +\d+ +Count files$", done.text, re.MULTILINE)
    assert "1 entry of 1 branch is off the path" in done.text
    assert "Seven." not in holdfast("pack", path).text
    assert holdfast("show", path, "--chain", "helper7", "--json").json["rounds"][0]["user"] == "Count files"


def test_repairs_are_counted(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "zz", "content": "x"}]
    assert (
        "1 repair needed; `holdfast check` lists them"
        in holdfast("show", json_file(tmp_path / "a.json", messages)).text
    )
