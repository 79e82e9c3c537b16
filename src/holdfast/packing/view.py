"""A window as it is at one moment: what planning a fold and packing read.

Rule: frozen. Nothing that can be seen here changes, whatever is added to the window later; what is remembered to
save time depends on the view alone. Taking a view costs the same however long the log is.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from holdfast.events import FoldNote, KeptLines, Level
from holdfast.messages import Message
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.folding.economics import FoldEconomics
from holdfast.packing.layers import Block, Cut
from holdfast.packing.lines.excerpts import QuoteCache, render_excerpt
from holdfast.packing.lines.line_index import LogLineIndex
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.blocks import (
    UserDisplay,
    bridge_tokens,
    later_context,
    render_step,
    render_user,
)
from holdfast.packing.rendering.fixed_layers import StableLayer, summary_messages, tail_messages
from holdfast.packing.rendering.levels import RenderContext
from holdfast.views.files import FileTouches
from holdfast.views.transcript import FrozenTranscript, Item, User

LevelCap = tuple[Level, int]
Costs = dict[tuple[int, Level, int, tuple[str, ...]], int]


class Memory(Struct, frozen=True):
    """What views remember, because planning asks for it often: a pure function's results by its arguments."""

    quotes: QuoteCache = field(default_factory=QuoteCache)
    costs: Costs = field(default_factory=dict)
    excerpts: dict[tuple[KeptLines, ...], str] = field(default_factory=dict)


class Floor(Struct, frozen=True):
    """Sizes when nothing more can go: of each item by its position, of all notes, the summary and the recap."""

    item_tokens: Callable[[int], int]
    notes: int
    summary: int
    recap: int


