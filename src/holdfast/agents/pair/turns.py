"""The turns of the two roles, and the approval of the design that they work by.

Rule: before a model is asked, everything is checked: the money left, what a crash left open, and whether the design
is approved. An approval is for a hash of names and bytes; after any change of the files it is asked for again.
"""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.build import AgentConfig
from holdfast.agents.limits import RunLimits
from holdfast.agents.outcomes import Ask, Stop
from holdfast.agents.pair.decisions import DecisionMaker, DecisionResponder, Decisions
from holdfast.agents.pair.delivery import Delivery, design_of
from holdfast.agents.pair.journal import CONTINUE, RAISE, PairJournal, PairOutcome
from holdfast.agents.pair.loaded_files import open_files
from holdfast.agents.pair.measuring import Harness
from holdfast.agents.pair.role_session import RoleSession
from holdfast.events import RulesSet, UserSaid
from holdfast.messages import Text
from holdfast.pair.evaluation import listed
from holdfast.pair.folder import RESULTS, Design, PairFolder
from holdfast.pair.handover import Handover, TurnBudget
from holdfast.pair.phases import DecisionMade, DecisionRequested, TurnBegan
from holdfast.pair.roles import Role
from holdfast.pair.turn_texts import answer_of, design_lines, pending_lines, progress_lines
from holdfast.prices import format_dollars

MAX_DESIGN_CHECKS = 30
"""How many versions of a design are asked about before a turn: a design that keeps changing cannot be approved."""


class MissingDesign(Struct, frozen=True):
    """Files of the design that cannot be read."""

    files: tuple[str, ...]


TurnResult = Handover | PairOutcome | DecisionMade | MissingDesign
"""How a turn ends; the last two if the design may not be used as it is."""


class PairContext(Struct, frozen=True, kw_only=True):
    """Where the pair works, what it works on, and the configuration of each role."""

    folder: PairFolder
    task: str
    config: Callable[[Role], AgentConfig]
    approvals: DecisionMaker
    harness: Harness
    spent: Callable[[], float] = lambda: 0.0
    """Dollars, of both roles, in all runs."""


