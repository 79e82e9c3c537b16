"""`holdfast replay` and what people get wrong: refused before any work, or noted beside the rest."""

from pathlib import Path

import pytest
from command_line import Outcome, holdfast, json_file, lines_file

from support.evidence_recordings import make_recording, write_policy, write_recordings

SMALL = ("--budget", "1k", "--jobs", "1")
PRICES = "read = 0.1\nwrite = 1.25\noutput = 5\nlife_seconds = 300\nminimum_tokens = 100\n"


def refused(done: Outcome, sentence: str, hint: str = "") -> None:
    assert (done.code, done.out) == (2, b""), done.err
    lines = done.err.rstrip("\n").split("\n")
    assert [line.split(":")[0] for line in lines] == ["error", "hint"], done.err
    assert sentence in lines[0]
    assert hint in lines[1]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recordings(tmp_path / "r.jsonl", make_recording("one"))


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)


def test_files_that_hold_no_recording(tmp_path: Path, recording: Path) -> None:
    refused(holdfast("replay", tmp_path / "missing.jsonl"), "missing.jsonl")
    (tmp_path / "empty").mkdir()
    refused(holdfast("replay", tmp_path / "empty"), "there is no recording in", ".jsonl")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    refused(holdfast("replay", tmp_path / "empty.jsonl"), "empty.jsonl is empty")
    refused(holdfast("replay", recording, tmp_path / "empty.jsonl"), "empty.jsonl is empty")
    refused(holdfast("replay", json_file(tmp_path / "other.json", {"a": 1})), "other.json is not a recording")
    refused(holdfast("replay", recording, "--from", "codex"), "r.jsonl is not codex")
    refused(holdfast("replay", recording, "--from", "nutral"), "not a format", "did you mean `neutral`?")
    refused(holdfast("replay"), "missing argument", "holdfast replay --help")


def test_a_file_of_which_nothing_can_be_replayed(tmp_path: Path) -> None:
    file = json_file(tmp_path / "odd.json", [{"role": "user", "content": 5}])
    done = holdfast("replay", file, *SMALL)
    assert done.code == 2
    assert "was not replayed: odd.json line 1 has no text in message 0" in done.err
    assert "error: no recording could be replayed\nhint: the notes above say why" in done.err


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        ("0", "a budget of 0 tokens is too small"),
        ("1", "a budget of 1 tokens is too small"),
        ("abc", "`abc`"),
        ("16k,abc", "`abc`"),
        ("-5", "`-5`"),
        ("1.5", "`1.5`"),
        ("", "`--budget` names no budget"),
        (",", "`--budget` names no budget"),
    ],
)
def test_budgets(recording: Path, budget: str, sentence: str) -> None:
    refused(holdfast("replay", recording, f"--budget={budget}"), sentence)


def test_policies(tmp_path: Path, recording: Path) -> None:
    def told(policy: str) -> Outcome:
        return holdfast("replay", recording, *SMALL, "--policy", policy)

    refused(told("newst"), "there is no policy `newst`", "did you mean `newest`?")
    refused(told("newest,qqq"), "there is no policy `qqq`", "there are: everything, newest")
    refused(told(","), "`--policy` names no policy")
    refused(told("no_such_module:Own"), "there is no module `no_such_module`")
    refused(told("./own.py:Own"), "is not a module")
    (tmp_path / "raises_at_import.py").write_text("raise RuntimeError('two\\nlines')\n")
    refused(told("raises_at_import:Own"), "cannot be imported: RuntimeError: two")
    (tmp_path / "leaves_at_import.py").write_text("raise SystemExit(0)\n")
    refused(told("leaves_at_import:Own"), "cannot be imported: SystemExit: 0")
    (tmp_path / "broken_syntax.py").write_text("def (\n")
    refused(told("broken_syntax:Own"), "cannot be imported: SyntaxError")
    write_policy(tmp_path, "has_own", "return messages")
    refused(told("has_own:Onw"), "`has_own` has no `Onw`", "did you mean `Own`?")


