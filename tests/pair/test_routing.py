"""Whose turn is next: the disk counts beside what an agent says, and no verdict is passed over."""

import pytest
from msgspec.structs import replace

from holdfast.pair.handover import Handover, HandoverProblem
from holdfast.pair.phases import HandedOver, HandoverAccepted, pair_state
from holdfast.pair.roles import built_in_pair
from holdfast.pair.routing import next_turn
from holdfast.pair.stop_rules import LayerLimits, StopRules
from support.pair_values import measured

PAIR = built_in_pair()
INIT, EXECUTE = PAIR.roles


def said(role, verdict, *problems):
    return HandedOver(1, role.name, 1, Handover(summary="s", asks="a", verdict=verdict, problems=problems))


def after(*made, results=(), rules=None):
    """Each handover is accepted; the newest results are those of the disk."""
    phases = [phase for one in made for phase in (one, HandoverAccepted(1))]
    state = pair_state(phases, EXECUTE.name)
    state.results += results
    return next_turn(PAIR, state, rules or StopRules())


@pytest.mark.parametrize("verdict", ["continue", "stop"])
def test_failures_of_the_design_on_the_disk_go_to_the_designer_whatever_is_said(verdict):
    found = after(said(EXECUTE, verdict), results=measured(60, layer=1, severity="critical"))
    assert found.role is INIT
    assert "the disk has 40 failures of layer 1, which is yours" in found.notes[0]
    assert after(said(EXECUTE, verdict), results=measured(60, layer=2)).role is EXECUTE


@pytest.mark.parametrize("verdict", ["continue", "stop"])
def test_problems_of_the_design_that_are_told_go_to_the_designer(verdict):
    found = after(said(EXECUTE, verdict, HandoverProblem("a gap", 1, "low")), results=measured(60, layer=2))
    assert found.role is INIT
    assert "problems of layer 1, which is yours, are still open" in found.notes[0]


def test_only_the_newest_results_count():
    old, new = measured(50, layer=1)[0], replace(measured(60, layer=2)[0], iteration=2)
    assert after(said(EXECUTE, "continue"), results=[old, new]).role is EXECUTE


def test_the_second_is_told_why_its_stop_is_not_followed():
    found = after(said(EXECUTE, "stop"), results=measured(60, layer=2))
    assert found.role is EXECUTE
    assert found.notes == (
        "you wanted to stop; 60/100 (60%) passed, and 85% is the target, so the work goes on",
    )
    assert after(said(EXECUTE, "continue"), results=measured(60, layer=2)).notes == ()


@pytest.mark.parametrize("verdict", ["continue", "stop"])
def test_a_verdict_of_the_first_that_is_not_followed_is_told_to_both(verdict):
    """Only the one who measures goes on by itself, and only the target ends the work."""
    to_second = after(said(INIT, verdict))
    assert to_second.role is EXECUTE
    assert to_second.notes[0].startswith(f"`init` says `{verdict}`; ")
    to_first = after(said(INIT, verdict), said(EXECUTE, "return"), results=measured(60, layer=2))
    assert to_first.role is INIT
    assert f"you said `{verdict}` before" in to_first.notes[0]
    usual = after(said(INIT, "return"), said(EXECUTE, "return"), results=measured(60, layer=2))
    assert usual.notes == ()


def test_a_layer_goes_to_the_first_after_its_own_soft_limit():
    rules = StopRules(layers={"3": LayerLimits(soft=1, hard=4)})
    found = after(said(EXECUTE, "continue"), results=measured(40, layer=3), rules=rules)
    assert found.role is INIT
    assert found.notes == (
        "failures of layer 3 persist for 1 iteration, so `init` must look at it; after 4 the work stops",
    )
    assert after(said(EXECUTE, "continue"), results=measured(40, layer=2), rules=rules).role is EXECUTE
