"""`holdfast pack`: messages on stdout, the account on stderr, and every id recalled."""

import json
import re
from pathlib import Path

import pytest
from command_line import call, holdfast, json_file, lines_file, neutral, work

from holdfast.packing.validator import check

INVENTORY = Path(__file__).parents[2] / "examples" / "recordings" / "inventory.jsonl"
MARK = re.compile(r'Recall\(id=\\?"([ae]\w+)')


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return json_file(tmp_path / "work.json", work())


def test_messages_are_all_there_is_on_stdout(recording: Path) -> None:
    done = holdfast("pack", recording, "--budget", "6k")
    assert done.code == 0
    assert check(done.json, "openai") == ()
    assert done.json[0] == {"role": "system", "content": "You are careful."}
    assert len(done.out) < recording.stat().st_size


def test_the_account_is_on_stderr(recording: Path) -> None:
    err = holdfast("pack", recording, "--budget", "6k").err
    assert re.search(r"^layer +stable +tools +summary +window +round +tail +total$", err, re.MULTILINE)
    assert re.search(
        r"^\d\d,\d{3} tokens before packing, \d,\d{3} after \(\d+%\), in \d+\.\d s$", err, re.MULTILINE
    )
    assert "budget 6,000, limit 5,520, trigger 5,700 (profile code); " in err
    assert re.search(r"; [1-9]\d* folds?, \d+ cuts$", err, re.MULTILINE)
    assert "480 tokens stay free for the reply" in err
    assert "`--explain`" in err


def test_sizes_in_the_account_are_those_of_the_pack(recording: Path) -> None:
    made = holdfast("pack", recording, "--budget", "6k", "--json")
    found = made.json
    assert sum(layer["tokens"] for layer in found["layers"]) + found["tool_tokens"] == found["tokens"]
    assert found["tokens"] <= found["limit"] < found["tokens_before"]
    tokens = re.search(r"^tokens +(.+)$", made.err, re.MULTILINE)
    assert tokens is not None
    *layers, total = (int(part.replace(",", "")) for part in tokens[1].split())
    assert sum(layers) == total == found["tokens"]
    assert found["messages"] == holdfast("pack", recording, "--budget", "6k").json


def test_the_way_back_closes_its_bracket_where_it_is_cut() -> None:
    err = holdfast("pack", INVENTORY, "--budget", "6k").err
    line = next(line for line in err.split("\n") if line.startswith("get it back: "))
    assert line.endswith("…)")
    assert len(line) == 80


def test_the_parts_of_an_overflow_add_up() -> None:
    done = holdfast("pack", INVENTORY, "--budget", "2k", "--no-store")
    assert done.code == 5
    said = re.search(r"what may not be cut takes (\d,\d{3}) tokens, and the budget leaves 1,840", done.err)
    assert said is not None
    listed = re.findall(r"^(\S.*?) {2,}([\d,]+)$", done.err, re.MULTILINE)
    *parts, total = [(name, _parse(tokens)) for name, tokens in listed]
    assert {"message overhead", "notes of folds"} <= dict(parts).keys()
    assert total == ("total", _parse(said[1])) == ("total", sum(tokens for _, tokens in parts))
    assert "\nthe budget is 2,000 tokens\n" in done.err


def test_explain_groups_cuts_by_kind(recording: Path) -> None:
    found = holdfast("pack", recording, "--budget", "6k", "--json").json
    err = holdfast("pack", recording, "--budget", "6k", "--explain").err
    kinds = re.findall(r"^(\S.*?) {2,}([a-z][a-z-]+) +(\d+) +([\d,]+) +([\d,]+)$", err, re.MULTILINE)
    assert ("Read results", "read-gone") in [kind[:2] for kind in kinds]
    assert sum(int(kind[2]) for kind in kinds) == len(found["cuts"])
    for column, key in ((3, "before"), (4, "after")):
        assert sum(_parse(kind[column]) for kind in kinds) == sum(cut[key] for cut in found["cuts"])
    total = re.search(r"^total +(\d+) +([\d,]+) +([\d,]+)$", err, re.MULTILINE)
    assert total is not None
    assert int(total[1]) == len(found["cuts"])


