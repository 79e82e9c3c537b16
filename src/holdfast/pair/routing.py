"""Whose turn is next, and what must be said about why.

Rule: pure. The agent that works decides whether it returns or goes on, within the limits of each layer: what it did
not get rid of in some iterations goes to the other one.
"""

from msgspec import Struct

from holdfast.pair.roles import Pair, Role
from holdfast.pair.state import State
from holdfast.pair.stopping import StopRules, persistent


class Next(Struct, frozen=True):
    role: Role
    notes: tuple[str, ...] = ()


def next_turn(pair: Pair, state: State, rules: StopRules) -> Next:
    """After the newest handover, which was accepted."""
    assert state.last is not None, "somebody handed over"
    first, second = pair.roles
    handover = state.last.handover
    if state.last.role == first.name:
        return Next(second)
    if handover.verdict == "return":
        return Next(first)
    stuck = persistent(state.results, rules.layer_soft)
    if stuck:
        layers = ", ".join(map(str, stuck))
        note = (
            f"failures of layer {layers} stand in {rules.layer_soft} iterations in a row, so `{first.name}` must "
            f"look at it; after {rules.layer_hard} the work stops"
        )
        return Next(first, (note,))
    is_designers = any(problem.layer in first.layers for problem in handover.problems)
    if handover.verdict == "stop" and is_designers:
        return Next(first, (f"`{second.name}` wanted to stop, and problems of your layer stand open",))
    return Next(second)


def is_done(pair: Pair, state: State) -> bool:
    """Whether nothing is left to do: an agent says so, and there is nothing to measure it by."""
    assert state.last is not None, "somebody handed over"
    return state.last.handover.verdict == "stop" and not any(role.measures for role in pair.roles)