class WindowView(Struct, frozen=True, dict=True, kw_only=True):
    profile: Profile
    context: RenderContext
    last_entry: str
    transcript: FrozenTranscript
    files: FileTouches
    levels: Sequence[LevelCap]
    """Level and cap of each step."""
    blocks: Sequence[Block]
    """One for each item of the transcript."""
    notes: Mapping[int, tuple[FoldNote, Block]]
    """Notes of folded runs, by the position of the first item that each replaces."""
    visible: Sequence[int]
    """Positions of blocks that show anything, or that a note precedes."""
    cut_groups: Sequence[tuple[Cut, ...]]
    body_tokens: int
    message_count: int
    """Messages of the rounds, notes included; the stable layer, summaries and the tail do not count."""
    displays: Mapping[str, UserDisplay]
    """User messages that a fold shortened."""
    hidden: frozenset[str]
    """User messages that only a note for their rounds speaks of."""
    repeats: Mapping[str, tuple[User, ...]]
    stable: StableLayer
    recap_lines: int
    summary_sentences: int
    """Sentences that stay of each line of the summary; 0 if all do."""
    economics: FoldEconomics
    refused: int
    """Tokens that a provider refused as too many, and no fold has answered yet; 0 if none."""
    fresh: bool
    """Whether anything came since the last fold: one that did not suffice is not followed by another."""
    positions: Mapping[str, int]
    live_lines: LogLineIndex | None
    lines_version: int
    memory: Memory

    @property
    def counter(self) -> TokenCounter:
        return self.context.counter

    @property
    def line_index(self) -> LogLineIndex:
        """Every line and name so far, where folds keep lines. It is too large to be kept for older views."""
        lines = self.live_lines
        assert lines is not None, "only a profile that keeps lines has them"
        assert lines.version == self.lines_version, "the log has grown: take a new view"
        return lines

    @cached_property
    def summary(self) -> tuple[Message, ...]:
        return summary_messages(self.context, self.transcript.compactions, self.summary_sentences)

    @cached_property
    def tail(self) -> tuple[Message, ...]:
        return self.recap(self.recap_lines)

    def recap(self, lines: int) -> tuple[Message, ...]:
        """Todos and whatever else was set to come last, each in at most `lines` lines."""
        todos, recaps = self.transcript.todos, self.transcript.recaps.values()
        return tail_messages(todos, recaps, lines, self.profile.tail_cap, self.counter)

    @cached_property
    def waiting(self) -> tuple[Block, ...]:
        """User messages sent while tools still run. They get their place when the results are in."""
        return tuple(render_user(self.context, u, {}, UserDisplay()) for u in self.transcript.waiting_users)

    @cached_property
    def fixed_tokens(self) -> Mapping[str, int]:
        """Sizes of what no fold of steps can lower."""
        return {
            "stable": self.stable.tokens,
            "tools": self.stable.tool_tokens,
            "summary": self.counter.messages(self.summary),
            "tail": self.counter.messages(self.tail),
        }

    @cached_property
    def total(self) -> int:
        """Upper bound for the tokens of a pack made now, room for the reply not included."""
        waiting = sum(block.size for block in self.waiting)
        return sum(self.fixed_tokens.values()) + self.body_tokens + waiting + bridge_tokens(self.context)

    @property
    def reported(self) -> int:
        """The last reported usage with what is new since, 0 where none applies."""
        if self.economics.usage is None or not self.economics.is_live:
            return 0
        usage, position = self.economics.usage
        results = [m for block in self.blocks[position : position + 1] for m in block.messages[1:]]
        later = sum(block.tokens for block in self.blocks[position + 1 :])
        return usage.total + self.counter.messages(results) + later

    @property
    def corrected(self) -> int:
        """The total as the provider would count it, as far as its own reports tell; never below ours."""
        return self.economics.corrected(self.total, self.message_count)

    def counted(self, target: int) -> int:
        """How many of our tokens the provider would count as `target`."""
        return self.economics.counted(target, self.message_count)

    @property
    def low_water(self) -> int:
        """The profile's mark for this system prompt and these tools."""
        return self.profile.low_water_above(self.stable.tokens + self.stable.tool_tokens)

    def room_below(self, mark: int) -> int:
        """Our tokens up to which the window is not above a mark of the profile, as the provider counts."""
        return self.counted(mark) - self.profile.counted_reply

    def position(self, entry: str) -> int:
        return self.positions[entry]

    def item_tokens(self, position: int) -> int:
        """What an item takes."""
        return self.blocks[position].size

    def step_tokens(self, number: int) -> int:
        return self.item_tokens(self.transcript.steps[number].position)

    def note_tokens(self, first: int, last: int) -> int:
        """What the notes take that come before an item from position `first` up to `last`."""
        return sum(block.tokens for at, (_, block) in self.notes.items() if first <= at < last)

    def cost(self, number: int, level: Level, cap: int) -> int:
        """Tokens a step would take at a level; remembered, since a planner asks for many and takes few."""
        if level == "gone":
            return 0
        step = self.transcript.steps[number]
        later = later_context(self.files, step, level)
        key = (number, level, cap, (*later.superseded.values(), *later.edited.values()))
        known = self.memory.costs.get(key)
        if known is None:
            known = render_step(self.context, step, level, cap, later).size
            if not step.waiting:
                self.memory.costs[key] = known
        return known

    def excerpt(self, note: FoldNote) -> str:
        """The lines that a note keeps of its items, as they are shown below it."""
        known = self.memory.excerpts.get(note.kept)
        if known is None:
            sources = self.sources(note)
            known = render_excerpt(note.kept, sources, self.memory.quotes, self.files, self.counter)
            self.memory.excerpts[note.kept] = known
        return known

    def sources(self, note: FoldNote) -> dict[str, Item]:
        """The items that a note keeps lines of."""
        entries = (kept.step for kept in note.kept)
        return {e: self.transcript.items[self.positions[e]] for e in entries if e in self.positions}

    def stable_parts(self) -> tuple[tuple[str, int], ...]:
        """(name, tokens) of the stable layer and the tool definitions, largest first; they add up to its size."""
        parts = self._pinned_parts()
        return _ranked(parts, self.stable.tokens + self.stable.tool_tokens)

    def floor_parts(self, total: int, floor: Floor | None = None) -> tuple[tuple[str, int], ...]:
        """(name, tokens) of everything in a pack of `total` tokens, largest first: for the error that names what
        may not be cut. `floor` has the sizes after all that could go is gone; they add up to `total`."""
        transcript = self.transcript
        if floor is None:
            notes = sum(block.tokens for _, block in self.notes.values())
            fixed = self.fixed_tokens
            floor = Floor(lambda at: self.blocks[at].tokens, notes, fixed["summary"], fixed["tail"])
        parts = {
            **self._pinned_parts(),
            "summary": floor.summary,
            "todo recap": floor.recap,
            "user messages": sum(
                floor.item_tokens(i.position) for i in transcript.items if isinstance(i, User)
            ),
            "queued user messages": sum(block.tokens for block in self.waiting),
            "steps": sum(floor.item_tokens(step.position) for step in transcript.steps),
            "notes of folds": floor.notes,
        }
        return _ranked(parts, total)

    def _pinned_parts(self) -> dict[str, int]:
        count, transcript = self.counter, self.transcript
        texts = {
            "system": {"system prompt": transcript.system},
            "rules": {f"rules {path}": text for path, text in transcript.rules.items()},
            "context": {f"context {key}": text for key, text in transcript.contexts.items()},
        }
        pinned = {
            name: count.text(text)
            for kind in self.profile.pinned_order
            for name, text in texts.get(kind, {}).items()
            if text.strip()
        }
        return {**pinned, "tool definitions": self.stable.tool_tokens}


def _ranked(parts: Mapping[str, int], total: int) -> tuple[tuple[str, int], ...]:
    """The parts that take anything, largest first. What messages take besides their text makes up the total."""
    named = {**parts, "message overhead": total - sum(parts.values())}
    return tuple(sorted(((n, t) for n, t in named.items() if t), key=lambda p: (-p[1], p[0])))
