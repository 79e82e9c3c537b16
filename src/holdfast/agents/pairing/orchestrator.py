"""Who brings the two agents of a pair together: turns, handovers, approvals and the end.

Rule: every change of phase stands in this log before anything is done about it, and all that is done can be done
again. Whoever opens the log anew goes on where it ends.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.limits import Limits
from holdfast.agents.outcomes import Ask, Stop
from holdfast.agents.pairing.approval import Approvals
from holdfast.agents.pairing.desk import RoleDesk, said_in
from holdfast.agents.pairing.outcome import RAISE, Outcome, outcome_of
from holdfast.log import Log
from holdfast.pair.checking import faults, sizes
from holdfast.pair.design import Design, read_design
from holdfast.pair.handover import Handover
from holdfast.pair.layout import Layout
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
)
from holdfast.pair.progress import Results, Unreadable, read_results, report_of
from holdfast.pair.roles import Pair, Role
from holdfast.pair.routing import is_done, next_turn
from holdfast.pair.state import State, fold
from holdfast.pair.stopping import StopRules, stop
from holdfast.pair.telling import disapproved, handed, opening, pending_lines, progress_lines, refused

MOST_REJECTIONS = 3
"""Handovers in a row that could not be delivered."""
DONE = "done"


class Plan(Struct, frozen=True, kw_only=True):
    """What the pair is, where it works, what it works on, and how a role's desk is opened."""

    pair: Pair
    layout: Layout
    task: str
    desk: Callable[[Role], RoleDesk]
    approvals: Approvals
    spent: Callable[[], float] = lambda: 0.0
    """Dollars, by both agents, in all runs."""
    tell: Callable[[Phase], None] = lambda _: None


