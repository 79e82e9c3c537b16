"""Who cannot evaluate: it asks a person, waits for the answer, and does not try without end."""

import json

import pytest

from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.orchestrator import MOST_BLOCKED
from holdfast.pair.phases import DecisionMade, TurnBegan
from support.pair_approvals import DESIGNED, PLAN, Deciding, by_file, people
from support.pair_runs import BOTH, PairRun, bash, hand_over, last_results, pair_of, users_in
from support.pair_values import layout_in, write_results

STUCK = [
    bash("python3 evaluate.py 1"),
    hand_over("plan.md", verdict="return", decisions=["May I run `python3 evaluate.py 1`?"]),
]
REQUIRES = BOTH.replace('{ name = "report" }', '{ name = "report", requires = ["success"] }')
GOOD = [
    bash("echo '{\"passed\": true}' > execution_outputs/iteration_1/evaluation_results/s1.json", "b9"),
    hand_over("plan.md", success={"passed": 1, "total": 1}),
]


@pytest.fixture
def unmeasured(tmp_path):
    return PairRun(tmp_path, pair_of(REQUIRES))


@pytest.mark.slow
def test_who_cannot_evaluate_asks_and_goes_on_with_the_same_iteration(unmeasured):
    pair_run = unmeasured
    waits = pair_run.run([PLAN, DESIGNED], STUCK, people=people(Deciding(("approve", ""))))
    assert (waits.reason, waits.hint) == ("ask", "ask Ada about blocked")
    assert "May I run `python3 evaluate.py 1`?" in waits.sentence
    ada = Deciding(("say", "Yes, now."))
    done = pair_run.run([], GOOD, goes_on=True, people=people(ada))
    assert done.reason == "unmeasured"
    told = users_in(pair_run.models[1].requests[0])[-2]
    assert told.startswith("You handed over, because you could not go on without a person")
    assert 'The answer: "Yes, now."' in told
    turns = [(phase.role, phase.iteration) for phase in pair_run.phases if isinstance(phase, TurnBegan)]
    assert turns == [("planner", 1), ("worker", 1), ("worker", 1)]


def test_whoever_goes_on_without_an_answer_lets_it_try_again(unmeasured):
    pair_run = unmeasured
    waits = pair_run.run([PLAN, DESIGNED], STUCK)
    assert "--allow" in waits.hint
    assert pair_run.run([], GOOD, goes_on=True).reason == "unmeasured"
    assert "Nobody answered, and the work continues" in users_in(pair_run.models[1].requests[0])[-2]
    assert [phase.by for phase in pair_run.phases if isinstance(phase, DecisionMade)][-1] == "going on"


def test_who_is_blocked_by_the_design_reaches_the_designer(tmp_path):
    text = REQUIRES.replace('prompt = "You plan."', 'prompt = "You plan."\nlayers = [1]')
    pair_run = PairRun(tmp_path, pair_of(text))
    problem = {"summary": "R4 has no format", "layer": 1, "severity": "critical"}
    stuck = hand_over("plan.md", decisions=["Which format?"], problems=[problem])
    ada = Deciding(("approve", ""), ("say", "Ask the planner."))
    pair_run.run([PLAN, DESIGNED, *["hm"] * 3], [stuck], people=people(ada))
    assert "R4 has no format" in users_in(pair_run.models[0].requests[2])[-2]


def test_without_results_and_without_a_question_nothing_is_handed_over(tmp_path):
    pair_run = PairRun(tmp_path, pair_of(REQUIRES))
    pair_run.run([PLAN, DESIGNED], [hand_over("plan.md"), *["hm"] * 3])
    assert "there are no results of iteration 1" in last_results(pair_run.models[1].requests[1])[0]


def turns_in(pair_run):
    return pair_run.names().count("TurnBegan")


class Yes(Deciding):
    """Approves, and answers whatever it is asked."""

    async def decide(self, asked):
        self.asked.append(asked)
        answer = "approve" if asked.about == "design" else "say"
        return DecisionMade(asked.id, answer, f"yes {len(self.asked)}", by="Ada")


def test_who_has_results_is_not_blocked(unmeasured):
    pair_run = unmeasured
    write_results(layout_in(pair_run.root), 1, 3, {"f1": (2, "low")})
    asks = hand_over("plan.md", decisions=["Is it fine?"])
    pair_run.run([PLAN, DESIGNED], [asks, *["hm"] * 3])
    assert "`success` is missing; the disk says 3/4 (75%)" in last_results(pair_run.models[1].requests[1])[0]


