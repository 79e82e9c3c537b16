"""What can happen to a pair: one small class each, as they stand in the log of whoever brings the two together.

Rule: an event is written before it is acted upon, and what was done after it can be done again. So the log says
where to go on, on any machine.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.events import Event, Noted
from holdfast.pair.evaluation import IterationResults
from holdfast.pair.handover import Handover
from holdfast.pair.stop_rules import StopRules, percent
from holdfast.prices import format_dollars

KIND = "pair"
LONGEST_WORDS = 4_000
"""Characters of an answer."""

About = Literal["design", "question", "summary", "uncertain", "blocked", "overflow"]
Answer = Literal["approve", "reject", "say"]
_YES_OR_NO: tuple[Answer, ...] = ("approve", "reject")
_ANY: tuple[Answer, ...] = ("say", "approve", "reject")
ANSWERS: dict[About, tuple[Answer, ...]] = {
    "design": _YES_OR_NO,
    "summary": _YES_OR_NO,
    "question": _ANY,
    "uncertain": _ANY,
    "blocked": _ANY,
    "overflow": ("approve",),
}
"""What may be answered to each, the usual one first."""


class StopRulesSet(Struct, frozen=True, tag="rules_given"):
    """With which rules it goes on from here; what had ended has not any more. `grants` stands for what agents may
    do without asking."""

    rules: StopRules
    grants: str = ""


class ProjectRulesSet(Struct, frozen=True, tag="law_given"):
    """The rules of the project as they were when the pair began. They hold for both, whatever an agent makes of the
    file meanwhile."""

    path: str
    text: str
    mtime: float = 0.0
    hash: str = ""


class TurnBegan(Struct, frozen=True, tag="turn_began"):
    """One agent is to work, opened by this text in its own log. `turn` counts those of both; `design` is the hash
    of the one that it was begun with."""

    turn: int
    role: str
    iteration: int
    text: str
    origin: Literal["person", "agent"] = "agent"
    design: str = ""


class HandedOver(Struct, frozen=True, tag="handed_over"):
    turn: int
    role: str
    iteration: int
    handover: Handover


class HandoverAccepted(Struct, frozen=True, tag="accepted"):
    """Looked at again from the receiver's side; `results` are what the disk says, where the role evaluates. Where
    it could not, and asks a person, it `is_blocked`, and the iteration goes on."""

    turn: int
    design: str = ""
    design_files: tuple[str, ...] = ()
    results: IterationResults | None = None
    is_blocked: bool = False


class HandoverRejected(Struct, frozen=True, tag="rejected"):
    """The handover cannot be read by the other, or not any more; whoever made it is told why."""

    turn: int
    faults: tuple[str, ...]


class DecisionRequested(Struct, frozen=True, tag="asked"):
    """A person is to decide: about a design, by its hash; a question of an agent, which may be `blocked` without an
    answer; what to tell it of calls that a crash left `uncertain`; whether to go on although no model wrote a
    summary that could be used, or although newest steps alone did not fit a window."""

    id: str
    about: About
    text: str
    files: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[Answer, ...]:
        return ANSWERS[self.about]

    @property
    def wants_words(self) -> bool:
        """Whether it is answered in words, and not by yes or no."""
        return self.answers[0] == "say"


class DecisionMade(Struct, frozen=True, tag="decided"):
    """`words` stand in every request from then on, so that they have a length."""

    id: str
    answer: Answer
    words: str = ""
    by: str = ""


class PairEnded(Struct, frozen=True, tag="ended"):
    """`reason` is a rule's that stops, or `done` where an agent says that nothing is left."""

    reason: str
    sentence: str
    evidence: tuple[str, ...] = ()


Phase = (
    StopRulesSet
    | ProjectRulesSet
    | TurnBegan
    | HandedOver
    | HandoverAccepted
    | HandoverRejected
    | DecisionRequested
    | DecisionMade
    | PairEnded
)


def too_long(words: str) -> str:
    """Why words are too long for an answer; empty if they are not."""
    if len(words) <= LONGEST_WORDS:
        return ""
    length = f"the answer is {len(words)} characters long, and {LONGEST_WORDS} are allowed"
    return f"{length}: write it to a file of the folder, and name the file"


def phase_event(phase: Phase) -> Noted:
    """A phase as an event of a log."""
    data = msgspec.to_builtins(phase)
    return Noted(KIND, describe_phase(phase), data)


def read_phase(event: Event) -> Phase | None:
    """The phase that an event of a log stands for, if any."""
    if isinstance(event, Noted) and event.kind == KIND:
        phase: Phase = msgspec.convert(event.data, Phase)
        return phase
    return None


def describe_phase(phase: Phase) -> str:
    """A phase in a few words, for people who read the log."""
    match phase:
        case StopRulesSet(rules=rules):
            return f"rules: {percent(rules.target)} of the samples{''.join(_limits(rules))}"
        case ProjectRulesSet(path=path):
            return f"rules of the project: {path}"
        case TurnBegan(role=role, iteration=iteration):
            return f"{role} begins, iteration {iteration}"
        case HandedOver(role=role, iteration=iteration):
            return f"{role} hands over, iteration {iteration}"
        case HandoverAccepted(is_blocked=True):
            return "accepted, and it waits for an answer"
        case HandoverAccepted(results=results):
            return f"accepted, {results.rate} passed" if results else "accepted"
        case HandoverRejected(faults=faults):
            return f"rejected: {faults[0] if faults else ''}"
        case DecisionRequested(text=text):
            return f"a person is asked: {text[:200]}"
        case DecisionMade(answer=answer, by=by):
            return f"decided by {by}: {answer}"
        case PairEnded(sentence=sentence):
            return f"ended: {sentence}"


def _limits(rules: StopRules) -> Iterator[str]:
    if rules.max_iterations:
        yield f", at most {rules.max_iterations} iterations"
    if rules.max_cost:
        yield f", at most {format_dollars(rules.max_cost)}"
