"""When a pair stops: each rule with its evidence, and properties of those that look at several iterations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.pair.stopping import StopRules, gain_of, oscillates, persistent, stop
from support.pair_values import measured

RULES = StopRules()
RATES = st.lists(st.integers(0, 84), min_size=1, max_size=12)


def test_defaults_are_those_that_were_asked_for():
    assert (RULES.target, RULES.gain, RULES.gain_iterations) == (0.85, 0.02, 5)


def test_success_at_the_target_and_not_below():
    assert stop(measured(84), RULES) is None
    reached = stop(measured(40, 85), RULES)
    assert reached.reason == "success"
    assert reached.evidence[0].startswith("iteration 1: 40/100 (40%) passed")


def test_success_needs_a_sample():
    assert stop(measured(100, total=0), RULES) is None


@pytest.mark.parametrize(
    ("percents", "reason"),
    [
        ([50, 51, 51, 51, 51, 51], "gain"),
        ([50, 52, 52, 52, 52, 52], None),
        ([50, 60, 50, 60, 50, 60], "oscillation"),
        ([50, 55, 52, 58, 56, 62], None),
        ([50, 50, 50, 50, 50], None),
    ],
    ids=["no_gain", "just_enough", "circles", "climbing", "too_few"],
)
def test_rates(percents, reason):
    found = stop(measured(*percents), replace(RULES, layer_hard=0))
    assert (found.reason if found else None) == reason


def test_too_many_critical_failures_twice():
    once = measured(80, severity="critical")
    assert stop(once, RULES) is None
    found = stop(measured(80, 81, severity="critical"), RULES)
    assert found.reason == "critical"
    assert "19 critical" in found.sentence


def test_a_layer_that_stays_broken():
    rising = [10, 20, 30, 40, 50, 60]
    assert persistent(measured(*rising[:3], layer=3), RULES.layer_soft) == (3,)
    assert stop(measured(*rising[:5], layer=3), RULES) is None
    found = stop(measured(*rising, layer=3), RULES)
    assert found.reason == "layer"
    assert "layer 3" in found.sentence


def test_cost_and_number_of_iterations():
    assert stop(measured(10), replace(RULES, max_cost=1.0), dollars=1.0).reason == "cost"
    assert stop(measured(10), replace(RULES, max_cost=1.0), dollars=0.99) is None
    assert stop((), RULES, done=10).reason == "iterations"
    assert stop((), RULES, done=9) is None


@given(RATES)
def test_what_only_rises_never_oscillates(percents):
    assert not oscillates([rate / 100 for rate in sorted(percents)], RULES)


@given(st.integers(0, 40), st.integers(2, 40), st.integers(5, 12))
def test_what_goes_between_two_rates_always_does(low, step, count):
    rates = [(low + step * (n % 2)) / 100 for n in range(count)]
    assert oscillates(rates, RULES)


@given(RATES, st.integers(1, 15))
def test_a_shift_of_all_rates_changes_nothing(percents, shift):
    plain = [rate / 100 for rate in percents]
    shifted = [(rate + shift) / 100 for rate in percents]
    assert oscillates(plain, RULES) == oscillates(shifted, RULES)
    assert gain_of(plain, RULES) == gain_of(shifted, RULES)


@given(RATES)
def test_a_gain_is_what_the_newest_add_to_the_best(percents):
    rates = [rate / 100 for rate in percents]
    gained = gain_of(rates, RULES)
    if len(rates) <= RULES.gain_iterations:
        assert gained is None
    else:
        best = round(max(rates[:-5]) + gained, 9)
        assert best == round(max(rates[-5:]), 9)
        assert (gained <= 0) == (max(rates[-5:]) <= max(rates[:-5]))


@given(RATES)
def test_every_stop_has_its_evidence(percents):
    results = measured(*percents)
    found = stop(results, RULES, done=len(results))
    assert found is None or (found.sentence and len(found.evidence) == len(results))