def test_who_could_not_evaluate_all_is_blocked(unmeasured):
    pair_run = unmeasured
    write_results(layout_in(pair_run.root), 1, 3, {})
    (pair_run.root / "execution_outputs/iteration_1/samples/left.json").write_text("{}")
    assert pair_run.run([PLAN, DESIGNED], STUCK).reason == "ask"
    assert pair_run.names()[-1] == "DecisionRequested"


def test_without_an_answer_it_waits_and_makes_no_turn(unmeasured):
    pair_run = unmeasured
    pair_run.run([PLAN, DESIGNED], STUCK, people=people(Deciding(("approve", ""))))
    for _ in range(3):
        again = pair_run.run([], [], goes_on=True, people=people(Deciding()))
        assert (again.reason, again.hint) == ("ask", "ask Ada about blocked")
    assert (turns_in(pair_run), pair_run.names().count("DecisionRequested")) == (2, 2)


def test_where_it_may_do_something_else_it_tries_again_without_an_answer(unmeasured):
    pair_run = unmeasured
    pair_run.run([PLAN, DESIGNED], STUCK, people=people(Deciding(("approve", ""))))
    other = AgentOptions(
        root=pair_run.root, store=pair_run.store, mode="auto", sandbox="off", allow=("Bash(python3:*)",)
    )
    done = pair_run.run([], GOOD, goes_on=True, people=people(Deciding()), agent=other)
    assert done.reason == "unmeasured"


@pytest.mark.slow
def test_an_answer_that_comes_late_is_read(unmeasured, tmp_path):
    pair_run, folder = unmeasured, tmp_path / "approvals"
    pair_run.run([PLAN, DESIGNED], [], people=by_file(folder))
    (design,) = folder.glob("*.request.json")
    design.with_name(f"{json.loads(design.read_text())['id']}.json").write_text('{"answer": "approve"}')
    pair_run.run([], STUCK, goes_on=True, people=by_file(folder))
    pair_run.run([], [], goes_on=True, people=by_file(folder))
    (asked,) = folder.glob("b_*.request.json")
    pair_run.run([], STUCK[1:], goes_on=True)
    (folder / f"{json.loads(asked.read_text())['id']}.json").write_text('{"answer": "say", "words": "Yes."}')
    assert pair_run.run([], GOOD, goes_on=True, people=by_file(folder)).reason == "unmeasured"
    assert 'The answer: "Yes."' in users_in(pair_run.models[1].requests[0])[-2]


def test_an_answer_stands_once_however_often_it_is_asked_for(unmeasured):
    pair_run = unmeasured
    pair_run.run([PLAN, DESIGNED], [*STUCK, *STUCK[1:], *GOOD], people=people(Yes()))
    tail = users_in(pair_run.models[1].requests[-1])[-1]
    assert tail.count("decided by Ada (blocked") == 1
    assert "yes 3" in tail


@pytest.mark.slow
@pytest.mark.parametrize("approvals", [None, Yes()], ids=["nobody", "always"])
def test_who_is_blocked_again_and_again_is_stopped(unmeasured, approvals):
    pair_run = unmeasured
    more = {"people": people(approvals)} if approvals else {}
    outcome = pair_run.run([PLAN, DESIGNED], STUCK[1:] * MOST_BLOCKED, **more)
    for _ in range(MOST_BLOCKED):
        outcome = pair_run.run([], STUCK[1:], goes_on=True, **more) if not outcome.ended else outcome
    assert (outcome.reason, outcome.ended) == ("blocked", True)
    assert f"`worker` could not go on in {MOST_BLOCKED} turns in a row; it asks: May I" in outcome.sentence
    assert turns_in(pair_run) == 1 + MOST_BLOCKED
    assert pair_run.run([], [], goes_on=True, **more).reason == "blocked", "it stays ended"
    other = AgentOptions(
        root=pair_run.root, store=pair_run.store, mode="auto", sandbox="off", allow=("Bash(make:*)",)
    )
    assert pair_run.run([], GOOD, goes_on=True, agent=other, **more).reason == "unmeasured"


def test_nor_is_it_passed_on_without_end(tmp_path):
    """What is the designer's goes to the designer, and comes back."""
    text = REQUIRES.replace('prompt = "You plan."', 'prompt = "You plan."\nlayers = [1]')
    pair_run = PairRun(tmp_path, pair_of(text))
    problem = {"summary": "R4 has no format", "layer": 1, "severity": "critical"}
    stuck = hand_over("plan.md", decisions=["Which format?"], problems=[problem])
    outcome = pair_run.run([PLAN, *[DESIGNED] * 9], [stuck] * 9, people=people(Yes()))
    assert outcome.reason == "blocked"
