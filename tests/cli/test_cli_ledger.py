"""`holdfast show --ledger`: what is left in the window of every result and file."""

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import call, holdfast, json_file, lines_file, neutral, work

STATES = ["resident", "clipped", "digest", "stub", "stale", "gone"]


def file_work(folder: str = "/home/dev/inventory") -> list[dict[str, Any]]:
    """OpenAI messages: a file is read, and others; it is edited, read again in part, and a new one is written."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the store"}]

    def did(id_: str, tool: str, answer: str, **arguments: Any) -> None:
        messages.append({"role": "assistant", "tool_calls": [call(id_, tool, **arguments)]})
        messages.append({"role": "tool", "tool_call_id": id_, "content": answer})

    def listing(first: int, last: int, word: str) -> str:
        return "\n".join(f"{n:6}→{word}_{n} = compute({n})" for n in range(first, last + 1))

    did("c1", "Read", listing(1, 60, "store"), file_path=f"{folder}/src/store.py")
    for n in range(2, 12):
        did(f"c{n}", "Read", listing(1, 80, f"part{n}"), file_path=f"{folder}/src/part_{n}.py")
    did("c12", "Edit", "done", file_path=f"{folder}/src/store.py", old_string="a", new_string="b")
    did("c13", "Read", listing(20, 40, "new"), file_path=f"{folder}/src/store.py", offset=20, limit=21)
    did("c14", "Bash", "ok", command="make test " + "with many options " * 10)
    did("c15", "Write", "done", file_path=f"{folder}/src/new.py", content="x = 1\n" * 100)
    return messages


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return json_file(tmp_path / "work.json", file_work())


def row(text: str, pattern: str) -> str:
    found = re.search(rf"^{pattern}$", text, re.MULTILINE)
    assert found, text
    return found[0]


def test_every_result_has_a_line_or_a_place_in_one(recording: Path) -> None:
    done = holdfast("show", recording, "--ledger", "--budget", "8k")
    assert done.code == 0
    assert done.text.startswith("what is sent for the reply of step 16, profile code\n")
    row(done.text, r"\d,\d{3} tokens of a budget of 8,000")
    assert "\nrelative paths are below /home/dev/inventory/src\n" in done.text
    row(done.text, r"13 +resident +(\d+) +\1 +a\w{12} +Read store\.py 20-40")
    row(done.text, r"15 +resident +(\d+) +\1 +a\w{12} +Write new\.py 1-100; as written")
    assert max(map(len, done.text.split("\n"))) <= 80


@pytest.mark.slow
def test_only_runs_of_what_is_gone_are_drawn_together(tmp_path: Path) -> None:
    path = json_file(tmp_path / "long.json", work(60))
    text = holdfast("show", path, "--ledger", "--budget", "8k").text
    rows = holdfast("show", path, "--ledger", "--budget", "8k", "--json").json["rows"]
    drawn = re.findall(
        r"^(\d+)-(\d+) +gone +0 +[\d,]+ +(\d+) rows, (\d+) files among them$", text, re.MULTILINE
    )
    assert drawn
    gone = {r["step"] for r in rows if r["state"] == "gone"}
    for first, last, count, files in drawn:
        assert int(count) == int(files) == int(last) - int(first) + 1
        assert gone >= set(range(int(first), int(last) + 1))
    for r in rows:
        if r["state"] != "gone":
            assert re.search(rf"^{r['step']} +{r['state']} .* {r['id']} ", text, re.MULTILINE)


def test_files_seen_more_than_once_tell_why_they_were_read_again(recording: Path) -> None:
    text = holdfast("show", recording, "--ledger", "--budget", "8k").text
    assert "\nfiles seen more than once\n" in text
    row(text, r"store\.py +1, 13 +12 +20-40")
    assert not re.search(r"^part_\d+\.py", text, re.MULTILINE)


def test_tokens_by_state_stand_last_and_add_up(recording: Path) -> None:
    text = holdfast("show", recording, "--ledger", "--budget", "8k").text
    table = text.split("\ntokens by state\n")[1].splitlines()[1:]
    rows = {line.split()[0]: re.split(r" {2,}", line)[1:] for line in table}
    sums = [int(cell.replace(",", "")) for cell in rows.pop("total")]
    assert set(rows) <= set(STATES)
    for at, total in enumerate(sums):
        assert sum(int(cells[at].replace(",", "")) for cells in rows.values()) == total
    assert sums[0] == 16, "fifteen results, and what was written"


def test_json_has_every_row(recording: Path) -> None:
    found = holdfast("show", recording, "--ledger", "--budget", "8k", "--json").json
    assert [r["step"] for r in found["rows"]] == [*range(1, 16), 15]
    assert (found["profile"], found["budget"], found["step"]) == ("code", 8_000, 16)
    assert sum(r["tokens"] for r in found["rows"]) <= found["tokens"] <= 8_000
    assert list(found["states"]) == STATES
    for state, total in found["states"].items():
        rows = [r for r in found["rows"] if r["state"] == state]
        assert total == {
            "rows": len(rows),
            "tokens": sum(r["tokens"] for r in rows),
            "size": sum(r["size"] for r in rows),
        }
    files = {f["path"].rsplit("/", 1)[1]: f for f in found["files"]}
    store = files["store.py"]
    assert (store["seen"], store["changed"], store["on_view"]) == ([1, 13], [12], [[20, 40]])
    assert (store["whole_on_view"], store["outdated"]) == (False, "")
    assert files["new.py"]["whole_on_view"]


def test_the_numbers_are_those_of_pack(recording: Path) -> None:
    ledger = holdfast("show", recording, "--ledger", "--budget", "8k", "--at", 9, "--json").json
    packed = holdfast("pack", recording, "--budget", "8k", "--at", 9, "--json").json
    assert ledger["tokens"] == packed["tokens"]
    gone = {r["id"] for r in ledger["rows"] if r["state"] == "gone"}
    assert gone == {cut["id"] for cut in packed["cuts"] if cut["rule"] == "read-gone"}


def test_an_id_is_recalled_once_the_recording_is_stored(recording: Path, store: Path) -> None:
    done = holdfast("show", recording, "--ledger", "--budget", "8k", "--json")
    assert not store.exists()
    assert "note: nothing was stored; after `holdfast pack` each id can be recalled" in done.err
    log = holdfast("pack", recording, "--budget", "8k", "--json").json["log"]
    first = done.json["rows"][0]
    assert holdfast("recall", first["id"]).text.startswith("     1→store_1")
    stored = holdfast("show", log, "--ledger", "--budget", "8k", "--json")
    assert "nothing was stored" not in stored.err
    assert stored.json["log"] == log
    assert stored.json["rows"] == done.json["rows"]


def test_a_path_chooses_files_and_then_nothing_is_drawn_together(recording: Path) -> None:
    done = holdfast("show", recording, "--ledger", "--budget", "8k", "--path", "part_")
    assert len(re.findall(r"Read part_\d+\.py 1-80$", done.text, re.MULTILINE)) == 10
    assert "store.py" not in done.text
    assert "rows," not in done.text
    row(done.text, r"total +10 +[\d,]+ +[\d,]+")


def test_a_path_that_no_file_has_is_said(recording: Path) -> None:
    done = holdfast("show", recording, "--ledger", "--path", "nowhere")
    assert done.code == 0
    assert done.text.endswith("\nno file has this in its path\n")


def test_the_ledger_before_a_step_says_what_was_on_view_then(recording: Path) -> None:
    text = holdfast("show", recording, "--ledger", "--at", 12, "--path", "store").text
    assert text.startswith("what is sent for the reply of step 12, ")
    row(text, r"1 +resident +(\d+ ?\d*) +\1 +a\w{12} +Read store\.py 1-60")
    after = holdfast("show", recording, "--ledger", "--at", 13, "--path", "store").text
    assert re.search(r"^1 +stale ", after, re.MULTILINE)
    assert "before your edit at step 12" in " ".join(after.split())


def test_a_recording_without_results_has_no_rows(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.json", [{"role": "user", "content": "hi"}])
    done = holdfast("show", path, "--ledger")
    assert (done.code, done.text.split("\n")[2]) == (0, "no results")
    assert "nothing was stored" not in done.err


def test_a_path_with_control_characters_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.json", file_work("/home/dev/\x1b[31mred"))
    done = holdfast("show", path, "--ledger")
    assert done.code == 0
    assert b"\x1b" not in done.out


@pytest.mark.parametrize(
    ("option", "value"), [("--at", "3"), ("--budget", "8k"), ("--profile", "code"), ("--path", "a")]
)
def test_options_of_the_ledger_mean_nothing_without_it(recording: Path, option: str, value: str) -> None:
    done = holdfast("show", recording, option, value)
    assert (done.code, done.out) == (2, b"")
    assert f"error: `{option}` needs `--ledger`" in done.err


def test_bad_values_are_refused_as_pack_refuses_them(recording: Path) -> None:
    for options in (("--at", 99), ("--budget", "lots"), ("--profile", "none")):
        told, packed = (
            holdfast("show", recording, "--ledger", *options),
            holdfast("pack", recording, *options),
        )
        assert (told.code, told.out) == (2, b"")
        assert told.err == packed.err
    small = holdfast("show", recording, "--ledger", "--budget", "60")
    assert small.code == holdfast("pack", recording, "--budget", "60").code != 0


def test_of_a_file_with_several_recordings_one_must_be_named(tmp_path: Path) -> None:
    values = [neutral(f"many/recording-{n}", work(n, 3)[1:]) for n in (1, 4)]
    path = lines_file(tmp_path / "many.jsonl", values)
    assert holdfast("show", path, "--ledger").code == holdfast("pack", path).code != 0
    assert holdfast("show", path, "--ledger", "--id", "recording-4").code == 0
