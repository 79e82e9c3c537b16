"""A draft of a fold: levels tried on paper, with the size of the pack they would give.

Rule: a draft changes nothing; its total is never below what the pack will really take.
"""

from msgspec.structs import replace

from holdfast.events import Folded, FoldedRun, FoldNote, KeptLines, Level
from holdfast.messages import Message, Text, UserMessage, joined_text
from holdfast.packing.blocks import UserLook, render_user
from holdfast.packing.excerpts import Passage, choose, goal_names, numbers_in, passages_of
from holdfast.packing.layers import Block
from holdfast.packing.notes import note_bound, round_note, round_note_room, step_note
from holdfast.packing.summary import summary_messages
from holdfast.packing.trigger import Pressure
from holdfast.packing.window import LevelCap, Window
from holdfast.views.transcript import Step, User


class Draft:
    def __init__(self, window: Window) -> None:
        self.window = window
        self.levels: dict[int, LevelCap] = {}
        self.users: list[str] = []
        """User messages to shorten to first line and directives."""
        self.pastes: list[str] = []
        """User messages to clip to `paste_cap`."""
        self.paste_cap = 0
        self.hidden = 0
        """Items from the start of the log that one note for whole rounds will stand for."""
        self.recap_lines = 0
        self.summary_sentences = 0
        self.before = self.total = window.total()
        self.messages = window.message_count()
        self._sizes: dict[int, tuple[int, int]] = {}
        """Room and messages of each item that would change, by position."""
        self._growth: dict[int, tuple[int, int]] = {}
        """Room and messages that notes grew by when a step went, by the step's number."""
        self._note_bound = note_bound(window.scene)
        self._kept: list[KeptLines] | None = None
        """Lines that notes keep of folded steps, if they were chosen anew."""

    def level(self, number: int) -> LevelCap:
        return self.levels.get(number) or self.window.levels[number]

    def room(self, position: int) -> int:
        """What an item takes in this draft."""
        return self._size(position)[0]

    def step_room(self, number: int) -> int:
        return self.room(self.window.transcript.steps[number].position)

    def lower(self, number: int, level: Level, cap: int = 0) -> None:
        """Put a step at a lower level, if that makes the pack smaller, now or with its neighbours."""
        step = self.window.transcript.steps[number]
        room, messages = self._size(step.position)
        new = self.window.cost(number, level, cap)
        if level == "gone":
            if not self._gone_before(number) and not self._run_is_worth_a_note(number):
                return
            self._grow(number)
        elif new >= room:
            return
        shown = {"gone": 0, "skeleton": 1}.get(level, messages)
        self.levels[number] = (level, cap)
        self._resize(step.position, new, shown)

    def shorten_user(self, user: User) -> None:
        """Leave first line and directives of an old user message."""
        if self._show_less(user, UserLook(brief=True)):
            self.users.append(user.entry)

    def clip_user(self, user: User, cap: int) -> None:
        """Leave head and tail of a user message of the current round."""
        self.paste_cap = cap
        if self._show_less(user, UserLook(cap=cap)):
            self.pastes.append(user.entry)

    def shorten_summary(self) -> None:
        """One sentence per line of the summary."""
        self.summary_sentences = 1
        short = summary_messages(self.window.scene, self.window.transcript, 1)
        self.total -= self.window.fixed_tokens()["summary"] - self._count(short)

    def shorten_recap(self) -> None:
        self.recap_lines = 1
        self.total -= self.window.fixed_tokens()["tail"] - self._count(self.window.recap(1))

    def hide_until(self, end: int) -> None:
        """One note for all items before position `end`, user messages included."""
        if end <= self.hidden:
            return
        window = self.window
        if not self.hidden:
            self.total += round_note_room(window)
            self.messages += 1
        for item in window.transcript.items[self.hidden : end]:
            self._resize(item.position, 0, 0)
            if isinstance(item, Step):
                self.levels[item.number] = ("gone", 0)
                grown = self._growth.pop(item.number, (0, 0))
                self.total -= grown[0]
                self.messages -= grown[1]
            else:
                self._reveal_repeats(item)
            if item.position in window.notes:
                self.total -= window.notes[item.position][1].tokens
                self.messages -= 1
        self.hidden = end

    def keep_lines(self, target: int) -> None:
        """Fill the room up to `target` with the best lines of all folded steps."""
        window = self.window
        standing = [block.tokens - self._bare(note) for note, block in self._unchanged_notes()]
        self.total -= sum(standing)
        room = min(target - self.total, round(window.profile.excerpt_ratio * window.profile.window))
        shown, goal = self._on_view()
        kept = choose(self._folded(), shown, goal, room, window.scene.counter)
        self._kept = kept
        self.total += max(room, 0) if kept else 0

    def _unchanged_notes(self) -> list[tuple[FoldNote, Block]]:
        """Notes on view that this draft neither replaces nor makes longer."""
        steps = self.window.transcript.steps
        changed = {steps[n].position for n, (level, _) in self.levels.items() if level == "gone"}
        return [
            (note, block)
            for at, (note, block) in self.window.notes.items()
            if at >= self.hidden and self.window.position(note.last) + 1 not in changed
        ]

    def _bare(self, note: FoldNote) -> int:
        return self.window.scene.counter.message(UserMessage((Text(note.text),)))

    def _folded(self) -> list[Passage]:
        """Texts of all steps that are gone; of those that were before only the lines their notes still show."""
        window = self.window
        kept: dict[tuple[str, str, str], KeptLines] = {
            (k.step, k.call, k.part): k for note, _ in window.notes.values() for k in note.kept
        }
        passages: list[Passage] = []
        for step in window.transcript.steps:
            if self.level(step.number)[0] != "gone":
                continue
            new = step.number in self.levels
            stale = window.files.stale_calls(step)
            for passage in passages_of(step, stale):
                before = kept.get(passage.place)
                if new:
                    passages.append(passage)
                elif before is not None:
                    passages.append(replace(passage, only=frozenset(numbers_in(before.lines))))
        return passages

    def _on_view(self) -> tuple[list[str], frozenset[str]]:
        """Texts that the pack shows besides, and the names that users and the todo list mention."""
        shown: list[str] = []
        said: list[str] = []
        for item in self.window.transcript.items:
            if isinstance(item, User):
                said.append(joined_text(item.message.parts))
            elif self.level(item.number)[0] in ("full", "clipped"):
                shown += [item.message.text, *(joined_text(r.parts) for r in item.results.values())]
        todos = [todo.text for todo in self.window.transcript.todos.items]
        return [*shown, *said], goal_names([*said, *todos])

    def event(self, pressure: Pressure) -> Folded | None:
        """The fold this draft amounts to, or None if it changes nothing."""
        shortened = self.users or self.pastes or self.recap_lines or self.summary_sentences
        if not (self.levels or self.hidden or shortened):
            return None
        return Folded(
            reason=pressure.reason,
            runs=tuple(self._runs()),
            notes=tuple(self._notes()),
            users=tuple(self.users),
            pastes=tuple(self.pastes),
            paste_cap=self.paste_cap if self.pastes else 0,
            recap_lines=self.recap_lines,
            summary_sentences=self.summary_sentences,
            tokens_before=self.before,
            tokens_after=self.total,
            why=f"{pressure.why}; {_counted(len(self.levels), 'step')} lowered",
        )

    def _size(self, position: int) -> tuple[int, int]:
        known = self._sizes.get(position)
        if known is None:
            block = self.window.blocks[position]
            known = block.room, len(block.messages)
        return known

    def _resize(self, position: int, room: int, messages: int) -> None:
        old_room, old_messages = self._size(position)
        self._sizes[position] = room, messages
        self.total += room - old_room
        self.messages += messages - old_messages

    def _count(self, messages: tuple[Message, ...]) -> int:
        return self.window.scene.counter.messages(messages)

    def _show_less(self, user: User, look: UserLook) -> bool:
        less = render_user(self.window.scene, user, {}, look).room
        if less >= self.room(user.position):
            return False
        self._resize(user.position, less, 1)
        self._reveal_repeats(user)
        return True

    def _reveal_repeats(self, user: User) -> None:
        """Where a later message only refers to this one, it will have to be shown whole."""
        for repeat in self.window.repeats_of(user)[:1]:
            whole = render_user(self.window.scene, repeat, {}, UserLook()).room
            self._resize(repeat.position, max(whole, self.room(repeat.position)), 1)

    def _gone_before(self, number: int) -> bool:
        """Whether the item just before is a step that is gone, so that one note serves both."""
        if number == 0 or self.level(number - 1)[0] != "gone":
            return False
        steps = self.window.transcript.steps
        return steps[number].position == steps[number - 1].position + 1

    def _grow(self, number: int) -> None:
        """Count what notes grow by at most when this step goes: a whole one, or the one before it replaced."""
        if not self._gone_before(number):
            growth = self._note_bound, 1
        elif number - 1 in self.levels:
            growth = 0, 0
        else:
            at = self.window.transcript.steps[number - 1].position
            while at not in self.window.notes and at > 0:
                at -= 1
            standing = self.window.notes.get(at)
            growth = self._note_bound - (standing[1].tokens if standing else 0), 0
        self._growth[number] = growth
        self.total += growth[0]
        self.messages += growth[1]

    def _run_is_worth_a_note(self, number: int) -> bool:
        """Whether the steps from here to the next user message take more room than the note for them."""
        steps = self.window.transcript.steps
        room, at = self._note_bound, number
        while at < len(steps) and steps[at].position - steps[number].position == at - number:
            room -= self.room(steps[at].position)
            if room < 0:
                return True
            at += 1
        return False

    def _runs(self) -> list[FoldedRun]:
        steps = self.window.transcript.steps
        runs: list[FoldedRun] = []
        previous = -2
        for number in sorted(self.levels):
            level, cap = self.levels[number]
            entry = steps[number].entry
            if runs and previous == number - 1 and (runs[-1].level, runs[-1].cap) == (level, cap):
                runs[-1] = FoldedRun(runs[-1].first, entry, level, cap)
            else:
                runs.append(FoldedRun(entry, entry, level, cap))
            previous = number
        return runs

    def _notes(self) -> list[FoldNote]:
        """The notes that this draft makes or changes, each with the lines it keeps."""
        notes = self._changed_notes()
        if self._kept is None:
            return notes
        firsts = {note.first for note in notes}
        notes += [note for note, _ in self._unchanged_notes() if note.first not in firsts]
        place = self.window.position
        spans = [(place(note.first), place(note.last)) for note in notes]
        by_note: list[list[KeptLines]] = [[] for _ in notes]
        for kept in self._kept:
            at = next((i for i, (a, b) in enumerate(spans) if a <= place(kept.step) <= b), None)
            if at is not None:
                by_note[at].append(kept)
        return [replace(note, kept=tuple(lines)) for note, lines in zip(notes, by_note, strict=True)]

    def _changed_notes(self) -> list[FoldNote]:
        """A note for whole rounds, and one for each run of gone steps that this draft made or made longer."""
        items = self.window.transcript.items
        notes = [round_note(self.window, items[: self.hidden])] if self.hidden else []
        group: list[Step] = []
        for step in [*self.window.transcript.steps, None]:
            joins = step is not None and bool(group) and step.position == group[-1].position + 1
            gone = step is not None and step.position >= self.hidden and self.level(step.number)[0] == "gone"
            if group and not (gone and joins):
                if any(s.number in self.levels for s in group):
                    notes.append(step_note(self.window, group))
                group = []
            if gone and step is not None:
                group.append(step)
        return notes


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
