"""The window: a log folded into blocks, entry by entry, so that a step costs what is new and not what is old.

Rule: a block changes only when its own step gets results or when a fold names it; nothing here reads a clock.
"""

from collections.abc import Iterable

from holdfast.events import (
    AssistantReplied,
    ContextSet,
    Entry,
    Folded,
    FoldNote,
    Level,
    LogStarted,
    OverflowReported,
    RulesSet,
    SystemSet,
    ToolsSet,
)
from holdfast.messages import Message, SystemMessage, Text, Usage, UserMessage
from holdfast.packing.blocks import (
    NO_HINDSIGHT,
    Hindsight,
    UserLook,
    bridge_tokens,
    hide_user,
    render_step,
    render_user,
)
from holdfast.packing.calibration import Calibration
from holdfast.packing.economy import rent
from holdfast.packing.excerpts import excerpt
from holdfast.packing.layers import Block, Cut
from holdfast.packing.lines.sightings import Sightings
from holdfast.packing.lines.weights import Weights, known_weights, vectors
from holdfast.packing.profile import Profile
from holdfast.packing.renditions import Scene
from holdfast.packing.summary import summary_messages
from holdfast.packing.tail import tail_messages
from holdfast.packing.tokens import TokenCounter
from holdfast.views.files import FileTouches
from holdfast.views.transcript import Item, Step, Transcript, User

