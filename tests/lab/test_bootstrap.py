"""Means over projects and their intervals: by hand where they are small, by their invariants everywhere."""

import os
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lab.bootstrap import DRAWS, Bootstrap, layout_of, mean_of, percentile, ratio_of
from holdfast.lab.results import Interval

FEW = 50
"""Draws for properties that hold for any number of them."""

TWO_PROJECTS = {"p": {"a": 0.0, "b": 1.0, "c": 0.5}, "q": {"a": 0.2}}


def by_project(figures):
    names = st.sampled_from("abcd")
    recordings = st.dictionaries(names, figures, min_size=1, max_size=4)
    return st.dictionaries(names, recordings, min_size=1, max_size=3)


tables = by_project(st.integers(-1000, 1000).map(lambda n: n / 8))
costs = by_project(st.integers(1, 4000).map(lambda n: n / 4))


def scaled(values, factor, plus=0.0):
    return {p: {r: v * factor + plus for r, v in by.items()} for p, by in values.items()}


def flat(values):
    return [value for by in values.values() for value in by.values()]


# By hand.


def test_a_mean_is_over_recordings_and_then_over_projects():
    assert mean_of(TWO_PROJECTS) == pytest.approx((0.5 + 0.2) / 2)
    assert Bootstrap(FEW).mean(TWO_PROJECTS).mean == pytest.approx(0.35)


def test_a_ratio_is_of_totals_in_a_project_and_then_a_mean_over_projects():
    above = {"p": {"a": 10.0, "b": 30.0}, "q": {"a": 1.0}}
    below = {"p": {"a": 100.0, "b": 60.0}, "q": {"a": 2.0}}
    assert ratio_of(above, below) == pytest.approx((40 / 160 + 1 / 2) / 2)
    assert Bootstrap(FEW).ratio(above, below).mean == pytest.approx(0.375)


def test_percentiles_lie_between_neighbours_in_proportion():
    assert percentile([1.0, 2.0, 4.0], 0.5) == 2
    assert percentile([1.0, 2.0, 4.0], 0.75) == 3
    assert percentile([1.0, 2.0, 4.0], 0.0) == 1
    assert percentile([1.0, 2.0, 4.0], 1.0) == 4
    assert percentile([7.0], 0.3) == 7


def test_two_recordings_of_one_project_give_the_three_means_they_can():
    """Draws are 0, 0.5 or 1, each end a quarter of the time: both bounds lie at the ends."""
    assert Bootstrap(DRAWS).mean({"p": {"a": 0.0, "b": 1.0}}) == Interval(0.5, 0.0, 1.0)


def test_an_interval_is_about_as_wide_as_theory_says():
    """100 recordings, half 0 and half 1: standard error 0.05, so the bounds are near 0.5 ± 0.098."""
    found = Bootstrap(DRAWS).mean({"p": {f"{n:03}": float(n % 2) for n in range(100)}})
    assert found.low == pytest.approx(0.402, abs=0.012)
    assert found.high == pytest.approx(0.598, abs=0.012)


@pytest.mark.slow
def test_projects_are_drawn_too():
    """Recordings agree within each project, so that all doubt is about projects: 16 of them, standard error 1/8."""
    values = {f"{p:02}": {f"{r}": float(p % 2) for r in range(20)} for p in range(16)}
    found = Bootstrap(DRAWS).mean(values)
    assert found.low == pytest.approx(0.25, abs=0.07)
    assert found.high == pytest.approx(0.75, abs=0.07)


def test_recordings_are_drawn_within_their_project():
    """The project with many recordings weighs no more than the one with a single one."""
    values = {"many": {f"{n}": 0.0 for n in range(50)}, "one": {"x": 1.0}}
    assert Bootstrap(DRAWS).mean(values) == Interval(0.5, 0.0, 1.0)


def test_one_recording_has_an_interval_without_width():
    found = Bootstrap(FEW).mean({"p": {"a": 0.3}})
    assert (found.mean, found.low, found.high) == (0.3, 0.3, 0.3)


@pytest.mark.parametrize("nothing", [{}, {"p": {}}], ids=["no projects", "no recordings"])
def test_nothing_has_no_mean(nothing):
    bootstrap = Bootstrap(FEW)
    assert mean_of(nothing) is None
    assert bootstrap.mean(nothing) is None
    assert bootstrap.difference(nothing, TWO_PROJECTS) is None
    assert bootstrap.ratio(TWO_PROJECTS, nothing) is None
    assert bootstrap.ratio_difference(TWO_PROJECTS, TWO_PROJECTS, nothing) is None


def test_pairs_are_made_on_recordings_that_both_have():
    one = {"p": {"a": 1.0, "b": 9.0}, "q": {"a": 5.0}}
    other = {"p": {"a": 0.25, "c": 7.0}, "r": {"a": 5.0}}
    assert layout_of(one, other) == (("p", ("a",)),)
    assert Bootstrap(FEW).difference(one, other) == Interval(0.75, 0.75, 0.75, is_single=True)


def test_recordings_that_cost_the_baseline_nothing_are_left_out_of_ratios():
    above = {"p": {"a": 5.0, "b": 3.0}, "q": {"a": 1.0}}
    below = {"p": {"a": 10.0, "b": 0.0}, "q": {"a": 0.0}}
    assert ratio_of(above, below) == 0.5
    assert Bootstrap(FEW).ratio(above, below) == Interval(0.5, 0.5, 0.5, is_single=True)


