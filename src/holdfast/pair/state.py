"""Where a pair stands: a fold of its phases.

Rule: pure; the same phases give the same state, and nothing else is remembered.
"""

from collections.abc import Iterable

from msgspec import Struct, field

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
)
from holdfast.pair.progress import Results
from holdfast.pair.stopping import StopRules


class State(Struct):
    """`at` is the newest phase that says what to do next; `turns` counts the turns of each role."""

    at: TurnBegan | HandedOver | Accepted | Rejected | None = None
    rules: StopRules | None = None
    turns: dict[str, int] = field(default_factory=dict)
    handovers: dict[str, HandedOver] = field(default_factory=dict)
    """The newest of each role that the other side accepted."""
    results: list[Results] = field(default_factory=list)
    pending: dict[str, Asked] = field(default_factory=dict)
    decided: dict[str, Decided] = field(default_factory=dict)
    rejections: int = 0
    """In a row."""
    ended: Ended | None = None
    last: HandedOver | None = None
    """What was handed over last, accepted or not."""
    iterations: int = 0
    """That ended: accepted handovers of the second role."""

    @property
    def turn(self) -> int:
        return sum(self.turns.values())

    def approves(self, design: str) -> bool:
        """Whether a person, or a rule in its place, approved of this very design."""
        decision = self.decided.get(design)
        return decision is not None and decision.answer == "approve"


def fold(phases: Iterable[Phase], second: str) -> State:
    """The state after these phases; `second` is the role that works."""
    state = State()
    for phase in phases:
        _take(state, phase, second)
    return state


def _take(state: State, phase: Phase, second: str) -> None:
    match phase:
        case RulesGiven(rules=rules):
            state.rules, state.ended = rules, None
        case TurnBegan(role=role):
            state.at = phase
            state.turns[role] = state.turns.get(role, 0) + 1
        case HandedOver():
            state.at = state.last = phase
        case Accepted(results=results):
            state.at, state.rejections = phase, 0
            assert state.last is not None, "what is accepted was handed over"
            state.handovers[state.last.role] = state.last
            state.iterations += state.last.role == second
            if results is not None:
                state.results.append(results)
        case Rejected():
            state.at = phase
            state.rejections += 1
        case Asked(id=id_):
            state.pending[id_] = phase
        case Decided(id=id_):
            state.pending.pop(id_, None)
            state.decided[id_] = phase
        case Ended():
            state.ended = phase
        case _:
            pass
