"""The window: an index of a log for packing, built entry by entry. A step costs what is new, not what is old.

Rule: only `add` changes it, and everybody else reads the frozen view that it gives. A block changes only when its
own step gets results, or when a fold names it or quotes other lines of it; nothing here reads a clock. Lists grow
at the end, and at most their last element is replaced; any other change makes new lists, as a change of notes makes
a new dict. So a snapshot of them costs nothing and stays as it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from holdfast.events import (
    AssistantReplied,
    ContextSet,
    Entry,
    Folded,
    FoldNote,
    LogStarted,
    OverflowReported,
    RulesSet,
    SystemSet,
    ToolsSet,
    UsageReported,
)
from holdfast.messages import Text, UserMessage
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.folding.economics import FoldEconomics
from holdfast.packing.layers import Block, Cut
from holdfast.packing.lines.excerpts import NO_QUOTES, Quoted, merge_quotes, quotes_in_note
from holdfast.packing.lines.line_index import LogLineIndex
from holdfast.packing.lines.scoring import evict_lines, line_limit
from holdfast.packing.lines.weights import Weights, WeightVectors, weight_vectors
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.blocks import (
    UserDisplay,
    hide_user,
    later_context,
    render_step,
    render_user,
)
from holdfast.packing.rendering.fixed_layers import StableLayer, stable_layer
from holdfast.packing.rendering.levels import RenderContext
from holdfast.packing.view import LevelCap, Memory, WindowView
from holdfast.views.files import FileTouches
from holdfast.views.frozen_list import FrozenList
from holdfast.views.transcript import Item, Step, Transcript, User

LARGE_PASTE = 200
"""Tokens from which a repeated user text becomes a reference to the first."""


class Window:
    """State of packing after some entries of one path."""

    def __init__(
        self,
        profile: Profile,
        counter: TokenCounter,
        entries: Iterable[Entry] = (),
        weights: Weights | None = None,
        line_index: Callable[[WeightVectors], LogLineIndex] = LogLineIndex,
    ) -> None:
        self.profile = profile
        self.context = RenderContext(profile, counter, weight_vectors(weights) if weights else None)
        self.transcript = Transcript()
        self.last_entry = ""
        self._files = FileTouches()
        self._lines = line_index(self.context.weight_vectors) if profile.excerpt_ratio else None
        self._levels: list[LevelCap] = []
        self._body = BlockIndex()
        self._users = UserTexts(self.context)
        self._stable: StableLayer | None = None
        self._recap_lines = profile.recap_lines
        self._summary_sentences = 0
        self._economics = FoldEconomics(profile, floor=profile.low_water)
        self._refused = 0
        self._request = (0, 0, 0)
        """Items, tokens and messages of the request that the newest reply answered."""
        self._fresh = True
        self._positions: dict[str, int] = {}
        self._unrendered: dict[int, Item] = {}
        """Items that are new or changed since a view was last taken, by position."""
        self._memory = Memory()
        self._view: WindowView | None = None
        for entry in entries:
            self.add(entry)

    @property
    def counter(self) -> TokenCounter:
        return self.context.counter

    def add(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, AssistantReplied):
            self._note_request(event)
        if entry.at is not None:
            self._economics = self._economics.tick(entry.at)
        for item in self.transcript.add(entry):
            if isinstance(item, Step) and item.number == len(self._levels):
                self._levels.append(("full", 0))
            self._positions[item.entry] = item.position
            self._unrendered[item.position] = item
            self._fresh = True
        match event:
            case Folded():
                self._fold(event)
            case OverflowReported():
                size = self.view().corrected
                self._refused = min(event.limit or size, size)
                self._fresh = True
            case UsageReported(purpose="") if event.usage.prompt:
                self._economics = self._economics.observe(event.usage, *self._request)
            case LogStarted():
                self._economics = replace(self._economics, is_live=event.origin == "live")
            case SystemSet() | ToolsSet() | RulesSet() | ContextSet():
                self._stable = None
            case _:
                pass
        self.last_entry = entry.id
        self._view = None

    def view(self) -> WindowView:
        """What the window holds now. Blocks are rendered here: a step once, however many results it got."""
        if self._view is None:
            self._render()
            self._stable = self._stable or stable_layer(self.context, self.transcript)
            self._view = WindowView(
                profile=self.profile,
                context=self.context,
                last_entry=self.last_entry,
                transcript=self.transcript.view(),
                files=self._files.snapshot(),
                levels=FrozenList(self._levels),
                blocks=FrozenList(self._body.blocks),
                notes=self._body.notes,
                visible=FrozenList(self._body.visible),
                cut_groups=FrozenList(self._body.cut_groups),
                body_tokens=self._body.tokens,
                message_count=self._body.message_count,
                displays=self._users.displays,
                hidden=self._users.hidden,
                repeats=self._users.repeats,
                stable=self._stable,
                recap_lines=self._recap_lines,
                summary_sentences=self._summary_sentences,
                economics=self._economics,
                refused=self._refused,
                fresh=self._fresh,
                positions=self._positions,
                live_lines=self._lines,
                lines_version=self._lines.version if self._lines else 0,
                memory=self._memory,
            )
        return self._view

    def _note_request(self, event: AssistantReplied) -> None:
        """A reply came, so a request was made, and perhaps counted."""
        is_counted = event.usage is not None and event.usage.prompt > 0
        if is_counted or self._economics.is_live:
            view = self.view()
            self._request = len(self.transcript.items), view.total, view.message_count
        if event.usage is not None and is_counted:
            self._economics = self._economics.observe(event.usage, *self._request)
        self._economics = self._economics.ask()
        if self.profile.fold_for_profit:
            self._economics = self._economics.charge(self.view().total)

    def _render(self) -> None:
        """Blocks for what is new or changed. What is complete is read for what later folds must know of it."""
        blocks: dict[int, Block] = {}
        for position, item in sorted(self._unrendered.items()):
            blocks[position] = self._block(item)
            if isinstance(item, Step) and item.waiting:
                continue
            # Headings of excerpts say whether a file was edited since.
            self._memory = replace(self._memory, excerpts={}) if self._memory.excerpts else self._memory
            if isinstance(item, Step):
                self._files.note(item)
            if self._lines is not None:
                self._lines.note(item)
        self._unrendered.clear()
        self._body.put(blocks)

    def _block(self, item: Item) -> Block:
        quoted = self._body.quoted(item.entry)
        if isinstance(item, User):
            return self._users.render(item, quoted)
        level, cap = self._levels[item.number]
        return render_step(self.context, item, level, cap, later_context(self._files, item, level, quoted))

    def _fold(self, fold: Folded) -> None:
        view = self.view()
        self._levels = [*self._levels]
        for run in fold.runs:
            for item in self._span(run.first, run.last):
                if isinstance(item, Step):
                    self._levels[item.number] = (run.level, run.cap)
                    self._unrendered[item.position] = item
        notes_before = self._body.notes.values()
        for note in fold.notes:
            self._place(note, view)
        self._memory.quotes.clear()
        self._memory = replace(self._memory, excerpts={})
        only_appended = all(one in self._body.notes.values() for one in notes_before)
        self._shorten_users(fold)
        for entry in self._body.gather_quotes():
            self._mark_changed(entry)
        self._recap_lines = fold.recap_lines or self._recap_lines
        self._summary_sentences = fold.summary_sentences or self._summary_sentences
        if self._lines is not None:
            kept = (lines for note, _ in self._body.notes.values() for lines in note.kept)
            most = line_limit(self.profile.window)
            evict_lines(self._lines, most, kept)
        self._refused = 0
        self._fresh = False
        self._view = None
        self._economics = self._economics.reset(self.view().total, only_appended=only_appended)

    def _place(self, note: FoldNote, view: WindowView) -> None:
        """Show a note in the place of the notes within its range."""
        span = self._span(note.first, note.last)
        if not span:
            return
        text = "\n".join(filter(None, (note.text, view.excerpt(note))))
        message = UserMessage((Text(text),))
        block = Block((message,), self.counter.message(message))
        quotes = quotes_in_note(note.kept, view.sources(note), self._memory.quotes, self.counter)
        self._body.place(span[0].position, span[-1].position, note, block, quotes)

    def _shorten_users(self, fold: Folded) -> None:
        displays = dict.fromkeys(fold.pastes, UserDisplay(cap=fold.paste_cap))
        displays.update(dict.fromkeys(fold.users, UserDisplay(brief=True)))
        spans = (self._span(note.first, note.last) for note in fold.notes if note.users)
        hidden = [item.entry for span in spans for item in span if isinstance(item, User)]
        revealed = self._users.shorten(displays, hidden)
        for entry in (*displays, *hidden, *revealed):
            self._mark_changed(entry)

    def _mark_changed(self, entry: str) -> None:
        for item in self._span(entry, entry):
            self._unrendered[item.position] = item

    def _span(self, first: str, last: str) -> list[Item]:
        """The items of a run; none where the log's path no longer holds it."""
        if first not in self._positions or last not in self._positions:
            return []
        return self.transcript.items[self._positions[first] : self._positions[last] + 1]


class BlockIndex:
    """The body of a pack: a block for each item of the transcript, and between them the notes of what was folded.
    Its sums and lists are always those of the blocks and notes, and a pack reads them without a look at what is
    gone."""

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
            self.tokens += block.size
            self._block_messages += len(block.messages)
            if position == len(self.blocks):
                self.blocks.append(block)
                if self._is_listed:
                    self._list(position)
                continue
            self._is_listed = False
            self.tokens -= self.blocks[position].size
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
        shortened = {*self.hidden, *self.displays}
        heirs = [u for u in self.repeats.get(entry, ()) if u.entry not in shortened]
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
