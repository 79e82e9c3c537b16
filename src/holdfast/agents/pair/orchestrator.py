"""The orchestrator of a pair: turns, handovers, approvals and the end.

Rule: every phase is in the pair's log before anything is done about it, and everything that is done can be
repeated. So a run resumes where the log ends, and checks everything once more.
"""

from collections.abc import Callable

from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.pair.decisions import Decisions, blocked_request, result_request
from holdfast.agents.pair.journal import BLOCKED, CONTINUE, DONE, PairJournal, PairOutcome
from holdfast.agents.pair.turns import MissingDesign, PairContext, TurnResult, TurnRunner
from holdfast.pair.evaluation import problem_report
from holdfast.pair.handover import Handover
from holdfast.pair.phases import (
    DecisionMade,
    HandedOver,
    HandoverAccepted,
    HandoverRejected,
    PairEnded,
    PairState,
    StopRulesSet,
    TurnBegan,
)
from holdfast.pair.routing import NextTurn, is_done, next_turn
from holdfast.pair.stop_rules import StopRules, find_stop
from holdfast.pair.turn_texts import (
    disapproved_text,
    missing_design_note,
    not_accepted_note,
    not_approved_note,
    opening_text,
    refused_text,
    unblocked_text,
)

MOST_REJECTIONS = 3
"""How many handovers in a row, in one run, may be rejected."""
MOST_BLOCKED = 5
"""How many turns in a row, in all runs, may end in a question instead of results: they cost money too."""


