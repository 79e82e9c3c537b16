"""A talk whose log is damaged: what can be read goes on in a new log, and what cannot is named.

Rule: the damaged log is left as it is. Nothing is filled in: where something is missing, the model is told so.
"""

from msgspec import Struct

from holdfast.agents.coding.talks import SOURCE
from holdfast.errors import StoreError
from holdfast.events import (
    Compacted,
    CompactionFailed,
    Entry,
    Event,
    Folded,
    LogStarted,
    Noted,
    Recorded,
    Rewound,
    Undone,
    UserSaid,
)
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import Store
from holdfast.store.bodies import entry_of
from holdfast.store.protocol import Page, Row

DAMAGE = "damage"
REFERRING = (LogStarted, Folded, Compacted, CompactionFailed, Undone, Rewound)
"""Events that speak of their own log or its entries: in another they mean nothing, and folds are made anew."""
NAMED = 10
"""Entries that are named to the person."""


class Salvaged(Struct, frozen=True):
    log: str
    note: str = ""


def whole(store: Store, log: str) -> Salvaged:
    """The log itself where all of it can be read, else a new one with what can."""
    page = store.read(log)
    lost = set(range(1, page.rows[-1].seq)) - {row.seq for row in page.rows}
    entries = [_readable(row, page, lost) for row in page.rows]
    if not lost:
        return Salvaged(log)
    started = entries[0].event
    title = store.info(log).head.title
    meta = {**(started.meta if isinstance(started, LogStarted) else {}), "salvaged_from": log}
    new = Log.create(store, title=title, source=SOURCE, forked_from=entries[-1].id, meta=meta)
    said = (
        f"{len(lost)} of {page.rows[-1].seq} entries of this conversation's log are damaged and missing here."
    )
    kept = [_recorded(entry) for entry in _path(entries) if not isinstance(entry.event, REFERRING)]
    told: list[Event] = [UserSaid((Text(f"[holdfast: {said} Look before you rely on it.]"),), "reminder")]
    new.append_all([*kept, *told])
    numbers = ", ".join(map(str, sorted(lost)[:NAMED])) + (" …" if len(lost) > NAMED else "")
    return Salvaged(
        new.id, f"log `{log}` is damaged (entries {numbers}); what can be read goes on as `{new.id}`"
    )


def _readable(row: Row, page: Page, lost: set[int]) -> Entry:
    """A row as an entry; in place of one that is lost, which is noted, a remark."""
    try:
        return entry_of(row, page.texts)
    except StoreError as error:
        lost.add(row.seq)
        return Entry(row.id, row.log, row.seq, row.parent, Noted(DAMAGE, error.message), row.chain, row.at)


def _path(entries: list[Entry]) -> list[Entry]:
    """The path of the main chain. Over a gap it goes on with what was written before."""
    main = [entry for entry in entries if not entry.chain]
    places = {entry.id: place for place, entry in enumerate(main)}
    found: list[Entry] = []
    place = len(main) - 1
    while place >= 0:
        entry = main[place]
        found.append(entry)
        place = places.get(entry.parent or "", place - 1 if entry.parent else -1)
    found.reverse()
    return found


def _recorded(entry: Entry) -> Recorded:
    return Recorded(entry.event, at=entry.at)
