"""Going through a log as it happened: a fold is planned where a request was made, and nowhere else.

Rule: what comes later never changes what was packed earlier, so a recording packed at step 40 is what an agent
at step 40 would have sent.
"""

from collections.abc import Iterable

from holdfast.events import AssistantReplied, Entry, Folded
from holdfast.ids import entry_id
from holdfast.packing.fold import plan_fold
from holdfast.packing.profile import Profile
from holdfast.packing.tokens import TokenCounter
from holdfast.packing.window import Window


def go_forward(
    profile: Profile, counter: TokenCounter, entries: Iterable[Entry]
) -> tuple[Window, list[Folded]]:
    """The window after all entries, ready to pack, and the folds made on the way."""
    window = Window(profile, counter)
    folds: list[Folded] = []
    for entry in entries:
        if isinstance(entry.event, AssistantReplied):
            folds += fold_now(window)
        window.add(entry)
    folds += fold_now(window)
    return window, folds


def fold_now(window: Window) -> list[Folded]:
    """Plan a fold and apply it to the window; the list holds it, or is empty."""
    fold = plan_fold(window)
    if fold is None:
        return []
    window.add(Entry(entry_id("", 0, window.last_entry, b"fold"), "", 0, window.last_entry or None, fold))
    return [fold]