class TurnRunner:
    """`on_agent` is called with the agent whenever a turn begins."""

    def __init__(self, journal: PairJournal, context: PairContext, decisions: Decisions) -> None:
        self._journal = journal
        self._context = context
        self._decisions = decisions
        self.delivery = Delivery(
            journal,
            context.folder,
            context.task,
            lambda role: self._session(role).count,
            context.harness,
            lambda role: self._session(role).turn_work(self._results_folder()),
        )
        self._sessions: dict[str, RoleSession] = {}
        self._design_checks = 0
        self.on_agent: Callable[[Agent], None] = lambda _: None

    async def aclose(self) -> None:
        for session in self._sessions.values():
            await session.aclose()

    def begin(self, role: Role, text: str, *, by_person: bool = False) -> None:
        """Record a new turn, which `work` then works on."""
        self._design_checks = 0
        state = self._journal.state
        origin: Literal["person", "agent"] = "person" if by_person else "agent"
        design = self._design().hash if self._is_bound(role) else ""
        self._journal.append(TurnBegan(state.turn + 1, role.name, state.iterations + 1, text, origin, design))

    async def work(self, turn: TurnBegan) -> TurnResult:
        """Work until something is handed over, or until something prevents it."""
        role = self._journal.pair.role(turn.role)
        if role.measures:
            self._context.folder.prepare(turn.iteration)
        rules = self._journal.rules
        spent = self._context.spent() if rules.max_cost else 0.0
        if rules.max_cost and spent >= rules.max_cost:
            sentence = (
                f"the limit of {format_dollars(rules.max_cost)} is reached ({format_dollars(spent)} spent)"
            )
            return PairOutcome("cost", sentence, RAISE)
        limits = self._limits(role, RunLimits(rules.turn_steps, rules.max_cost - spent))
        session = self._session(role)
        self._decisions.accept_resumption(role.name)
        if waits := await self._resolve_calls(session):
            return waits
        said = UserSaid((Text(turn.text),), turn.origin)
        session.open_turn(said, self._journal.state.turns[role.name], turn.iteration, limits)
        # A handover that was already made is checked with its design when it is received.
        frozen = self._journal.state.evaluation
        session.freeze(tuple(frozen.files) if frozen and self._is_bound(role) else ())
        is_bound = self._is_bound(role) and session.handed() is None
        if is_bound and (found := await self.check_design()):
            return found
        self._set_recaps(session, turn)
        self.on_agent(session.agent)
        end = await session.work()
        while isinstance(end, Ask) and await self._may_continue(end, session):
            end = await session.work()
        if isinstance(end, Handover):
            await session.end_commands()
            return end
        if isinstance(end, Stop) and end.reason == "overflow":
            self._request_larger_window(end, session)
        return _role_outcome(end, role)

    async def check_design(self) -> DecisionMade | MissingDesign | PairOutcome | None:
        """None if the design is approved. A decision was made just now, or it rejects the design: after it,
        everything must be checked again."""
        design = self._design()
        if design.missing:
            return MissingDesign(design.missing)
        if not design.hash or self._journal.state.approves(design.hash):
            return None
        self._design_checks += 1
        if self._design_checks > MAX_DESIGN_CHECKS:
            return PairOutcome("ask", "the design keeps changing while it is being checked", CONTINUE)
        taken_over = ", ".join(f"`{name}`" for name in self._taken_over())
        warning = f", of which {taken_over} is as the agent that is measured left it" if taken_over else ""
        text = f"approve the design in {', '.join(f'`{name}`' for name in design.files)}{self._terms()}{warning}?"
        request = DecisionRequested(design.hash, "design", text, design.files, bool(taken_over))
        decision = await self._decisions.ask(request, again=not self._journal.rejects(design.hash))
        if decision is not None:
            return decision
        sentence = f"the design `{design.hash}` waits for approval: {', '.join(design.files)}"
        return self._decisions.waits(request, sentence)

    def _taken_over(self) -> list[str]:
        """Files of the evaluation with the bytes that replaced approved ones: who is measured may have written
        them."""
        state = self._journal.state
        files = state.evaluation.files if state.evaluation else {}
        return [name for name, hash_ in files.items() if hash_ in state.replaced.get(name, ())]

    def _design(self) -> Design:
        """The design of the first role's newest handover, as its files are now."""
        made = self._first_handover()
        if made is None:
            return Design()
        return design_of(self._context.folder, made, self._journal.state.evaluation)

    def _first_handover(self) -> Handover | None:
        made = self._journal.state.handovers.get(self._journal.pair.roles[0].name)
        return made.handover if made else None

    def _limits(self, role: Role, limits: RunLimits) -> RunLimits:
        """The limits of a turn: the stop rules', and for the role that works by a design those it states."""
        made = self._first_handover()
        budget = (made.turn_budget if made and self._is_bound(role) else None) or TurnBudget()
        steps, dollars = (
            min(filter(None, (one, two)), default=0)
            for one, two in ((limits.steps, budget.steps), (limits.dollars, budget.dollars))
        )
        return replace(limits, steps=int(steps), dollars=float(dollars))

    def _terms(self) -> str:
        """What a person approves with the files of a design."""
        frozen, made = self._journal.state.evaluation, self._first_handover()
        budget = made.turn_budget if made else None
        terms = []
        if frozen is not None:
            names = ", ".join(f"`{name}`" for name in frozen.plan.inputs)
            terms.append(f"its evaluation by `{frozen.plan.command}` with {names}")
            if more := open_files(self._context.folder, frozen, self._design().files):
                terms[-1] += f", which also uses {listed(more)} as it finds them"
        if budget is not None:
            most = [f"{budget.steps} requests"] if budget.steps else []
            most += [format_dollars(budget.dollars)] if budget.dollars else []
            terms += [f"turns of at most {' and '.join(most)}"] if most else []
        return "".join(f", and {one}" for one in terms)

    def _results_folder(self) -> str:
        state, outputs = self._journal.state, self._context.folder.outputs
        iteration = state.last.iteration if state.last else 1
        return f"{outputs.iteration(iteration)}/{RESULTS}"

    def _is_bound(self, role: Role) -> bool:
        """Whether a role works by the design, which must be approved then."""
        return role is self._journal.pair.roles[1]

    def _session(self, role: Role) -> RoleSession:
        if role.name not in self._sessions:
            known = self._journal.state.project_rules
            rules = RulesSet(known.path, known.text, known.mtime, known.hash) if known else None
            config = replace(self._context.config(role), responder=DecisionResponder(self._decisions))
            self._sessions[role.name] = RoleSession(config, role, self.delivery.refusals, rules)
        return self._sessions[role.name]

    async def _resolve_calls(self, session: RoleSession) -> PairOutcome | None:
        """Give calls that a crash interrupted a result. A person is asked first about those that may do harm
        twice."""
        words = ""
        if calls := session.uncertain_calls():
            name = session.role.name
            text = f"what `{name}` called before a crash is uncertain: {'; '.join(calls)}. What is it to be told?"
            request = DecisionRequested(f"u_{name}_{session.steps}", "uncertain", text)
            decision = await self._decisions.ask(request)
            if decision is None:
                return self._decisions.waits(request, text)
            is_plain = decision.answer == "approve" and not decision.words.strip()
            words = "" if is_plain else answer_of(decision)
        session.resolve_calls(words)
        return None

    def _set_recaps(self, session: RoleSession, turn: TurnBegan) -> None:
        state = self._journal.state
        changed = design_lines(turn.design, self._design().hash) if self._is_bound(session.role) else ()
        session.set_recaps(
            (*changed, *pending_lines(state)),
            progress_lines(self._journal.pair, state.results, self._journal.rules),
        )

    def _request_larger_window(self, end: Stop, session: RoleSession) -> None:
        """Its newest steps alone do not fit, even with clipped results: only a person can choose a larger
        window."""
        name = session.role.name
        request = DecisionRequested(f"o_{name}_{session.steps}", "overflow", f"`{name}`: {end.sentence}")
        if request.id not in self._journal.state.pending:
            self._journal.append(request)

    async def _may_continue(self, end: Ask, session: RoleSession) -> bool:
        """No model wrote a usable summary, and the rules wrote one instead: a person decides whether to go on."""
        name = session.role.name
        text = f"`{name}`: {end.question}. Continue?"
        decision = await self._decisions.ask(DecisionRequested(f"s_{name}_{session.steps}", "summary", text))
        return decision is not None and decision.answer == "approve"


def _role_outcome(end: Ask | Stop, role: Role) -> PairOutcome:
    match end:
        case Ask(question=question):
            return PairOutcome("ask", f"`{role.name}`: {question}", CONTINUE)
        case Stop(reason="overflow", sentence=sentence, hint=hint):
            room = f"{hint}; or give `{role.name}` a model with a larger window"
            return PairOutcome("ask", f"`{role.name}`: {sentence}", f"{room}; {CONTINUE}")
        case Stop(reason="model" | "refused" | "empty" as reason, sentence=sentence, hint=hint):
            return PairOutcome(
                reason, f"`{role.name}`: {sentence}", "; ".join(filter(None, (hint, CONTINUE)))
            )
        case Stop(reason=reason, sentence=sentence):
            return PairOutcome(reason, f"`{role.name}`: {sentence}", RAISE if reason == "cost" else CONTINUE)
