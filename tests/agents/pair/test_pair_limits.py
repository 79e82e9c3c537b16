"""Limits of a pair hold: whatever the design comes to, however often it is resumed, whenever it is killed."""

import pytest

from holdfast.agents.pair import turns
from holdfast.errors import ConfigError
from holdfast.pair.phases import HandoverAccepted, StopRulesSet, TurnBegan
from holdfast.pair.stop_rules import LayerLimits
from support.pair_approvals import DESIGNED, PLAN, Deciding, people
from support.pair_crash import Crashed, CrashPoint, crash_at
from support.pair_runs import BOTH, PairRun, bash, hand_over, pair_of, write

RESULT = "execution_outputs/iteration_{}/evaluation_results/s1.json"
PASSED = '{"passed": true}'


def design(number):
    return [write("plan.md", f"{number}. build\n", f"w{number}"), DESIGNED]


def succeeds(iteration, command="true"):
    """An iteration in which everything passes, and a command beside it."""
    file = RESULT.format(iteration)
    passes = bash(f"echo '{PASSED}' > {file}; {command}", f"b{iteration}")
    return [passes, hand_over(file, success={"passed": 1, "total": 1}, id_=f"h{iteration}")]


def limited(folder, limits="max_iterations = 2"):
    return PairRun(folder, pair_of(f"{BOTH}\n[stop]\n{limits}\n"))


def rules_of(pair_run):
    return [one.rules for one in pair_run.phases if isinstance(one, StopRulesSet)][-1]


def test_whose_design_is_gone_after_every_success_is_stopped_by_another_rule(tmp_path):
    pair_run = limited(tmp_path)
    designs = [step for number in (1, 2) for step in design(number)]
    work = [step for number in (1, 2) for step in succeeds(number, "rm plan.md")]
    outcome = pair_run.run(designs, work)
    assert (outcome.reason, outcome.ended) == ("iterations", True)
    assert len([one for one in pair_run.phases if isinstance(one, HandoverAccepted) and one.results]) == 2


def test_so_is_whose_design_is_never_approved(tmp_path):
    pair_run = limited(tmp_path, "max_iterations = 1")
    ada = Deciding(("approve", ""), ("reject", "It is not yours."))
    outcome = pair_run.run(design(1), succeeds(1, "echo more >> plan.md"), people=people(ada))
    assert (outcome.reason, ada.about) == ("iterations", ["design", "design"])
    assert [one.role for one in pair_run.phases if isinstance(one, TurnBegan)] == ["planner", "worker"]


def test_limits_that_a_file_does_not_name_stay_as_they_were(tmp_path):
    pair_run = limited(tmp_path, "max_iterations = 9\nlayers = { 2 = { soft = 2, hard = 4 } }")
    pair_run.run([PLAN, DESIGNED], [], people=people(Deciding()), max_cost=0.5, max_iterations=3)
    given = {"gain_iterations": 9, "layers": {"2": LayerLimits(hard=5), "3": LayerLimits(soft=1)}}
    pair_run.run([], [], goes_on=True, people=people(Deciding()), stop=given)
    rules = rules_of(pair_run)
    assert (rules.max_cost, rules.max_iterations, rules.gain_iterations) == (0.5, 3, 9)
    assert rules.layers == {"2": LayerLimits(2, 5), "3": LayerLimits(soft=1)}


def test_limits_that_do_not_hold_together_are_refused_and_the_old_ones_stay(tmp_path):
    pair_run = limited(tmp_path, "layer_soft = 1\nlayer_hard = 2")
    pair_run.run([PLAN, DESIGNED], [], people=people(Deciding()))
    with pytest.raises(ConfigError, match="`layer_soft` is 5, above `layer_hard`, which is 2"):
        pair_run.run([], [], goes_on=True, stop={"layer_soft": 5})
    pair_run.run([], [], goes_on=True, people=people(Deciding()))
    assert (rules_of(pair_run).layer_soft, pair_run.names().count("StopRulesSet")) == (1, 1)


@pytest.mark.parametrize("at", [2, 3, 4, 5])
def test_who_is_killed_while_a_pair_begins_does_not_lift_its_limits(tmp_path, at):
    pair_run = PairRun(tmp_path, pair_of(BOTH))
    with crash_at(CrashPoint(at)), pytest.raises(Crashed):
        pair_run.run([PLAN, DESIGNED], [], max_cost=0.5, max_iterations=2)
    pair_run.run([PLAN, DESIGNED], [], goes_on=True, people=people(Deciding()))
    rules = rules_of(pair_run)
    assert (rules.max_cost, rules.max_iterations) == (0.5, 2)


def test_every_turn_counts_its_own_designs(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "MAX_DESIGN_CHECKS", 2)
    pair_run = limited(tmp_path, "max_iterations = 3\ntarget = 1.0")
    planned = [step for number in (1, 2, 3) for step in design(number)]
    work = [step for number in (1, 2, 3) for step in fails(number)]
    assert pair_run.run(planned, work).reason == "iterations"


def fails(iteration):
    file = RESULT.format(iteration)
    given = {"verdict": "return", "success": {"passed": 0, "total": 1}, "id_": f"h{iteration}"}
    return [write(file, '{"passed": false}', f"f{iteration}"), hand_over(file, **given)]


def test_a_design_that_changes_by_itself_is_asked_about_so_many_times(tmp_path):
    pair_run = PairRun(tmp_path)

    def changing():
        (pair_run.root / "plan.md").write_text(f"{len(ada.asked)}\n")
        return "approve", ""

    ada = Deciding(*[changing] * (turns.MAX_DESIGN_CHECKS + 1))
    outcome = pair_run.run([PLAN, DESIGNED], [], people=people(ada))
    assert (outcome.reason, len(ada.asked)) == ("ask", turns.MAX_DESIGN_CHECKS)
    assert "the design keeps changing" in outcome.sentence
