"""What people get wrong, through the real command line: one sentence, a hint, an exit code, a store untouched."""

import gzip
import json
from pathlib import Path

import pytest
from command_line import Outcome, call, holdfast, json_file, lines_file, neutral, process, work


def refused(done: Outcome, code: int, sentence: str) -> None:
    assert done.code == code
    assert done.out == b""
    lines = done.err.rstrip("\n").split("\n")
    assert [line.split(":")[0] for line in lines] == ["error", "hint"], done.err
    assert sentence in lines[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "a.jsonl is empty"),
        (b"\n\n", "a.jsonl is empty"),
        (b'{"a": 1}\n', "a.jsonl is not a recording in a known format"),
        (b"# Notes\n", "a.jsonl line 1 is not valid JSON"),
        (b'{"role": "user", "content": "caf\xe9"}\n', "byte 32 of the line is not valid UTF-8"),
        (b'{"role": "user", "content": "a\x00b"}\n', "byte 30 of the line is a NUL"),
        (b"\xff\xfe{\x00}\x00", "a.jsonl line 1 is UTF-16"),
        (gzip.compress(b"", mtime=0)[:12], "a.jsonl line 1 is damaged: its gzip data cannot be read"),
        (b"[" * 100_000, "a.jsonl line 1 "),
    ],
)
@pytest.mark.parametrize("verb", ["pack", "show", "check"])
def test_files_that_are_no_recording(
    tmp_path: Path, store: Path, verb: str, content: bytes, sentence: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    refused(holdfast(verb, path), 2, sentence)
    assert not store.exists()


@pytest.mark.parametrize("verb", ["pack", "show", "check"])
def test_places_that_hold_no_recording(tmp_path: Path, verb: str) -> None:
    refused(holdfast(verb, tmp_path / "missing.jsonl"), 2, "is neither a file nor the id of a log")
    refused(holdfast(verb, tmp_path), 2, "is a directory, not a recording")
    refused(holdfast(verb, "x" * 5000 + "/y"), 2, "is neither a file nor the id of a log")


def test_a_name_that_is_no_file_may_have_been_meant_as_a_log(store: Path) -> None:
    done = holdfast("pack", "l0123456789ab")
    assert done.code == 2
    assert f"note: there is no store at `{store}` yet" in done.err
    assert "hint: check the path; `holdfast logs` lists the logs" in done.err


def test_the_wrong_format(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.json", work(2, 2))
    refused(holdfast("pack", path, "--from", "codex"), 2, "a.json is not codex")
    done = holdfast("pack", path, "--from", "openia")
    refused(done, 2, "`openia` is not a format of recordings")
    assert "did you mean `openai`?" in done.err


@pytest.mark.slow
def test_a_torn_last_line_is_forgiven_and_said(tmp_path: Path) -> None:
    whole = lines_file(tmp_path / "whole.jsonl", work(3, 3))
    torn = tmp_path / "torn.jsonl"
    torn.write_text(whole.read_text() + '{"role": "assistant", "content": "I w')
    done = process("pack", torn)
    assert done.code == 0
    assert done.json == holdfast("pack", whole).json
    assert "note: import: line 10, the last one, is torn and was left out\n" in done.err


@pytest.mark.slow
def test_damage_in_the_middle_names_file_and_line_and_changes_nothing(tmp_path: Path, store: Path) -> None:
    good = json_file(tmp_path / "good.json", work(3, 3))
    assert holdfast("pack", good).code == 0
    before = holdfast("logs", "--json").out
    lines = lines_file(tmp_path / "a.jsonl", work(3, 3)).read_text().split("\n")
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("\n".join([*lines[:4], lines[4][:-9], *lines[5:]]))
    for verb in (["pack"], ["show"], ["check"], ["logs", "import"]):
        done = process(*verb, damaged)
        refused(done, 2, "damaged.jsonl line 5 is not valid JSON")
    assert holdfast("logs", "--json").out == before
    assert holdfast("logs", "verify").code == 0


@pytest.mark.slow
def test_one_line_of_16_megabytes(tmp_path: Path) -> None:
    paste = "0123456789abcde " * 1_000_000
    path = json_file(tmp_path / "long.jsonl", [{"role": "user", "content": paste}])
    done = holdfast("pack", path, "--budget", "32k", "--json")
    assert done.code == 0
    (cut,) = done.json["cuts"]
    assert holdfast("recall", cut["id"]).text == paste
    path.write_text(path.read_text()[:-3])
    refused(holdfast("pack", path), 2, "long.jsonl line 1 is not valid JSON")


def test_an_unknown_id_names_the_nearest(tmp_path: Path) -> None:
    values = [neutral(f"day/{n}", [{"role": "user", "content": "hi"}]) for n in ("monday", "tuesday")]
    path = lines_file(tmp_path / "a.jsonl", values)
    for verb in ("pack", "show", "check"):
        done = holdfast(verb, path, "--id", "sunday")
        refused(done, 3, "a.jsonl holds no recording `sunday`")
        assert "hint: it has `day/monday`" in done.err
    refused(holdfast("pack", path, "--id", "day/"), 2, "`day/` fits 2 recordings")


def test_a_log_has_neither_id_nor_format(tmp_path: Path) -> None:
    log = holdfast("pack", json_file(tmp_path / "a.json", work(2, 2)), "--json").json["log"]
    refused(holdfast("pack", log, "--id", "x"), 2, "`--id` and `--from` apply to files")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--profile", "reviw"], "there is no profile `reviw`"),
        (["--budget", "lots"], "`lots` is not a number of tokens"),
        (["--budget", "-5"], "`-5` is not a number of tokens"),
        (["--budget", "0"], "a budget of 0 tokens is too small"),
        (["--budget", "16"], "a budget of 16 tokens is too small"),
        (["--at", "0"], "invalid value for `--at`"),
        (["--at", "x"], "invalid value for `--at`"),
        (["--to", "mistral"], "invalid value for `--to`"),
        (["--bugdet", "3k"], "no such option `--bugdet`"),
    ],
)
def test_values_that_make_no_sense(tmp_path: Path, store: Path, options: list[str], sentence: str) -> None:
    path = json_file(tmp_path / "a.json", work(2, 2))
    refused(holdfast("pack", path, *options), 2, sentence)
    assert not store.exists()


