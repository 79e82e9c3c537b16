"""`at_least`: nothing is learned from, or tried on, recordings with fewer tokens."""

import numpy as np
import pytest
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.lab.fit.examples import gather_examples
from holdfast.lab.fit.fit_results import run_trial
from holdfast.lab.fit.regression import learn_weights
from holdfast.lab.jobs import RecordingSources
from holdfast.lab.workers import LocalWorkers
from support.evidence_recordings import write_recordings
from support.fit_recordings import BUDGET, ORDER, fit_recording

LEAST = 3_000
LIMITED = replace(ORDER, at_least=LEAST)


@pytest.fixture
def mixed(tmp_path):
    """Short ones that would fold, around long ones of two projects; and the long ones alone."""
    short = [fit_recording(name, 16, source="short") for name in ("zero", "two")]
    long = [fit_recording("one", source="first"), fit_recording("three", source="second")]
    every = write_recordings(tmp_path / "mixed.jsonl", short[0], long[0], short[1], long[1])
    return RecordingSources((every,)), RecordingSources((write_recordings(tmp_path / "long.jsonl", *long),))


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_only_long_enough_recordings_are_learned_from(mixed, processes):
    every, long = mixed
    assert [one.recording for one in gather_examples(ORDER, every).examples] == [
        "zero",
        "one",
        "two",
        "three",
    ]
    done = []
    found = gather_examples(LIMITED, every, workers=LocalWorkers(processes), done=done.append)
    assert (len(done), sum(done)) == (4, every.load()[1])
    assert found.recordings == 2
    assert found.notes == ["shorter than 3k tokens, and so left out: 2 of 4 recordings"]
    alone = gather_examples(LIMITED, long)
    assert alone.notes == []
    for one, other in zip(found.examples, alone.examples, strict=True):
        assert (one.recording, one.project, one.folds) == (other.recording, other.project, other.folds)
        assert np.array_equal(one.lines.values, other.lines.values)
        assert np.array_equal(one.names.uses, other.names.uses)


@pytest.mark.slow
def test_only_long_enough_recordings_are_tried(mixed):
    every, long = mixed
    learned = learn_weights(gather_examples(LIMITED, every).examples, LIMITED)
    done = []
    trial, notes = run_trial(LIMITED, every, learned, done=done.append)
    assert (len(done), sum(done)) == (4, every.load()[1])
    assert notes == []
    assert [(row.project, row.recordings) for row in trial.rows] == [("first", 1), ("second", 1), ("", 2)]
    assert trial == run_trial(LIMITED, long, learned)[0]


def test_too_short_for_the_order_and_too_short_to_fold_are_counted_apart(tmp_path):
    made = [
        fit_recording("long"),
        fit_recording("flat", 20, rows=1),
        fit_recording("tiny", 2),
        fit_recording("small", 3),
    ]
    sources = RecordingSources((write_recordings(tmp_path / "r.jsonl", *made),))
    order = replace(ORDER, at_least=1_000, budgets=(2 * BUDGET,))
    found = gather_examples(order, sources)
    assert found.notes == [
        "shorter than 1k tokens, and so left out: 2 of 4 recordings",
        "too short to fold at 3k, and so left out: 1 of 2 recordings",
    ]
    assert found.recordings == 2


def test_notes_on_single_recordings_do_not_hide_how_many_were_left_out(mixed, tmp_path):
    broken = [{"id": f"b{n}", "source": "s", "messages": 7} for n in range(23)]
    file = write_recordings(
        tmp_path / "b.jsonl", fit_recording("tiny", 2), fit_recording("small", 3), *broken
    )
    notes = gather_examples(replace(LIMITED, at_least=400), RecordingSources((*mixed[0].files, file))).notes
    assert notes[-3:] == [
        "and 3 more like these",
        "shorter than 400 tokens, and so left out: 1 of 29 recordings",
        f"too short to fold at {BUDGET}, and so left out: 1 of 28 recordings",
    ]


def test_where_none_is_long_enough_that_is_an_error(mixed):
    with pytest.raises(InputError, match="no recording has 90k tokens or more") as raised:
        gather_examples(replace(ORDER, at_least=90_000), mixed[0])
    assert "--at-least" in raised.value.hint
