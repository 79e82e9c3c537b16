"""The path through a log: from its newest entry back by parents, so that rewinds and forks need no deletion.

Rule: an entry is on the path of one chain or on none; side chains never leak into the main one. What was undone is
on no path.
"""

from collections.abc import Sequence

from holdfast.events import Entry, Undone


def path(entries: Sequence[Entry], *, chain: str = "", head: str | None = None) -> list[Entry]:
    """The entries a view folds, oldest first, ending at `head` or at the newest entry of `chain`."""
    known = {e.id: e for e in entries}
    current = known.get(head) if head else next((e for e in reversed(entries) if e.chain == chain), None)
    found: list[Entry] = []
    while current is not None and current.chain == chain:
        found.append(current)
        current = known.get(current.parent) if current.parent else None
    found.reverse()
    return _standing(found)


def _standing(entries: list[Entry]) -> list[Entry]:
    """Without what was undone, newest first, so that an undoing can itself be undone."""
    undone: set[str] = set()
    for entry in reversed(entries):
        if isinstance(entry.event, Undone) and entry.id not in undone:
            undone.update(entry.event.entries)
    return [entry for entry in entries if entry.id not in undone] if undone else entries