def _parse(number: str) -> int:
    return int(number.replace(",", ""))


@pytest.mark.slow
def test_the_report_of_the_first_command_fits_one_screen() -> None:
    demo = Path(__file__).parents[2] / "examples" / "recordings" / "inventory.jsonl"
    err = holdfast("pack", demo, "--budget", "16k", "--explain").err
    lines = err.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    recalled = re.search(r"`holdfast recall (\w+)`", err)
    assert recalled is not None
    assert holdfast("recall", recalled[1]).code == 0


def test_cuts_lists_every_cut_and_fold(recording: Path) -> None:
    found = holdfast("pack", recording, "--budget", "6k", "--json").json
    err = holdfast("pack", recording, "--budget", "6k", "--cuts").err
    assert found["cuts"]
    assert found["folds"]
    for cut in found["cuts"]:
        row = rf"^ *{_grouped(cut['before'])} → {_grouped(cut['after'])} +{cut['rule']} +{cut['id']} +\S"
        assert re.search(row, err, re.MULTILINE), cut
    for fold in found["folds"]:
        assert re.sub(r"\d+", _grouped_digits, fold["why"]) in err
    assert re.search(r"^  steps? \d+(-\d+)? → \w+", err, re.MULTILINE)


def _grouped(number: int) -> str:
    return f"{number:,}"


def _grouped_digits(found: re.Match[str]) -> str:
    return _grouped(int(found[0]))


def test_every_id_that_is_said_is_recalled(recording: Path) -> None:
    packed = holdfast("pack", recording, "--budget", "4k", "--json")
    ids = {cut["id"] for cut in packed.json["cuts"]} | set(MARK.findall(packed.text))
    assert len(ids) > 12
    texts = {m["content"] for m in work() if m["role"] == "tool"}
    exact = 0
    for id_ in ids:
        back = holdfast("recall", id_)
        assert back.code == 0, id_
        exact += back.text in texts
    assert exact >= 8


def test_packing_again_gives_the_same_bytes_and_stores_nothing_new(recording: Path) -> None:
    first = holdfast("pack", recording, "--budget", "6k", "--json")
    again = holdfast("pack", recording, "--budget", "6k", "--json")
    assert (again.code, again.out) == (first.code, first.out)
    assert len(holdfast("logs", "--json").json) == 1


def test_a_log_is_packed_by_its_id(recording: Path) -> None:
    first = holdfast("pack", recording, "--budget", "6k", "--json").json
    again = holdfast("pack", first["log"][:8], "--budget", "6k")
    assert again.json == first["messages"]


def test_anthropic_has_the_system_prompt_beside_the_messages(recording: Path) -> None:
    found = holdfast("pack", recording, "--budget", "6k", "--to", "anthropic").json
    assert found["system"] == [{"type": "text", "text": "You are careful."}]
    assert check(found["messages"], "anthropic", system=found["system"]) == ()


@pytest.mark.parametrize("step", [1, 2, 5, 12])
def test_at_a_step_is_what_was_sent_before_its_reply(recording: Path, tmp_path: Path, step: int) -> None:
    messages = work()
    reply = next(i for i, m in enumerate(messages) if m.get("content") == f"Reading {step}.")
    shorter = json_file(tmp_path / "shorter.json", messages[:reply])
    assert holdfast("pack", recording, "--at", step).json == holdfast("pack", shorter).json


def test_at_one_more_than_the_last_step_is_everything(recording: Path) -> None:
    assert holdfast("pack", recording, "--at", "13").json == holdfast("pack", recording).json
    done = holdfast("pack", recording, "--at", "14")
    assert done.code == 2
    assert "is after the last step, which is 12" in done.err


def test_without_a_store_nothing_is_stored_and_that_is_said(recording: Path, store: Path) -> None:
    done = holdfast("pack", recording, "--budget", "6k", "--no-store")
    assert done.code == 0
    assert "cannot be recalled" in done.err
    assert not store.exists()
    assert done.json == holdfast("pack", recording, "--budget", "6k").json


