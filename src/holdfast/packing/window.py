"""The window: a log folded into blocks, entry by entry, so that a step costs what is new and not what is old.

Rule: a block changes only when its own step gets results, or when a fold names it or quotes other lines of it;
nothing here reads a clock.
"""

from collections.abc import Iterable

from holdfast.events import (
    AssistantReplied,
    ContextSet,
    Entry,
    Folded,
    FoldNote,
    KeptLines,
    Level,
    LogStarted,
    OverflowReported,
    RulesSet,
    SystemSet,
    ToolsSet,
)
from holdfast.messages import Message, Text, UserMessage
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.folding.economics import FoldEconomics
from holdfast.packing.layers import Block
from holdfast.packing.lines.excerpts import parse_ranges, render_excerpt
from holdfast.packing.lines.line_index import LogLineIndex
from holdfast.packing.lines.passages import PassageCache
from holdfast.packing.lines.quotes import quotes_in_note
from holdfast.packing.lines.scoring import evict_lines, line_limit
from holdfast.packing.lines.weights import Weights, weight_vectors
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.blocks import (
    NO_LATER_CONTEXT,
    LaterContext,
    UserDisplay,
    bridge_tokens,
    render_step,
    render_user,
)
from holdfast.packing.rendering.body import BlockIndex, UserTexts
from holdfast.packing.rendering.fixed_layers import FixedLayers
from holdfast.packing.rendering.levels import RenderContext
from holdfast.views.files import FileTouches
from holdfast.views.transcript import Item, Step, Transcript, User

LevelCap = tuple[Level, int]


