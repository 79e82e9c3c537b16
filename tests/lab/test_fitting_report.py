"""What people read: every feature has a meaning, tables say what was found, a trial compares like with like."""

import pytest

from holdfast.lab.fit.fit_report import DOUBLING, LINE_MEANINGS, NAME_MEANINGS, factor, fit_tables
from holdfast.lab.fit.fit_results import BY_HAND, LEARNED, Fit, RankingQuality, compare_trial, mean_quality
from holdfast.lab.results import BASELINE, Score
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES, VERSION
from holdfast.packing.lines.weights import Weights
from support.fit_recordings import ORDER


def test_every_feature_has_a_meaning():
    assert set(LINE_MEANINGS) == set(LINE_FEATURES)
    assert set(NAME_MEANINGS) == set(NAME_FEATURES)
    for meanings in (LINE_MEANINGS, NAME_MEANINGS):
        assert all(meanings.values())
        assert len(set(meanings.values())) == len(meanings)


def test_amounts_are_those_that_enter_by_their_logarithm():
    meanings = [*LINE_MEANINGS.items(), *NAME_MEANINGS.items()]
    amounts = {name for name, meaning in meanings if meaning.startswith(DOUBLING)}
    logged = {name for name in (*LINE_FEATURES, *NAME_FEATURES) if name.startswith("log_")}
    assert amounts == logged | {"indent"}


def test_a_factor_is_for_yes_or_for_twice_as_much():
    assert factor("it is so", 0.0) == 1
    assert factor("it is so", 1.0) == pytest.approx(2.718, abs=0.001)
    assert factor(f"{DOUBLING} something", 1.0) == pytest.approx(2)
    assert factor(f"{DOUBLING} something", -0.5) == pytest.approx(0.7071, abs=0.0001)


def fit(**changes) -> Fit:
    weights = Weights(
        VERSION,
        lines={"always": -5.0, "call": 1.0, "long": -2.0, "log_age": -1.5},
        names={"always": -5.0, "own": 0.0, "path": 0.5},
    )
    quality = [
        RankingQuality("a", 100, 5, 0.9, 0.7, 0.5, 0.25),
        RankingQuality("b\x1b", 50, 0, None, None, None, None),
    ]
    plain = {"version": "0", "profile": "code", "budgets": [16_000], "files": [], "recordings": 2, "folds": 3}
    given = {"held_out": "project", "lines": quality, "names": quality, **plain, **changes}
    return Fit(projects={"a": 1, "b": 1}, weights=weights, **given)


def test_weights_come_largest_effect_first_behind_the_start():
    lines, names, *_ = fit_tables(fit())
    assert [row[0] for row in lines.rows] == ["always", "long", "log_age", "call"]
    assert lines.rows[1] == ["long", "−2.00", "0.14", "it has more than 40 tokens"]
    assert lines.rows[0][2] == "0.0067"
    assert [row[:3] for row in names.rows[1:]] == [["path", "+0.50", "1.65"], ["own", "+0.00", "1.00"]]


def test_quality_has_a_mean_in_which_what_has_no_figure_does_not_count():
    table = fit_tables(fit())[2]
    assert table.title == "lines: quality on each project, fitted on the others"
    assert table.rows[0] == ["a", 100, 5, "0.90", "0.70", "0.50", "0.25"]
    assert table.rows[1] == ["b\ufffd", 50, 0, "–", "–", "–", "–"]
    assert table.rows[2] == ["mean", 150, 5, "0.90", "0.70", "0.50", "0.25"]
    assert mean_quality([], "none").curve is None


def test_without_anything_held_out_there_are_only_weights():
    assert len(fit_tables(fit(held_out="nothing", lines=[], names=[]))) == 2


def score(project, recording, policy, hard, every, dollars) -> Score:
    found = {"hard_span": hard, "all_span": every, "dollars": {"standard": dollars}}
    return Score(recording, project, policy, ORDER.budgets[0], requests=1, **found)


def scores() -> list[Score]:
    made = []
    for project, recording, gain in (("a", "x", 0.1), ("a", "y", 0.3), ("b", "z", 0.5)):
        made.append(score(project, recording, BASELINE, 1.0, 1.0, 100.0))
        made.append(score(project, recording, BY_HAND, 0.2, 0.5, 40.0))
        made.append(score(project, recording, LEARNED, 0.2 + gain, 0.5 + gain / 2, 40.0 + 10 * gain))
    return made


def test_a_trial_compares_project_by_project_and_in_pairs():
    trial = compare_trial(scores(), ORDER)
    assert [(row.project, row.recordings) for row in trial.rows] == [("a", 2), ("b", 1), ("", 3)]
    first, second, mean = trial.rows
    assert (first.learned.hard, first.hand.hard) == (pytest.approx(0.4), pytest.approx(0.2))
    assert (second.learned.all, second.learned.dollars) == (pytest.approx(0.75), pytest.approx(0.45))
    assert mean.learned.hard == pytest.approx((0.4 + 0.7) / 2)
    [difference] = trial.differences
    assert difference.hard.mean == pytest.approx((0.2 + 0.5) / 2)
    assert difference.hard.low < difference.hard.mean < difference.hard.high
    assert difference.all.mean == pytest.approx((0.1 + 0.25) / 2)
    assert difference.dollars.mean == pytest.approx((0.02 + 0.05) / 2)


def test_a_trial_is_shown_by_budget_with_what_learning_adds():
    tables = fit_tables(fit(trial=compare_trial(scores(), ORDER)))
    by_project, added = tables[4:]
    assert by_project.title == "replay at 1500, fitted on the other projects"
    assert by_project.rows[0] == ["a", "0.40", "0.20", "0.60", "0.50", "0.42", "0.40"]
    assert [row[0] for row in by_project.rows] == ["a", "b", "mean"]
    assert added.rows[0][:2] == ["1500", "+0.35"]


def test_a_trial_of_nothing():
    trial = compare_trial([], ORDER)
    assert trial.rows == []
    assert trial.differences[0].hard is None
