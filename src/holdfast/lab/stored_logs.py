"""A log in a store as a recording to replay, such as one that the gateway recorded.

Rule: what is replayed is what was on the log's main path when it was chosen, however the log grows meanwhile. A
worker opens the store itself, to read only.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from holdfast.events import (
    AssistantReplied,
    Entry,
    LogStarted,
    Recorded,
    Recording,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UserSaid,
)
from holdfast.log import Log
from holdfast.recordings.recording_files import LazyRecording
from holdfast.store import Store, open_read_only
from holdfast.store.encoding import decode_entry
from holdfast.store_places import Place
from holdfast.views import path

REPLAYED = LogStarted | SystemSet | ToolsSet | UserSaid | AssistantReplied | ToolReturned
"""Events that are part of the work. Others, such as folds, say how a session was packed, and name entries by id."""


class StoredLog(Struct, frozen=True):
    """A log as far as it went when it was chosen: its first entries, this many."""

    store: Place
    id: str
    entries: int
    size: int

    @classmethod
    def choose(cls, log: Log, place: Place) -> "StoredLog":
        page = log.store.read(log.id)
        size = sum(len(row.body) for row in page.rows) + sum(map(len, page.texts.values()))
        return cls(place, log.id, len(page.rows), size)

    @property
    def name(self) -> str:
        return self.id

    def unread(self) -> LazyRecording:
        return LazyRecording(self.id, partial(_read, self), self.size, needs_file=True)


def _read(chosen: StoredLog) -> Recording:
    with open_read_only(chosen.store) as store:
        source = store.info(chosen.id).head.source
        entries = _first_entries(store, chosen)
    return replayed_part(chosen.id, source, path(entries))


def replayed_part(id_: str, source: str, on_path: Sequence[Entry]) -> Recording:
    """The work in a log, as a recording."""
    events = (Recorded(entry.event, at=entry.at) for entry in on_path if isinstance(entry.event, REPLAYED))
    return Recording(id_, source, tuple(events))


def _first_entries(store: Store, chosen: StoredLog) -> list[Entry]:
    page = store.read(chosen.id, 0, chosen.entries)
    return [decode_entry(row, page.texts) for row in page.rows]
