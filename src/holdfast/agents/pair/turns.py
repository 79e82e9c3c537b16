"""The design that a pair works with: the first role's, as its files are now, and whether it may be worked with.

Rule: what was approved is a hash of names and bytes. A design with another one is asked about, whoever changed it
and whenever; one with a file that is gone is none.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.build import AgentConfig
from holdfast.agents.limits import RunLimits
from holdfast.agents.outcomes import Ask, Stop
from holdfast.agents.pair.decisions import (
    Approvals,
    DecisionRespondent,
    Decisions,
    overflow_prefix,
    summary_prefix,
)
from holdfast.agents.pair.delivery import Delivery
from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.outcome import CONTINUE, RAISE, PairOutcome, role_outcome
from holdfast.agents.pair.role_session import RoleSession, turn_opening
from holdfast.agents.project_rules import RulesFile
from holdfast.pair.folder import Design, PairFolder, read_design
from holdfast.pair.handover import Handover
from holdfast.pair.phases import DecisionMade, DecisionRequested, TurnBegan
from holdfast.pair.roles import Role
from holdfast.pair.turn_texts import answer_of, design_lines, pending_lines, progress_lines
from holdfast.prices import format_dollars

MOST_LOOKS = 30
"""Designs that are asked about before a turn begins: what changes by itself is never approved as it is."""


class MissingDesign(Struct, frozen=True):
    """Files of the design that cannot be read."""

    files: tuple[str, ...]


class DesignApproval:
    def __init__(self, journal: PairJournal, decisions: Decisions, layout: PairFolder) -> None:
        self._journal = journal
        self._decisions = decisions
        self._layout = layout
        self._looks = 0

    def begin(self) -> None:
        """A turn begins: from here on it is counted anew."""
        self._looks = 0

    def now(self) -> Design:
        """Of the first role's newest handover."""
        made = self._journal.state.handovers.get(self._journal.pair.roles[0].name)
        return read_design(self._layout, made.handover.design if made else ())

    async def look(self) -> DecisionMade | MissingDesign | PairOutcome | None:
        """None where it may be worked with. A decision that is given back was made just now, or forbids it: after
        it everything is looked at once more."""
        design = self.now()
        if design.missing:
            return MissingDesign(design.missing)
        if not design.hash or self._journal.state.approves(design.hash):
            return None
        self._looks += 1
        if self._looks > MOST_LOOKS:
            return PairOutcome("ask", "the design changes again and again while it is looked at", CONTINUE)
        text = f"approve the design in {', '.join(f'`{name}`' for name in design.files)}?"
        asked = DecisionRequested(design.hash, "design", text, design.files)
        decision = await self._decisions.ask(asked, anew=not self._journal.rejects(design.hash))
        if decision is not None:
            return decision
        sentence = f"the design `{design.hash}` waits for approval: {', '.join(design.files)}"
        return self._decisions.waits(asked, sentence)


# The turns of the two agents: each from what it is told to what it hands over.
#
# Rule: nothing is asked of a model before everything is looked at: what is left to spend, what a crash left behind,
# whether the design is one that may be worked with.

TurnResult = Handover | PairOutcome | DecisionMade | MissingDesign
"""What a turn comes to; the last two where the design may not be worked with as it is."""


class PairContext(Struct, frozen=True, kw_only=True):
    """Where the pair works, what it works on, and with what a role's desk is opened."""

    layout: PairFolder
    task: str
    opening: Callable[[Role], AgentConfig]
    approvals: Approvals
    spent: Callable[[], float] = lambda: 0.0
    """Dollars, by both agents, in all runs."""


class TurnRunner:
    """`follow` is told of the agent that works, whenever another one begins."""

    def __init__(
        self,
        journal: PairJournal,
        plan: PairContext,
        decisions: Decisions,
        designs: DesignApproval,
        delivery: Delivery,
    ) -> None:
        self._journal = journal
        self._plan = plan
        self._decisions = decisions
        self._designs = designs
        self._refusals = delivery.refusals
        self._desks: dict[str, RoleSession] = {}
        self.follow: Callable[[Agent], None] = lambda _: None

    async def aclose(self) -> None:
        for desk in self._desks.values():
            await desk.aclose()

    def desk(self, role: Role) -> RoleSession:
        if role.name not in self._desks:
            law = self._journal.state.law
            rules = RulesFile(law.path, law.text, law.mtime, law.hash) if law else None
            opened = replace(self._plan.opening(role), respondent=DecisionRespondent(self._decisions))
            self._desks[role.name] = RoleSession(opened, role, self._refusals, rules)
        return self._desks[role.name]

    async def work(self, turn: TurnBegan) -> TurnResult:
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
        said = turn_opening(turn.text, by_person=turn.origin == "person")
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
        return role_outcome(end, role)

    async def _settle(self, desk: RoleSession) -> PairOutcome | None:
        """What a crash left open gets a result; a person is asked first what to say of what may do harm twice."""
        words = ""
        if calls := desk.uncertain():
            name = desk.role.name
            text = f"what `{name}` called before a crash is uncertain: {'; '.join(calls)}. What is it to be told?"
            asked = DecisionRequested(f"u_{name}_{desk.steps}", "uncertain", text)
            decision = await self._decisions.ask(asked)
            if decision is None:
                return self._decisions.waits(asked, text)
            is_plain = decision.answer == "approve" and not decision.words.strip()
            words = "" if is_plain else answer_of(decision)
        desk.settle(words)
        return None

    def _stand(self, desk: RoleSession, turn: TurnBegan) -> None:
        state = self._journal.state
        is_bound = self._is_bound(desk.role)
        changed = design_lines(turn.design, self._designs.now().hash) if is_bound else ()
        desk.stand(
            (*changed, *pending_lines(state)),
            progress_lines(self._journal.pair, state.results, self._journal.rules),
        )

    def _ask_for_room(self, end: Stop, desk: RoleSession) -> None:
        """Its newest steps alone do not fit, long results clipped: only a person can give it another window."""
        id_ = f"{overflow_prefix(desk.role.name)}{desk.steps}"
        if id_ not in self._journal.state.pending:
            self._journal.append(DecisionRequested(id_, "overflow", f"`{desk.role.name}`: {end.sentence}"))

    async def _may_go_on(self, end: Ask, desk: RoleSession) -> bool:
        """No model wrote a summary that could be used, and the rule half stands in: a person may look at it."""
        name = desk.role.name
        asked = DecisionRequested(
            f"{summary_prefix(name)}{desk.steps}", "summary", f"`{name}`: {end.question}. Go on?"
        )
        decision = await self._decisions.ask(asked)
        return decision is not None and decision.answer == "approve"

    def _limits(self) -> RunLimits | None:
        """What the next turn may spend; None where nothing is left."""
        most, steps = self._journal.rules.max_cost, self._journal.rules.turn_steps
        if not most:
            return RunLimits(steps)
        left = most - self._plan.spent()
        return RunLimits(steps, left) if left > 0 else None

    def _end_of_money(self) -> PairOutcome:
        sentence = f"{format_dollars(self._plan.spent())} of {format_dollars(self._journal.rules.max_cost)} are spent"
        return PairOutcome("cost", sentence, RAISE)

    def _is_bound(self, role: Role) -> bool:
        """Whether a role works by the design, and so only by one that was approved."""
        return role is self._journal.pair.roles[1]
