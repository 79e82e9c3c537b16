"""`at_least`: recordings with fewer tokens are left out of a replay, and the report says how many."""

import json
import os

import msgspec
import pytest
from test_gathering import ORDER, run, settled

from holdfast.errors import InputError
from holdfast.lab.jobs import RecordingSources, ReplayOptions
from holdfast.lab.replay import ReportOptions
from holdfast.lab.workers import LocalWorkers
from holdfast.tokenizers import load_tokenizer
from support.evidence_recordings import make_recording, write_policy, write_recordings


def tokens(recording: dict) -> int:
    """Of all messages, counted by hand: role, text, and each call's name and arguments."""
    texts: list[str] = []
    for message in recording["messages"]:
        calls = [call.get("function", call) for call in message.get("tool_calls", ())]
        texts += [message["role"], message["content"]]
        texts += [text for call in calls for text in (call["name"], plain_json(call["arguments"]))]
    return sum(map(load_tokenizer().count, texts))


def plain_json(arguments: object) -> str:
    value = json.loads(arguments) if isinstance(arguments, str) else arguments
    return json.dumps(value, separators=(",", ":"))


@pytest.fixture
def mixed(tmp_path):
    """Long and short ones in turn, each with something to score, and a file of the long ones alone."""
    long = [make_recording("one"), make_recording("three", 16, source="other")]
    short = [make_recording("zero", 9, words=60), make_recording("two", 9, words=60, source="third")]
    every = write_recordings(tmp_path / "mixed.jsonl", short[0], long[0], short[1], long[1])
    return every, write_recordings(tmp_path / "long.jsonl", *long), min(map(tokens, long))


def limited(at_least: int, **changes) -> ReplayOptions:
    return msgspec.structs.replace(ORDER, at_least=at_least, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_recordings_left_out_as_too_short_leave_no_trace_but_a_note(mixed, processes):
    every, long, least = mixed
    order = limited(least, measures=ORDER.varied().measures, pictures=True)
    found = settled(run(every, order=order, workers=LocalWorkers(processes)))
    assert found["at_least"] == least
    assert found["notes"] == [f"shorter than {least} tokens, and so left out: 2 of 4 recordings"]
    assert found["recordings"] == 2
    alone = settled(run(long, order=order))
    assert alone["notes"] == []
    same = {"files": None, "notes": None}
    assert {**found, **same} == {**alone, **same}
    assert settled(run(every))["needs"] > alone["needs"]


def test_a_recording_of_just_so_many_tokens_is_long_enough(tmp_path):
    made = make_recording("one")
    file = write_recordings(tmp_path / "a.jsonl", made)
    assert run(file, order=limited(tokens(made))).recordings == 1
    with pytest.raises(InputError, match=f"no recording has {tokens(made) + 1} tokens or more") as raised:
        run(file, order=limited(tokens(made) + 1))
    assert "--at-least" in raised.value.hint


def test_progress_reaches_its_end_whatever_is_left_out(mixed):
    every, _, least = mixed
    done = []
    run(every, order=limited(least), done=done.append)
    assert (len(done), sum(done)) == (4, RecordingSources((every,)).load()[1])


@pytest.mark.slow
def test_what_is_left_out_is_neither_packed_nor_checked_nor_dumped(mixed, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    note = "(Path(__file__).parent / f\"packed {messages[0]['content'].split()[-1]} {os.getpid()}\").touch()"
    policy = write_policy(
        tmp_path, "tells_whom", f"{note}\nreturn messages[-1:]", "import os\nfrom pathlib import Path"
    )
    every, _, least = mixed
    (tmp_path / "dump").mkdir()
    order = limited(least, policies=(policy,), folder=str(tmp_path), dump=str(tmp_path / "dump"))
    dumped = []
    report = run(every, order=order, options=ReportOptions(checks=True, draws=1), dump=dumped.append)
    packed = [path.name.split()[1:] for path in tmp_path.glob("packed *")]
    assert {id_ for id_, pid in packed if int(pid) == os.getpid()} == {"one.", "three."}
    assert {id_ for id_, pid in packed if int(pid) != os.getpid()} == {"one.", "three."}
    assert {tuple(row.checks.values()) for row in report.rows} == {("ok", "ok")}
    assert len(dumped) == len(list((tmp_path / "dump").iterdir())) == 2


def test_what_was_interrupted_before_any_was_long_enough_is_partial_and_no_error(mixed):
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    every, _, least = mixed
    report = run(every, order=limited(least), done=interrupt)
    assert report.partial == "interrupted after 1 of 4 recordings"
    assert (report.recordings, report.rows) == (0, [])


def test_how_many_were_left_out_is_said_whatever_else_is(mixed, tmp_path):
    broken = [{"id": f"b{n}", "source": "s", "messages": 7} for n in range(23)]
    file = write_recordings(tmp_path / "b.jsonl", make_recording("fine"), *broken)
    report = run(mixed[0], file, order=limited(mixed[2]))
    assert report.notes[-2:] == [
        "and 3 more like these",
        f"shorter than {mixed[2]} tokens, and so left out: 2 of 28 recordings",
    ]
    assert report.recordings == 26