class Orchestrator:
    def __init__(self, log: Log, plan: Plan) -> None:
        self.log = log
        self.plan = plan
        self._phases = [phase for entry in log.entries() if (phase := phase_in(entry.event))]
        self._desks: dict[str, RoleDesk] = {}
        self._follow: Callable[[Agent], None] = lambda _: None

    def follow(self, follow: Callable[[Agent], None]) -> None:
        """Tell somebody of the agent that works, whenever another one begins: who interrupts must know it."""
        self._follow = follow

    @property
    def state(self) -> State:
        return fold(self._phases, self.plan.pair.roles[1].name)

    @property
    def rules(self) -> StopRules:
        return self.state.rules or self.plan.pair.stop

    def give_rules(self, rules: StopRules) -> None:
        """Rules that hold from now on; with other ones an end is none any more."""
        if rules != self.state.rules:
            self._append(RulesGiven(rules))

    async def run(self) -> Outcome:
        """Up to an end, or to what needs somebody: every run goes on where the one before it was left."""
        while True:
            state = self.state
            if state.ended:
                ended = state.ended
                return Outcome(ended.reason, ended.sentence, evidence=ended.evidence, ended=True)
            outcome: Outcome | None = None
            match state.at:
                case None:
                    first = self.plan.pair.roles[0]
                    self._begin(first, opening(self.plan.pair, self.plan.task), by_person=True)
                case TurnBegan() as turn:
                    outcome = await self._work(turn, state)
                case HandedOver() as made:
                    self._receive(made)
                case Rejected(faults=wrong):
                    outcome = self._send_back(state, wrong)
                case Accepted() as accepted:
                    outcome = await self._go_on(accepted, state)
            if outcome is not None:
                return outcome

    async def aclose(self) -> None:
        for desk in self._desks.values():
            await desk.aclose()

    def _append(self, phase: Phase) -> None:
        entry = self.log.append(noted(phase))
        kept = phase_in(entry.event)
        assert kept is not None, "a phase is read as it was written"
        self._phases.append(kept)
        self.plan.tell(kept)

    def _begin(self, role: Role, text: str, *, by_person: bool = False) -> None:
        state = self.state
        origin: Literal["person", "agent"] = "person" if by_person else "agent"
        self._append(TurnBegan(state.turn + 1, role.name, state.iterations + 1, text, origin))

    async def _work(self, turn: TurnBegan, state: State) -> Outcome | None:
        role = self.plan.pair.role(turn.role)
        if role.measures:
            self.plan.layout.prepare(turn.iteration)
        limits = self._limits()
        if limits is None:
            return self._end_of_money()
        desk = self._desk(role)
        self._take_up(role, state)
        if calls := desk.uncertain():
            self._append(Unsettled(turn.turn, role.name, calls))
        desk.settle()
        waiting = pending_lines([*state.pending.values()], [*state.decided.values()])
        desk.stand(waiting, progress_lines(state.results, self.rules))
        said = said_in(turn.text, by_person=turn.origin == "person")
        desk.open_turn(said, state.turns[role.name], turn.iteration, limits)
        self._follow(desk.agent)
        end = await desk.work()
        while isinstance(end, Ask) and await self._may_go_on(end, desk):
            end = await desk.work()
        if isinstance(end, Handover):
            self._append(HandedOver(turn.turn, role.name, turn.iteration, end))
            return None
        if isinstance(end, Stop) and end.reason == "overflow":
            self._ask_for_room(end, desk)
        return outcome_of(end, role)

    def _ask_for_room(self, end: Stop, desk: RoleDesk) -> None:
        """Its newest steps alone do not fit, long results clipped: only a person can give it another window."""
        id_ = f"{_room(desk.role)}{len(desk.session.window.transcript.steps)}"
        if id_ not in self.state.pending:
            self._append(Asked(id_, "overflow", f"`{desk.role.name}`: {end.sentence}"))

    def _take_up(self, role: Role, state: State) -> None:
        """Whoever goes on after that has decided to."""
        for id_, asked in state.pending.items():
            if asked.about == "overflow" and id_.startswith(_room(role)):
                self._append(Decided(id_, "approve", by="going on"))

    async def _may_go_on(self, end: Ask, desk: RoleDesk) -> bool:
        """No model wrote a summary that could be used, and the rule half stands in: a person may look at it."""
        id_ = f"s_{desk.role.name}_{len(desk.session.window.transcript.steps)}"
        decision = await self._decided(Asked(id_, "summary", f"`{desk.role.name}`: {end.question}. Go on?"))
        return decision is not None and decision.answer == "approve"

    def _receive(self, made: HandedOver) -> None:
        """Look at a handover from the side of whoever reads it: by now the disk may be another one."""
        role = self.plan.pair.role(made.role)
        wrong = faults(made.handover, role, self.plan.layout, made.iteration)
        results: Results | None = None
        if role.measures and not wrong:
            try:
                results = read_results(self.plan.layout, made.iteration)
            except Unreadable as error:
                wrong = (str(error),)
        design = read_design(self.plan.layout, made.handover.design)
        decision = self.state.decided.get(design.hash)
        if decision is not None and decision.answer == "reject":
            wrong = (*wrong, "the design is still the one that was not approved")
        if wrong:
            self._append(Rejected(made.turn, wrong))
            return
        self._append(Accepted(made.turn, design.hash, design.files, results))

    def _send_back(self, state: State, wrong: tuple[str, ...]) -> Outcome | None:
        assert state.last is not None, "what was rejected was handed over"
        if state.rejections > MOST_REJECTIONS:
            times = f"{state.rejections} times in a row"
            sentence = f"`{state.last.role}` handed over {times} what cannot be delivered: {wrong[0]}"
            return Outcome("rejected", sentence, "look at the folder, then go on with `--continue`")
        self._begin(self.plan.pair.role(state.last.role), refused(wrong))
        return None

    async def _go_on(self, accepted: Accepted, state: State) -> Outcome | None:
        pair, made = self.plan.pair, state.last
        assert made is not None, "what is accepted was handed over"
        self._write_report(made, accepted)
        await self._ask_questions(made)
        if self._is_over(state):
            return None
        following = next_turn(pair, self.state, self.rules)
        if following.role.name == pair.roles[1].name:
            design = self._design(state)
            decision = await self._approval(design)
            if isinstance(decision, Outcome):
                return decision
            if decision is not None and decision.answer == "reject":
                self._begin(pair.roles[0], disapproved(decision), by_person=True)
                return None
        text = handed(
            pair,
            following.role,
            pair.role(made.role),
            made.handover,
            iteration=state.iterations + 1,
            rules=self.rules,
            results=state.results,
            sizes=sizes(made.handover, self.plan.layout),
            notes=following.notes,
        )
        self._begin(following.role, text)
        return None

    def _is_over(self, state: State) -> bool:
        is_second = state.last is not None and state.last.role == self.plan.pair.roles[1].name
        results = state.results if is_second else ()
        # Only where it is limited: to know it both logs are read.
        dollars = self.plan.spent() if self.rules.max_cost else 0.0
        found = stop(results, self.rules, done=state.iterations if is_second else 0, dollars=dollars)
        if found is not None:
            self._append(Ended(found.reason, found.sentence, found.evidence))
        elif is_done(self.plan.pair, state):
            assert state.last is not None, "somebody said so"
            self._append(Ended(DONE, f"`{state.last.role}` says that nothing is left to do"))
        return self.state.ended is not None

    def _write_report(self, made: HandedOver, accepted: Accepted) -> None:
        if accepted.results is not None:
            layers = self.plan.pair.other(made.role).layers
            report = report_of(made.handover, accepted.results, layers)
            self.plan.layout.write_json(self.plan.pair.outputs.report_of(made.iteration), report)

    async def _ask_questions(self, made: HandedOver) -> None:
        for question in made.handover.decisions:
            id_ = f"q{sha256(question.encode()).hexdigest()[:11]}"
            if id_ not in self.state.decided:
                await self._decided(Asked(id_, "question", question))

    def _design(self, state: State) -> Design:
        """Of the first role's newest handover, as its files are now."""
        made = state.handovers.get(self.plan.pair.roles[0].name)
        return read_design(self.plan.layout, made.handover.design if made else ())

    async def _approval(self, design: Design) -> Decided | Outcome | None:
        """What was decided about a design, which may be asked for first; None where there is none to approve."""
        if not design.hash:
            return None
        known = self.state.decided.get(design.hash)
        if known is not None and known.answer == "approve":
            return known
        text = f"approve the design in {', '.join(f'`{name}`' for name in design.files)}?"
        asked = Asked(design.hash, "design", text, design.files)
        decision = await self._decided(asked)
        if decision is not None:
            return decision
        return Outcome(
            "ask",
            f"the design `{design.hash}` waits for approval: {', '.join(design.files)}",
            self.plan.approvals.how(asked),
        )

    async def _decided(self, asked: Asked) -> Decided | None:
        if asked.id not in self.state.pending:
            self._append(asked)
        decision = await self.plan.approvals.decide(asked)
        if decision is not None:
            self._append(decision)
        return decision

    def _desk(self, role: Role) -> RoleDesk:
        if role.name not in self._desks:
            self._desks[role.name] = self.plan.desk(role)
        return self._desks[role.name]

    def _limits(self) -> Limits | None:
        """What the next turn may spend; None where nothing is left."""
        most, steps = self.rules.max_cost, self.rules.turn_steps
        if not most:
            return Limits(steps)
        left = most - self.plan.spent()
        return Limits(steps, left) if left > 0 else None

    def _end_of_money(self) -> Outcome:
        sentence = f"${self.plan.spent():.2f} of ${self.rules.max_cost:.2f} are spent"
        return Outcome("cost", sentence, RAISE)


def _room(role: Role) -> str:
    """How ids begin of what is asked where a role's window is too small."""
    return f"o_{role.name}_"
