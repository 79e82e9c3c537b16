"""`holdfast replay`: tables, JSON, Markdown, HTML, dumps; other formats, own policies, terminals and shells."""

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_line import Outcome, holdfast, json_file, on_terminal, process, work

from holdfast.lab.results import ReplayReport
from holdfast.tokenizers import load_tokenizer
from recordings.recording_samples import CLAUDE_CODE, write_lines
from support.evidence_recordings import make_recording, replies, write_policy, write_recordings

KEYS = ["recording", "index", "budget", "policy", "messages", "tokens"]
SMALL = ("--budget", "1k", "--jobs", "1")


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recordings(tmp_path / "r.jsonl", make_recording("one"))


def odd(id_: str) -> dict[str, Any]:
    """A recording with a system message, a reply that says nothing, and a call whose arguments are no JSON."""
    made = make_recording(id_, 10)
    broken = {"id": "b", "name": "Bash", "arguments": "{broken"}
    made["messages"] = [
        {"role": "system", "content": "Be brief."},
        made["messages"][0],
        {"role": "assistant", "content": "", "reasoning": "hm"},
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": "I try.", "tool_calls": [broken]},
        {"role": "tool", "tool_call_id": "b", "content": "no JSON"},
        *made["messages"][1:],
    ]
    return made


def report_of(done: Outcome) -> ReplayReport:
    assert done.code == 0, done.err
    return msgspec.json.decode(done.out, type=ReplayReport)


def counted(messages: list[dict[str, Any]]) -> int:
    """Tokens of a pack, counted once more: roles, texts, names of calls, arguments as compact JSON."""
    texts: list[str] = []
    for message in messages:
        texts += [message["role"], message["content"]]
        for call in message.get("tool_calls", ()):
            given = call["function"]["arguments"]
            compact = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
            texts += [call["function"]["name"], given if isinstance(given, str) else compact]
    return sum(map(load_tokenizer().count, texts))


