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


def walk_log(
    profile: Profile, counter: TokenCounter, entries: Iterable[Entry], weights: Weights | None = None
) -> tuple[Window, list[Folded]]:
    """The window after all entries, ready to pack, and the folds made on the way."""
    window = Window(profile, counter, weights=weights)
    folds: list[Folded] = []
    for entry in entries:
        if isinstance(entry.event, AssistantReplied):
            folds += fold_if_due(window)
        window.add(entry)
    folds += fold_if_due(window)
    return window, folds


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
