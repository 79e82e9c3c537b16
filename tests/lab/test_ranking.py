"""Dollars at equal recall, read off hand-made curves, and Kendall's tau."""

from itertools import pairwise
from math import inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lab.aggregate import dollars_at_recall, kendall_tau, levels_for
from holdfast.lab.results import DollarsAtRecall, Interval, PolicyRow


def new_row(policy: str, budget: int, dollars: float | None, recall: float | None) -> PolicyRow:
    return PolicyRow(
        policy=policy,
        budget=budget,
        about="",
        projects=1,
        recordings=1,
        requests=1,
        hard=None,
        all=None,
        ref=None,
        presence=None,
        curve=None if recall is None else Interval(recall, recall, recall),
        kinds={},
        ages={},
        probes={},
        dollars={} if dollars is None else {"standard": Interval(dollars, dollars, dollars)},
        ref_dollars={},
        tokens=0,
        uncached={},
        model_calls=0,
        moved_bytes=0.0,
        over_budget=0,
        failures={},
        violations={},
        p50_ms=0.0,
        p95_ms=0.0,
        worst_ms=0.0,
        growth=None,
        peak_mb=0.0,
    )


def curve(policy, *points):
    return [new_row(policy, 1000 * (n + 1), dollars, recall) for n, (dollars, recall) in enumerate(points)]


def dollars_of(rows, *levels):
    return [at.dollars for at in dollars_at_recall(rows, "standard", levels)]


def test_dollars_are_read_between_neighbouring_budgets():
    rows = curve("fold", (0.2, 0.4), (0.4, 0.6), (1.0, 0.8))
    assert dollars_of(rows, 0.5, 0.6, 0.7) == pytest.approx([0.3, 0.4, 0.7])


def test_below_the_cheapest_point_it_is_at_most_that():
    assert dollars_of(curve("fold", (0.2, 0.4), (0.4, 0.6)), 0.1, 0.4) == [0.2, 0.2]


def test_a_level_never_reached_has_no_price():
    assert dollars_of(curve("fold", (0.2, 0.4), (0.4, 0.6)), 0.61) == [None]


def test_a_larger_budget_that_is_cheaper_and_better_is_taken():
    """Newest that fits can cost more at 32k than at 64k, where it seldom has to move."""
    rows = curve("newest", (0.9, 0.4), (1.8, 0.6), (1.2, 0.8))
    assert dollars_of(rows, 0.5, 0.6, 0.7) == pytest.approx([1.2, 1.2, 1.2])


def test_a_curve_that_falls_is_read_on_its_cheap_side():
    assert dollars_of(curve("odd", (0.2, 0.8), (0.6, 0.4)), 0.6) == [0.2]
    assert dollars_of(curve("odd", (0.6, 0.8), (0.2, 0.4)), 0.6) == pytest.approx([0.4])


def test_rows_may_come_in_any_order_and_keep_that_of_their_policies():
    rows = [*curve("b", (0.2, 0.4), (0.4, 0.6)), *curve("a", (1.0, 1.0), (1.0, 1.0))][::-1]
    assert dollars_at_recall(rows, "standard", [0.5, 0.4]) == [
        DollarsAtRecall("a", 0.4, 1.0),
        DollarsAtRecall("a", 0.5, 1.0),
        DollarsAtRecall("b", 0.4, 0.2),
        DollarsAtRecall("b", 0.5, pytest.approx(0.3)),
    ]


def test_a_policy_without_recall_or_dollars_has_no_price():
    rows = [new_row("no recall", 1, 0.5, None), new_row("no dollars", 1, None, 0.5)]
    assert dollars_of(rows, 0.1) == [None, None]
    assert dollars_of(curve("x", (0.2, 0.4)), 0.1) == [0.2]
    assert [at.dollars for at in dollars_at_recall(curve("x", (0.2, 0.4)), "other", [0.1])] == [None]


@given(
    st.lists(st.tuples(st.floats(0.1, 3), st.floats(0, 1)), min_size=1, max_size=5),
    st.lists(st.floats(0, 1), min_size=2, max_size=6),
)
def test_more_recall_is_never_cheaper(points, levels):
    prices = [inf if d is None else d for d in dollars_of(curve("x", *points), *levels)]
    assert all(a <= b + 1e-9 for a, b in pairwise(prices))
    best = max(recall for _, recall in points)
    reached = [level <= best for level in sorted(levels)]
    assert [price < inf for price in prices] == reached
    dollars = [dollars for dollars, _ in points]
    assert all(min(dollars) - 1e-9 <= price <= max(dollars) + 1e-9 for price in prices if price < inf)


def test_levels_are_round_and_on_two_curves():
    rows = [*curve("a", (0.2, 0.38), (0.4, 0.61)), *curve("b", (0.2, 0.44), (0.4, 0.72))]
    assert levels_for(rows) == [0.45, 0.5, 0.55, 0.6]


def test_a_handful_of_levels_is_spread_evenly():
    rows = [*curve("a", (0.2, 0.0), (0.4, 1.0)), *curve("b", (0.2, 0.0), (0.4, 1.0))]
    assert levels_for(rows) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_no_level_where_no_two_curves_overlap():
    assert levels_for([*curve("a", (0.2, 0.1), (0.4, 0.3)), *curve("b", (0.2, 0.5), (0.4, 0.9))]) == []
    assert levels_for([*curve("a", (0.2, 0.33)), new_row("b", 1, 0.5, None)]) == []
    assert levels_for([]) == []


def places(order) -> dict[str, float]:
    """An order as a scoring."""
    return {name: float(place) for place, name in enumerate(order)}


def test_tau_by_hand():
    assert kendall_tau(places("abcd"), places("abdc")) == pytest.approx(4 / 6)
    assert kendall_tau(places("abc"), places("abc")) == 1
    assert kendall_tau(places("abc"), places("cba")) == -1
    assert kendall_tau(places("abcx"), places("yabc")) == 1


def test_tau_with_ties_by_hand():
    """Pairs ab, ac, bc: one tied on the left; of the two others both agree. 2 / sqrt(2 × 3)."""
    assert kendall_tau({"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}) == pytest.approx(2 / sqrt(6))
    assert kendall_tau({"a": 1, "b": inf, "c": inf}, {"a": 1, "b": inf, "c": inf}) == pytest.approx(1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"c": 1, "d": 2}),
    ],
    ids=["nothing", "one thing", "all tied", "nothing in common"],
)
def test_tau_of_no_order_is_none(one, other):
    assert kendall_tau(one, other) is None


scorings = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 5).map(float), max_size=8)


@given(scorings, scorings)
def test_tau_is_symmetric_bounded_and_turns_its_sign_with_an_order(one, other):
    tau = kendall_tau(one, other)
    assert kendall_tau(other, one) == tau
    reverse = kendall_tau({name: -value for name, value in one.items()}, other)
    if tau is None:
        assert reverse is None
    else:
        assert -1 <= tau <= 1 or abs(tau) == pytest.approx(1)
        assert reverse == -tau


@given(st.permutations("abcdefg"))
def test_tau_of_an_order_with_itself_and_its_reverse(order):
    assert kendall_tau(places(order), places(order)) == 1
    assert kendall_tau(places(order), places(order[::-1])) == -1
