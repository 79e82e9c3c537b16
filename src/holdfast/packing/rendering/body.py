"""The body of a pack: a block for each item of the transcript, and between them the notes of what was folded.

Rule: sums and lists are always those of the blocks and notes, and a pack reads them without a look at what is gone.
Lists grow at the end, and at most their last element is replaced; any other change makes new lists, as a change of
notes makes a new dict. So a snapshot of them costs nothing and stays as it is.
"""

from collections.abc import Mapping, Sequence

from holdfast.events import FoldNote
from holdfast.messages import Text
from holdfast.packing.layers import Block, Cut
from holdfast.packing.lines.excerpts import NO_QUOTES, Quoted, merge_quotes
from holdfast.packing.rendering.blocks import UserDisplay, hide_user, render_user
from holdfast.packing.rendering.levels import RenderContext
from holdfast.views.transcript import User

LARGE_PASTE = 200
"""Tokens from which a repeated user text becomes a reference to the first."""


class BlockIndex:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        """One for each item of the transcript."""
        self.notes: dict[int, tuple[FoldNote, Block]] = {}
        """Notes of folded runs, by the position of the first item that each replaces."""
        self.visible: list[int] = []
        """Positions of blocks that show anything, or that a note precedes: most of a long log is gone, and a pack
        must not look at all of it."""
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

    def put(self, blocks: Mapping[int, Block]) -> None:
        """Blocks by position, in order: for the next items, or in place of blocks that have changed."""
        if blocks and min(blocks) < len(self.blocks) - 1:
            self.blocks = [*self.blocks]
        for position, block in blocks.items():
            self.tokens += block.room
            self._block_messages += len(block.messages)
            if position == len(self.blocks):
                self.blocks.append(block)
                if self._is_listed:
                    self._list(position)
                continue
            self._is_listed = False
            self.tokens -= self.blocks[position].room
            self._block_messages -= len(self.blocks[position].messages)
            self.blocks[position] = block
        if not self._is_listed:
            self.visible, self.cut_groups = [], []
            for position in range(len(self.blocks)):
                self._list(position)
            self._is_listed = True

    def place(
        self, first: int, last: int, note: FoldNote, block: Block, quotes: Mapping[str, Quoted]
    ) -> None:
        """A note takes the place of the notes within its range; the next `put` lists it."""
        for position in [p for p in self.notes if first <= p <= last]:
            self.tokens -= self.notes[position][1].tokens
            del self._quotes[position]
        kept = {p: placed for p, placed in self.notes.items() if not first <= p <= last}
        self.notes = {**kept, first: (note, block)}
        self._quotes[first] = quotes
        self._is_listed = False
        self.tokens += block.tokens

    def quoted(self, entry: str) -> Quoted:
        """What notes quoted of an item when quotes were last gathered."""
        return self._quoted.get(entry, NO_QUOTES)

    def gather_quotes(self) -> list[str]:
        """Read what the notes quote now. The entries of which it is something else than before."""
        before, self._quoted = self._quoted, merge_quotes(self._quotes.values())
        entries = dict.fromkeys((*before, *self._quoted))
        return [entry for entry in entries if before.get(entry) != self._quoted.get(entry)]

    def _list(self, position: int) -> None:
        block = self.blocks[position]
        if block.messages or position in self.notes:
            self.visible.append(position)
        if block.cuts:
            self.cut_groups.append(block.cuts)


class UserTexts:
    """What users said, as it is displayed: whole, shortened by a fold, in a note for its round, or once for several
    messages.

    A large text is shown once. When the message that shows it no longer does, the first that referred to it does.
    """

    def __init__(self, context: RenderContext) -> None:
        self.displays: dict[str, UserDisplay] = {}
        """How messages are displayed that a fold shortened."""
        self.hidden: frozenset[str] = frozenset()
        """Messages that only a note for their rounds speaks of."""
        self.repeats: dict[str, tuple[User, ...]] = {}
        """Messages that only refer to an entry, because it shows the same text."""
        self._context = context
        self._pasted: dict[str, str] = {}
        """Large user texts, and the entry that shows each."""

    def render(self, user: User, quoted: Quoted) -> Block:
        if user.entry in self.hidden:
            return hide_user(self._context, user, quoted)
        display = self.displays.get(user.entry, UserDisplay())
        if display == UserDisplay():
            self._note_pastes(user)
        return render_user(self._context, user, self._pasted, display, quoted)

    def shorten(self, displays: Mapping[str, UserDisplay], hidden: Sequence[str]) -> list[str]:
        """A fold shortens or hides messages. Returned are those that show their texts from now on instead."""
        self.displays = {**self.displays, **displays}
        self.hidden |= {*hidden}
        return [entry for one in (*displays, *hidden) for entry in self._pass_on(one)]

    def _pass_on(self, entry: str) -> list[str]:
        heirs = [u for u in self.repeats.get(entry, ()) if u.entry not in self.hidden]
        self.repeats = {one: users for one, users in self.repeats.items() if one != entry}
        if not heirs:
            return []
        first = heirs[0].entry
        self._pasted = {text: first if one == entry else one for text, one in self._pasted.items()}
        self.repeats[first] = tuple(heirs[1:])
        return [first]

    def _note_pastes(self, user: User) -> None:
        """Remember who shows a large text first; later messages with the same text only refer to it."""
        for part in user.message.parts:
            if not isinstance(part, Text) or self._context.counter.text(part.text) < LARGE_PASTE:
                continue
            first = self._pasted.setdefault(part.text, user.entry)
            if first in self.hidden or first in self.displays:
                self._pasted[part.text] = user.entry
            elif first != user.entry and user not in self.repeats.get(first, ()):
                self.repeats = {**self.repeats, first: (*self.repeats.get(first, ()), user)}
