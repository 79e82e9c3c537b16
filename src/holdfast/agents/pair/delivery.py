"""The delivery of handovers: what is wrong with one, and the text that the other role reads.

Rule: the same check is made when a handover is made, when it is received, and before the next turn begins, since
days may lie between. All faults are named, in sentences that the agent can act on. The text that is measured is the
text that is delivered.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.logs import redacted_names
from holdfast.pair.evaluation import UnreadableResults, false_claims, read_evaluation
from holdfast.pair.folder import PairFolder, read_design
from holdfast.pair.handover import Handover, handover_text, paths_in
from holdfast.pair.phases import HandedOver, HandoverAccepted, HandoverRejected
from holdfast.pair.roles import Role
from holdfast.pair.routing import NextTurn
from holdfast.pair.turn_texts import handover_message, turn_text

CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""
NOT_APPROVED = "the design is still the one that was not approved"


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
    """`counter` gives the token counter of a role's model."""

    journal: PairJournal
    folder: PairFolder
    task: str
    counter: Callable[[Role], CountTokens]

    def refusals(self, role: Role, handover: Handover, iteration: int) -> tuple[str, ...]:
        """Why a handover is refused when it is made or received."""
        design = read_design(self.folder, handover.design)
        not_approved = (NOT_APPROVED,) if self.journal.rejects(design.hash) else ()
        is_blocked = self._is_blocked(role, handover, iteration)
        found = self.faults(role, handover, iteration, is_blocked=is_blocked)
        return (*found, *redacted_names(handover), *not_approved)

    def faults(self, role: Role, handover: Handover, iteration: int, *, is_blocked: bool) -> tuple[str, ...]:
        """What is wrong with a handover itself, its size included. Of a role that is blocked no results are
        required."""
        asked = role
        if is_blocked:
            required = tuple(name for name in role.handover.requires if name != "success")
            asked = replace(role, measures=False, handover=replace(role.handover, requires=required))
        count = self.counter(role)
        size = size_fault(handover_text(role.handover.name, handover), role, count) or size_fault(
            self._message(asked, handover, iteration), role, count
        )
        return (*handover_faults(handover, asked, self.folder, iteration), *([size] if size else []))

    def receive(self, made: HandedOver) -> HandoverAccepted | HandoverRejected:
        """Check a handover from the receiver's side: the disk may have changed by now."""
        role, handover, iteration = self.journal.pair.role(made.role), made.handover, made.iteration
        if wrong := self.refusals(role, handover, iteration):
            return HandoverRejected(made.turn, wrong)
        is_blocked = self._is_blocked(role, handover, iteration)
        try:
            results = (
                read_evaluation(self.folder, iteration).results if role.measures and not is_blocked else None
            )
        except UnreadableResults as error:
            return HandoverRejected(made.turn, (str(error),))
        design = read_design(self.folder, handover.design)
        return HandoverAccepted(made.turn, design.hash, design.files, results, is_blocked)

    def _is_blocked(self, role: Role, handover: Handover, iteration: int) -> bool:
        """Whether a role that measures could not do so and asks a person instead. With countable results it
        could."""
        if not role.measures or handover.success is not None or not handover.decisions:
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
