"""Learning: what is judged was not fitted on, and what is plain to see is learned."""

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.lab.fit.examples import ExampleRows, RecordingExamples, examples_of
from holdfast.lab.fit.fit_results import LearnedWeights, weights_file
from holdfast.lab.fit.regression import MOST_PARTS, learn_weights, split
from holdfast.lab.policy import Task
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES
from holdfast.packing.lines.weights import read_weights
from support.fit_recordings import ORDER, PROFILE, fit_recording, studied


@pytest.fixture(scope="module")
def examples(tmp_path_factory) -> list[RecordingExamples]:
    folder = tmp_path_factory.mktemp("fit")
    made = [
        fit_recording("one", source="first"),
        fit_recording("two", source="first"),
        fit_recording("three", 30, source="second"),
    ]
    tasks = [Task(budget, len) for budget in ORDER.budgets]
    return [examples_of(studied(folder, one), PROFILE, tasks) for one in made]


@pytest.fixture(scope="module")
def learned(examples) -> LearnedWeights:
    return learn_weights(examples, ORDER)


def test_what_is_plain_to_see_is_learned(learned):
    assert learned.weights.lines["definition"] > 1
    assert (learned.held_out, list(learned.blind)) == ("project", ["first", "second"])
    for quality in learned.lines:
        assert quality.used > 10
        assert quality.curve > 0.95
        assert quality.curve >= quality.hand_curve
    assert [q.held_out for q in learned.names] == ["first", "second"]


def test_weights_of_a_project_know_nothing_of_it(examples, learned):
    one = examples[0]
    used = ExampleRows(
        one.lines.values, one.lines.uses * 0, one.lines.counts, one.lines.sizes, one.lines.folds
    )
    after = learn_weights([replace(one, lines=used), *examples[1:]], ORDER)
    assert after.weights_for("one", "first") == learned.weights_for("one", "first")
    assert after.weights_for("three", "second") != learned.weights_for("three", "second")
    assert after.weights.lines != learned.weights.lines


def test_a_recording_that_taught_nothing_is_judged_as_its_project(learned):
    assert learned.weights_for("short", "first") == learned.blind["first"]
    assert learned.weights_for("short", "elsewhere") == learned.weights


def test_the_file_says_where_its_weights_come_from(examples, learned):
    data = weights_file(learned.weights)
    assert read_weights(data, "mine.json") == learned.weights
    written = msgspec.json.decode(data)
    assert list(written) == ["version", "lines", "names", "about"]
    assert list(written["lines"]) == list(LINE_FEATURES)
    assert list(written["names"]) == list(NAME_FEATURES)
    about = written["about"]
    assert (about["projects"], about["recordings"], about["budgets"]) == (["first", "second"], 3, ["1500"])
    assert about["line_examples"] == sum(len(one.lines) for one in examples)
    assert about["held_out"] == "project"
    assert [line.split(":")[0] for line in about["quality"]] == ["lines", "names"]
    assert data == weights_file(learn_weights(examples, ORDER).weights)


def test_one_project_is_held_out_by_recording(examples):
    held_out, groups = split(examples[:2])
    assert (held_out, groups) == ("recording", {"one": "one", "two": "two"})
    learned = learn_weights(examples[:2], ORDER)
    assert [q.held_out for q in learned.lines] == ["one", "two"]
    assert learned.weights_for("one", "first") == learned.blind["one"] != learned.blind["two"]


def test_many_recordings_of_one_project_are_held_out_in_parts(examples):
    many = [replace(examples[0], recording=f"r{n}") for n in range(23)]
    held_out, groups = split(many)
    assert held_out == "recording"
    assert len(set(groups.values())) == MOST_PARTS
    assert {list(groups.values()).count(group) for group in groups.values()} == {2, 3}


def test_one_recording_is_fitted_and_not_judged(examples):
    assert split(examples[:1]) == ("nothing", {})
    learned = learn_weights(examples[:1], ORDER)
    assert (learned.held_out, learned.lines, learned.blind) == ("nothing", [], {})
    assert learned.weights.about["quality"] == []


def test_a_project_beside_others_that_teach_nothing_has_no_figure(examples):
    def silent(rows: ExampleRows) -> ExampleRows:
        return ExampleRows(rows.values, rows.uses * 0, rows.counts, rows.sizes, rows.folds)

    quiet = replace(examples[2], lines=silent(examples[2].lines))
    learned = learn_weights([examples[0], quiet], ORDER)
    assert learned.blind["first"] is None
    assert learned.weights_for("one", "first") is None
    first, second = learned.lines
    assert (first.curve, first.best) == (None, None)
    assert first.hand_curve is not None
    assert (second.curve, second.used) == (None, 0)


@pytest.mark.parametrize(("kind", "said"), [("lines", "a line"), ("names", "a name")])
def test_nothing_to_learn_is_said(examples, kind, said):
    rows = getattr(examples[0], kind)
    quiet = ExampleRows(rows.values, rows.uses * 0, rows.counts, rows.sizes, rows.folds)
    with pytest.raises(InputError, match=f"no later action used {said} that a fold dropped"):
        learn_weights([replace(examples[0], **{kind: quiet})], ORDER)
