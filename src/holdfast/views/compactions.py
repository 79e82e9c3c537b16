"""What was summarised so far: the archive, the working state, and how often a model failed to write one.

Rule: archive entries are never changed; one of the second level stands for others, which stay in the log.
"""

from collections.abc import Iterable

from holdfast.events import Compacted, CompactionFailed, Entry, Event


class Compactions:
    def __init__(self) -> None:
        self.archive: dict[str, Compacted] = {}
        """Archive entries that stand, by their entry, oldest first."""
        self.state: Compacted | None = None
        self.covered = ""
        """The newest entry that a summary covers."""
        self.failures = 0
        """Failures of a model in a row."""

    def add(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, CompactionFailed):
            self.failures += 1
        elif isinstance(event, Compacted):
            self._stand(entry.id, event)
            self.covered = event.last or self.covered
            if event.by != "rule":
                self.failures = 0

    def after(self, events: Iterable[Event]) -> "Compactions":
        """What they would be if these events came next."""
        then = Compactions()
        then.archive, then.state = self.archive, self.state
        then.covered, then.failures = self.covered, self.failures
        for number, event in enumerate(events):
            then.add(Entry(f"next {number}", "", 0, None, event))
        return then

    def _stand(self, id_: str, event: Compacted) -> None:
        if event.slot == "state":
            self.state = event
            return
        kept = {one: archived for one, archived in self.archive.items() if one not in event.above}
        # What stands for the oldest entries goes where they stood.
        self.archive = {id_: event, **kept} if event.above else {**kept, id_: event}
