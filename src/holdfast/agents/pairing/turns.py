"""The turns of the two agents: each from what it is told to what it hands over.

Rule: nothing is asked of a model before everything is looked at: what is left to spend, what a crash left behind,
whether the design is one that may be worked with.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.limits import Limits
from holdfast.agents.opening import Opening
from holdfast.agents.outcomes import Ask, Stop
from holdfast.agents.pairing.approval import Approvals
from holdfast.agents.pairing.decisions import Decisions, ThroughDecisions, room_id, summary_id
from holdfast.agents.pairing.delivery import Delivery
from holdfast.agents.pairing.designs import Designs, Gone
from holdfast.agents.pairing.desk import RoleDesk, said_in
from holdfast.agents.pairing.journal import Journal
from holdfast.agents.pairing.outcome import RAISE, Outcome, outcome_of
from holdfast.agents.project_rules import RulesFile
from holdfast.pair.handover import Handover
from holdfast.pair.layout import Layout
from holdfast.pair.phases import Asked, Decided, TurnBegan
from holdfast.pair.roles import Role
from holdfast.pair.telling import answer_of, design_lines, pending_lines, progress_lines
from holdfast.prices.money import money

Worked = Handover | Outcome | Decided | Gone
"""What a turn comes to; the last two where the design may not be worked with as it is."""


class Plan(Struct, frozen=True, kw_only=True):
    """Where the pair works, what it works on, and with what a role's desk is opened."""

    layout: Layout
    task: str
    opening: Callable[[Role], Opening]
    approvals: Approvals
    spent: Callable[[], float] = lambda: 0.0
    """Dollars, by both agents, in all runs."""


class Turns:
    """`follow` is told of the agent that works, whenever another one begins."""

    def __init__(
        self, journal: Journal, plan: Plan, decisions: Decisions, designs: Designs, delivery: Delivery
    ) -> None:
        self._journal = journal
        self._plan = plan
        self._decisions = decisions
        self._designs = designs
        self._refusals = delivery.refusals
        self._desks: dict[str, RoleDesk] = {}
        self.follow: Callable[[Agent], None] = lambda _: None

    async def aclose(self) -> None:
        for desk in self._desks.values():
            await desk.aclose()

    def desk(self, role: Role) -> RoleDesk:
        if role.name not in self._desks:
            law = self._journal.state.law
            rules = RulesFile(law.path, law.text, law.mtime, law.hash) if law else None
            opened = replace(self._plan.opening(role), respondent=ThroughDecisions(self._decisions))
            self._desks[role.name] = RoleDesk(opened, role, self._refusals, rules)
        return self._desks[role.name]

    async def work(self, turn: TurnBegan) -> Worked:
        """Up to what is handed over, or to what keeps it from being handed over."""
        role = self._journal.pair.role(turn.role)
        if role.measures:
            self._plan.layout.prepare(turn.iteration)
        limits = self._limits()
        if limits is None:
            return self._end_of_money()
        desk = self.desk(role)
        self._decisions.take_up(role.name)
        if waits := await self._settle(desk):
            return waits
        said = said_in(turn.text, by_person=turn.origin == "person")
        desk.open_turn(said, self._journal.state.turns[role.name], turn.iteration, limits)
        # What was handed over already is looked at with its design when it is received.
        is_bound = self._is_bound(role) and desk.handed() is None
        if is_bound and (found := await self._designs.look()):
            return found
        self._stand(desk, turn)
        self.follow(desk.agent)
        end = await desk.work()
        while isinstance(end, Ask) and await self._may_go_on(end, desk):
            end = await desk.work()
        if isinstance(end, Handover):
            return end
        if isinstance(end, Stop) and end.reason == "overflow":
            self._ask_for_room(end, desk)
        return outcome_of(end, role)

    async def _settle(self, desk: RoleDesk) -> Outcome | None:
        """What a crash left open gets a result; a person is asked first what to say of what may do harm twice."""
        words = ""
        if calls := desk.uncertain():
            name = desk.role.name
            text = f"what `{name}` called before a crash is uncertain: {'; '.join(calls)}. What is it to be told?"
            asked = Asked(f"u_{name}_{desk.steps}", "uncertain", text)
            decision = await self._decisions.ask(asked)
            if decision is None:
                return self._decisions.waits(asked, text)
            is_plain = decision.answer == "approve" and not decision.words.strip()
            words = "" if is_plain else answer_of(decision)
        desk.settle(words)
        return None

    def _stand(self, desk: RoleDesk, turn: TurnBegan) -> None:
        state = self._journal.state
        is_bound = self._is_bound(desk.role)
        changed = design_lines(turn.design, self._designs.now().hash) if is_bound else ()
        desk.stand(
            (*changed, *pending_lines(state)),
            progress_lines(self._journal.pair, state.results, self._journal.rules),
        )

    def _ask_for_room(self, end: Stop, desk: RoleDesk) -> None:
        """Its newest steps alone do not fit, long results clipped: only a person can give it another window."""
        id_ = f"{room_id(desk.role.name)}{desk.steps}"
        if id_ not in self._journal.state.pending:
            self._journal.append(Asked(id_, "overflow", f"`{desk.role.name}`: {end.sentence}"))

    async def _may_go_on(self, end: Ask, desk: RoleDesk) -> bool:
        """No model wrote a summary that could be used, and the rule half stands in: a person may look at it."""
        name = desk.role.name
        asked = Asked(f"{summary_id(name)}{desk.steps}", "summary", f"`{name}`: {end.question}. Go on?")
        decision = await self._decisions.ask(asked)
        return decision is not None and decision.answer == "approve"

    def _limits(self) -> Limits | None:
        """What the next turn may spend; None where nothing is left."""
        most, steps = self._journal.rules.max_cost, self._journal.rules.turn_steps
        if not most:
            return Limits(steps)
        left = most - self._plan.spent()
        return Limits(steps, left) if left > 0 else None

    def _end_of_money(self) -> Outcome:
        sentence = f"{money(self._plan.spent())} of {money(self._journal.rules.max_cost)} are spent"
        return Outcome("cost", sentence, RAISE)

    def _is_bound(self, role: Role) -> bool:
        """Whether a role works by the design, and so only by one that was approved."""
        return role is self._journal.pair.roles[1]
