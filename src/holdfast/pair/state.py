"""The state of a pair, computed from its phases.

Rule: pure; the same phases give the same state, and nothing else is remembered.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from holdfast.pair.evaluation import IterationResults
from holdfast.pair.phases import (
    DecisionMade,
    DecisionRequested,
    HandedOver,
    HandoverAccepted,
    HandoverRejected,
    PairEnded,
    Phase,
    ProjectRulesSet,
    StopRulesSet,
    TurnBegan,
)
from holdfast.pair.stop_rules import StopRules


class PairState(Struct):
    """`at` is the newest phase that says what to do next; `turns` counts the turns of each role."""

    at: TurnBegan | HandedOver | HandoverAccepted | HandoverRejected | None = None
    rules: StopRules | None = None
    grants: str = ""
    project_rules: ProjectRulesSet | None = None
    turns: dict[str, int] = field(default_factory=dict)
    handovers: dict[str, HandedOver] = field(default_factory=dict)
    """The newest accepted handover of each role."""
    results: list[IterationResults] = field(default_factory=list)
    asked: dict[str, DecisionRequested] = field(default_factory=dict)
    """Everything that was ever requested, the newest last."""
    pending: dict[str, DecisionRequested] = field(default_factory=dict)
    decided: dict[str, DecisionMade] = field(default_factory=dict)
    answered: dict[str, DecisionMade] = field(default_factory=dict)
    """What was decided since `at`."""
    ended: PairEnded | None = None
    last: HandedOver | None = None
    """The last handover, accepted or not."""
    iterations: int = 0
    """How many ended: accepted handovers of the second role."""
    blocked: int = 0
    """How many turns of the second role in a row ended in a question, since rules were set."""
    is_regranted: bool = False
    """Whether the permissions of the agents changed since `at`."""

    @property
    def turn(self) -> int:
        return sum(self.turns.values())

    def approves(self, design: str) -> bool:
        """Whether this very design was approved."""
        return self._answered(design, "approve")

    def rejects(self, design: str) -> bool:
        return self._answered(design, "reject")

    def _answered(self, id_: str, answer: str) -> bool:
        decision = self.decided.get(id_)
        return decision is not None and decision.answer == answer


def pair_state(phases: Iterable[Phase], second: str) -> PairState:
    """The state after these phases; `second` is the role that works."""
    state = PairState()
    for phase in phases:
        before = state.at
        _take(state, phase, second)
        if state.at is not before:
            state.answered, state.is_regranted = {}, False
    return state


def _take(state: PairState, phase: Phase, second: str) -> None:
    match phase:
        case StopRulesSet(rules=rules, grants=grants):
            state.is_regranted = state.is_regranted or grants != state.grants
            state.rules, state.grants, state.ended, state.blocked = rules, grants, None, 0
        case ProjectRulesSet():
            state.project_rules = phase
        case TurnBegan(role=role):
            state.at = phase
            state.turns[role] = state.turns.get(role, 0) + 1
        case HandedOver():
            state.at = state.last = phase
        case HandoverAccepted():
            _accept(state, phase, second)
        case HandoverRejected():
            if isinstance(state.at, HandoverAccepted):
                _take_back(state, state.at, second)
            state.at = phase
        case DecisionRequested():
            _ask(state, phase)
        case DecisionMade(id=id_):
            state.pending.pop(id_, None)
            state.decided.pop(id_, None)
            state.decided[id_] = state.answered[id_] = phase
        case PairEnded():
            state.ended = phase


def _accept(state: PairState, accepted: HandoverAccepted, second: str) -> None:
    assert state.last is not None, "what is accepted was handed over"
    state.at = accepted
    state.handovers[state.last.role] = state.last
    state.iterations += _counts(state.last, accepted, second)
    if state.last.role == second:
        state.blocked = state.blocked + 1 if accepted.is_blocked else 0
    if accepted.results is not None:
        state.results.append(accepted.results)


def _take_back(state: PairState, accepted: HandoverAccepted, second: str) -> None:
    """An accepted handover is rejected after all: its iteration continues."""
    assert state.last is not None, "what is accepted was handed over"
    state.iterations -= _counts(state.last, accepted, second)
    state.blocked = max(0, state.blocked - accepted.is_blocked)
    if accepted.results is not None:
        state.results.pop()


def _counts(made: HandedOver, accepted: HandoverAccepted, second: str) -> bool:
    return made.role == second and not accepted.is_blocked


def _ask(state: PairState, asked: DecisionRequested) -> None:
    """What is requested again is no longer decided, and only the newest design is pending."""
    state.decided.pop(asked.id, None)
    state.answered.pop(asked.id, None)
    state.asked.pop(asked.id, None)
    state.asked[asked.id] = asked
    if asked.about == "design":
        state.pending = {id_: one for id_, one in state.pending.items() if one.about != "design"}
    state.pending[asked.id] = asked
