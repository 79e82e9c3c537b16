"""Walking through a log as it happened: a fold is planned where a request was made, and nowhere else.

Rule: what comes later never changes what was packed earlier, so a recording packed at step 40 is what an agent
at step 40 would have sent.
"""

from collections.abc import Iterable

from msgspec import Struct

from holdfast.events import AssistantReplied, Entry, Event, Folded
from holdfast.ids import entry_id
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.lines.weights import Weights
from holdfast.packing.profile import Profile
from holdfast.packing.window import Window


class LogWalk:
    """A walk that can be continued: entries are added as they come, with the folds of one walk over all of them."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.folds: list[Folded] = []
        self._is_planned = False
        """Whether a fold was planned since the last entry."""
        self._folded_at = -1
        """How many entries had been added at the last fold."""
        self._entries = 0

    def add(self, entry: Entry) -> None:
        if isinstance(entry.event, AssistantReplied):
            self.make_room()
        self.window.add(entry)
        self._entries += 1
        self._is_planned = False

    def make_room(self) -> None:
        """Fold if a fold is due, as before a request. Once: a walk has no second fold in one place."""
        if not self._is_planned:
            self._is_planned = True
            folds = fold_if_due(self.window)
            self.folds += folds
            self._folded_at = self._entries if folds else self._folded_at

    def can_continue_with(self, event: Event) -> bool:
        """Whether a walk over more entries, the next with this event, would begin the same. It would not where a
        fold was made for a request that, as it turns out, nobody made."""
        return self._folded_at < self._entries or isinstance(event, AssistantReplied)


def walk_log(
    profile: Profile, counter: TokenCounter, entries: Iterable[Entry], weights: Weights | None = None
) -> tuple[Window, list[Folded]]:
    """The window after all entries, ready to pack, and the folds made on the way."""
    walk = LogWalk(Window(profile, counter, weights=weights))
    for entry in entries:
        walk.add(entry)
    walk.make_room()
    return walk.window, walk.folds


def fold_if_due(window: Window) -> list[Folded]:
    """Plan a fold and apply it to the window; the list holds it, or is empty."""
    fold = plan_fold(window.view())
    if fold is None:
        return []
    InMemoryRecorder(window).record(fold)
    return [fold]


class InMemoryRecorder(Struct, frozen=True):
    """A window that takes events which no log has: what is only tried is recorded nowhere."""

    window: Window

    def record(self, *events: Event) -> list[Entry]:
        entries: list[Entry] = []
        for event in events:
            before = self.window.last_entry
            entry = Entry(entry_id("", 0, before, b"fold"), "", 0, before or None, event)
            self.window.add(entry)
            entries.append(entry)
        return entries

    def catch_up(self) -> None:
        """There is no log that others could write to."""
