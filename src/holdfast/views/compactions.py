"""What was summarised so far: the archive, the working state, and how often a model failed to write one.

Rule: archive entries are never changed; one of the second level replaces others, which stay in the log.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from holdfast.events import Compacted, CompactionFailed, Entry, Event


class Compactions(Struct, frozen=True):
    archive: dict[str, Compacted] = {}
    """Archive entries in force, by their entry, oldest first."""
    state: Compacted | None = None
    covered: str = ""
    """The newest entry that a summary covers."""
    failures: int = 0
    """Failures of a model in a row."""

    def with_entry(self, entry: Entry) -> "Compactions":
        """The compactions with one entry more."""
        event = entry.event
        if isinstance(event, CompactionFailed):
            return replace(self, failures=self.failures + 1)
        if not isinstance(event, Compacted):
            return self
        covered = event.last or self.covered
        failures = self.failures if event.by == "rule" else 0
        if event.slot == "state":
            return replace(self, state=event, covered=covered, failures=failures)
        kept = {id_: archived for id_, archived in self.archive.items() if id_ not in event.above}
        # What replaces the oldest entries goes where they were.
        archive = {entry.id: event, **kept} if event.above else {**kept, entry.id: event}
        return replace(self, archive=archive, covered=covered, failures=failures)

    def after(self, events: Iterable[Event]) -> "Compactions":
        """The compactions as they would be if these events came next."""
        then = self
        for number, event in enumerate(events):
            then = then.with_entry(Entry(f"next {number}", "", 0, None, event))
        return then