def test_secrets_are_stored_nowhere(tmp_path: Path, store: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    messages = [{"role": "user", "content": f"use GITHUB_TOKEN={token} to push"}]
    done = holdfast("pack", json_file(tmp_path / "secret.json", messages))
    assert token not in done.text
    kept = b"".join(path.read_bytes() for path in store.parent.glob("store.db*"))
    assert token.encode() not in kept


def test_a_side_chain_is_packed_by_its_name(tmp_path: Path) -> None:
    base = {"sessionId": "s", "timestamp": "2026-01-01T10:00:00Z"}
    side = {**base, "isSidechain": True, "agentId": "helper7"}
    agent = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Count files"}}
    lines = [
        {**base, "type": "user", "uuid": "1", "message": {"role": "user", "content": "Main question"}},
        {**base, "type": "assistant", "uuid": "2", "parentUuid": "1",
         "message": {"role": "assistant", "content": [agent]}},
        {**side, "type": "user", "uuid": "3", "message": {"role": "user", "content": "Count files"}},
        {**side, "type": "assistant", "uuid": "4", "parentUuid": "3",
         "message": {"role": "assistant", "content": [{"type": "text", "text": "Seven."}]}},
    ]  # fmt: skip
    path = lines_file(tmp_path / "session.jsonl", lines)
    assert "Main question" in holdfast("pack", path).text
    found = holdfast("pack", path, "--chain", "helper7").json
    assert [m["content"] for m in found] == ["Count files", "Seven."]
    missing = holdfast("pack", path, "--chain", "helper8")
    assert missing.code == 3
    assert "`helper7`" in missing.err


def test_one_of_several_recordings(tmp_path: Path) -> None:
    path = lines_file(
        tmp_path / "many.jsonl",
        [neutral(f"many/{n}", [{"role": "user", "content": f"question {n}"}]) for n in "abc"],
    )
    assert "question b" in holdfast("pack", path, "--id", "many/b").text
    several = holdfast("pack", path)
    assert several.code == 2
    assert "hint: `holdfast show many.jsonl` lists them; `--id` takes" in several.err


def test_tokens_are_counted_for_the_recordings_model_or_the_one_named(tmp_path: Path) -> None:
    messages = [*work(2), {"role": "assistant", "content": "done"}]
    path = lines_file(tmp_path / "a.jsonl", [neutral("a", messages[1:], models=["claude-opus-4-5"])])
    as_claude, as_gpt = (
        holdfast("pack", path, "--json").json,
        holdfast("pack", path, "--json", "--model", "gpt-5").json,
    )
    assert as_claude["model"] == "claude-opus-4-5"
    assert as_claude["tokens"] > as_gpt["tokens"]


def test_repairs_and_losses_are_said(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "a",
            "reasoning": "hm",
            "tool_calls": [call("c1", "Read", path="x")],
        },
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": "b"},
    ]
    path = json_file(tmp_path / "broken.json", messages)
    err = holdfast("pack", path, "--explain").err
    assert "unanswered-call: `c1` was never answered" in err
    assert "note: not in openai's format: left out: thinking blocks (1)" in err


def test_a_profile_from_a_file_and_a_warning_about_the_environment(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "holdfast.toml").write_text('[profile.tiny]\nextends = "code"\nwindow = "6k"\n')
    monkeypatch.setenv("HOLDFAST_WINDWO", "1")
    done = holdfast("pack", recording, "--profile", "tiny")
    assert done.code == 0
    assert "budget 6,000" in done.err
    assert "warning: `HOLDFAST_WINDWO` is not a variable of Holdfast" in done.err


def test_terminals_are_not_told_what_to_do_by_recordings(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "clear \x1b[2J\x1b]0;owned\x07 it"}]
    done = holdfast("show", json_file(tmp_path / "escape.json", messages))
    assert "\x1b" not in done.text + done.err
    assert "\x07" not in done.text


@pytest.mark.slow
def test_the_demo_recording(store: Path) -> None:
    demo = Path(__file__).parents[2] / "examples" / "recordings" / "inventory.jsonl"
    done = holdfast("pack", demo, "--budget", "32k", "--cuts")
    assert done.code == 0, done.err
    assert check(done.json, "openai") == ()
    assert "fold 1, " in done.err
    assert json.loads(holdfast("logs", "--json").out)[0]["source"] == "neutral"