LARGE_PASTE = 200
"""Tokens from which a repeated user text becomes a reference to the first."""

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
        self.scene = Scene(profile, counter)
        self.transcript = Transcript()
        self.files = FileTouches()
        self.sightings: Sightings | None = None
        """Every line and name so far, where folds keep lines."""
        if profile.excerpt_ratio:
            self.sightings = Sightings(vectors(weights or known_weights(profile.worth)))
        self.levels: list[LevelCap] = []
        """Level and cap of each step."""
        self.blocks: list[Block] = []
        """One for each item of the transcript."""
        self.notes: dict[int, tuple[FoldNote, Block]] = {}
        """Notes of folded runs, by the position of the first step they stand for."""
        self.looks: dict[str, UserLook] = {}
        """User messages that a fold shortened."""
        self.hidden: set[str] = set()
        """User messages that stand in a note for their rounds."""
        self.recap_lines = profile.recap_lines
        self.summary_sentences = 0
        self.body_tokens = 0
        """All blocks and notes."""
        self.block_messages = 0
        self.visible: list[int] = []
        """Positions of blocks that show anything, or before which a note stands: a long log is mostly gone, and a
        pack must not look at all of it."""
        self.cut_groups: list[tuple[Cut, ...]] = []
        """Cuts of the blocks that have any, in order."""
        self.calibration = Calibration()
        self.refused = 0
        """Tokens that a provider refused as too many, and no fold has answered yet; 0 if none."""
        self.fresh = True
        """Whether anything came since the last fold: one that did not suffice is not followed by another."""
        self.last_entry = ""
        self.rent = 0.0
        """What was paid since the last fold for tokens that it could have let go."""
        self.added = 0
        """Folds in a row that left the notes before them as they were."""
        self.floor = profile.low_water
        """Tokens right after the last fold."""
        self._now: float | None = None
        self._asked: float | None = None
        self._live = True
        self._usage: tuple[Usage, int] | None = None
        self._pasted: dict[str, str] = {}
        """Large user texts, and the entry that shows each."""
        self._repeats: dict[str, list[User]] = {}
        """Messages that only refer to an entry, because it shows the same text."""
        self._positions: dict[str, int] = {}
        self._dirty: dict[int, Item] = {}
        self._relist = False
        self._costs: dict[tuple[int, Level, int, tuple[str, ...]], int] = {}
        self._stable: tuple[tuple[Message, ...], int] | None = None
        self._tool_tokens: int | None = None
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, AssistantReplied):
            self._observe(event)
            self._pay_rent()
        if entry.at is not None:
            self._now = entry.at if self._now is None else max(self._now, entry.at)
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
                self._live = event.origin == "live"
            case SystemSet() | ToolsSet() | RulesSet() | ContextSet():
                self._stable = self._tool_tokens = None
            case _:
                pass
        self.last_entry = entry.id

    def refresh(self) -> None:
        """Render what changed since the last look. A step is rendered once, however many results it got."""
        for position, item in sorted(self._dirty.items()):
            block = self._render(item)
            if position == len(self.blocks):
                self.blocks.append(block)
                self._list(position)
            else:
                self._relist = True
                self.body_tokens -= self.blocks[position].room
                self.block_messages -= len(self.blocks[position].messages)
                self.blocks[position] = block
            self.body_tokens += block.room
            self.block_messages += len(block.messages)
            if not isinstance(item, Step) or not item.waiting:
                self._sight(item)
        self._dirty.clear()
        if self._relist:
            self.visible.clear()
            self.cut_groups.clear()
            for position in range(len(self.blocks)):
                self._list(position)
            self._relist = False

    def _sight(self, item: Item) -> None:
        """Read an item that is complete for what later folds must know of it."""
        if isinstance(item, Step):
            self.files.note(item)
        if self.sightings is not None:
            self.sightings.note(item)

    def _list(self, position: int) -> None:
        block = self.blocks[position]
        if block.messages or position in self.notes:
            self.visible.append(position)
        if block.cuts:
            self.cut_groups.append(block.cuts)

    @property
    def stable(self) -> tuple[tuple[Message, ...], int]:
        """Layer 1 and its tokens, tool definitions not included."""
        if self._stable is None:
            messages = tuple(SystemMessage(text) for text in self._stable_texts())
            self._stable = messages, sum(self.scene.counter.message(m) for m in messages)
        return self._stable

    @property
    def tool_tokens(self) -> int:
        if self._tool_tokens is None:
            self._tool_tokens = self.scene.counter.tools(self.transcript.tools)
        return self._tool_tokens

    def summary(self) -> tuple[Message, ...]:
        return summary_messages(self.scene, self.transcript, self.summary_sentences)

    def tail(self) -> tuple[Message, ...]:
        return self.recap(self.recap_lines)

    def recap(self, lines: int) -> tuple[Message, ...]:
        """The todo recap in so many lines."""
        return tail_messages(self.transcript.todos, lines, self.profile.tail_cap, self.scene.counter)

    def fixed_tokens(self) -> dict[str, int]:
        """Sizes of what no fold of steps can lower."""
        count = self.scene.counter.message
        return {
            "stable": self.stable[1],
            "tools": self.tool_tokens,
            "summary": sum(count(m) for m in self.summary()),
            "tail": sum(count(m) for m in self.tail()),
        }

    def total(self) -> int:
        """Upper bound for the tokens of a pack made now, room for the reply not included."""
        self.refresh()
        waiting = sum(block.room for block in self.waiting())
        return sum(self.fixed_tokens().values()) + self.body_tokens + waiting + bridge_tokens(self.scene)

    def waiting(self) -> list[Block]:
        """User messages sent while tools still run. They get their place when the results are in."""
        users = self.transcript.waiting_users
        return [render_user(self.scene, user, {}, UserLook()) for user in users]

    def position(self, entry: str) -> int:
        return self._positions[entry]

    def repeats_of(self, user: User) -> list[User]:
        """Messages on view that only refer to this one."""
        return [u for u in self._repeats.get(user.entry, []) if u.entry not in self.hidden]

    def reported(self) -> int:
        """The last reported usage with what is new since (the seeds' A6), 0 where none applies.

        A recording's usage was reported for the recorder's requests, not for ours, and one from before a fold
        for a request that no longer exists.
        """
        if self._usage is None or not self._live:
            return 0
        usage, position = self._usage
        return usage.total + sum(b.tokens for b in self.blocks[position + 1 :])

    def corrected(self) -> int:
        """The total as the provider would count it, as far as its own reports tell; never below ours."""
        total = self.total()
        if not self._live:
            return total
        return max(total, self.calibration.estimate(total, self.message_count()).tokens)

    def counted(self, target: int) -> int:
        """How many of our tokens the provider would count as `target`.

        Reports may be garbage: they make a fold deeper, down to a quarter of the target, and never impossible.
        """
        if not self._live:
            return target
        slope, each, constant = self.calibration.line
        ours = int((target - constant - each * self.message_count()) / slope)
        return min(max(ours, target // 4), target)

    @property
    def idle(self) -> float | None:
        """Seconds since the last request, as far as the log's clock tells."""
        return None if self._now is None or self._asked is None else self._now - self._asked

    def _pay_rent(self) -> None:
        """A reply came, so a request was made: the newest entry before it tells when."""
        self._asked = self._now
        if self.profile.fold_for_profit:
            idle_tokens = self.total() - self.floor - self.profile.recent_tokens
            self.rent += rent(self.profile, idle_tokens)

    def message_count(self) -> int:
        """Messages of the rounds, notes included; the stable layer, summaries and the tail do not count."""
        self.refresh()
        return self.block_messages + len(self.notes)

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

    def _stable_texts(self) -> list[str]:
        by_name = {
            "system": [self.transcript.system],
            "rules": list(self.transcript.rules.values()),
            "context": list(self.transcript.contexts.values()),
        }
        ordered = [text for name in self.profile.pinned_order for text in by_name.get(name, [])]
        return [text for text in ordered if text.strip()]

    def _observe(self, event: AssistantReplied) -> None:
        if event.usage is None or not event.usage.prompt:
            return
        total = self.total()
        if self._live:
            self.calibration = self.calibration.observe(total, self.message_count(), event.usage.prompt)
        self._usage = event.usage, len(self.transcript.items)

    def _render(self, item: Item) -> Block:
        if isinstance(item, User):
            if item.entry in self.hidden:
                return hide_user(self.scene, item)
            look = self.looks.get(item.entry, UserLook())
            if look == UserLook():
                self._note_pastes(item)
            return render_user(self.scene, item, self._pasted, look)
        level, cap = self.levels[item.number]
        return render_step(self.scene, item, level, cap, self._hindsight(item, level))

    def _note_pastes(self, user: User) -> None:
        """Remember who shows a large text first; later messages with the same text only refer to it."""
        for part in user.message.parts:
            if not isinstance(part, Text) or self.scene.counter.text(part.text) < LARGE_PASTE:
                continue
            first = self._pasted.setdefault(part.text, user.entry)
            if first in self.hidden or first in self.looks:
                self._pasted[part.text] = user.entry
            elif first != user.entry and user not in self._repeats.setdefault(first, []):
                self._repeats[first].append(user)

    def _pass_on_pastes(self, entries: Iterable[str]) -> None:
        """Where a message no longer shows its text, the first one that referred to it does."""
        for entry in entries:
            heirs = [u for u in self._repeats.pop(entry, []) if u.entry not in self.hidden]
            for text in [t for t, first in self._pasted.items() if first == entry and heirs]:
                self._pasted[text] = heirs[0].entry
            if heirs:
                self._dirty[heirs[0].position] = heirs[0]
                self._repeats[heirs[0].entry] = heirs[1:]

    def _hindsight(self, step: Step, level: Level) -> Hindsight:
        if level != "digest":
            return NO_HINDSIGHT
        return Hindsight(self.files.stale_calls(step), self.files.edited_since(step))

    def _fold(self, fold: Folded) -> None:
        self.refresh()
        for run in fold.runs:
            for item in self._span(run.first, run.last):
                if isinstance(item, Step):
                    self.levels[item.number] = (run.level, run.cap)
                    self._dirty[item.position] = item
        self.looks.update((entry, UserLook(cap=fold.paste_cap)) for entry in fold.pastes)
        self.looks.update((entry, UserLook(brief=True)) for entry in fold.users)
        for entry in (*fold.pastes, *fold.users):
            for item in self._span(entry, entry):
                self._dirty[item.position] = item
        standing = list(self.notes.values())
        for note in fold.notes:
            self._place(note)
        self.added = self.added + 1 if all(one in self.notes.values() for one in standing) else 0
        hidden = [i.entry for note in fold.notes if note.users for i in self._span(note.first, note.last)]
        self._pass_on_pastes((*fold.pastes, *fold.users, *hidden))
        self.recap_lines = fold.recap_lines or self.recap_lines
        self.summary_sentences = fold.summary_sentences or self.summary_sentences
        if self.sightings is not None:
            kept = (k for note, _ in self.notes.values() for k in note.kept)
            self.sightings.keep((k.step, k.call, k.part) for k in kept)
        self.refused = 0
        self.fresh = False
        self._usage = None
        self.rent = 0.0
        self.floor = self.total()

    def _place(self, note: FoldNote) -> None:
        """A note takes the place of the notes within its range."""
        span = self._span(note.first, note.last)
        if not span:
            return
        for position in [p for p in self.notes if span[0].position <= p <= span[-1].position]:
            self.body_tokens -= self.notes.pop(position)[1].tokens
        for item in span if note.users else ():
            if isinstance(item, User):
                self.hidden.add(item.entry)
                self._dirty[item.position] = item
        text = "\n".join(filter(None, (note.text, self.excerpt(note))))
        message = UserMessage((Text(text),))
        block = Block((message,), self.scene.counter.message(message))
        self.notes[span[0].position] = note, block
        self._relist = True
        self.body_tokens += block.tokens

    def excerpt(self, note: FoldNote) -> str:
        """The lines that a note keeps of its items, as they are shown below it."""
        entries = (kept.step for kept in note.kept)
        items = {e: self.transcript.items[self._positions[e]] for e in entries if e in self._positions}
        return excerpt(note.kept, items, self.files, self.scene.counter)

    def _span(self, first: str, last: str) -> list[Item]:
        """The items of a run; none where the log's path no longer holds it."""
        if first not in self._positions or last not in self._positions:
            return []
        return self.transcript.items[self._positions[first] : self._positions[last] + 1]