@pytest.mark.parametrize("command", ["pack", "replay"])
def test_a_budget_without_its_k_is_asked_about(tmp_path: Path, command: str) -> None:
    path = json_file(tmp_path / "a.json", work(2, 2))
    assert "hint: did you mean `16k`? " in holdfast(command, path, "--budget", "16").err


def test_an_unknown_profile_names_the_nearest(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.json", work(2, 2))
    assert "hint: did you mean `review`?" in holdfast("pack", path, "--profile", "reviw").err


@pytest.mark.slow
def test_a_budget_smaller_than_what_is_pinned_lists_the_parts(tmp_path: Path) -> None:
    function = {"name": "Read", "description": "Read a file. " * 60, "parameters": {"type": "object"}}
    request = {
        "messages": [
            {"role": "system", "content": "Follow all rules. " * 400},
            {"role": "user", "content": "Please start."},
        ],
        "tools": [{"type": "function", "function": function}],
    }
    done = process("pack", json_file(tmp_path / "a.json", request), "--budget", "1k")
    assert (done.code, done.out) == (5, b"")
    lines = done.err.split("\n")
    assert lines[0].startswith("error: ")
    sizes = {line[:18].strip(): int(line[18:].replace(",", "")) for line in lines[2:7]}
    assert list(sizes) == ["system prompt", "tool definitions", "message overhead", "user messages", "total"]
    assert sizes["system prompt"] > 1000 > sizes["tool definitions"] > 100 > sizes["user messages"] > 1
    assert sizes.pop("total") == sum(sizes.values())
    assert lines[7] == "the budget is 1,000 tokens"
    assert lines[8].startswith("hint: ")


@pytest.mark.parametrize("what", ["folder", "text", "other database"])
def test_a_store_that_is_none(tmp_path: Path, what: str) -> None:
    path = json_file(tmp_path / "a.json", work(2, 2))
    place = tmp_path / "place"
    if what == "folder":
        place.mkdir()
    elif what == "text":
        place.write_text("no database at all, and long enough to look at " * 20)
    else:
        import sqlite3  # noqa: PLC0415

        with sqlite3.connect(place) as db:
            db.execute("CREATE TABLE mine (x)")
        db.close()
    before = None if what == "folder" else place.read_bytes()
    for command in (
        ["pack", path],
        ["recall", "a0000000"],
        ["logs"],
        ["logs", "verify"],
        ["logs", "import", path],
    ):
        refused(holdfast(*command, "--store", place), 4, f"`{place}` ")
    assert before is None or place.read_bytes() == before


@pytest.mark.slow
def test_ten_thousand_parallel_calls(tmp_path: Path) -> None:
    count = 10_000
    messages = [
        {"role": "user", "content": "Read them all"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call(f"c{n}", "Read", path="x") for n in range(count)],
        },
        *({"role": "tool", "tool_call_id": f"c{n}", "content": f"text {n}"} for n in range(count)),
        {"role": "user", "content": "Thanks"},
    ]
    path = json_file(tmp_path / "many.json", messages)
    done = holdfast("pack", path, "--budget", "1M", "--no-store")
    assert done.code == 0
    results = [m["content"] for m in done.json if m["role"] == "tool"]
    assert results == [f"text {n}" for n in range(count)]


