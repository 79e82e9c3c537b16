"""When a pair stops: each rule with its evidence, and properties of those that look at several iterations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.pair.handover import SuccessRate
from holdfast.pair.stop_rules import (
    LayerLimits,
    StopRules,
    contradictions,
    find_stop,
    format_dollars,
    gain_of,
    oscillates,
    percent,
    persistent_layers,
)
from support.pair_values import measured

RULES = StopRules()
RATES = st.lists(st.integers(0, 84), min_size=1, max_size=12)


def test_defaults_are_those_that_were_asked_for():
    assert (RULES.target, RULES.gain, RULES.gain_iterations) == (0.85, 0.02, 5)


def test_success_at_the_target_and_not_below():
    assert find_stop(measured(84), RULES) is None
    unmeasured = find_stop(measured(40, 85), RULES)
    assert unmeasured.reason == "unmeasured"
    assert unmeasured.sentence.startswith(
        "finished, not measured: by the agent's own files 85/100 (85%) passed"
    )
    reached = find_stop([replace(one, is_measured=True) for one in measured(40, 85)], RULES)
    assert reached.reason == "success"
    assert reached.evidence[0].startswith("iteration 1: 40/100 (40%) passed, measured")


def test_success_needs_a_sample():
    assert find_stop(measured(100, total=0), RULES) is None


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
    found = find_stop(measured(*percents), replace(RULES, layer_hard=0))
    assert (found.reason if found else None) == reason


def test_too_many_critical_failures_twice():
    once = measured(80, severity="critical")
    assert find_stop(once, RULES) is None
    found = find_stop(measured(80, 81, severity="critical"), RULES)
    assert found.reason == "critical"
    assert "19 critical" in found.sentence


def test_as_many_critical_failures_as_allowed_are_not_too_many():
    allowed = replace(RULES, most_critical=20)
    assert find_stop(measured(80, 80, severity="critical"), allowed) is None
    assert find_stop(measured(79, 79, severity="critical"), allowed).reason == "critical"


def test_an_oscillation_needs_as_many_changes_as_the_rule_says():
    rules = replace(RULES, layer_hard=0)
    assert RULES.swings == 4
    assert find_stop(measured(60, 50, 60, 50), rules) is None
    assert find_stop(measured(60, 50, 60, 50, 60), rules).reason == "oscillation"


def test_a_return_to_the_best_rate_is_no_new_best():
    assert oscillates([0.6, 0.5, 0.6, 0.5, 0.6], RULES)
    assert not oscillates([0.6, 0.5, 0.6, 0.5, 0.61], RULES)


def test_a_layer_that_stays_broken():
    rising = [10, 20, 30, 40, 50, 60]
    assert persistent_layers(measured(*rising[:3], layer=3), RULES.soft) == (3,)
    assert find_stop(measured(*rising[:5], layer=3), RULES) is None
    found = find_stop(measured(*rising, layer=3), RULES)
    assert found.reason == "layer"
    assert "layer 3" in found.sentence


def test_a_layer_has_limits_of_its_own():
    rules = replace(RULES, layers={"1": LayerLimits(soft=1, hard=2), "4": LayerLimits(hard=0)})
    assert persistent_layers(measured(10, layer=1), rules.soft) == (1,)
    assert persistent_layers(measured(10, layer=2), rules.soft) == ()
    assert find_stop(measured(10, layer=1), rules) is None
    found = find_stop(measured(10, 20, layer=1), rules)
    assert (found.reason, found.sentence) == ("layer", "layer 1 failed in 2 iterations in a row")
    rising = [10, 20, 30, 40, 50, 60]
    assert find_stop(measured(*rising, layer=2), rules).reason == "layer", "as for all layers"
    assert find_stop(measured(*rising, layer=4), rules) is None, "0 is none"
    assert persistent_layers(measured(*rising[:3], layer=4), rules.soft) == (4,), (
        "what is not given is as for all"
    )


@given(st.integers(1, 9), st.integers(0, 7), st.integers(0, 9))
def test_a_limit_of_a_layer_holds_for_that_layer_alone(layer, limit, count):
    rules = replace(RULES, layers={str(layer): LayerLimits(hard=limit)})
    results = measured(*range(10, 10 + count), layer=layer)
    assert persistent_layers(results, rules.hard) == ((layer,) if 0 < limit <= count else ())
    other = measured(*range(10, 10 + count), layer=layer % 9 + 1)
    assert bool(persistent_layers(other, rules.hard)) == (count >= RULES.layer_hard)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (StopRules(layer_soft=9, layer_hard=2), "`layer_soft` is 9, above `layer_hard`, which is 2"),
        (StopRules(layers={"1": LayerLimits(soft=8)}), "`soft` of layer 1 is 8, above `hard`, which is 6"),
        (StopRules(layers={"10": LayerLimits()}), "there is no layer `10`"),
        (StopRules(target=0), "`target` is 0"),
    ],
    ids=["all", "one", "layer", "target"],
)
def test_what_cannot_hold_together(rules, sentence):
    (found,) = contradictions(rules)
    assert sentence in found
    assert [*contradictions(StopRules(layers={"1": LayerLimits(soft=9, hard=0)}))] == [], "0 is none"


def test_0_is_no_limit_of_critical_failures():
    for none in ({"critical_iterations": 0}, {"most_critical": 0}):
        assert find_stop(measured(10, 11, severity="critical"), replace(RULES, **none)) is None


def test_numbers_are_shown_as_what_they_are():
    assert str(SuccessRate(11, 13)) == "11/13 (84.6%)", "below a target of 85 %"
    assert [str(SuccessRate(*one)) for one in ((17, 20), (1999, 2000), (0, 0))] == [
        "17/20 (85%)",
        "1999/2000 (99.9%)",
        "0/0 (0%)",
    ]
    assert [percent(share) for share in (0.85, 0.855, 1, 0.005)] == ["85%", "85.5%", "100%", "0.5%"]
    assert [format_dollars(one) for one in (0.001, 0.00172, 0.5, 0, 12.345)] == [
        "$0.001",
        "$0.00172",
        "$0.50",
        "$0.00",
        "$12.35",
    ]
    small = find_stop(measured(10), replace(RULES, max_cost=0.001), dollars=0.00172)
    assert small.sentence == "the limit of $0.001 is reached ($0.00172 spent)"


@given(st.integers(0, 3_000), st.integers(1, 3_000), st.integers(1, 100))
def test_a_rate_that_is_shown_above_the_target_is_above_it(passed, total, target):
    rate = SuccessRate(min(passed, total), total)
    shown = float(str(rate).partition("(")[2].rstrip("%)"))
    assert (shown >= target) == (rate.passed * 100 >= target * total)


def test_cost_and_number_of_iterations():
    assert find_stop(measured(10), replace(RULES, max_cost=1.0), dollars=1.0).reason == "cost"
    assert find_stop(measured(10), replace(RULES, max_cost=1.0), dollars=0.99) is None
    assert find_stop((), RULES, done=10).reason == "iterations"
    assert find_stop((), RULES, done=9) is None


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
    found = find_stop(results, RULES, done=len(results))
    assert found is None or (found.sentence and len(found.evidence) == len(results))