def test_one_recording_has_no_interval(recording: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = holdfast("replay", recording, *SMALL, "--policy", "newest,code", "--html", page)
    told = holdfast("replay", recording, *SMALL, "--policy", "newest,code", "--markdown").text
    hard = report_of(holdfast("replay", recording, *SMALL, "--policy", "newest", "--json")).rows[0].hard
    assert hard is not None
    assert hard.low == hard.mean == hard.high
    for text in (done.text, done.err, told, page.read_text()):
        assert not re.search(r"(\d\.\d\d)–\1", text)
    assert "keeps the most: " in done.err
    assert "95%" not in done.err
    assert max(map(len, done.err.splitlines())) <= 80 + len(str(page))


def lines_of(raw: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in raw.decode().splitlines()]


def expected(recordings: list[dict[str, Any]], policies: list[str], budgets: list[int]) -> Iterator[tuple]:
    for made in recordings:
        for policy in policies:
            for budget in budgets:
                for index in replies(made):
                    yield made["id"], policy, budget, index


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    made = [odd("odd"), make_recording("plain", 11, source="other")]
    return write_recordings(tmp_path / "two.jsonl", *made), made


def test_a_dump_has_a_line_for_every_reply_policy_and_budget(two: tuple) -> None:
    path, made = two
    done = holdfast("replay", path, "--budget", "2k,1k", "--policy", "clear,code", "--jobs", 1, "--dump", "-")
    assert done.code == 0, done.err
    lines = lines_of(done.out)
    found = [(line["recording"], line["policy"], line["budget"], line["index"]) for line in lines]
    assert found == list(expected(made, ["clear", "code"], [1_000, 2_000]))
    for line in lines:
        assert list(line) == KEYS
        assert line["tokens"] == counted(line["messages"]) <= line["budget"]
        assert {message["role"] for message in line["messages"]} <= {"user", "assistant", "tool"}
    assert lines[0]["messages"] == [{"role": "user", "content": "Go through the modules of odd."}]
    assert "evidence and cost at 1k" in done.err
    assert "2 recordings of 2 projects" in done.err


def test_what_no_budget_binds_is_dumped_for_each_of_them(two: tuple) -> None:
    path, made = two
    done = holdfast("replay", path, "--budget", "1k,2k", "--policy", "everything", "--jobs", 1, "--dump", "-")
    lines = lines_of(done.out)
    for budget in (1_000, 2_000):
        found = [
            (x["recording"], x["policy"], x["budget"], x["index"]) for x in lines if x["budget"] == budget
        ]
        assert found == list(expected(made, ["everything"], [budget]))
    assert all(line["tokens"] == counted(line["messages"]) for line in lines)
    sent = lines[-1]["messages"]
    calls = [call for message in sent for call in message.get("tool_calls", ())]
    assert [m["content"] for m in sent] == [m["content"] for m in made[1]["messages"][:-1]]
    assert [c["arguments"] for c in calls] == [c["function"]["arguments"] for c in calls]
    assert calls[-1] == {
        "id": "c10",
        "type": "function",
        "name": "Read",
        "arguments": {"file_path": "src/part/module_plain_2.py"},
        "function": {"name": "Read", "arguments": {"file_path": "src/part/module_plain_2.py"}},
    }


@pytest.mark.slow
def test_a_silent_reply_is_dumped_and_never_sent(two: tuple) -> None:
    lines = lines_of(holdfast("replay", two[0], *SMALL, "--policy", "everything", "--dump", "-").out)
    first, second, third = lines[:3]
    assert [line["index"] for line in (first, second, third)] == [2, 4, 6]
    assert [m["role"] for m in second["messages"]] == ["user", "user"]
    assert third["messages"][2]["tool_calls"][0]["arguments"] == "{broken"


@pytest.mark.slow
def test_a_dump_is_the_same_however_many_processes_make_it(
    two: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = tmp_path / "temporary"
    places.mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(places))
    dumps = []
    for jobs in (1, 2):
        out = tmp_path / f"packs{jobs}.jsonl"
        done = holdfast(
            "replay", two[0], "--budget=1k,2k", "--policy=newest,code", f"--jobs={jobs}", "--dump", out
        )
        assert done.code == 0, done.err
        assert "evidence and cost at 1k" in done.text
        dumps.append(out.read_bytes())
    assert dumps[0] == dumps[1]
    assert len(lines_of(dumps[0])) == 2 * 2 * sum(len(replies(made)) for made in two[1])
    assert list(places.iterdir()) == []


def test_a_policy_that_fails_is_dumped_too(tmp_path: Path, recording: Path) -> None:
    body = "if len(messages) > 5:\n    raise ValueError('no idea')\nreturn messages"
    policy = write_policy(tmp_path, "fails_late", body)
    lines = lines_of(holdfast("replay", recording, *SMALL, "--policy", policy, "--dump", "-").out)
    assert [line["index"] for line in lines] == replies(make_recording("one"))
    fine = [line for line in lines if "error" not in line]
    assert [line["index"] for line in fine] == [1, 3, 5]
    for line in lines[3:]:
        assert list(line) == [*KEYS, "error"]
        assert (line["messages"], line["tokens"], line["error"]) == ([], 0, "ValueError: no idea")


def test_json_is_a_report(recording: Path) -> None:
    done = holdfast("replay", recording, *SMALL, "--policy", "newest,code", "--json", "--against", "newest")
    report = report_of(done)
    assert [row.policy for row in report.rows] == ["everything", "newest", "code"]
    assert {c.reference for c in report.comparisons} == {"newest"}
    assert (report.partial, report.files, report.prices) == ("", ["r.jsonl"], "standard")
    assert set(report.price_tables) == {"standard", "deep-discount", "free-write", "uncached"}
    assert report.measure["overlap"] == 0.5
    assert done.err == ""


@pytest.mark.slow
def test_a_second_run_has_the_same_figures(recording: Path) -> None:
    told = ("replay", recording, *SMALL, "--policy", "newest,code", "--json", "--sensitivity")
    one, two = (report_of(holdfast(*told)) for _ in range(2))
    times = {"p50_ms": 0, "p95_ms": 0, "worst_ms": 0, "growth": None, "peak_mb": 0}
    settled = [
        msgspec.structs.replace(
            report, seconds=0, rows=[msgspec.structs.replace(row, **times) for row in report.rows]
        )
        for report in (one, two)
    ]
    assert settled[0] == settled[1]
    assert {row.variation for row in one.sensitivity} >= {"overlap 0.3", "longer: lines 24, names 8"}


def test_tables_are_the_data(recording: Path) -> None:
    done = holdfast("replay", recording, "--budget", "1k,2k", "--policy", "newest,mask", "--jobs", 1)
    titles = [line for line in done.text.split("\n") if " at " in line and not line.startswith("policy")]
    assert titles[0].startswith("evidence and cost at 1k (")
    assert [title.split(" (")[0] for title in titles[:6]] == [
        f"{what} at {budget}"
        for budget in ("1k", "2k")
        for what in ("evidence and cost", "speed and size", "where the dollars go")
    ]
    assert max(map(len, done.text.split("\n"))) <= 80
    assert done.err.startswith("1 recording of 1 project in ")
    assert "At 2k, `newest` keeps the most: 1.00" in done.err


def test_markdown_and_html(tmp_path: Path, recording: Path) -> None:
    done = holdfast("replay", recording, *SMALL, "--policy", "newest", "--markdown", "--html", "out.html")
    assert done.code == 0
    assert "| newest |" in done.text
    assert "note: the report is in `out.html`\n" in done.err
    page = (tmp_path / "out.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "newest" in page
    assert "Partial result" not in page


def test_prices_by_name_and_file(tmp_path: Path, recording: Path) -> None:
    told = ("replay", recording, *SMALL, "--policy", "newest", "--json")
    assert report_of(holdfast(*told, "--prices", "uncached")).prices == "uncached"
    (tmp_path / "mine.toml").write_text(
        "read = 0.5\nwrite = 2\noutput = 5\nlife_seconds = 60\nminimum_tokens = 10\n"
    )
    report = report_of(holdfast(*told, "--prices", "mine.toml"))
    assert (report.prices, report.price_tables["mine"]["write"]) == ("mine", 2)
    assert set(report.rows[0].dollars) == set(report.price_tables)


@pytest.mark.slow
def test_policies_of_the_current_folder_in_other_processes(tmp_path: Path) -> None:
    path = write_recordings(
        tmp_path / "r.jsonl", make_recording("one"), make_recording("two"), make_recording("three")
    )
    policy = write_policy(tmp_path, "opening_and_newest", "return [messages[0], *messages[-2:]]")
    report = report_of(
        holdfast("replay", path, "--budget=1k", "--policy", policy, "--jobs=2", "--json", "--check")
    )
    row = next(row for row in report.rows if row.policy == policy)
    assert (row.recordings, row.failures) == (3, {})
    assert set(row.checks.values()) == {"ok"}


def test_profiles_of_the_configuration(tmp_path: Path, recording: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('[profile.cosy]\nextends = "code"\nkeep = 3\n')
    report = report_of(holdfast("replay", recording, *SMALL, "--policy", "cosy,code", "--json"))
    abouts = {row.policy: row.about for row in report.rows}
    assert set(abouts) == {"everything", "cosy", "code"}
    assert abouts["cosy"] != abouts["code"]


def test_other_formats_and_gzip(tmp_path: Path) -> None:
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(make_recording("packed")).encode()))
    chat = json_file(tmp_path / "chat.json", work(12, 20))
    claude = write_lines(tmp_path / "claude.jsonl", CLAUDE_CODE)
    done = holdfast("replay", packed, chat, claude, *SMALL, "--policy", "newest", "--json")
    report = report_of(done)
    assert report.projects == {"chat": 1, "claude": 1, "evidence": 1}
    assert report.files == ["packed.jsonl.gz", "chat.json", "claude.jsonl"]
    assert report.rows[0].requests == len(replies(make_recording("packed"))) + 12 + 2
    by_file = holdfast("replay", packed, *SMALL, "--policy", "newest", "--json", "--project-from", "file")
    assert report_of(by_file).projects == {"packed": 1}


@pytest.mark.slow
def test_a_bar_on_a_terminal_only(recording: Path) -> None:
    told = ("replay", recording, *SMALL, "--policy", "newest")
    shown = on_terminal(*told, env={"COLUMNS": "100"}).out.decode()
    assert shown.index("replaying 1 recording") < shown.index("evidence and cost")
    assert "━" in shown
    assert "%" in shown
    assert "━" not in holdfast(*told).err


def completed(words: str) -> list[str]:
    place = len(words.split(" ")) - 1
    env = {**os.environ, "_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    done = process(env=env)
    assert (done.code, done.err) == (0, "")
    return done.text.split("\n")[:-1]


@pytest.mark.slow
def test_what_a_shell_offers() -> None:
    assert completed("holdfast repl") == ["plain,replay"]
    assert completed("holdfast replay x --policy newest,co") == ["plain,newest,code"]
    assert "plain,mask" in completed("holdfast replay x --policy ma")
    assert completed("holdfast replay x --prices st") == ["plain,standard"]
    assert completed("holdfast replay x --prices ./mi") == ["file,./mi"]
    assert completed("holdfast replay x --from neu") == ["plain,neutral"]


def test_why_says_where_evidence_was_lost(tmp_path: Path, recording: Path) -> None:
    asked = ("replay", recording, *SMALL, "--policy", "newest,code")
    plain, told = holdfast(*asked), holdfast(*asked, "--why", "--html", tmp_path / "out.html")
    assert told.code == 0, told.err
    assert "why needs were missed at 1k" in told.text
    assert "not in the pack" in told.text
    assert "were missed" not in plain.text
    assert plain.text.split("\n\n")[0].split("p50")[0] in told.text, "the other tables stay as they are"
    assert "Where evidence was lost" in (tmp_path / "out.html").read_text()
    one, two = (report_of(holdfast(*asked, *more, "--json")) for more in ((), ("--why",)))
    assert not one.groups
    assert {group.policy for group in two.groups} == {"everything", "newest", "code"}
    for before, after in zip(one.rows, two.rows, strict=True):
        assert (before.hard, before.all, before.older, before.parts) == (
            after.hard, after.all, after.older, after.parts,
        )  # fmt: skip


def test_a_folder_is_all_recordings_below_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    write_recordings(folder / "b.jsonl", make_recording("two", 12))
    write_recordings(folder / "deep" / "a.jsonl", make_recording("three", 12))
    write_recordings(folder / "a.jsonl", make_recording("one", 12))
    (folder / "notes.md").write_text("not a recording")
    done = holdfast("replay", folder, "--budget", "1k", "--policy", "newest", "--jobs", 1, "--json")
    assert done.code == 0, done.err
    assert done.json["files"] == ["a.jsonl", "b.jsonl", "a.jsonl"]
    (tmp_path / "empty").mkdir()
    done = holdfast("replay", tmp_path / "empty")
    assert done.code == 2
    assert "there is no recording in" in done.err
