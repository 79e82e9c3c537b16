"""The body of a pack: a block for each item of the transcript, and between them the notes of what was folded.

Rule: its sums and lists are those of its blocks and notes at any time, and a pack reads them without a look at
what is gone. They are made anew only by a fold, or by a block that changes in its place.
"""

from collections.abc import Iterable, Mapping

from holdfast.events import FoldNote
from holdfast.messages import Text
from holdfast.packing.layers import Block, Cut
from holdfast.packing.lines.quotes import NO_QUOTES, Quoted, merge_quotes
from holdfast.packing.rendering.blocks import UserDisplay, hide_user, render_user
from holdfast.packing.rendering.levels import RenderContext
from holdfast.views.transcript import User


class BlockIndex:
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
        return self._quoted.get(entry, NO_QUOTES)

    def gather_quotes(self) -> list[str]:
        """Look at what the notes quote by now; the entries of which it is something else than before."""
        before, self._quoted = self._quoted, merge_quotes(self._quotes.values())
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


# What users said, as it is shown: whole, shortened by a fold, in a note for its round, or once for several.
#
# Rule: a large text stands once. Where the message that shows it no longer does, the first that referred to it does.

LARGE_PASTE = 200
"""Tokens from which a repeated user text becomes a reference to the first."""


class UserTexts:
    def __init__(self, scene: RenderContext) -> None:
        self.looks: dict[str, UserDisplay] = {}
        """User messages that a fold shortened."""
        self.hidden: set[str] = set()
        """User messages that stand in a note for their rounds."""
        self._scene = scene
        self._pasted: dict[str, str] = {}
        """Large user texts, and the entry that shows each."""
        self._repeats: dict[str, list[User]] = {}
        """Messages that only refer to an entry, because it shows the same text."""

    def render(self, user: User, quoted: Quoted) -> Block:
        if user.entry in self.hidden:
            return hide_user(self._scene, user, quoted)
        look = self.looks.get(user.entry, UserDisplay())
        if look == UserDisplay():
            self._note_pastes(user)
        return render_user(self._scene, user, self._pasted, look, quoted)

    def repeats_of(self, user: User) -> list[User]:
        """Messages on view that only refer to this one."""
        return [u for u in self._repeats.get(user.entry, []) if u.entry not in self.hidden]

    def pass_on(self, entries: Iterable[str]) -> list[str]:
        """Messages that no longer show their texts; the entries of those that do so from now on instead."""
        revealed: list[str] = []
        for entry in entries:
            heirs = [u for u in self._repeats.pop(entry, []) if u.entry not in self.hidden]
            for text in [t for t, first in self._pasted.items() if first == entry and heirs]:
                self._pasted[text] = heirs[0].entry
            if heirs:
                revealed.append(heirs[0].entry)
                self._repeats[heirs[0].entry] = heirs[1:]
        return revealed

    def _note_pastes(self, user: User) -> None:
        """Remember who shows a large text first; later messages with the same text only refer to it."""
        for part in user.message.parts:
            if not isinstance(part, Text) or self._scene.counter.text(part.text) < LARGE_PASTE:
                continue
            first = self._pasted.setdefault(part.text, user.entry)
            if first in self.hidden or first in self.looks:
                self._pasted[part.text] = user.entry
            elif first != user.entry and user not in self._repeats.setdefault(first, []):
                self._repeats[first].append(user)
