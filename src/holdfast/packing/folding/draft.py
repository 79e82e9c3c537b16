"""A draft of a fold: levels tried on paper, with the size of the pack they would give.

Rule: a draft changes nothing; its total is never below what the pack will really take.
"""

from bisect import bisect_left
from collections.abc import Callable

from msgspec.structs import replace

from holdfast.events import Folded, FoldedRun, FoldNote, KeptLines, Level
from holdfast.messages import Message, Text, UserMessage
from holdfast.numbers import count_noun
from holdfast.packing.folding.economics import FoldEstimate
from holdfast.packing.folding.notes import note_bound, round_note, round_note_bound, said_tokens, step_note
from holdfast.packing.folding.trigger import FoldTrigger, fold_estimate
from holdfast.packing.lines.excerpts import ExcerptPrices, kept_lines
from holdfast.packing.lines.passages import RESULT, PassageSource, shown_texts
from holdfast.packing.lines.scoring import LineChooser, ShownLines, numbers_by_passage, shown_in
from holdfast.packing.rendering.blocks import UserDisplay, render_user
from holdfast.packing.rendering.fixed_layers import summary_messages
from holdfast.packing.view import Floor, LevelCap, WindowView
from holdfast.views.transcript import Step, User

FILLINGS = 3
"""How often the room for lines is filled: once, and again with what is left of it."""


