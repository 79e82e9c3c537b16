"""A draft of a fold: levels tried on paper, with the size of the pack they would give.

Rule: a draft changes nothing; its total is never below what the pack will really take.
"""

from holdfast.events import Folded, FoldedRun, FoldNote, Level
from holdfast.messages import Message
from holdfast.packing.blocks import UserLook, render_user
from holdfast.packing.notes import round_note, step_note
from holdfast.packing.summary import summary_messages
from holdfast.packing.trigger import Pressure
from holdfast.packing.window import LevelCap, Window
from holdfast.views.transcript import Step, User

NOTE_TOKENS = 90
"""An upper bound for one note, counted for every run of steps that goes."""


class Draft:
    def __init__(self, window: Window) -> None:
        self.window = window
        self.levels: dict[int, LevelCap] = {}
        self.users: dict[str, int] = {}
        """User messages to shorten, and the tokens each takes then."""
        self.pastes: dict[str, int] = {}
        """User messages to clip to `paste_cap`, and the tokens each takes then."""
        self.paste_cap = 0
        self.hidden = 0
        """Items from the start of the log that one note for whole rounds will stand for."""
        self.recap_lines = 0
        self.summary_sentences = 0
        self.before = self.total = window.total()
        self.messages = window.message_count()

    def level(self, number: int) -> LevelCap:
        return self.levels.get(number) or self.window.levels[number]

    def lower(self, number: int, level: Level, cap: int = 0) -> None:
        """Put a step at a lower level, if that makes the pack smaller, now or with its neighbours."""
        old = self.window.cost(number, *self.level(number))
        new = self.window.cost(number, level, cap)
        if level == "gone":
            if not self._gone_before(number) and not self._run_is_worth_a_note(number):
                return
            new += self._note_growth(number)
        elif new >= old:
            return
        if level in ("gone", "skeleton") and self.level(number)[0] != "skeleton":
            self.messages -= len(self.window.transcript.steps[number].calls)
        if level == "gone" and self._gone_before(number):
            self.messages -= 1
        self.levels[number] = (level, cap)
        self.total += new - old

    def shorten_user(self, user: User) -> None:
        """Leave first line and directives of an old user message."""
        self._show_less(user, UserLook(brief=True), self.users)

    def clip_user(self, user: User, cap: int) -> None:
        """Leave head and tail of a user message of the current round."""
        self.paste_cap = cap
        self._show_less(user, UserLook(cap=cap), self.pastes)

    def _show_less(self, user: User, look: UserLook, shown: dict[str, int]) -> None:
        less = render_user(self.window.scene, user, {}, look).tokens
        gain = self.window.blocks[user.position].tokens - less
        if gain > 0:
            shown[user.entry] = less
            self.total -= gain

    def shorten_summary(self) -> None:
        """One sentence per line of the summary."""
        self.summary_sentences = 1
        short = summary_messages(self.window.scene, self.window.transcript, 1)
        self.total -= self.window.fixed_tokens()["summary"] - self._size(short)

    def shorten_recap(self) -> None:
        self.recap_lines = 1
        self.total -= self.window.fixed_tokens()["tail"] - self._size(self.window.recap(1))

    def hide_until(self, end: int, note_room: int) -> None:
        """One note for all items before position `end`, user messages included."""
        window = self.window
        for item in window.transcript.items[self.hidden : end]:
            if isinstance(item, Step):
                self.total -= window.cost(item.number, *self.level(item.number))
                self.levels[item.number] = ("gone", 0)
            else:
                self.total -= self.users.pop(item.entry, window.blocks[item.position].tokens)
            self.messages -= len(window.blocks[item.position].messages)
            if item.position in window.notes:
                self.total -= window.notes[item.position][1].tokens
                self.messages -= 1
        if not self.hidden:
            self.total += note_room
            self.messages += 1
        self.hidden = end

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

    def _size(self, messages: tuple[Message, ...]) -> int:
        return self.window.scene.counter.messages(messages)

    def _gone_before(self, number: int) -> bool:
        """Whether the item just before is a step that is gone, so that one note serves both."""
        if number == 0 or self.level(number - 1)[0] != "gone":
            return False
        steps = self.window.transcript.steps
        return steps[number].position == steps[number - 1].position + 1

    def _note_growth(self, number: int) -> int:
        """What the notes grow by at most when this step goes: a whole one, or the one before it replaced."""
        if not self._gone_before(number):
            return NOTE_TOKENS
        if number - 1 in self.levels:
            return 0
        at = self.window.transcript.steps[number - 1].position
        while at not in self.window.notes and at > 0:
            at -= 1
        standing = self.window.notes.get(at)
        return NOTE_TOKENS - standing[1].tokens if standing else NOTE_TOKENS

    def _run_is_worth_a_note(self, number: int) -> bool:
        """Whether the steps from here to the next user message take more room than the note for them."""
        steps = self.window.transcript.steps
        room, at = NOTE_TOKENS, number
        while at < len(steps) and steps[at].position - steps[number].position == at - number:
            room -= self.window.cost(at, *self.level(at))
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
        """A note for whole rounds, and one for each run of gone steps that this draft made or made longer."""
        items = self.window.transcript.items
        notes = [round_note(self.window, items[: self.hidden])] if self.hidden else []
        group: list[Step] = []
        for step in [*self.window.transcript.steps, None]:
            joins = step is not None and bool(group) and step.position == group[-1].position + 1
            gone = step is not None and step.position >= self.hidden and self.level(step.number)[0] == "gone"
            if group and not (gone and joins):
                if any(s.number in self.levels for s in group):
                    notes.append(step_note(group))
                group = []
            if gone and step is not None:
                group.append(step)
        return notes


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
