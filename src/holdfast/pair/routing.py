"""Routing: whose turn is next, and what the roles are told about it.

Rule: pure. The role that works decides whether to return or to continue, within limits: problems in the other's
layers, and those that persist over some iterations, go to the other role. If a verdict is not followed, both roles
are told.
"""

from collections.abc import Iterator

from msgspec import Struct

from holdfast.pair.phases import PairState
from holdfast.pair.roles import Pair, Role
from holdfast.pair.stop_rules import StopRules, in_a_row, percent, persistent_layers

_NOT_FOLLOWED = {
    "stop": "`{first}` says `stop`; whether anything is left to do is measured, so evaluate it",
    "continue": "`{first}` says `continue`; it handed over, so you act next",
}
"""What the second role is told about a verdict that the first cannot give."""
_TOLD_LATER = {
    "stop": "you said `stop` before; the work ends when enough samples pass or a limit is reached, so it went on",
    "continue": "you said `continue` before; after your handover the other agent acts, so it did",
}
"""What the first role is told in its next turn about a verdict that was not followed."""


class NextTurn(Struct, frozen=True):
    role: Role
    notes: tuple[str, ...] = ()


def next_turn(pair: Pair, state: PairState, rules: StopRules) -> NextTurn:
    """The turn after the newest accepted handover."""
    assert state.last is not None, "somebody handed over"
    first, second = pair.roles
    verdict = state.last.handover.verdict
    if state.last.role == first.name:
        note = _NOT_FOLLOWED.get(verdict, "").format(first=first.name)
        return NextTurn(second, (note,) if note else ())
    why = tuple(_back_to_first(pair, state, rules))
    if why or verdict == "return":
        before = state.handovers.get(first.name)
        told = _TOLD_LATER.get(before.handover.verdict, "") if before else ""
        return NextTurn(first, (*why, told) if told else why)
    if verdict == "stop":
        rate = f"{state.results[-1].rate} passed" if state.results else "nothing was measured"
        note = f"you wanted to stop; {rate}, and {percent(rules.target)} is the target, so the work goes on"
        return NextTurn(second, (note,))
    return NextTurn(second)


def is_done(pair: Pair, state: PairState) -> bool:
    """Whether nothing is left to do: a role says so, and nothing is measured."""
    assert state.last is not None, "somebody handed over"
    return state.last.handover.verdict == "stop" and not any(role.measures for role in pair.roles)


def _back_to_first(pair: Pair, state: PairState, rules: StopRules) -> Iterator[str]:
    """Why the first role must act, although the second wants to continue or stop."""
    assert state.last is not None, "somebody handed over"
    first, second = pair.roles
    verdict = state.last.handover.verdict
    for layer in persistent_layers(state.results, rules.soft):
        hard = rules.hard(layer)
        yield (
            f"failures of layer {layer} persist for {in_a_row(rules.soft(layer))}, so `{first.name}` must look at "
            f"it{f'; after {hard} the work stops' if hard else ''}"
        )
    if verdict == "return":
        return
    wanted = "stop" if verdict == "stop" else "go on by itself"
    measured = state.results[-1] if state.results else None
    for layer in first.layers:
        if measured and (failed := measured.failed(layer=layer)):
            failures = "1 failure" if failed == 1 else f"{failed} failures"
            yield f"`{second.name}` wanted to {wanted}; the disk has {failures} of layer {layer}, which is yours"
        elif any(problem.layer == layer for problem in state.last.handover.problems):
            yield f"`{second.name}` wanted to {wanted}; problems of layer {layer}, which is yours, are still open"
