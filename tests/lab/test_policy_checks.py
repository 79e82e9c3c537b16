"""The two checks: packs do not hang on hashes, nor on what comes after them."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.lab.case import RecordedTurn, ReplayCase, make_case
from holdfast.lab.jobs import RecordingSources, ReplayOptions
from holdfast.lab.replay import (
    HASHES,
    SUFFIX,
    CheckResult,
    ReportOptions,
    check_job,
    compare_runs,
    replay,
    scramble,
)
from holdfast.lab.results import ReplayReport, Score
from holdfast.lab.scored_message import read_message
from holdfast.prices import BUILT_IN
from holdfast.recordings import find_recording
from support.evidence_recordings import make_recording, replies, write_policy, write_recordings

FINE = {HASHES: "ok", SUFFIX: "ok"}
SETS = """
names = {word for message in messages for word in str(message["content"]).split()}
return [{"role": "user", "content": " ".join(names)}]
"""
NEXT_REPLY = """
frame = sys._getframe()
while frame is not None:
    for found in frame.f_locals.values():
        if isinstance(found, list) and len(found) > len(messages) and found[0] == messages[0]:
            return [*messages[-1:], found[len(messages)]]
    frame = frame.f_back
return messages[-1:]
"""
LAST_TIME = """
task = messages[0]["content"]
known = LONGEST.get(task, ())
LONGEST[task] = max(known, tuple(messages), key=len)
return [messages[0], *known[-1:]]
"""


def checked(folder: Path, *recordings: dict, **own: tuple[str, str]) -> ReplayReport:
    files = (write_recordings(folder / "r.jsonl", *recordings),)
    named = [write_policy(folder, name, body, before) for name, (body, before) in own.items()]
    names = ("everything", "newest", "mask", "clear", "cap", "code", "draft16k", "review", *named)
    order = ReplayOptions(names, (1_000,), (BUILT_IN["standard"],), folder=str(folder))
    sources = RecordingSources(files)
    return replay(order, sources, sources.load()[0], ReportOptions(checks=True, draws=2))


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, dict[str, str]]:
    report = checked(
        tmp_path_factory.mktemp("checks"),
        make_recording("one"),
        by_sets=(SETS, ""),
        by_frames=(NEXT_REPLY, "import sys"),
        by_memory=(LAST_TIME, "LONGEST = {}"),
    )
    return {row.policy: row.checks for row in report.rows}


@pytest.mark.slow
def test_ours_and_the_simple_ones_pass(found):
    own = {"by_sets:Own", "by_frames:Own", "by_memory:Own"}
    assert {name: checks for name, checks in found.items() if name not in own and checks != FINE} == {}
    assert len(found) == 8 + len(own)


def test_packs_that_hang_on_hashes_are_found(found):
    assert found["by_sets:Own"][HASHES] == "other packs for one"


def test_a_policy_that_looks_at_the_next_reply_only_is_found(found):
    places = replies(make_recording("one"))
    at = places[int(len(places) * 0.3)]
    assert found["by_frames:Own"] == {HASHES: "ok", SUFFIX: f"knew the future of one at {at}"}


def test_a_policy_that_remembers_the_run_before_is_found(found):
    assert found["by_memory:Own"] == {HASHES: "ok", SUFFIX: "knew the future of one at 1"}


@pytest.mark.slow
def test_a_recording_that_cannot_be_read_does_not_end_the_checks(tmp_path):
    broken = {"id": "broken", "source": "s", "messages": 7}
    report = checked(tmp_path, make_recording("fine", 3), broken)
    assert {row.policy: row.checks for row in report.rows if row.checks != FINE} == {}
    assert [note for note in report.notes if "broken was not replayed" in note]


def test_a_job_that_cannot_be_read_has_no_verdict(tmp_path):
    file = write_recordings(
        tmp_path / "r.jsonl", make_recording("fine", 3), {"id": "b", "source": "s", "messages": 7}
    )
    order = ReplayOptions(("newest",), (1_000,), (BUILT_IN["standard"],))
    fine, broken = (check_job(order, job) for job in RecordingSources((file,)).jobs())
    assert [(v.policy, v.scrambled_at) for v in fine] == [("everything", None), ("newest", None)]
    assert broken == []


@pytest.fixture
def case(tmp_path) -> ReplayCase:
    recording = make_recording("one", 6)
    recording["messages"].insert(1, {"role": "assistant", "content": "", "reasoning": "hm"})
    return make_case(find_recording(write_recordings(tmp_path / "r.jsonl", recording)), "p")


def messages(turns: list[RecordedTurn]) -> list:
    return [json.loads(json.dumps(turn.message)) for turn in turns]


@pytest.mark.parametrize("cut", [0, 1, 2, 5, 7])
def test_scrambling_changes_all_from_a_reply_on_and_nothing_before(case, cut):
    other = scramble(case, cut)
    first = [n for n, turn in enumerate(case.turns) if turn.is_reply][cut]
    assert messages(other.turns[:first]) == messages(case.turns[:first])
    for turn, changed in zip(case.turns[first:], other.turns[first:], strict=True):
        assert (turn.index, turn.at, turn.is_reply) == (changed.index, changed.at, changed.is_reply)
        if turn.message is None:
            assert changed.message is None
            continue
        before, after = read_message(turn.message), read_message(changed.message)
        assert before.text != after.text
        assert (before.role, before.answers) == (after.role, after.answers)
        assert [(c.id, c.name) for c in before.calls] == [(c.id, c.name) for c in after.calls]
        assert all(a.arguments != b.arguments for a, b in zip(before.calls, after.calls, strict=True))


def test_scrambling_is_the_same_every_time_and_stops_where_there_is_nothing(case):
    assert scramble(case, 2) == scramble(case, 2)
    assert scramble(case, case.requests) == case


def test_comparing_names_the_recording_that_differed():
    scores = [Score("a", "p", "x", 9, fingerprint="1"), Score("b", "p", "x", 9, fingerprint="2")]
    verdicts = [CheckResult("x", 9, "a", "1", None), CheckResult("x", 9, "b", "2", None)]
    assert compare_runs(verdicts, scores) == {("x", 9): FINE}
    changed = [verdicts[0], replace(verdicts[1], fingerprint="3", scrambled_at=4)]
    assert compare_runs(changed, scores) == {
        ("x", 9): {HASHES: "other packs for b", SUFFIX: "knew the future of b at 4"}
    }
    assert compare_runs([replace(verdicts[0], recording="c")], scores) == {("x", 9): FINE}
    assert compare_runs([], scores) == {}
