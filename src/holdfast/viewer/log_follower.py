"""A log that grows, read once and then only as far as it grew.

Rule: entries that extend the main path are passed on alone. After a rewind or an undo the path is another one, and
the log is read again.
"""

from msgspec import Struct

from holdfast.events import AssistantReplied, Entry, Undone
from holdfast.log import Log
from holdfast.packing.counting.families import recorded_model
from holdfast.views import path


class LogNews(Struct, frozen=True):
    """`entries` are all that came, `on_path` those of the main path. `is_whole`: from the first entry on."""

    entries: list[Entry]
    on_path: list[Entry]
    is_whole: bool


class LogFollower:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._seq = 0
        self._tip: str | None = None
        self._naming: dict[str, Entry] = {}
        """The first entry of the path, and the first reply of each model."""

    @property
    def model(self) -> str:
        """The model of the log, as far as it was read."""
        return recorded_model([*self._naming.values()])

    def read(self) -> LogNews:
        """What was appended since the last time."""
        is_whole = self._seq == 0
        entries = self._log.entries(self._seq)
        if not (is_whole or self._goes_on(entries)):
            is_whole, entries = True, self._log.entries()
        on_path = path(entries) if is_whole else [entry for entry in entries if not entry.chain]
        if is_whole:
            self._naming = {"": on_path[0]} if on_path else {}
        for entry in on_path:
            if isinstance(entry.event, AssistantReplied) and entry.event.model:
                self._naming.setdefault(entry.event.model, entry)
        self._seq = entries[-1].seq if entries else self._seq
        self._tip = next((entry.id for entry in reversed(entries) if not entry.chain), self._tip)
        return LogNews(entries, on_path, is_whole)

    def _goes_on(self, entries: list[Entry]) -> bool:
        tip = self._tip
        for entry in entries:
            if entry.chain:
                continue
            if entry.parent != tip or isinstance(entry.event, Undone):
                return False
            tip = entry.id
        return True
