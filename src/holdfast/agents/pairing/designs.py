"""The design that a pair works with: the first role's, as its files are now, and whether it may be worked with.

Rule: what was approved is a hash of names and bytes. A design with another one is asked about, whoever changed it
and whenever; one with a file that is gone is none.
"""

from msgspec import Struct

from holdfast.agents.pairing.decisions import Decisions
from holdfast.agents.pairing.journal import Journal
from holdfast.agents.pairing.outcome import CONTINUE, Outcome
from holdfast.pair.design import Design, read_design
from holdfast.pair.layout import Layout
from holdfast.pair.phases import Asked, Decided

MOST_LOOKS = 30
"""Designs that are asked about before a turn begins: what changes by itself is never approved as it is."""


class Gone(Struct, frozen=True):
    """Files of the design that cannot be read."""

    files: tuple[str, ...]


class Designs:
    def __init__(self, journal: Journal, decisions: Decisions, layout: Layout) -> None:
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

    async def look(self) -> Decided | Gone | Outcome | None:
        """None where it may be worked with. A decision that is given back was made just now, or forbids it: after
        it everything is looked at once more."""
        design = self.now()
        if design.missing:
            return Gone(design.missing)
        if not design.hash or self._journal.state.approves(design.hash):
            return None
        self._looks += 1
        if self._looks > MOST_LOOKS:
            return Outcome("ask", "the design changes again and again while it is looked at", CONTINUE)
        text = f"approve the design in {', '.join(f'`{name}`' for name in design.files)}?"
        asked = Asked(design.hash, "design", text, design.files)
        decision = await self._decisions.ask(asked, anew=not self._journal.rejects(design.hash))
        if decision is not None:
            return decision
        sentence = f"the design `{design.hash}` waits for approval: {', '.join(design.files)}"
        return self._decisions.waits(asked, sentence)
