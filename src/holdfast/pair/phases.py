"""The phases of a pair: everything that can happen to it, one small class each, as they are in its log; and the
state that follows from them.

Rule: a phase is written before it is acted on, and what is done after it can be repeated. So the log says where to
resume, on any machine. The same phases give the same state, and nothing else is remembered.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from msgspec import Struct, field

from holdfast.events import Event, Noted
from holdfast.pair.evaluation import IterationResults
from holdfast.pair.frozen import FrozenEvaluation
from holdfast.pair.handover import Handover
from holdfast.pair.stop_rules import StopRules, percent
from holdfast.pair.suspicions import TestCount, with_tests
from holdfast.prices import format_dollars

KIND = "pair"
LONGEST_WORDS = 4_000
"""The most characters of an answer."""

About = Literal["design", "question", "summary", "uncertain", "blocked", "overflow", "result"]
Answer = Literal["approve", "reject", "say"]
_YES_OR_NO: tuple[Answer, ...] = ("approve", "reject")
_ANY: tuple[Answer, ...] = ("say", "approve", "reject")
ANSWERS: dict[About, tuple[Answer, ...]] = {
    "design": _YES_OR_NO,
    "summary": _YES_OR_NO,
    "result": _YES_OR_NO,
    "question": _ANY,
    "uncertain": _ANY,
    "blocked": _ANY,
    "overflow": ("approve",),
}
"""The possible answers to each kind of request, the usual one first."""


class StopRulesSet(Struct, frozen=True, tag="rules_given"):
    """The stop rules from here on; a pair that had ended may go on. `grants` is a hash of what agents may do
    without asking."""

    rules: StopRules
    grants: str = ""


class ChoicesMade(Struct, frozen=True, tag="choices_made"):
    """What a person allowed when the pair was started or resumed: it holds for later runs too."""

    allow: tuple[str, ...] = ()
    mode: Literal["", "plan", "ask", "edit", "auto"] = ""
    approve: Literal["", "ask", "auto", "file"] = ""


class ProjectRulesSet(Struct, frozen=True, tag="law_given"):
    """The project's rules as they were when the pair began. They hold for both roles, whatever an agent does to the
    file."""

    path: str
    text: str
    mtime: float = 0.0
    hash: str = ""


class TurnBegan(Struct, frozen=True, tag="turn_began"):
    """A turn of one role, opened by this text in its own log. `turn` counts the turns of both roles; `design` is
    the hash of the design at its beginning."""

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
    """The handover was checked again from the receiver's side. `results` are those that the harness measured, or
    those on the disk if the design names no evaluation. A role that could not measure and asks a person
    `is_blocked`; then the iteration continues. `evaluation` is that of a design, as it was then; `tests` are those
    in the folder."""

    turn: int
    design: str = ""
    design_files: tuple[str, ...] = ()
    results: IterationResults | None = None
    is_blocked: bool = False
    evaluation: FrozenEvaluation | None = None
    tests: TestCount | None = None
    replaced: dict[str, str] = {}
    """Files of the evaluation that were changed after its approval, with the hashes that they have now."""


class HandoverRejected(Struct, frozen=True, tag="rejected"):
    """The handover cannot be used, or not any more; the role that made it is told why."""

    turn: int
    faults: tuple[str, ...]


class DecisionRequested(Struct, frozen=True, tag="asked"):
    """A person must decide about a design, named by its hash; a question of an agent, which may be `blocked`
    without an answer; what to tell an agent about calls that a crash made `uncertain`; whether to go on although
    no model wrote a usable summary, or although the newest steps alone did not fit the window; or whether a
    suspicious `result` is a success."""

    id: str
    about: About
    text: str
    files: tuple[str, ...] = ()
    needs_person: bool = False
    """Whether no policy may approve it."""

    @property
    def answers(self) -> tuple[Answer, ...]:
        return ANSWERS[self.about]

    @property
    def wants_words(self) -> bool:
        """Whether the answer is in words, not yes or no."""
        return self.answers[0] == "say"


class DecisionMade(Struct, frozen=True, tag="decided"):
    """`words` are in every request from then on, so their length is limited."""

    id: str
    answer: Answer
    words: str = ""
    by: str = ""


class PairEnded(Struct, frozen=True, tag="ended"):
    """`reason` is that of a stop rule, or `done` if an agent says that nothing is left to do."""

    reason: str
    sentence: str
    evidence: tuple[str, ...] = ()


Phase = (
    StopRulesSet
    | ChoicesMade
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
    return Noted(KIND, describe_phase(phase), msgspec.to_builtins(phase))


def read_phase(event: Event) -> Phase | None:
    """The phase in an event of a log, if there is one."""
    if isinstance(event, Noted) and event.kind == KIND:
        phase: Phase = msgspec.convert(event.data, Phase)
        return phase
    return None


def describe_phase(phase: Phase) -> str:
    """A phase in a few words, for people who read the log."""
    match phase:
        case StopRulesSet(rules=rules):
            return f"rules: {percent(rules.target)} of the samples{''.join(_limits(rules))}"
        case ChoicesMade(allow=allow, mode=mode, approve=approve):
            named = (f"mode {mode}" if mode else "", f"approvals by {approve}" if approve else "")
            return f"choices: {', '.join(filter(None, (*allow, *named))) or 'as usual'}"
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


class PairState(Struct):
    """`at` is the newest phase that says what to do next; `turns` counts the turns of each role."""

    at: TurnBegan | HandedOver | HandoverAccepted | HandoverRejected | None = None
    rules: StopRules | None = None
    grants: str = ""
    choices: ChoicesMade = ChoicesMade()
    project_rules: ProjectRulesSet | None = None
    turns: dict[str, int] = field(default_factory=dict)
    handovers: dict[str, HandedOver] = field(default_factory=dict)
    """The newest accepted handover of each role."""
    results: list[IterationResults] = field(default_factory=list)
    evaluation: FrozenEvaluation | None = None
    """That of the newest design."""
    design: str = ""
    """The hash of the newest design."""
    replaced: dict[str, set[str]] = field(default_factory=dict)
    """What files of an evaluation were replaced with after its approval, by their paths."""
    tests: TestCount | None = None
    """The tests in the folder by the newest design, and those that were added since: what is gone stays known."""
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
        return design in self.decided and self.decided[design].answer == "approve"

    def rejects(self, design: str) -> bool:
        return design in self.decided and self.decided[design].answer == "reject"


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
        case ChoicesMade():
            state.choices = phase
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
        case DecisionRequested(id=id_):
            # What is requested again is no longer decided, and only the newest design is pending.
            for requests in (state.decided, state.answered, state.asked):
                requests.pop(id_, None)
            if phase.about == "design":
                state.pending = {one.id: one for one in state.pending.values() if one.about != "design"}
            state.asked[id_] = state.pending[id_] = phase
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
    if state.last.role != second:
        is_new, state.design = accepted.design != state.design, accepted.design
        state.evaluation = accepted.evaluation
        state.tests = accepted.tests if is_new else with_tests(state.tests, accepted.tests)
    else:
        state.tests = with_tests(state.tests, accepted.tests)
        for name, hash_ in accepted.replaced.items():
            state.replaced.setdefault(name, set()).add(hash_)
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
