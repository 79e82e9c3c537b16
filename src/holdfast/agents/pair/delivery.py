"""Whether a handover may be handed over: looked at by whoever makes it, and again before the other reads it.

Rule: what is wrong is named, all of it, in sentences that the agent who made it can act upon.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.logs import redacted_names
from holdfast.pair.evaluation import (
    IterationResults,
    UnreadableResults,
    false_claims,
    read_evaluation,
    read_results,
)
from holdfast.pair.folder import PairFolder, PathInfo, read_design
from holdfast.pair.handover import Handover, handover_text, paths_in
from holdfast.pair.phases import HandedOver
from holdfast.pair.roles import Role
from holdfast.pair.routing import NextTurn
from holdfast.pair.turn_texts import handover_message, turn_text

CountTokens = Callable[[str], int]
"""Tokens of a text."""


def find_faults(handover: Handover, role: Role, layout: PairFolder, iteration: int) -> tuple[str, ...]:
    """Everything about it that does not hold on the disk, or that its maker's role demands."""
    return (
        *_missing(handover, role),
        *_paths(handover, layout),
        *_results(handover, role, layout, iteration),
    )


def size_fault(text: str, role: Role, count: CountTokens) -> str:
    """Why the text that the other would read is too long or too short; empty if it is neither."""
    tokens, least, most = count(text), role.handover.least_tokens, role.handover.most_tokens
    if tokens > most:
        return f"it takes {tokens} tokens, and {most} are allowed: write to files, and name them"
    if tokens < least:
        return f"it takes {tokens} tokens, and {least} are the least: say what was done, what is asked, which files"
    return ""


def _missing(handover: Handover, role: Role) -> Iterator[str]:
    for name in role.handover.requires:
        if not getattr(handover, name):
            yield f"`{name}` is missing"


def _paths(handover: Handover, layout: PairFolder) -> Iterator[str]:
    for path in paths_in(handover):
        found = layout.look(path)
        if isinstance(found, str):
            yield found
        elif found.is_folder and path in handover.design:
            yield f"`{path}` is a folder; the design is a list of files"


def _results(handover: Handover, role: Role, layout: PairFolder, iteration: int) -> Iterator[str]:
    if not role.measures:
        return
    try:
        yield from false_claims(handover, read_evaluation(layout, iteration))
    except UnreadableResults as error:
        yield str(error)


def sizes(handover: Handover, layout: PairFolder) -> dict[str, str]:
    """How large each named file is, for whoever decides what to load."""
    looked = ((path, layout.look(path)) for path in paths_in(handover))
    return {path: _size(found) for path, found in looked if isinstance(found, PathInfo)}


def _size(found: PathInfo) -> str:
    return f"{found.size} entries" if found.is_folder else f"{found.size} bytes"


# How a handover gets from one agent to the other: what is wrong with it, and the text that the other reads.
#
# Rule: one check for all: when it is made, when it is received, and once more before the next turn begins, since
# days may lie in between. What is measured is what is delivered.

STILL = "the design is still the one that was not approved"


class Delivery:
    """`counting` gives how a role's model counts tokens."""

    def __init__(
        self, journal: PairJournal, layout: PairFolder, task: str, counting: Callable[[Role], CountTokens]
    ) -> None:
        self._journal = journal
        self._pair = journal.pair
        self._layout = layout
        self._task = task
        self._counting = counting

    def refusals(self, role: Role, handover: Handover, iteration: int) -> tuple[str, ...]:
        """Why it is not taken when it is made or received."""
        design = read_design(self._layout, handover.design)
        still = (STILL,) if self._journal.rejects(design.hash) else ()
        is_blocked = self.blocked(role, handover, iteration)
        found = self.faults(role, handover, iteration, is_blocked=is_blocked)
        return (*found, *redacted_names(handover), *still)

    def faults(
        self, role: Role, handover: Handover, iteration: int, *, is_blocked: bool = False
    ) -> tuple[str, ...]:
        """What does not hold on the disk, or that its maker's role demands, or is too long or too short."""
        asked = _unmeasured(role) if is_blocked else role
        found = find_faults(handover, asked, self._layout, iteration)
        count = self._counting(role)
        size = size_fault(handover_text(role.handover.name, handover), role, count)
        if not size:
            size = size_fault(self._message(asked, handover, iteration), role, count)
        return (*found, *([size] if size else []))

    def results(self, role: Role, handover: Handover, iteration: int) -> IterationResults | None:
        """What the disk says, where the role measures. Raises `UnreadableResults`."""
        if not role.measures or self.blocked(role, handover, iteration):
            return None
        return read_results(self._layout, iteration)

    def blocked(self, role: Role, handover: Handover, iteration: int) -> bool:
        """Whether a role that measures could not, and asks a person what it cannot do without. With results that
        can be counted it could."""
        if not role.measures or handover.success is not None or not handover.decisions:
            return False
        try:
            return not read_results(self._layout, iteration).total
        except UnreadableResults:
            return True

    def text(self, following: NextTurn, made: HandedOver) -> str:
        """What opens the next turn; who has not worked yet reads the task too."""
        state = self._journal.state
        is_first = not state.turns.get(following.role.name)
        return turn_text(
            self._pair,
            following.role,
            self._pair.role(made.role),
            made.handover,
            iteration=state.iterations + 1,
            rules=self._journal.rules,
            results=state.results,
            sizes=sizes(made.handover, self._layout),
            notes=following.notes,
            task=self._task if is_first else "",
        )

    def _message(self, role: Role, handover: Handover, iteration: int) -> str:
        """As the other one will read it."""
        results = self._journal.state.results
        evaluated = iteration if role.measures else results[-1].iteration if results else 0
        return handover_message(
            self._pair,
            self._pair.other(role.name),
            role,
            handover,
            iteration=iteration + role.measures,
            evaluated=evaluated,
            sizes=sizes(handover, self._layout),
        )


def _unmeasured(role: Role) -> Role:
    required = tuple(name for name in role.handover.requires if name != "success")
    return replace(role, measures=False, handover=replace(role.handover, requires=required))