def test_a_pairing_is_surer_than_two_separate_means():
    """Recordings differ much from each other, policies little and always alike."""
    one = {"p": {f"{n:02}": n / 40 + 0.01 for n in range(40)}}
    other = {"p": {f"{n:02}": n / 40 for n in range(40)}}
    bootstrap = Bootstrap(500)
    paired = bootstrap.difference(one, other)
    assert paired.low == pytest.approx(0.01)
    assert paired.high == pytest.approx(0.01)
    assert bootstrap.mean(one).low < bootstrap.mean(other).high


# Invariants.


@pytest.mark.slow
@given(tables)
def test_bounds_lie_among_the_values(values):
    found = Bootstrap(FEW).mean(values)
    assert min(flat(values)) - 1e-9 <= found.low <= found.high <= max(flat(values)) + 1e-9


@pytest.mark.slow
@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(values, chance):
    projects = list(values.items())
    chance.shuffle(projects)
    mixed = {project: dict(chance.sample(list(by.items()), len(by))) for project, by in projects}
    assert Bootstrap(FEW).mean(mixed) == Bootstrap(FEW).mean(values)


@pytest.mark.slow
@given(tables, st.lists(tables, max_size=3))
def test_what_was_asked_before_does_not_matter(values, earlier):
    bootstrap = Bootstrap(FEW)
    for other in earlier:
        bootstrap.mean(other)
    assert bootstrap.mean(values) == Bootstrap(FEW).mean(values)


@pytest.mark.slow
@given(tables)
def test_equal_policies_do_not_differ(values):
    found = Bootstrap(FEW).difference(values, values)
    assert (found.mean, found.low, found.high) == (0.0, 0.0, 0.0)


@pytest.mark.slow
@given(tables, st.integers(-24, 24).map(lambda n: n / 8))
def test_a_shift_of_all_values_is_a_shift_of_mean_and_bounds(values, shift):
    plain, moved = Bootstrap(FEW).mean(values), Bootstrap(FEW).mean(scaled(values, 1.0, shift))
    assert moved.mean == pytest.approx(plain.mean + shift, abs=1e-9)
    assert moved.low == pytest.approx(plain.low + shift, abs=1e-9)
    assert moved.high == pytest.approx(plain.high + shift, abs=1e-9)


@pytest.mark.slow
@given(tables, tables)
def test_a_difference_turned_round_changes_its_sign(one, other):
    bootstrap = Bootstrap(FEW)
    there, back = bootstrap.difference(one, other), bootstrap.difference(other, one)
    if there is None:
        assert back is None
    else:
        assert back.mean == pytest.approx(-there.mean, abs=1e-9)
        assert back.low == pytest.approx(-there.high, abs=1e-9)
        assert back.high == pytest.approx(-there.low, abs=1e-9)


@pytest.mark.slow
@given(costs, st.integers(1, 40).map(lambda n: n / 4))
def test_a_multiple_of_the_baseline_is_sure_to_be_one(below, factor):
    found = Bootstrap(FEW).ratio(scaled(below, factor), below)
    assert [found.mean, found.low, found.high] == pytest.approx([factor] * 3)


@pytest.mark.slow
@given(costs, costs)
def test_a_ratio_that_is_halved_has_half_the_bounds(above, below):
    bootstrap = Bootstrap(FEW)
    whole, half = bootstrap.ratio(above, below), bootstrap.ratio(scaled(above, 0.5), below)
    if whole is None:
        assert half is None
    else:
        assert [half.mean, half.low, half.high] == pytest.approx(
            [whole.mean / 2, whole.low / 2, whole.high / 2]
        )


@pytest.mark.slow
@given(costs, costs, costs)
def test_a_difference_of_ratios_is_taken_draw_by_draw(one, other, below):
    """Against the plain way: both ratios on the common recordings, and their means subtracted."""
    common = layout_of(one, other, below)
    found = Bootstrap(FEW).ratio_difference(one, other, below)
    if not common:
        assert found is None
        return
    alike = [{p: {r: v[p][r] for r in rs} for p, rs in common} for v in (one, other, below)]
    expected = ratio_of(alike[0], alike[2]) - ratio_of(alike[1], alike[2])
    assert found.mean == pytest.approx(expected, abs=1e-6)


def naive_draws(values, below, draws, seed):
    """The definition as one would first write it down."""
    chance = Random(seed).random
    projects = sorted(values)
    out = []
    for _ in range(draws):
        drawn = [projects[int(chance() * len(projects))] for _ in projects]
        ratios = []
        for project in drawn:
            names = sorted(values[project])
            picked = [names[int(chance() * len(names))] for _ in names]
            ratios.append(sum(values[project][n] for n in picked) / sum(below[project][n] for n in picked))
        out.append(sum(ratios) / len(ratios))
    return sorted(out)


@given(costs)
def test_draws_are_those_of_the_plain_definition(below):
    above = {p: {r: (len(p + r) + i) * 1.5 for i, r in enumerate(sorted(by))} for p, by in below.items()}
    drawn = naive_draws(above, below, FEW, 7)
    found = Bootstrap(FEW, seed=7).ratio(above, below)
    assert found.low == pytest.approx(percentile(drawn, 0.025))
    assert found.high == pytest.approx(percentile(drawn, 0.975))


def test_another_process_with_another_hash_seed_finds_the_same():
    code = (
        "from holdfast.lab.bootstrap import Bootstrap;"
        "v = {f'p{i}': {f'r{j}': (i * 7 + j * 3) % 11 / 10 for j in range(9)} for i in range(5)};"
        "print(Bootstrap(200).mean(v))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "Interval" in outputs.pop()
