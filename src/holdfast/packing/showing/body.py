"""The body of a pack: a block for each item of the transcript, and between them the notes of what was folded.

Rule: its sums and lists are those of its blocks and notes at any time, and a pack reads them without a look at
what is gone. They are made anew only by a fold, or by a block that changes in its place.
"""

from collections.abc import Mapping

from holdfast.events import FoldNote
from holdfast.packing.layers import Block, Cut
from holdfast.packing.showing.quotes import NOTHING, Quoted, merged


class Body:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        """One for each item of the transcript."""
        self.notes: dict[int, tuple[FoldNote, Block]] = {}
        """Notes of folded runs, by the position of the first step they stand for."""
        self.visible: list[int] = []
        """Positions of blocks that show anything, or before which a note stands: a long log is mostly gone, and a
        pack must not look at all of it."""
        self.cut_groups: list[tuple[Cut, ...]] = []
        """Cuts of the blocks that have any, in order."""
        self.tokens = 0
        """All blocks, with their reserves, and notes."""
        self._block_messages = 0
        self._quotes: dict[int, Mapping[str, Quoted]] = {}
        """What each note quotes, by its position."""
        self._quoted: dict[str, Quoted] = {}
        self._is_listed = True

    @property
    def message_count(self) -> int:
        return self._block_messages + len(self.notes)

    def put(self, position: int, block: Block) -> None:
        """A block for the next item, or another one for an item that has changed."""
        if position == len(self.blocks):
            self.blocks.append(block)
            self._list(position)
        else:
            self._is_listed = False
            self.tokens -= self.blocks[position].room
            self._block_messages -= len(self.blocks[position].messages)
            self.blocks[position] = block
        self.tokens += block.room
        self._block_messages += len(block.messages)

    def place(
        self, first: int, last: int, note: FoldNote, block: Block, quotes: Mapping[str, Quoted]
    ) -> None:
        """A note takes the place of the notes within its range."""
        for position in [p for p in self.notes if first <= p <= last]:
            self.tokens -= self.notes.pop(position)[1].tokens
            del self._quotes[position]
        self.notes[first] = note, block
        self._quotes[first] = quotes
        self._is_listed = False
        self.tokens += block.tokens

    def quoted(self, entry: str) -> Quoted:
        """What notes quoted of an item when last gathered."""
        return self._quoted.get(entry, NOTHING)

    def gather_quotes(self) -> list[str]:
        """Look at what the notes quote by now; the entries of which it is something else than before."""
        before, self._quoted = self._quoted, merged(self._quotes.values())
        entries = dict.fromkeys((*before, *self._quoted))
        return [entry for entry in entries if before.get(entry) != self._quoted.get(entry)]

    def settle(self) -> None:
        """Make the lists anew where blocks or notes have changed in their places."""
        if self._is_listed:
            return
        self.visible.clear()
        self.cut_groups.clear()
        for position in range(len(self.blocks)):
            self._list(position)
        self._is_listed = True

    def _list(self, position: int) -> None:
        block = self.blocks[position]
        if block.messages or position in self.notes:
            self.visible.append(position)
        if block.cuts:
            self.cut_groups.append(block.cuts)
