"""The delivery of handovers: what is wrong with one, and the text that the other role reads.

Rule: the same check is made when a handover is made, when it is received, and before the next turn begins, since
days may lie between. All faults are named, in sentences that the agent can act on. The text that is measured is the
text that is delivered.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.loaded_files import command_programs, loaded_files
from holdfast.agents.pair.logs import redacted_names
from holdfast.agents.pair.measuring import Harness, TurnWork, measurement_file
from holdfast.agents.pair.project_state import count_tests
from holdfast.pair.evaluation import (
    IterationResults,
    UnreadableResults,
    false_claims,
    listed,
    read_evaluation,
)
from holdfast.pair.folder import Design, PairFolder, read_design
from holdfast.pair.frozen import CannotFreeze, FrozenEvaluation, freeze, replaced_files
from holdfast.pair.handover import OF_DESIGN, Handover, handover_text, paths_in
from holdfast.pair.phases import HandedOver, HandoverAccepted, HandoverRejected
from holdfast.pair.roles import Role
from holdfast.pair.routing import NextTurn
from holdfast.pair.turn_texts import handover_message, turn_text

CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""
NOT_APPROVED = "the design is still the one that was not approved"
MEASURED_FILE = "measured.json"
"""What the harness measured, beside the outputs of the iteration."""


def handover_faults(handover: Handover, role: Role, folder: PairFolder, iteration: int) -> tuple[str, ...]:
    """Everything that is not true on the disk, or that the role requires and is missing."""
    return tuple(_faults(handover, role, folder, iteration))


def _faults(handover: Handover, role: Role, folder: PairFolder, iteration: int) -> Iterator[str]:
    for name in role.handover.requires:
        if not getattr(handover, name):
            yield f"`{name}` is missing"
    for path in paths_in(handover):
        found = folder.look(path)
        if isinstance(found, str):
            yield found
        elif found.is_folder and path in handover.design:
            yield f"`{path}` is a folder; the design is a list of files"
    if role.measures:
        try:
            yield from false_claims(handover, read_evaluation(folder, iteration))
        except UnreadableResults as error:
            yield str(error)


def design_of(folder: PairFolder, handover: Handover, evaluation: FrozenEvaluation | None) -> Design:
    """The design of a handover as its files are now, with how it is measured and what a turn may take."""
    budget = handover.turn_budget
    return read_design(
        folder, handover.design, f"{evaluation.hash if evaluation else ''} {budget or ''}".strip()
    )


def size_fault(text: str, role: Role, count: CountTokens) -> str:
    """Why the text is too long or too short for the other role; empty if it is neither."""
    tokens, least, most = count(text), role.handover.least_tokens, role.handover.most_tokens
    if tokens > most:
        return f"it takes {tokens} tokens, and {most} are allowed: write to files, and name them"
    if tokens < least:
        said = f"it takes {tokens} tokens, and at least {least} are required"
        return f"{said}: say what was done, what is asked, which files"
    return ""


class Delivery(Struct, frozen=True):
    """`counter` gives the token counter of a role's model, and `work_of` what it did in its turn."""

    journal: PairJournal
    folder: PairFolder
    task: str
    counter: Callable[[Role], CountTokens]
    harness: Harness
    work_of: Callable[[Role], TurnWork]

    def refusals(self, role: Role, handover: Handover, iteration: int) -> tuple[str, ...]:
        """Why a handover is refused when it is made or received."""
        evaluation, wrong = self._frozen(handover)
        design = design_of(self.folder, handover, evaluation)
        not_approved = (NOT_APPROVED,) if self.journal.rejects(design.hash) else ()
        is_blocked = self._is_blocked(role, handover, iteration)
        found = self.faults(role, handover, iteration, is_blocked=is_blocked)
        return (*found, *wrong, *self._misplaced(role, handover), *redacted_names(handover), *not_approved)

    def _frozen(self, handover: Handover) -> tuple[FrozenEvaluation | None, tuple[str, ...]]:
        """The evaluation of a design as its files are now, or what is wrong with it."""
        if handover.evaluation is None:
            return None, ()
        try:
            evaluation = freeze(self.folder, handover.evaluation)
        except CannotFreeze as error:
            return None, (str(error),)
        return evaluation, tuple(self._not_frozen(evaluation))

    def _not_frozen(self, evaluation: FrozenEvaluation) -> Iterator[str]:
        """Files of the evaluation that the role that builds could change. What is loaded is asked for only as long
        as that role has not worked: afterwards it may be of its making, and is a sign."""
        files = command_programs(self.folder, evaluation)
        if not self.journal.state.turns.get(self.journal.pair.roles[1].name):
            files += loaded_files(self.folder, evaluation)
        if files:
            yield f"the evaluation runs {listed(files)}, which could be changed: name it among its `inputs`"

    def _misplaced(self, role: Role, handover: Handover) -> Iterator[str]:
        first = self.journal.pair.roles[0]
        for name in OF_DESIGN if role.name != first.name else ():
            if getattr(handover, name) is not None:
                yield f"`{name}` belongs to the design, which `{first.name}` hands over: leave it out"

    def faults(self, role: Role, handover: Handover, iteration: int, *, is_blocked: bool) -> tuple[str, ...]:
        """What is wrong with a handover itself, its size included. Of a role that is blocked no results are
        required, and of one that the harness measures none of its own."""
        asked = role
        if is_blocked or (self._is_measured(role) and handover.success is None):
            required = tuple(name for name in role.handover.requires if name != "success")
            asked = replace(role, measures=False, handover=replace(role.handover, requires=required))
        count = self.counter(role)
        size = size_fault(handover_text(role.handover.name, handover), role, count) or size_fault(
            self._message(asked, handover, iteration), role, count
        )
        return (*handover_faults(handover, asked, self.folder, iteration), *([size] if size else []))

    async def receive(self, made: HandedOver) -> HandoverAccepted | HandoverRejected:
        """Check a handover from the receiver's side, since the disk may have changed by now, and measure."""
        role, handover, iteration = self.journal.pair.role(made.role), made.handover, made.iteration
        if wrong := self.refusals(role, handover, iteration):
            return HandoverRejected(made.turn, wrong)
        is_blocked = self._is_blocked(role, handover, iteration)
        evaluation, _ = self._frozen(handover)
        design = design_of(self.folder, handover, evaluation)
        accepted = HandoverAccepted(
            made.turn, design.hash, design.files, None, is_blocked, evaluation, count_tests(self.folder)
        )
        try:
            if evaluation is not None:
                self.harness.approved.keep(self.folder, evaluation)
            if role.measures and not is_blocked:
                return await self._measured(role, iteration, accepted)
        except (UnreadableResults, CannotFreeze) as error:
            return HandoverRejected(made.turn, (str(error),))
        return accepted

    async def _measured(
        self, role: Role, iteration: int, accepted: HandoverAccepted
    ) -> HandoverAccepted | HandoverRejected:
        """The handover with its results: measured if the design says how, else as they are on the disk."""
        state = self.journal.state
        if not self._is_measured(role) or state.evaluation is None:
            return replace(accepted, results=read_evaluation(self.folder, iteration).results)
        measured = await self.harness.measure(
            state.evaluation,
            iteration,
            self._claimed(iteration),
            state.results,
            state.tests,
            self.work_of(role),
            state.design,
        )
        if measured.results is None:
            return HandoverRejected(accepted.turn, (measured.trouble,))
        where = f"{self.folder.outputs.iteration(iteration)}/{MEASURED_FILE}"
        self.folder.write_json(where, measurement_file(measured))
        loaded = loaded_files(self.folder, state.evaluation)
        replaced = replaced_files(self.folder, state.evaluation, loaded)
        return replace(accepted, results=measured.results, tests=measured.tests, replaced=replaced)

    def _is_measured(self, role: Role) -> bool:
        return role.measures and self.harness.can_run and self.journal.state.evaluation is not None

    def _claimed(self, iteration: int) -> IterationResults | None:
        """The agent's own results, which need not be in order."""
        try:
            return read_evaluation(self.folder, iteration).results
        except UnreadableResults:
            return None

    def _is_blocked(self, role: Role, handover: Handover, iteration: int) -> bool:
        """Whether a role that measures could not do so and asks a person instead. With countable results it
        could."""
        if not role.measures or handover.success is not None or not handover.decisions:
            return False
        if self._is_measured(role):
            return False
        try:
            return not read_evaluation(self.folder, iteration).results.total
        except UnreadableResults:
            return True

    def text(self, following: NextTurn, made: HandedOver) -> str:
        """The text that opens the next turn. A role that has not worked yet reads the task too."""
        state = self.journal.state
        is_first = not state.turns.get(following.role.name)
        return turn_text(
            self.journal.pair,
            following.role,
            self.journal.pair.role(made.role),
            made.handover,
            iteration=state.iterations + 1,
            rules=self.journal.rules,
            results=state.results,
            sizes=self._sizes(made.handover),
            notes=following.notes,
            task=self.task if is_first else "",
            evaluation=state.evaluation if self.harness.can_run else None,
        )

    def _message(self, role: Role, handover: Handover, iteration: int) -> str:
        """The handover as the other role will read it."""
        results = self.journal.state.results
        evaluated = iteration if role.measures else results[-1].iteration if results else 0
        return handover_message(
            self.journal.pair,
            self.journal.pair.other(role.name),
            role,
            handover,
            iteration=iteration + role.measures,
            evaluated=evaluated,
            sizes=self._sizes(handover),
        )

    def _sizes(self, handover: Handover) -> dict[str, str]:
        """The size of each named file, so that the reader can decide what to load."""
        looked = ((path, self.folder.look(path)) for path in paths_in(handover))
        return {
            path: f"{found.size} {'entries' if found.is_folder else 'bytes'}"
            for path, found in looked
            if not isinstance(found, str)
        }