class Orchestrator:
    def __init__(self, journal: PairJournal, context: PairContext) -> None:
        self.journal = journal
        self.pair = journal.pair
        self.context = context
        self._decisions = Decisions(journal, context.approvals)
        self._turns = TurnRunner(journal, context, self._decisions)
        self._delivery = self._turns.delivery
        self._rejections = 0

    @property
    def state(self) -> PairState:
        return self.journal.state

    def set_rules(self, rules: StopRules, grants: str = "") -> None:
        """The rules from now on; with other rules a pair that ended can continue. `grants` says what the agents
        may do; it matters to agents that were blocked."""
        state = self.state
        may_go_on = state.ended is None or state.ended.reason == BLOCKED
        if rules != state.rules or (may_go_on and grants != state.grants):
            self.journal.append(StopRulesSet(rules, grants))

    async def run(
        self,
        on_agent: Callable[[Agent], None] = lambda _: None,
        is_interrupted: Callable[[], bool] = lambda: False,
    ) -> PairOutcome:
        """Work until the pair ends or needs a person. Every run resumes where the one before it stopped.

        `on_agent` is called with the agent whenever one begins to work, so that it can be interrupted. Between two
        phases no agent works; then `is_interrupted` is asked.
        """
        self._turns.on_agent = on_agent
        self._rejections = 0
        await self._decisions.resume()
        outcome: PairOutcome | None = None
        while outcome is None:
            if is_interrupted():
                outcome = PairOutcome("interrupted", "interrupted", CONTINUE)
            else:
                outcome = await self._step()
        return self._decisions.with_open_questions(outcome)

    async def aclose(self) -> None:
        await self._turns.aclose()

    async def _step(self) -> PairOutcome | None:
        state = self.state
        if ended := state.ended:
            return PairOutcome(ended.reason, ended.sentence, evidence=ended.evidence, ended=True)
        match state.at:
            case TurnBegan() as turn:
                return self._take(turn, await self._turns.work(turn))
            case HandedOver() as made:
                self._note(await self._delivery.receive(made))
                return None
            case HandoverRejected(faults=wrong):
                return self._send_back(state, wrong)
            case HandoverAccepted() as accepted:
                return await self._advance(accepted)
        opening = opening_text(self.pair, self.context.task, self.journal.rules)
        self._turns.begin(self.pair.roles[0], opening, by_person=True)
        return None

    def _take(self, turn: TurnBegan, found: TurnResult) -> PairOutcome | None:
        """Act on the result of a turn. A design that is missing or rejected goes back to the first role; after an
        approval the turn starts again."""
        match found:
            case PairOutcome():
                return found
            case Handover():
                self.journal.append(HandedOver(turn.turn, turn.role, turn.iteration, found))
            case MissingDesign(files=files):
                self._turns.begin(self.pair.roles[0], refused_text((missing_design_note(files),)))
            case DecisionMade(answer="reject"):
                self._turns.begin(self.pair.roles[0], disapproved_text(found), by_person=True)
        return None

    def _note(self, checked: HandoverAccepted | HandoverRejected) -> None:
        self._rejections += isinstance(checked, HandoverRejected)
        self.journal.append(checked)

    def _send_back(self, state: PairState, wrong: tuple[str, ...]) -> PairOutcome | None:
        assert state.last is not None, "what was rejected was handed over"
        if self._rejections > MOST_REJECTIONS:
            times = f"{self._rejections} times in a row"
            sentence = f"`{state.last.role}` handed over {times} what cannot be delivered: {wrong[0]}"
            return PairOutcome("rejected", sentence, "look at the folder, then resume with `--continue`")
        self._turns.begin(self.pair.role(state.last.role), refused_text(wrong))
        return None

    async def _advance(self, accepted: HandoverAccepted) -> PairOutcome | None:
        """From an accepted handover to the next turn or to the end. After everything that takes time it starts
        over, since the folder may have changed meanwhile."""
        made = self.state.last
        assert made is not None, "what is accepted was handed over"
        role, is_blocked = self.pair.role(made.role), accepted.is_blocked
        if wrong := self._delivery.faults(role, made.handover, made.iteration, is_blocked=is_blocked):
            self._note(HandoverRejected(made.turn, wrong))
            return None
        if is_blocked:
            return await self._unblock(made)
        if accepted.results is not None:
            report = problem_report(made.handover, accepted.results, self.pair.other(made.role).layers)
            self.context.folder.write_json(self.pair.outputs.report_of(made.iteration), report)
        if await self._decisions.ask_all(made.handover.decisions):
            return None
        end = self._end()
        following = None if end else next_turn(self.pair, self.state, self.journal.rules)
        # An end may claim that the work is good, and with it the design.
        claims = end is not None and end.reason in ("success", "unmeasured", DONE)
        is_bound = claims or (following is not None and following.role is self.pair.roles[1])
        found = await self._turns.check_design() if is_bound else None
        if isinstance(found, PairOutcome):
            return found
        if isinstance(found, DecisionMade) and found.answer == "approve":
            return None
        if found is not None:
            # What may not be called a success may still be stopped by another rule.
            if stopped := self._end(may_succeed=False):
                self.journal.append(stopped)
            else:
                self._return(made, found)
        elif following is not None:
            self._deliver(following, made)
        elif end is not None:
            return await self._finish(end, made)
        return None

    async def _finish(self, end: PairEnded, made: HandedOver) -> PairOutcome | None:
        """End the pair; a success that is suspicious only if a person says that it is one."""
        state = self.state
        if end.reason != "success" or not state.results[-1].suspicions:
            self.journal.append(end)
            return None
        request = result_request(end.sentence, state.results[-1])
        decision = await self._decisions.ask(request)
        if decision is None:
            return replace(self._decisions.waits(request, request.text), evidence=end.evidence)
        if decision.answer == "approve":
            self.journal.append(end)
        elif stopped := self._end(may_succeed=False):
            self.journal.append(stopped)
        else:
            following = next_turn(self.pair, state, self.journal.rules)
            notes = (*following.notes, not_accepted_note(decision))
            self._deliver(NextTurn(following.role, notes), made)
        return None

    def _deliver(self, following: NextTurn, made: HandedOver) -> None:
        self._rejections = 0
        self._turns.begin(following.role, self._delivery.text(following, made))

    def _return(self, made: HandedOver, found: DecisionMade | MissingDesign) -> None:
        """Back to the first role, whose design was rejected or is missing, with the other's handover, if any."""
        first = self.pair.roles[0]
        if made.role == first.name and isinstance(found, DecisionMade):
            self._turns.begin(first, disapproved_text(found), by_person=True)
            return
        note = (
            missing_design_note(found.files) if isinstance(found, MissingDesign) else not_approved_note(found)
        )
        self._deliver(NextTurn(first, (note,)), made)

    async def _unblock(self, made: HandedOver) -> PairOutcome | None:
        """Give a blocked role its answer; problems in the first role's layers go to the first role."""
        asked = blocked_request(made.role, made.handover.decisions)
        if self.state.blocked >= MOST_BLOCKED:
            said = f"could not go on in {self.state.blocked} turns in a row; it asks: {asked.text}"
            self.journal.append(PairEnded(BLOCKED, f"`{made.role}` {said}"))
            return None
        decision = self.state.answered.get(asked.id)
        if decision is None:
            if await self._decisions.ask(asked, again=True):
                return None
            if self.state.is_regranted:
                self._decisions.approve_unanswered(asked)
                return None
            return self._decisions.waits(
                asked, f"`{made.role}` needs an answer before it can continue: {asked.text}"
            )
        first = self.pair.roles[0]
        if any(problem.layer in first.layers for problem in made.handover.problems):
            self._deliver(NextTurn(first), made)
        else:
            self._turns.begin(self.pair.role(made.role), unblocked_text(asked, decision))
        return None

    def _end(self, *, may_succeed: bool = True) -> PairEnded | None:
        """Why no further turn may begin: a stop rule, or an agent that says that nothing is left to do. The latter,
        and success, only if it `may_succeed`."""
        state = self.state
        assert state.last is not None, "somebody handed over"
        is_second = state.last.role == self.pair.roles[1].name
        results = state.results if is_second else ()
        # Only if there is a limit: both logs must be read for it.
        dollars = self.context.spent() if self.journal.rules.max_cost else 0.0
        done = state.iterations if is_second else 0
        found = find_stop(results, self.journal.rules, done=done, dollars=dollars, may_succeed=may_succeed)
        if found is not None:
            return PairEnded(found.reason, found.sentence, found.evidence)
        if may_succeed and is_done(self.pair, state):
            return PairEnded(DONE, f"`{state.last.role}` says that nothing is left to do")
        return None
