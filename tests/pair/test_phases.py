"""What happened to a pair, as it stands in a log: read as it was written, and folded to where the pair stands."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from holdfast.events import Noted, UserSaid
from holdfast.messages import Text
from holdfast.pair.design import read_design
from holdfast.pair.handover import Handover
from holdfast.pair.phases import (
    Accepted,
    Asked,
    Decided,
    Ended,
    HandedOver,
    Phase,
    Rejected,
    RulesGiven,
    TurnBegan,
    Unsettled,
    noted,
    phase_in,
    said,
)
from holdfast.pair.roles import built_in
from holdfast.pair.routing import next_turn
from holdfast.pair.state import fold
from holdfast.pair.stopping import StopRules
from support.pair_values import HANDOVERS, WORDS, layout_in, measured

NUMBERS = st.integers(0, 99)
ROLES = st.sampled_from(["init", "execute"])
PHASES = st.one_of(
    st.builds(RulesGiven, st.builds(StopRules, target=st.floats(0, 1))),
    st.builds(TurnBegan, NUMBERS, ROLES, NUMBERS, WORDS, st.sampled_from(["person", "agent"])),
    st.builds(HandedOver, NUMBERS, ROLES, NUMBERS, HANDOVERS),
    st.builds(
        Accepted, NUMBERS, WORDS, st.lists(WORDS).map(tuple), st.sampled_from([None, *measured(40, 60)])
    ),
    st.builds(Rejected, NUMBERS, st.lists(WORDS).map(tuple)),
    st.builds(Asked, WORDS, st.sampled_from(["design", "question", "summary"]), WORDS, st.just(())),
    st.builds(Decided, WORDS, st.sampled_from(["approve", "reject", "say"]), WORDS, WORDS),
    st.builds(Unsettled, NUMBERS, ROLES, st.lists(WORDS).map(tuple)),
    st.builds(Ended, WORDS, WORDS, st.lists(WORDS).map(tuple)),
)


@given(PHASES)
def test_a_phase_is_read_as_it_was_written(phase):
    stored = msgspec.json.decode(msgspec.json.encode(noted(phase)), type=Noted)
    assert phase_in(stored) == phase
    assert said(phase)


def test_what_is_no_phase_is_none():
    assert phase_in(UserSaid((Text("hello"),))) is None
    assert phase_in(Noted("damage", "something else")) is None


def made(role, iteration=1, **more):
    return HandedOver(1, role, iteration, Handover(summary="s", asks="a", **more))


def test_where_it_stands():
    phases: list[Phase] = [
        RulesGiven(StopRules(max_iterations=3)),
        TurnBegan(1, "init", 1, "go"),
        made("init", design=("d.md",)),
        Accepted(1, "hash1"),
        Asked("hash1", "design", "?"),
    ]
    state = fold(phases, "execute")
    assert [*state.pending] == ["hash1"]
    assert not state.approves("hash1")
    phases += [Decided("hash1", "approve"), TurnBegan(2, "execute", 1, "go"), made("execute")]
    phases += [Accepted(2, results=measured(40)[0]), Ended("iterations", "enough")]
    state = fold(phases, "execute")
    assert state.approves("hash1")
    assert not state.pending
    assert (state.iterations, state.turn, len(state.results)) == (1, 2, 1)
    assert state.ended
    assert fold([*phases, RulesGiven(StopRules())], "execute").ended is None


@given(st.lists(PHASES, max_size=12))
def test_what_waits_is_what_was_asked_and_not_decided_since(phases):
    known = [phase for phase in phases if not isinstance(phase, Accepted)]
    state = fold(known, "execute")
    last = {phase.id: phase for phase in known if isinstance(phase, Asked | Decided)}
    assert state.pending == {id_: phase for id_, phase in last.items() if isinstance(phase, Asked)}
    assert state.turn == sum(isinstance(phase, TurnBegan) for phase in known)


def test_whose_turn_is_next():
    pair, rules = built_in(), StopRules()
    init, execute = pair.roles

    def after(phase, *results):
        state = fold([phase, Accepted(1)], execute.name)
        state.results += results
        return next_turn(pair, state, rules)

    problem = {"summary": "x", "layer": 1, "severity": "high"}
    ours = msgspec.convert([problem], type=Handover.__annotations__["problems"], strict=False)
    assert after(made("init")).role is execute
    assert after(made("execute", verdict="return")).role is init
    assert after(made("execute", verdict="continue")).role is execute
    assert after(made("execute", verdict="stop")).role is execute, "below the target the work goes on"
    assert after(made("execute", verdict="stop", problems=ours)).role is init
    stuck = after(made("execute", verdict="continue"), *measured(40, 41, 42, layer=3))
    assert stuck.role is init
    assert "layer 3" in stuck.notes[0]


def test_a_design_is_its_names_and_bytes(tmp_path):
    layout = layout_in(tmp_path / "a")
    (layout.root / "one.md").write_text("1")
    (layout.root / "two.md").write_text("2")
    first = read_design(layout, ["two.md", "one.md", "one.md"])
    assert first.files == ("one.md", "two.md")
    assert read_design(layout, ["one.md", "two.md"]) == first
    (layout.root / "two.md").write_text("3")
    assert read_design(layout, first.files).hash != first.hash
    assert read_design(layout, ()).hash == ""
    assert read_design(layout, ["gone.md", "one.md"]).missing == ("gone.md",)
    other = layout_in(tmp_path / "b")
    (other.root / "one.md").write_text("1")
    (other.root / "two.md").write_text("2")
    assert read_design(other, first.files) == first