class Window:
    """State of packing after some entries of one path. Only `add` changes it."""

    def __init__(
        self,
        profile: Profile,
        counter: TokenCounter,
        entries: Iterable[Entry] = (),
        weights: Weights | None = None,
    ) -> None:
        self.profile = profile
        self.scene = RenderContext(profile, counter, weight_vectors(weights) if weights else None)
        self.transcript = Transcript()
        self.files = FileTouches()
        self.sightings = LogLineIndex(self.scene.worth) if profile.excerpt_ratio else None
        """Every line and name so far, where folds keep lines."""
        self.levels: list[LevelCap] = []
        """Level and cap of each step."""
        self._frame = FixedLayers(self.scene, self.transcript)
        self._body = BlockIndex()
        self.blocks = self._body.blocks
        self.notes = self._body.notes
        self.visible = self._body.visible
        self.cut_groups = self._body.cut_groups
        self._users = UserTexts(self.scene)
        self.looks = self._users.looks
        self.hidden = self._users.hidden
        self._upkeep = FoldEconomics(profile)
        self.refused = 0
        """Tokens that a provider refused as too many, and no fold has answered yet; 0 if none."""
        self.fresh = True
        """Whether anything came since the last fold: one that did not suffice is not followed by another."""
        self.last_entry = ""
        self._positions: dict[str, int] = {}
        self._dirty: dict[int, Item] = {}
        self._book = PassageCache()
        self._excerpts: dict[tuple[KeptLines, ...], str] = {}
        """What notes show, as it was drafted since the last item."""
        self._costs: dict[tuple[int, Level, int, tuple[str, ...]], int] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, AssistantReplied):
            self._note_request(event)
        if entry.at is not None:
            self._upkeep.tick(entry.at)
        for item in self.transcript.add(entry):
            if isinstance(item, Step) and item.number == len(self.levels):
                self.levels.append(("full", 0))
            self._positions[item.entry] = item.position
            self._dirty[item.position] = item
            self.fresh = True
        match event:
            case Folded():
                self._fold(event)
            case OverflowReported():
                self.refused = min(event.limit or self.corrected(), self.corrected())
                self.fresh = True
            case LogStarted():
                self._upkeep.is_live = event.origin == "live"
            case SystemSet() | ToolsSet() | RulesSet() | ContextSet():
                self._frame.forget()
            case _:
                pass
        self.last_entry = entry.id

    def refresh(self) -> None:
        """Render what changed since the last look. A step is rendered once, however many results it got."""
        for position, item in sorted(self._dirty.items()):
            self._body.put(position, self._render(item))
            if not isinstance(item, Step) or not item.waiting:
                self._sight(item)
        self._dirty.clear()
        self._body.settle()

    def _sight(self, item: Item) -> None:
        """Read an item that is complete for what later folds must know of it."""
        self._excerpts.clear()
        if isinstance(item, Step):
            self.files.note(item)
        if self.sightings is not None:
            self.sightings.note(item)

    @property
    def stable(self) -> tuple[tuple[Message, ...], int]:
        """Layer 1 and its tokens, tool definitions not included."""
        return self._frame.stable

    @property
    def tool_tokens(self) -> int:
        return self._frame.tool_tokens

    @property
    def recap_lines(self) -> int:
        return self._frame.recap_lines

    @property
    def summary_sentences(self) -> int:
        """Of each line of the summary what stays; 0 if all does."""
        return self._frame.summary_sentences

    def summary(self) -> tuple[Message, ...]:
        return self._frame.summary()

    def tail(self) -> tuple[Message, ...]:
        return self._frame.tail()

    def recap(self, lines: int) -> tuple[Message, ...]:
        """Todos and what else stands last, each in so many lines."""
        return self._frame.recap(lines)

    def fixed_tokens(self) -> dict[str, int]:
        """Sizes of what no fold of steps can lower."""
        return self._frame.sizes()

    def total(self) -> int:
        """Upper bound for the tokens of a pack made now, room for the reply not included."""
        self.refresh()
        waiting = sum(block.room for block in self.waiting())
        return sum(self.fixed_tokens().values()) + self._body.tokens + waiting + bridge_tokens(self.scene)

    def waiting(self) -> list[Block]:
        """User messages sent while tools still run. They get their place when the results are in."""
        return [render_user(self.scene, user, {}, UserDisplay()) for user in self.transcript.waiting_users]

    def position(self, entry: str) -> int:
        return self._positions[entry]

    def repeats_of(self, user: User) -> list[User]:
        """Messages on view that only refer to this one."""
        return self._users.repeats_of(user)

    def reported(self) -> int:
        """The last reported usage with what is new since (the seeds' A6), 0 where none applies."""
        if self._upkeep.usage is None or not self._upkeep.is_live:
            return 0
        usage, position = self._upkeep.usage
        return usage.total + sum(b.tokens for b in self.blocks[position + 1 :])

    def corrected(self) -> int:
        """The total as the provider would count it, as far as its own reports tell; never below ours."""
        return self._upkeep.corrected(self.total(), self.message_count())

    def counted(self, target: int) -> int:
        """How many of our tokens the provider would count as `target`."""
        return self._upkeep.counted(target, self.message_count())

    @property
    def idle(self) -> float | None:
        """Seconds since the last request, as far as the log's clock tells."""
        return self._upkeep.idle

    @property
    def rent(self) -> float:
        """What was paid since the last fold for tokens that it could have let go."""
        return self._upkeep.rent

    @property
    def added(self) -> int:
        """Folds in a row that left the notes before them as they were."""
        return self._upkeep.added

    def message_count(self) -> int:
        """Messages of the rounds, notes included; the stable layer, summaries and the tail do not count."""
        self.refresh()
        return self._body.message_count

    def cost(self, number: int, level: Level, cap: int) -> int:
        """Tokens a step would take at a level; remembered, since a planner asks for many and takes few."""
        step = self.transcript.steps[number]
        later = self._hindsight(step, level)
        key = (number, level, cap, (*later.superseded.values(), *later.edited.values()))
        known = self._costs.get(key)
        if known is None:
            known = render_step(self.scene, step, level, cap, later).room
            if not step.waiting:
                self._costs[key] = known
        return known

    def _note_request(self, event: AssistantReplied) -> None:
        """A reply came, so a request was made, and perhaps counted."""
        if event.usage is not None and event.usage.prompt:
            items = len(self.transcript.items)
            self._upkeep.observe(event.usage, items, self.total(), self.message_count())
        self._upkeep.ask()
        if self.profile.fold_for_profit:
            self._upkeep.pay(self.total())

    def _render(self, item: Item) -> Block:
        if isinstance(item, User):
            return self._users.render(item, self._body.quoted(item.entry))
        level, cap = self.levels[item.number]
        return render_step(self.scene, item, level, cap, self._hindsight(item, level))

    def _hindsight(self, step: Step, level: Level) -> LaterContext:
        if level in ("skeleton", "gone"):
            return LaterContext(quoted=self._body.quoted(step.entry))
        if level != "digest":
            return NO_LATER_CONTEXT
        return LaterContext(self.files.stale_calls(step), self.files.edited_since(step))

    def _fold(self, fold: Folded) -> None:
        self.refresh()
        for run in fold.runs:
            for item in self._span(run.first, run.last):
                if isinstance(item, Step):
                    self.levels[item.number] = (run.level, run.cap)
                    self._dirty[item.position] = item
        self.looks.update((entry, UserDisplay(cap=fold.paste_cap)) for entry in fold.pastes)
        self.looks.update((entry, UserDisplay(brief=True)) for entry in fold.users)
        standing = list(self.notes.values())
        for note in fold.notes:
            self._place(note)
        self._book.clear()
        self._excerpts.clear()
        only_added = all(one in self.notes.values() for one in standing)
        spans = (self._span(note.first, note.last) for note in fold.notes if note.users)
        hidden = [item.entry for span in spans for item in span if isinstance(item, User)]
        shortened = (*fold.pastes, *fold.users, *hidden)
        revealed = self._users.pass_on(shortened)
        for entry in (*shortened, *revealed, *self._body.gather_quotes()):
            for item in self._span(entry, entry):
                self._dirty[item.position] = item
        self._frame.recap_lines = fold.recap_lines or self.recap_lines
        self._frame.summary_sentences = fold.summary_sentences or self.summary_sentences
        if self.sightings is not None:
            kept = (k for note, _ in self.notes.values() for k in note.kept)
            self.sightings.kept = {(k.step, k.call, k.part): frozenset(parse_ranges(k.lines)) for k in kept}
            evict_lines(self.sightings, line_limit(self.profile.window), is_quick=only_added)
        self.refused = 0
        self.fresh = False
        self._upkeep.start_anew(self.total(), only_added=only_added)

    def _place(self, note: FoldNote) -> None:
        """Show a note in the place of the notes within its range."""
        span = self._span(note.first, note.last)
        if not span:
            return
        if note.users:
            self.hidden.update(item.entry for item in span if isinstance(item, User))
        text = "\n".join(filter(None, (note.text, self.excerpt(note))))
        message = UserMessage((Text(text),))
        block = Block((message,), self.scene.counter.message(message))
        quotes = quotes_in_note(note.kept, self._sources(note), self._book, self.scene.counter)
        self._body.place(span[0].position, span[-1].position, note, block, quotes)

    def excerpt(self, note: FoldNote) -> str:
        """The lines that a note keeps of its items, as they are shown below it."""
        known = self._excerpts.get(note.kept)
        if known is None:
            known = render_excerpt(note.kept, self._sources(note), self._book, self.files, self.scene.counter)
            self._excerpts[note.kept] = known
        return known

    def _sources(self, note: FoldNote) -> dict[str, Item]:
        """The items that a note keeps lines of."""
        entries = (kept.step for kept in note.kept)
        return {e: self.transcript.items[self._positions[e]] for e in entries if e in self._positions}

    def _span(self, first: str, last: str) -> list[Item]:
        """The items of a run; none where the log's path no longer holds it."""
        if first not in self._positions or last not in self._positions:
            return []
        return self.transcript.items[self._positions[first] : self._positions[last] + 1]
