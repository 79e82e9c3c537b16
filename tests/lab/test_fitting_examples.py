"""Examples: features as a fold sees them, labels from what came later, and nothing of the one in the other."""

from math import exp

import numpy as np
import pytest
from msgspec.structs import replace

from holdfast.errors import ContextOverflow
from holdfast.lab.evidence.needs import DECAY_PER_STEP, later_use, study_evidence
from holdfast.lab.fit.examples import (
    UNUSED_SAMPLE,
    RecordingExamples,
    examples_of,
    is_sampled,
    line_features,
    name_features,
    rows_of,
)
from holdfast.lab.policies.profile_policy import WindowFeed
from holdfast.lab.policy import Task
from holdfast.lab.replay import scramble
from holdfast.lab.scored_message import MessageCounter
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES
from holdfast.packing.lines.weights import HAND_WEIGHTS, built_in_weights
from holdfast.packing.log_walk import fold_if_due
from holdfast.tokenizers import load_tokenizer
from support.evidence import user
from support.fit_recordings import BUDGET, PROFILE, definition, fit_recording, studied

TASK = Task(BUDGET, len)


@pytest.fixture(scope="module")
def lesson_study(tmp_path_factory):
    return studied(tmp_path_factory.mktemp("fit"), fit_recording())


def first_fold(study_, weights=HAND_WEIGHTS):
    """The window right after the first fold, and the number of the request that made it."""
    feed = WindowFeed(PROFILE, TASK, weights)
    messages = [turn.message for turn in study_.case.turns]
    for number, request in enumerate(study_.requests):
        feed.read(messages[: request.before], request.at)
        if fold_if_due(feed.window):
            return feed.window, number
    raise AssertionError("the recording is too short")


def test_later_use_counts_shares_and_fades(lesson_study):
    number = next(n for n, r in enumerate(lesson_study.requests) if r.needs[0] and r.needs[0][0].age > 5)
    needs = [need for need in lesson_study.requests[number].needs[0] if need.age > 5]
    lines, names = later_use(lesson_study, number)
    lines_before, names_before = later_use(lesson_study, number - 3)
    for need in needs:
        found = lines if need.is_line else names
        earlier = lines_before if need.is_line else names_before
        assert found[need.text] == pytest.approx(1 / len(needs))
        assert earlier[need.text] == pytest.approx(DECAY_PER_STEP**3 / len(needs))
    assert definition("one", 0) in lines
    assert later_use(lesson_study, len(lesson_study.requests)) == later_use(lesson_study, -1)


def test_what_is_used_is_an_example_with_its_use(lesson_study):
    window, number = first_fold(lesson_study)
    lines, names = rows_of(window, *later_use(lesson_study, number))
    used = {row[0]: row for row in lines if row[1]}
    is_definition = LINE_FEATURES.index("definition")
    assert used
    assert all(features[is_definition] for features in used)
    assert {row[2] for row in used.values()} == {1.0}
    assert {row[2] for row in lines if not row[1]} == {float(UNUSED_SAMPLE)}
    assert any(row[1] for row in names)
    assert any(not row[1] for row in names)


def test_features_times_weights_are_the_score_of_a_fold(lesson_study):
    """What is fitted is what is ranked by: the same numbers in the same order."""
    for weights in (HAND_WEIGHTS, built_in_weights("learned")):
        window, _ = first_fold(lesson_study, weights)
        line_index = window.view().line_index
        assert len(line_index.lines) > 20
        for line in line_index.lines:
            features = line_features(line_index, line)
            assert len(features) == len(LINE_FEATURES)
            score = sum(weights.lines.get(n, 0) * v for n, v in zip(LINE_FEATURES, features, strict=True))
            assert exp(score) == pytest.approx(exp(next(line_index.line_scores([line]))))
        for text in line_index.names:
            features = name_features(line_index, text)
            assert len(features) == len(NAME_FEATURES)
            score = sum(weights.names.get(n, 0) * v for n, v in zip(NAME_FEATURES, features, strict=True))
            assert exp(score) == pytest.approx(exp(next(line_index.name_scores([text]))))


def taught(study_) -> RecordingExamples:
    return examples_of(study_, PROFILE, [TASK])


def test_features_know_nothing_of_what_comes_later(lesson_study):
    window, number = first_fold(lesson_study)
    case = scramble(lesson_study.case, number)
    other = study_evidence(
        case, MessageCounter(load_tokenizer()), lesson_study.measures, lambda *_: lambda _: False
    )
    their_window, their_number = first_fold(other)
    assert number == their_number
    assert rows_of(window, {}, {}) == rows_of(their_window, {}, {}) != ([], [])
    assert later_use(lesson_study, number) != later_use(other, number)


def test_examples_do_not_depend_on_what_the_profile_ranks_by(lesson_study):
    learned, hand = (
        examples_of(lesson_study, replace(PROFILE, worth=worth), [TASK]) for worth in ("learned", "hand")
    )
    assert learned.folds == hand.folds > 1
    for kind in ("lines", "names"):
        mine, other = getattr(learned, kind), getattr(hand, kind)
        assert np.array_equal(mine.values, other.values)
        assert np.array_equal(mine.uses, other.uses)


def test_every_budget_adds_its_folds(lesson_study):
    small, large = (examples_of(lesson_study, PROFILE, [Task(b, len)]) for b in (BUDGET, 2 * BUDGET))
    both = examples_of(lesson_study, PROFILE, [TASK, Task(2 * BUDGET, len)])
    assert both.folds == small.folds + large.folds
    assert len(both.names) == len(small.names) + len(large.names)
    assert set(both.names.folds.tolist()) == set(range(both.folds))
    assert both.lines.values.dtype == np.float32


def test_a_recording_that_never_folds_has_no_examples(tmp_path):
    found = taught(studied(tmp_path, fit_recording(steps=2)))
    assert (found.folds, len(found.lines), len(found.names), found.lines.used) == (0, 0, 0, 0)
    assert found.lines.values.shape == (0, len(LINE_FEATURES))


def test_where_nothing_can_be_sent_the_recording_goes_on(tmp_path):
    made = fit_recording()
    made["messages"][0] = user("word " * 60)
    found = studied(tmp_path, made)
    task = Task(40, len)
    feed = WindowFeed(PROFILE, task, HAND_WEIGHTS)
    feed.read([turn.message for turn in found.case.turns[:9]], None)
    with pytest.raises(ContextOverflow):
        fold_if_due(feed.window)
    assert examples_of(found, PROFILE, [task]).folds == 0


def test_about_one_in_so_many_unused_lines_is_kept():
    kept = [{n for n in range(5_000) if is_sampled(f"a line of its own, {n}", step)} for step in (1, 2)]
    for one in kept:
        assert abs(len(one) / 5_000 - 1 / UNUSED_SAMPLE) < 0.02
    assert abs(len(kept[0] & kept[1]) / 5_000 - 1 / UNUSED_SAMPLE**2) < 0.02
