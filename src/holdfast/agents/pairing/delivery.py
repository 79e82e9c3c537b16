"""How a handover gets from one agent to the other: what is wrong with it, and the text that the other reads.

Rule: one check for all: when it is made, when it is received, and once more before the next turn begins, since
days may lie in between. What is measured is what is delivered.
"""

from collections.abc import Callable

from msgspec.structs import replace

from holdfast.agents.pairing.journal import Journal
from holdfast.agents.pairing.logs import unkept
from holdfast.pair.checking import Counting, faults, size_fault, sizes
from holdfast.pair.design import read_design
from holdfast.pair.handover import Handover, handover_text
from holdfast.pair.layout import Layout
from holdfast.pair.phases import HandedOver
from holdfast.pair.progress import Results, Unreadable, read_results
from holdfast.pair.roles import Role
from holdfast.pair.routing import Next
from holdfast.pair.telling import handed, message

STILL = "the design is still the one that was not approved"


class Delivery:
    """`counting` gives how a role's model counts tokens."""

    def __init__(
        self, journal: Journal, layout: Layout, task: str, counting: Callable[[Role], Counting]
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
        return (*found, *unkept(handover), *still)

    def faults(
        self, role: Role, handover: Handover, iteration: int, *, is_blocked: bool = False
    ) -> tuple[str, ...]:
        """What does not hold on the disk, or that its maker's role demands, or is too long or too short."""
        asked = _unmeasured(role) if is_blocked else role
        found = faults(handover, asked, self._layout, iteration)
        count = self._counting(role)
        size = size_fault(handover_text(role.handover.name, handover), role, count)
        if not size:
            size = size_fault(self._message(asked, handover, iteration), role, count)
        return (*found, *([size] if size else []))

    def results(self, role: Role, handover: Handover, iteration: int) -> Results | None:
        """What the disk says, where the role measures. Raises `Unreadable`."""
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
        except Unreadable:
            return True

    def text(self, following: Next, made: HandedOver) -> str:
        """What opens the next turn; who has not worked yet reads the task too."""
        state = self._journal.state
        is_first = not state.turns.get(following.role.name)
        return handed(
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
        return message(
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
