"""Rows and comparisons out of scores: every figure by hand, whatever is missing and in whatever order."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.lab.aggregate import build_comparisons, build_rows
from holdfast.lab.results import Interval, ProjectFigures, Score, Share

FEW = 40
PLANS = {"everything": "no budget", "newest": "newest that fits", "fold": "lines"}


def new_score(policy="fold", recording="a", project="p", budget=16_000, **figures) -> Score:
    return Score(recording=recording, project=project, policy=policy, budget=budget, **figures)


def rows_of(*scores, **options):
    return build_rows(scores, PLANS, draws=FEW, **options)


def one_row(*scores, policy="fold"):
    return next(row for row in rows_of(*scores) if row.policy == policy)


def test_rows_are_by_budget_and_then_in_the_order_of_the_plans():
    scores = [
        new_score(policy, budget=budget)
        for policy in ("own", "fold", "newest")
        for budget in (32_000, 16_000)
    ]
    assert [(row.budget, row.policy, row.about) for row in rows_of(*scores)] == [
        (16_000, "newest", "newest that fits"),
        (16_000, "fold", "lines"),
        (16_000, "own", ""),
        (32_000, "newest", "newest that fits"),
        (32_000, "fold", "lines"),
        (32_000, "own", ""),
    ]


def test_recall_is_a_mean_over_recordings_and_then_projects_without_those_that_have_none():
    row = one_row(
        new_score(
            recording="a", hard_span=0.0, all_span=0.5, hard_ref=0.2, hard_presence=0.4, curve_span=0.1
        ),
        new_score(
            recording="b", hard_span=1.0, all_span=0.7, hard_ref=1.0, hard_presence=1.0, curve_span=0.9
        ),
        new_score(recording="c", all_span=0.6),
        new_score(recording="a", project="q", hard_span=0.3, all_span=0.8, hard_ref=0.3, hard_presence=0.3),
    )
    assert (row.projects, row.recordings) == (2, 4)
    assert row.hard.mean == pytest.approx((0.5 + 0.3) / 2)
    assert row.all.mean == pytest.approx((0.6 + 0.8) / 2)
    assert row.ref.mean == pytest.approx((0.6 + 0.3) / 2)
    assert row.presence == pytest.approx((0.7 + 0.3) / 2)
    assert row.curve.mean == pytest.approx(0.5)
    assert 0.0 <= row.hard.low <= row.hard.high <= 1.0


def test_without_needs_there_is_no_recall():
    row = one_row(new_score(requests=3, note="no actions"))
    assert (row.hard, row.all, row.ref, row.presence, row.curve) == (None,) * 5
    assert (row.kinds, row.ages, row.probes, row.dollars, row.ref_dollars) == ({}, {}, {}, {}, {})
    assert (row.requests, row.moved_bytes, row.p50_ms, row.worst_ms, row.growth) == (3, 0, 0, 0, None)


def test_no_scores_no_rows():
    assert rows_of() == []
    assert build_comparisons([], "newest", prices="t") == []


def test_shares_are_pooled_over_needs_in_their_own_order():
    row = one_row(
        new_score(
            recording="a",
            kinds={"state": Share(1, 2), "line": Share(0, 10)},
            ages={"51+": Share(1, 4), "2-5": Share(1, 1)},
            probes={"test status": Share(1, 1), "directive": Share(0, 0)},
        ),
        new_score(
            recording="b",
            kinds={"line": Share(5, 10), "name": Share(0, 0)},
            ages={"51+": Share(2, 2)},
            probes={"failed command": Share(1, 4)},
        ),
    )
    assert list(row.kinds.items()) == [("line", 0.25), ("state", 0.5)]
    assert list(row.ages.items()) == [("2-5", 1.0), ("51+", 0.5)]
    assert list(row.probes.items()) == [("failed command", 0.25), ("test status", 1.0)]


def test_dollars_are_a_ratio_of_totals_to_the_baseline_at_the_same_budget():
    row = one_row(
        new_score("everything", "a", dollars={"t": 100.0, "u": 10.0}),
        new_score("everything", "b", dollars={"t": 300.0, "u": 10.0}),
        new_score("everything", "a", "q", dollars={"t": 50.0, "u": 10.0}),
        new_score("everything", "a", budget=32_000, dollars={"t": 1.0, "u": 1.0}),
        new_score("fold", "a", dollars={"t": 50.0, "u": 5.0}, ref_dollars={"t": 50.0}),
        new_score("fold", "b", dollars={"t": 50.0, "u": 5.0}),
        new_score("fold", "a", "q", dollars={"t": 50.0, "u": 5.0}, ref_dollars={"t": 25.0}),
    )
    assert row.dollars["t"].mean == pytest.approx((100 / 400 + 1) / 2)
    assert row.dollars["u"] == Interval(0.5, pytest.approx(0.5), pytest.approx(0.5))
    assert row.ref_dollars == {"t": pytest.approx((150 / 400 + 1.5) / 2), "u": pytest.approx(0.5)}


def test_the_baseline_may_cost_differently_at_each_budget():
    rows = rows_of(
        new_score("everything", dollars={"t": 100.0}),
        new_score("everything", budget=32_000, dollars={"t": 200.0}),
        new_score("fold", dollars={"t": 50.0}),
        new_score("fold", budget=32_000, dollars={"t": 50.0}),
    )
    assert [row.dollars["t"].mean for row in rows] == [1.0, 0.5, 1.0, 0.25]


def test_the_baseline_costs_one():
    row = one_row(new_score("everything", hard_span=1.0, dollars={"t": 123.0}), policy="everything")
    assert row.dollars == {"t": Interval(1.0, 1.0, 1.0, is_single=True)}
    assert row.hard == Interval(1.0, 1.0, 1.0, is_single=True)


def test_dollars_are_taken_on_recordings_that_both_have():
    row = one_row(
        new_score("everything", "a", dollars={"t": 100.0}),
        new_score("everything", "b", dollars={"t": 900.0}),
        new_score("fold", "a", dollars={"t": 40.0}),
        new_score("fold", "c", dollars={"t": 1.0}),
    )
    assert row.dollars == {"t": Interval(0.4, 0.4, 0.4, is_single=True)}
    assert row.recordings == 2


def test_without_a_baseline_there_are_no_dollars():
    assert one_row(new_score(dollars={"t": 40.0})).dollars == {}


def test_sums():
    row = one_row(
        new_score(
            recording="a",
            requests=3,
            tokens=10,
            uncached={"t": 4, "u": 5},
            model_calls=1,
            moved_bytes=100,
            over_budget=1,
            failures={"raised": 2},
            violations={"orphan-result": 1},
            peak_bytes=5_000_000,
        ),
        new_score(
            recording="b",
            requests=1,
            tokens=20,
            uncached={"t": 6},
            model_calls=2,
            moved_bytes=20,
            over_budget=2,
            failures={"raised": 1, "empty": 1},
            peak_bytes=7_500_000,
        ),
    )
    assert (row.requests, row.tokens, row.model_calls, row.over_budget) == (4, 30, 3, 3)
    assert row.uncached == {"t": 10, "u": 5}
    assert row.moved_bytes == 30
    assert row.failures == {"empty": 1, "raised": 3}
    assert row.violations == {"orphan-result": 1}
    assert row.peak_mb == 7.5


def test_latency_is_over_all_requests():
    row = one_row(
        new_score(recording="a", seconds=[0.004, 0.001, 0.003]),
        new_score(recording="b", seconds=[0.002, 0.105]),
    )
    assert row.p50_ms == pytest.approx(3)
    assert row.p95_ms == pytest.approx(4 + 0.8 * 101)
    assert row.worst_ms == pytest.approx(105)


def test_growth_is_of_the_last_quarter_over_the_first_in_long_recordings():
    long = [0.001] * 25 + [0.5] * 50 + [0.003] * 25
    other = [0.001] * 30 + [0.5] * 61 + [0.003] * 30
    short = [0.001] * 24 + [9.0] * 75
    row = one_row(
        *(new_score(recording=name, seconds=s) for name, s in [("a", long), ("b", other), ("c", short)])
    )
    assert row.growth == pytest.approx(3)
    assert one_row(new_score(seconds=long)).growth == pytest.approx(3)
    assert one_row(new_score(seconds=short)).growth is None
    assert one_row(new_score(seconds=[0.0] * 200)).growth is None


def test_comparisons_are_paired_and_say_policy_minus_reference():
    scores = [
        new_score("everything", "a", hard_span=1.0, dollars={"t": 100.0}),
        new_score("everything", "b", hard_span=1.0, dollars={"t": 100.0}),
        new_score("newest", "a", hard_span=0.2, dollars={"t": 150.0}),
        new_score("newest", "b", hard_span=0.6, dollars={"t": 50.0}),
        new_score("fold", "a", hard_span=0.5, dollars={"t": 120.0}),
        new_score("fold", "b", hard_span=0.9, dollars={"t": 20.0}),
        new_score("fold", "crashed elsewhere", hard_span=0.0, dollars={"t": 999.0}),
        new_score("fold", "a", budget=32_000, hard_span=0.7),
    ]
    ours = build_comparisons(scores, "newest", prices="t", draws=FEW)
    assert [(c.policy, c.reference, c.budget) for c in ours] == [
        ("everything", "newest", 16_000),
        ("fold", "newest", 16_000),
    ]
    fold = ours[1]
    assert [fold.hard.mean, fold.hard.low, fold.hard.high] == pytest.approx([0.3] * 3)
    assert [fold.dollars.mean, fold.dollars.low, fold.dollars.high] == pytest.approx([-0.3] * 3)
    assert ours[0].hard.mean == pytest.approx(0.6)
    assert ours[0].dollars.mean == pytest.approx(0.0)


def test_a_comparison_without_hard_needs_or_dollars_says_neither():
    scores = [new_score("newest", hard_span=None), new_score("fold", hard_span=0.5)]
    (only,) = build_comparisons(scores, "newest", prices="t", draws=FEW)
    assert (only.hard, only.dollars) == (None, None)


def test_two_scores_of_one_recording_are_a_mistake():
    with pytest.raises(AssertionError, match="two scores of a"):
        rows_of(new_score(), new_score())


def test_recordings_of_two_projects_may_share_a_name():
    row = one_row(new_score(project="p", hard_span=0.0), new_score(project="q", hard_span=1.0))
    assert (row.projects, row.recordings, row.hard.mean) == (2, 2, 0.5)


@st.composite
def many_scores(draw):
    chance = Random(draw(st.integers(0, 1000)))
    scores = []
    for policy in PLANS:
        for place in range(6):
            if chance.random() < 0.2:  # a run that broke off
                continue
            score = new_score(policy, f"r{place}", f"p{place % 2}", dollars={"t": chance.uniform(1, 9)})
            hard = chance.random() if chance.random() < 0.8 else None
            scores.append(replace(score, hard_span=hard, all_span=chance.random(), seconds=[chance.random()]))
    return scores


@pytest.mark.slow
@given(many_scores(), st.randoms(use_true_random=False))
def test_the_order_of_scores_does_not_matter(scores, chance):
    mixed = chance.sample(scores, len(scores))
    assert rows_of(*mixed) == rows_of(*scores)
    assert build_comparisons(mixed, "newest", prices="t", draws=FEW) == build_comparisons(
        scores, "newest", prices="t", draws=FEW
    )


def test_a_row_says_what_it_comes_to_in_each_project():
    row = one_row(
        new_score(project="p", hard_span=0.5, hard_needs=4, all_span=0.8, dollars={"t": 1.0}),
        new_score(project="q", hard_span=0.9, hard_needs=2, all_span=1.0, dollars={"t": 6.0}),
        new_score("everything", project="p", dollars={"t": 4.0}),
        new_score("everything", project="q", dollars={"t": 8.0}),
    )
    assert row.by_project == {
        "p": ProjectFigures(1, 4, 0.5, 0.8, {"t": 0.25}),
        "q": ProjectFigures(1, 2, 0.9, 1.0, {"t": 0.75}),
    }
