"""What can happen to a pair: one small class each, as they stand in the log of whoever brings the two together.

Rule: an event is written before it is acted upon, and what was done after it can be done again. So the log says
where to go on, on any machine.
"""

from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.events import Event, Noted
from holdfast.pair.handover import Handover
from holdfast.pair.progress import Results
from holdfast.pair.stopping import StopRules

KIND = "pair"


class RulesGiven(Struct, frozen=True, tag="rules_given"):
    """With which rules it goes on from here; what had ended has not any more."""

    rules: StopRules


class TurnBegan(Struct, frozen=True, tag="turn_began"):
    """One agent is to work, opened by this text in its own log. `turn` counts those of both."""

    turn: int
    role: str
    iteration: int
    text: str
    origin: Literal["person", "agent"] = "agent"


class HandedOver(Struct, frozen=True, tag="handed_over"):
    turn: int
    role: str
    iteration: int
    handover: Handover


class Accepted(Struct, frozen=True, tag="accepted"):
    """Looked at again from the receiver's side; `results` are what the disk says, where the role evaluates."""

    turn: int
    design: str = ""
    design_files: tuple[str, ...] = ()
    results: Results | None = None


class Rejected(Struct, frozen=True, tag="rejected"):
    """The handover cannot be read by the other; whoever made it is told why."""

    turn: int
    faults: tuple[str, ...]


class Asked(Struct, frozen=True, tag="asked"):
    """A person is to decide: about a design, by its hash, a question of an agent, whether to go on although no
    model wrote a summary that could be used, or what to do where newest steps alone do not fit a window."""

    id: str
    about: Literal["design", "question", "summary", "overflow"]
    text: str
    files: tuple[str, ...] = ()


class Decided(Struct, frozen=True, tag="decided"):
    id: str
    answer: Literal["approve", "reject", "say"]
    words: str = ""
    by: str = ""


class Unsettled(Struct, frozen=True, tag="unsettled"):
    """A crash left calls behind of which nobody knows what they did. They are not run again; the agent is told."""

    turn: int
    role: str
    calls: tuple[str, ...]


class Ended(Struct, frozen=True, tag="ended"):
    """`reason` is a rule's that stops, or `done` where both say that nothing is left."""

    reason: str
    sentence: str
    evidence: tuple[str, ...] = ()


Phase = RulesGiven | TurnBegan | HandedOver | Accepted | Rejected | Asked | Decided | Unsettled | Ended


def noted(phase: Phase) -> Noted:
    """A phase as an event of a log."""
    data = msgspec.to_builtins(phase)
    return Noted(KIND, said(phase), data)


def phase_in(event: Event) -> Phase | None:
    """The phase that an event of a log stands for, if any."""
    if isinstance(event, Noted) and event.kind == KIND:
        phase: Phase = msgspec.convert(event.data, Phase)
        return phase
    return None


def said(phase: Phase) -> str:
    """A phase in a few words, for people who read the log."""
    match phase:
        case RulesGiven(rules=rules):
            return f"rules: {rules.target:.0%} of the samples, at most {rules.max_iterations} iterations"
        case TurnBegan(role=role, iteration=iteration):
            return f"{role} begins, iteration {iteration}"
        case HandedOver(role=role, iteration=iteration):
            return f"{role} hands over, iteration {iteration}"
        case Accepted(results=results):
            return f"accepted, {results.rate} passed" if results else "accepted"
        case Rejected(faults=faults):
            return f"rejected: {faults[0] if faults else ''}"
        case Asked(text=text):
            return f"a person is asked: {text[:200]}"
        case Decided(answer=answer, by=by):
            return f"decided by {by}: {answer}"
        case Unsettled(role=role, calls=calls):
            return f"what {role} called before a crash is uncertain: {', '.join(calls)}"
        case Ended(sentence=sentence):
            return f"ended: {sentence}"