def test_unknown_commands_and_missing_arguments() -> None:
    done = holdfast("pakc")
    refused(done, 2, "there is no command `pakc`")
    assert "did you mean `pack`? " in done.err
    assert "did you mean" not in holdfast("foobar").err
    refused(holdfast("pack"), 2, "missing argument `RECORDING`")
    refused(holdfast("logs", "exprot"), 2, "no such command `exprot`")
    refused(holdfast("--bogus"), 2, "no such option `--bogus`")


def test_a_broken_configuration_names_file_and_key(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("[profile.mine]\nwindwo = 3\n")
    done = holdfast("pack", json_file(tmp_path / "a.json", work(2, 2)))
    refused(done, 2, "unknown key `profile.mine.windwo`")
    assert "did you mean `window`?" in done.err


def test_results_before_their_calls_and_duplicate_ids_are_repaired(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "tool", "tool_call_id": "c1", "content": "early"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1", "Read", path="a")]},
        {"role": "assistant", "content": None, "tool_calls": [call("c1", "Read", path="b")]},
        {"role": "tool", "tool_call_id": "c1", "content": "late"},
        {"role": "user", "content": "more"},
    ]
    path = json_file(tmp_path / "a.json", messages)
    done = holdfast("pack", path, "--explain")
    assert done.code == 0
    assert [m["content"] for m in done.json if m["role"] == "tool"] == ["early", "late"]
    assert "early-result: the result of `c1` came before its call" in done.err
    assert json.dumps(done.json).count('"c1_2"') == 2


@pytest.mark.parametrize(
    ("args", "code", "sentence", "hint"),
    [
        (["recall", "avay83z3zwfk9"], 3, "nothing in the store has the id", "`holdfast logs`"),
        (["recall", "avay83z3zwfk9"], 3, "nothing in the store has the id", "`--store PATH`"),
        (["recall", "avay83z3zwfk9", "--lines", "x"], 2, "not a range of lines", "`--lines 10-40`"),
        (["recall", "avay83z3zwfk9", "--chars", "9-1"], 2, "not a range of chars", "`--chars 10-40`"),
        (["show", "empty.json"], 2, "the list is empty", "a recording is a list such as"),
        (["resume", "l01k9z3"], 2, "needs a terminal", "`holdfast run --log l01k9z3 -p TEXT`"),
        (["resume"], 2, "needs a terminal", "`holdfast run --continue -p TEXT`"),
        (["run", "-p", "x", "--output-schema", "none.json"], 2, "No such file or directory", "JSON Schema"),
        (["run", "-p", "x", "--answers", "none.toml"], 2, "No such file or directory", "check the path"),
    ],
)
def test_an_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], code: int, sentence: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.json").write_text("[]")
    done = holdfast(*args)
    assert (done.code, done.out) == (code, b"")
    error, tip = [line for line in done.err.strip().split("\n") if not line.startswith("note: ")]
    assert sentence in error
    assert "Errno" not in error
    assert hint in tip


def test_a_configuration_that_is_no_toml_has_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "holdfast.toml").write_text("default_profile = code\n")
    refused(holdfast("profiles"), 2, "holdfast.toml is not valid TOML")