@pytest.mark.slow
def test_the_policy_to_compare_with(recording: Path) -> None:
    done = holdfast("replay", recording, *SMALL, "--policy", "newest,mask", "--against", "code")
    refused(done, "`--against code` is not one of the policies", "they are everything, newest, mask")
    assert holdfast("replay", recording, *SMALL, "--policy", "newest", "--against", "everything").code == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("read = ", "is not valid TOML"),
        (PRICES.replace("output = 5\n", ""), "the key `output` is missing"),
        (PRICES + "wriet = 1\n", "unknown key `wriet`"),
        (PRICES.replace("0.1", "true"), "`read` should be a number"),
    ],
    ids=["no TOML", "missing", "unknown", "no number"],
)
def test_price_tables(tmp_path: Path, recording: Path, text: str, sentence: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    refused(holdfast("replay", recording, "--prices", "mine.toml"), sentence)


def test_prices_that_are_not_there(recording: Path) -> None:
    refused(holdfast("replay", recording, "--prices", "standrad"), "no price table", "`standard`")
    refused(holdfast("replay", recording, "--prices", "none/mine.toml"), "cannot be read")


def test_places_that_cannot_be_written_are_refused_before_any_work(tmp_path: Path, recording: Path) -> None:
    began = tmp_path / "began"
    policy = write_policy(tmp_path, "tells", f"open({str(began)!r}, 'w').close()\nreturn messages")
    told = ("replay", recording, *SMALL, "--policy", policy)
    refused(holdfast(*told, "--html", "none/report.html"), "`none/report.html` cannot be written")
    refused(holdfast(*told, "--html", tmp_path), "cannot be written")
    refused(holdfast(*told, "--dump", "none/packs.jsonl"), "`none/packs.jsonl` cannot be written")
    refused(holdfast(*told, "--dump", tmp_path), "cannot be written")
    assert not began.exists()
    assert holdfast(*told, "--html", "report.html").code == 0
    assert began.exists()


@pytest.mark.parametrize(
    "options", [["--json", "--markdown"], ["--json", "--dump", "-"], ["--markdown", "--dump=-"]], ids=" ".join
)
def test_stdout_is_for_one_of_them(recording: Path, options: list[str]) -> None:
    refused(holdfast("replay", recording, *options), "stdout takes only one of", "drop the others")


def test_processes(recording: Path) -> None:
    for jobs in ("0", "-1", "two"):
        refused(holdfast("replay", recording, f"--jobs={jobs}"), "--jobs")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"role": "user", "content": "hello"}], "no reply in it, so no request"),
        ([{"role": "assistant", "content": "hello"}], "no action used earlier text"),
        ([{"role": "system", "content": "Be brief."}], "no reply in it, so no request"),
        ([], "no reply in it, so no request"),
        (make_recording("dull", 2)["messages"], "no action used earlier text"),
        (make_recording("easy", 9, words=1)["messages"], "no hard needs"),
    ],
    ids=["one message", "one reply", "only a system prompt", "no message", "no needs", "no hard needs"],
)
def test_recordings_with_nothing_to_score(tmp_path: Path, messages: list[dict], said: str) -> None:
    path = write_recordings(tmp_path / "r.jsonl", {**make_recording("little"), "messages": messages})
    told = ("replay", path, *SMALL, "--policy", "newest,code")
    done = holdfast(*told)
    assert done.code == 0, done.err
    assert f"note: 1 of the recordings: {said} (little)\n" in done.err
    assert "error" not in done.err
    assert "newest" in done.text
    for options in (["--json"], ["--markdown"], ["--html", "report.html", "--sensitivity"]):
        assert holdfast(*told, *options).code == 0, options
    dumped = holdfast(*told, "--dump", "-").text.splitlines()
    assert len(dumped) == 2 * sum(message["role"] == "assistant" for message in messages)


def test_checking_a_recording_without_a_reply(tmp_path: Path) -> None:
    path = write_recordings(tmp_path / "r.jsonl", {**make_recording("little"), "messages": []})
    [*rows] = holdfast("replay", path, *SMALL, "--policy", "newest", "--check", "--json").json["rows"]
    assert {tuple(row["checks"].values()) for row in rows} == {("ok", "ok")}


@pytest.mark.slow
def test_a_bad_recording_does_not_hide_the_others(tmp_path: Path) -> None:
    broken = {"id": "broken", "source": "s", "messages": 7}
    path = write_recordings(tmp_path / "r.jsonl", make_recording("one"), broken, make_recording("two", 12))
    done = holdfast("replay", path, *SMALL, "--policy", "newest")
    assert done.code == 0
    assert "note: broken was not replayed: r.jsonl line 2 has no list of `messages`" in done.err
    assert "3 recordings of 1 project" in done.err


def test_a_damaged_line_is_refused_with_its_number(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "r.jsonl", [make_recording("one", 2), make_recording("two", 2)])
    path.write_text("not JSON\n" + path.read_text())
    refused(holdfast("replay", path, *SMALL), "r.jsonl line 1 is not valid JSON")


FAULTS = {
    "raises": ("raise ValueError('no idea')", "ValueError: no idea"),
    "says_nothing": ("return None", "the policy returned a NoneType"),
    "says_nonsense": ("return [{'role': 'user', 'content': [7]}]", "a message cannot be read"),
    "says_sets": ("return [{**messages[0], 'role': 'robot'}]", "a message has the role `robot`"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_policy_that_fails_gets_that_in_its_row(tmp_path: Path, recording: Path, name: str) -> None:
    body, sentence = FAULTS[name]
    policy = write_policy(tmp_path, name, body)
    rows = holdfast("replay", recording, *SMALL, "--policy", f"newest,{policy}", "--json").json["rows"]
    row = next(row for row in rows if row["policy"] == policy)
    [(fault, times)] = row["failures"].items()
    assert (fault.startswith(sentence), times) == (True, row["requests"])
    assert (row["all"]["mean"], row["tokens"]) == (0, 0)
    assert next(row for row in rows if row["policy"] == "newest")["failures"] == {}


@pytest.mark.slow
def test_a_policy_that_cannot_start_gets_that_in_its_row(tmp_path: Path, recording: Path) -> None:
    (tmp_path / "no_start.py").write_text("def own(task):\n    raise OSError('no room')\n")
    done = holdfast("replay", recording, *SMALL, "--policy", "no_start:own", "--json")
    row = next(row for row in done.json["rows"] if row["policy"] == "no_start:own")
    assert row["failures"] == {"could not start: OSError: no room": row["requests"]}