class FoldDraft:
    def __init__(self, view: WindowView, *, appends: bool = False, grown: int = 0) -> None:
        """`grown` are tokens that something else is about to add."""
        self.view = view
        self.appends = appends
        """Whether the notes that exist stay as they are, and new ones follow them."""
        self._levels: dict[int, LevelCap] = {}
        self._levels_before = view.levels[:]
        self.users: list[str] = []
        """User messages to shorten to first line and directives."""
        self.pastes: list[str] = []
        """User messages to clip to `paste_cap`."""
        self.paste_cap = 0
        self.hidden = 0
        """Items from the start of the log that one note for whole rounds will replace."""
        self._said = 0
        """Tokens of what users said in these rounds that the note repeats."""
        self.recap_lines = 0
        self.summary_sentences = 0
        self.remark = ""
        """What a person should know of this fold besides."""
        self._summary, self._recap = view.fixed_tokens["summary"], view.fixed_tokens["tail"]
        self.before = view.total
        self.total = view.total + grown
        self.messages = view.message_count
        self._sizes: dict[int, tuple[int, int]] = {}
        """Room and messages of each item that would change, by position."""
        self._growth: dict[int, tuple[int, int]] = {}
        """Room and messages that notes grew by when a step went, by the step's number."""
        self._repeats = dict(view.repeats)
        """Messages that only refer to an entry, because it shows the same text."""
        self._note_bound = note_bound(view.context)
        self._standing = {at: block.tokens for at, (_, block) in view.notes.items()}
        """What each note takes that exists, by its position."""
        self.note_tokens = sum(self._standing.values())
        """What of the total notes take, or may take."""
        self._written: list[FoldNote] = []
        """The notes of this draft, once they are written."""
        self._kept: list[KeptLines] | None = None
        """Lines that notes keep of folded steps, if they were chosen again."""

    def level(self, number: int) -> LevelCap:
        return self._levels.get(number) or self._levels_before[number]

    def item_tokens(self, position: int) -> int:
        """What an item takes in this draft."""
        return self._size(position)[0]

    def step_tokens(self, number: int) -> int:
        return self.item_tokens(self.view.transcript.steps[number].position)

    def lower(self, number: int, level: Level, cap: int = 0) -> None:
        """Put a step at a lower level, if that makes the pack smaller, now or with its neighbours."""
        step = self.view.transcript.steps[number]
        size, messages = self._size(step.position)
        new = self.view.cost(number, level, cap)
        if level == "gone":
            if not self._gone_before(number) and not self._run_is_worth_a_note(number):
                return
            self._grow(number)
        elif new >= size:
            return
        shown = {"gone": 0, "skeleton": 1}.get(level, messages)
        self._levels[number] = (level, cap)
        self._resize(step.position, new, shown)

    def rewrite_note(self, number: int) -> None:
        """Rewrite the note of a step that is already gone."""
        self._levels[number] = ("gone", 0)

    def shorten_user(self, user: User) -> None:
        """Leave first line and directives of an old user message."""
        if self._show_less(user, UserDisplay(brief=True)):
            self.users.append(user.entry)

    def clip_user(self, user: User, cap: int) -> None:
        """Leave head and tail of a user message of the current round."""
        self.paste_cap = cap
        if self._show_less(user, UserDisplay(cap=cap)):
            self.pastes.append(user.entry)

    def shorten_summary(self) -> None:
        """One sentence per line of the summary."""
        self.summary_sentences = 1
        short = summary_messages(self.view.context, self.view.transcript.compactions, 1)
        self._summary = self._count(short)
        self.total -= self.view.fixed_tokens["summary"] - self._summary

    def shorten_recap(self) -> None:
        self.recap_lines = 1
        self._recap = self._count(self.view.recap(1))
        self.total -= self.view.fixed_tokens["tail"] - self._recap

    def parts(self) -> tuple[tuple[str, int], ...]:
        """(name, tokens) of everything that this draft leaves, largest first; they add up to its total."""
        return self.view.floor_parts(
            self.total, Floor(self.item_tokens, self.note_tokens, self._summary, self._recap)
        )

    def hide_until(self, end: int) -> None:
        """One note for all items before position `end`, user messages included."""
        if end <= self.hidden:
            return
        view, before = self.view, self._round_note() if self.hidden else 0
        self.messages += not self.hidden
        for item in view.transcript.items[self.hidden : end]:
            self._resize(item.position, 0, 0)
            if isinstance(item, Step):
                self._levels[item.number] = ("gone", 0)
                grown = self._growth.pop(item.number, (0, 0))
                self._charge_notes(-grown[0])
                self.messages -= grown[1]
            else:
                self._reveal_repeats(item)
                self._said += said_tokens(view.context, item)
            if item.position in self._standing:
                self._charge_notes(-self._standing[item.position])
                self.messages -= 1
        self._charge_notes(self._round_note() - before)
        self.hidden = end

    def _round_note(self) -> int:
        """Tokens that the note for whole rounds may take."""
        return round_note_bound(self.view, self._note_bound + self._said)

    def drop_lines(self) -> None:
        """Count the notes that exist without the lines they keep, which `keep_lines` chooses again."""
        for at, (note, block) in self.view.notes.items():
            self._standing[at] = self._bare(note)
            self._charge_notes(self._standing[at] - block.tokens)

    def keep_lines(self, target: int) -> None:
        """Fill the room up to `target` with the best lines of all that is folded.

        The notes are written here, so that what they take is known and no longer a bound.
        """
        view = self.view
        notes = self._changed_notes()
        standing = self._unchanged_notes(notes)
        if self.appends:
            kept = sum(self._standing[view.position(note.first)] for note in standing)
            self._charge_notes(kept + sum(map(self._bare, notes)) - self.note_tokens)
        else:
            notes += standing
            self._charge_notes(sum(map(self._bare, notes)) - self.note_tokens)
        most = round(view.profile.excerpt_ratio * view.profile.window)
        room = max(min(target - self.total, most), 0) if notes else 0
        self._written = notes
        self._kept = []
        if room:
            steps = {step.entry: step for step in view.transcript.steps}
            prices = ExcerptPrices(view.counter, steps, view.files)
            chooser = LineChooser(view.line_index, self.folded(), self.shown_lines(), prices)
            bare, used = sum(map(self._bare, notes)), 0
            for _ in range(FILLINGS):
                # Lines take less below a common heading than each was priced at: what is left is filled again.
                chooser.take(room - used)
                self._kept = kept_lines(numbers_by_passage(chooser.taken))
                used = self._measured() - bare
            self._charge_notes(used)

    def _measured(self) -> int:
        """What the notes take with the lines they keep."""
        notes = self._notes()
        shown = ("\n".join(filter(None, (note.text, self.view.excerpt(note)))) for note in notes)
        return sum(self._count((UserMessage((Text(text),)),)) for text in shown)

    def _charge_notes(self, tokens: int) -> None:
        self.total += tokens
        self.note_tokens += tokens

    def _unchanged_notes(self, changed: list[FoldNote]) -> list[FoldNote]:
        """Existing notes in whose place none of the changed ones comes."""
        place = self.view.position
        taken = [range(place(note.first), place(note.last) + 1) for note in changed]
        return [note for at, (note, _) in self.view.notes.items() if not any(at in span for span in taken)]

    def _bare(self, note: FoldNote) -> int:
        return self.view.counter.message(UserMessage((Text(note.text),)))

    def folded(self) -> Callable[[PassageSource], bool]:
        """Whether a passage is of an item that is gone, and nothing newer replaces it."""
        view, steps = self.view, self.view.transcript.steps
        gone = {steps[n].entry: steps[n] for n in range(len(steps)) if self.level(n)[0] == "gone"}
        cut_users = {*view.hidden, *view.displays, *self.users, *self.pastes}
        cut_users.update(i.entry for i in view.transcript.items[: self.hidden] if isinstance(i, User))

        def is_folded(source: PassageSource) -> bool:
            step = gone.get(source.entry)
            if step is None:
                return source.entry in cut_users
            return source.part != RESULT or source.call not in view.files.stale_calls(step)

        return is_folded

    def shown_lines(self) -> ShownLines:
        """What the pack shows besides the lines that notes keep. What this draft shortens does not count."""
        texts: list[str] = []
        shortened = {*self.users, *self.pastes}
        for position in self.view.visible:
            item = self.view.transcript.items[position]
            gone = isinstance(item, Step) and self.level(item.number)[0] == "gone"
            if position >= self.hidden and not gone and item.entry not in shortened:
                for message in self.view.blocks[position].messages:
                    texts += shown_texts(message)
        if self.appends:
            texts += [
                text
                for _, block in self.view.notes.values()
                for m in block.messages
                for text in shown_texts(m)
            ]
        return shown_in(texts, self.view.line_index.lines)

    def event(self, trigger: FoldTrigger) -> Folded | None:
        """The fold this draft amounts to, or None if it changes nothing."""
        shortened = self.users or self.pastes or self.recap_lines or self.summary_sentences
        if not (self._levels or self.hidden or shortened or self._keeps_other_lines()):
            return None
        why = (trigger.why, self.remark, count_noun(len(self._levels), "step") + " lowered", self._estimate())
        return Folded(
            reason=trigger.reason,
            runs=tuple(self._runs()),
            notes=tuple(self._notes()),
            users=tuple(self.users),
            pastes=tuple(self.pastes),
            paste_cap=self.paste_cap if self.pastes else 0,
            recap_lines=self.recap_lines,
            summary_sentences=self.summary_sentences,
            tokens_before=self.before,
            tokens_after=self.total,
            why="; ".join(str(part) for part in why if part),
        )

    def _keeps_other_lines(self) -> bool:
        known = {note.first: note for note, _ in self.view.notes.values()}
        return self._kept is not None and any(known.get(note.first) != note for note in self._notes())

    def _estimate(self) -> FoldEstimate:
        """What this fold costs and saves, given how much of the pack comes before its first change."""
        view = self.view
        start = self._first_change()
        ahead = [block.tokens for at, block in enumerate(view.blocks[:start]) if at >= self.hidden]
        notes = [block.tokens for at, (_, block) in view.notes.items() if at < start]
        kept = view.stable.tokens + view.stable.tool_tokens + sum(ahead) + sum(notes)
        return fold_estimate(view, self.before - self.total, max(self.total - kept, 0))

    def _first_change(self) -> int:
        """The position from which on the pack differs."""
        if self.hidden or self.summary_sentences:
            return 0
        steps, place = self.view.transcript.steps, self.view.position
        changed = [steps[number].position for number in self._levels]
        changed += [place(entry) for entry in (*self.users, *self.pastes)]
        changed += [place(note.first) for note in self._written]
        return min(changed, default=len(self.view.blocks))

    def _size(self, position: int) -> tuple[int, int]:
        known = self._sizes.get(position)
        if known is None:
            block = self.view.blocks[position]
            known = block.size, len(block.messages)
        return known

    def _resize(self, position: int, size: int, messages: int) -> None:
        old_size, old_messages = self._size(position)
        self._sizes[position] = size, messages
        self.total += size - old_size
        self.messages += messages - old_messages

    def _count(self, messages: tuple[Message, ...]) -> int:
        return self.view.counter.messages(messages)

    def _show_less(self, user: User, display: UserDisplay) -> bool:
        less = render_user(self.view.context, user, {}, display).size
        if less >= self.item_tokens(user.position):
            return False
        self._resize(user.position, less, 1)
        self._reveal_repeats(user)
        return True

    def _reveal_repeats(self, user: User) -> None:
        """Where later messages only refer to this one, the first of them that stays will be shown whole."""
        shortened = {*self.view.hidden, *self.users, *self.pastes}
        heirs = [u for u in self._repeats.pop(user.entry, ()) if u.entry not in shortened]
        if heirs:
            whole = render_user(self.view.context, heirs[0], {}, UserDisplay()).size
            self._resize(heirs[0].position, max(whole, self.item_tokens(heirs[0].position)), 1)
            self._repeats[heirs[0].entry] = tuple(heirs[1:])

    def _gone_before(self, number: int) -> bool:
        """Whether the item just before is a step that is gone, so that one note serves both."""
        if number == 0 or self.level(number - 1)[0] != "gone":
            return False
        if self.appends and number - 1 not in self._levels:
            return False
        steps = self.view.transcript.steps
        return steps[number].position == steps[number - 1].position + 1

    def _grow(self, number: int) -> None:
        """Count what notes grow by at most when this step goes: a whole one, or the one before it replaced."""
        if not self._gone_before(number):
            growth = self._note_bound, 1
        elif number - 1 in self._levels:
            growth = 0, 0
        else:
            at = self.view.transcript.steps[number - 1].position
            while at not in self._standing and at > 0:
                at -= 1
            growth = self._note_bound - self._standing.get(at, 0), 0
        self._growth[number] = growth
        self._charge_notes(growth[0])
        self.messages += growth[1]

    def _run_is_worth_a_note(self, number: int) -> bool:
        """Whether the steps from here to the next user message take more tokens than the note for them."""
        steps = self.view.transcript.steps
        left, at = self._note_bound, number
        while at < len(steps) and steps[at].position - steps[number].position == at - number:
            left -= self.item_tokens(steps[at].position)
            if left < 0:
                return True
            at += 1
        return False

    def _runs(self) -> list[FoldedRun]:
        steps = self.view.transcript.steps
        runs: list[FoldedRun] = []
        previous = -2
        for number in sorted(self._levels):
            level, cap = self._levels[number]
            entry = steps[number].entry
            if runs and previous == number - 1 and (runs[-1].level, runs[-1].cap) == (level, cap):
                runs[-1] = FoldedRun(runs[-1].first, entry, level, cap)
            else:
                runs.append(FoldedRun(entry, entry, level, cap))
            previous = number
        return runs

    def _notes(self) -> list[FoldNote]:
        """The notes that this draft makes or changes, each with the lines it keeps."""
        if self._kept is None:
            return self._changed_notes()
        place = self.view.position
        notes = sorted(self._written, key=lambda note: place(note.first))
        ends = [place(note.last) for note in notes]
        by_note: list[list[KeptLines]] = [[] for _ in notes]
        for kept in self._kept:
            # What a user said has no note of its own, and goes into the next.
            at = min(bisect_left(ends, place(kept.step)), len(ends) - 1)
            by_note[at].append(kept)
        return [replace(note, kept=tuple(lines)) for note, lines in zip(notes, by_note, strict=True)]

    def _changed_notes(self) -> list[FoldNote]:
        """A note for whole rounds, and one for each run of gone steps that this draft made or made longer."""
        items = self.view.transcript.items
        notes = [round_note(self.view, items[: self.hidden], self._round_note())] if self.hidden else []
        group: list[Step] = []
        for step in [*self.view.transcript.steps, None]:
            joins = step is not None and bool(group) and self._joins(group[-1], step)
            gone = step is not None and step.position >= self.hidden and self.level(step.number)[0] == "gone"
            if group and not (gone and joins):
                if any(s.number in self._levels for s in group):
                    notes.append(step_note(self.view, group))
                group = []
            if gone and step is not None:
                group.append(step)
        return notes

    def _joins(self, before: Step, step: Step) -> bool:
        """Whether one note serves both of two steps that are gone."""
        apart = self.appends and (before.number in self._levels) != (step.number in self._levels)
        return step.position == before.position + 1 and not apart
