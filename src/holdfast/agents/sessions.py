"""Stored sessions: how they are begun, found, listed, searched, and salvaged from a damaged log.

Rule: a session belongs to the folder that the first entry of its log names; nothing is kept beside the store. A log
in which nobody spoke is no session, and a log that cannot be read hides no other.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.errors import NotFound, StoreError
from holdfast.events import (
    AssistantReplied,
    Compacted,
    CompactionFailed,
    Entry,
    Folded,
    LogStarted,
    Noted,
    Recorded,
    Rewound,
    ToolReturned,
    Undone,
    UserSaid,
)
from holdfast.log import Log
from holdfast.messages import Json, Text, joined_text
from holdfast.store import Store
from holdfast.store.encoding import decode_entry
from holdfast.store.protocol import EntryPage, EntryRow, LogInfo
from holdfast.store.text_search import count_phrases, folded_phrases
from holdfast.views import Transcript, path

SOURCE = "holdfast"
TASK_SOURCE = "holdfast task"
"""The source of a sub-agent's log, which is never resumed by itself."""
REVIEW_SOURCE = "holdfast review"
ROOT, COPIED, PARENT = "root", "copied", "parent"
"""Keys in the `meta` of a log's first entry: its folder, how many of the next entries were copied by a fork, and,
of a sub-agent's log, the log of its parent."""
LONGEST_TITLE = 80
SHOWN_TITLE = 72
FIRST_ENTRIES = 8
"""A log with more entries than this has surely been spoken in."""
MOST_MATCHES = 60
"""How many texts of a session a search looks at: the prompt and the tools, which all have, may come first."""
DAMAGE = "damage"
REFERRING = (LogStarted, Folded, Compacted, CompactionFailed, Undone, Rewound)
"""Events that refer to entries of their own log. They mean nothing in another, where folds are made again."""
MOST_NAMED = 10
"""How many damaged entries are named to the person."""


class StoredSession(Struct, frozen=True):
    """A log as a person knows it. `trouble` says why it cannot be read."""

    id: str
    title: str = ""
    rounds: int = 0
    last_at: float | None = None
    forked_from: str = ""
    entries: tuple[Entry, ...] = ()
    trouble: str = ""


ReadableLog = tuple[str, tuple[str, ...]]
"""A log that can be read, and what the person should know of it."""


def begin_session(
    store: Store,
    root: Path,
    *,
    title: str = "",
    model: str = "",
    redact: bool = True,
    source: str = SOURCE,
    meta: Mapping[str, Json] | None = None,
) -> str:
    """A new log for a session in this folder. `source` says which agent it is with."""
    about: dict[str, Json] = {ROOT: str(root), "model": model, **(meta or {})}
    heading = " ".join(title.split())[:LONGEST_TITLE]
    log = Log.create(store, title=heading, source=source, meta=about, redact=None if redact else str)
    return log.id


def logs_in_folder(store: Store, root: str, source: str = SOURCE) -> Iterator[LogInfo]:
    """The logs of a folder, the most recently used first; also those in which nobody spoke yet."""
    return (info for info in _newest_first(store, source) if session_folder(store, info.head.id) == root)


def _newest_first(store: Store, source: str) -> list[LogInfo]:
    logs = (info for info in store.logs() if info.head.source == source)
    return sorted(logs, key=lambda one: (one.last_at or 0.0, one.head.id), reverse=True)


def sessions_in(store: Store, root: Path, source: str = SOURCE) -> Iterator[LogInfo]:
    """The sessions of a folder, the most recently used first."""
    return (info for info in logs_in_folder(store, str(root), source) if _is_spoken_in(store, info))


def all_sessions(store: Store, source: str = SOURCE) -> Iterator[LogInfo]:
    """The sessions of all folders, the most recently used first."""
    return (info for info in _newest_first(store, source) if _is_spoken_in(store, info))


def newest_session(store: Store, root: Path, source: str = SOURCE) -> str:
    """The log that `--continue` resumes."""
    info = next(sessions_in(store, root, source), None)
    if info is None:
        what = "review" if source == REVIEW_SOURCE else "session"
        raise NotFound(
            f"there is no {what} in `{root}` to resume",
            hint="`holdfast logs` lists those of other folders; `holdfast resume ID` resumes one",
        )
    return info.head.id


def resume_session(store: Store, root: Path, name: str = "", source: str = SOURCE) -> ReadableLog:
    """The session with this id, or with an id that begins like this; without a name, the newest of the folder."""
    log = Log.open(store, name).id if name else newest_session(store, root, source)
    return salvage_log(store, log)


def _is_spoken_in(store: Store, info: LogInfo) -> bool:
    if info.entries > FIRST_ENTRIES:
        return True
    try:
        return any(isinstance(entry.event, UserSaid) for entry in _entries(store.read(info.head.id)))
    except StoreError:
        return True


def read_start(store: Store, log: str) -> LogStarted:
    """The first event of a log; an empty one if it cannot be read."""
    page = store.read(log, limit=1)
    try:
        first = decode_entry(page.rows[0], page.texts).event if page.rows else None
    except StoreError:
        first = None
    return first if isinstance(first, LogStarted) else LogStarted()


def session_folder(store: Store, log: str) -> str:
    """The folder that a log belongs to; empty if the log was not written by an agent."""
    root = read_start(store, log).meta.get(ROOT)
    return root if isinstance(root, str) else ""


def count_copied(entries: Sequence[Entry]) -> int:
    """How many entries at the beginning of a log were copied from another, its first entry included; 0 if none."""
    first = entries[0].event if entries else None
    count: Json = first.meta.get(COPIED, 0) if isinstance(first, LogStarted) else 0
    return count + 1 if isinstance(count, int) and count > 0 else 0


def read_entries(store: Store, log: str) -> list[Entry]:
    """The entries of a log; none if it cannot be read."""
    try:
        return _entries(store.read(log))
    except StoreError:
        return []


def read_session(store: Store, info: LogInfo) -> StoredSession:
    """Read a whole log: what it is about and how long it is."""
    id_ = info.head.id
    try:
        entries = _entries(store.read(id_))
    except StoreError as error:
        return StoredSession(id_, trouble=error.message, last_at=info.last_at)
    on_path = path(entries)
    started = entries[0].event
    return StoredSession(
        id_,
        title=info.head.title or session_title(on_path),
        rounds=len(Transcript(on_path).rounds),
        last_at=info.last_at,
        forked_from=started.forked_from if isinstance(started, LogStarted) else "",
        entries=tuple(entries),
    )


def session_title(entries: Sequence[Entry]) -> str:
    """The first words that a person said."""
    spoken = (e.event for e in entries if isinstance(e.event, UserSaid) and e.event.origin == "person")
    return next((words for said in spoken if (words := first_words(joined_text(said.parts)))), "")


def first_words(text: str, most: int = SHOWN_TITLE) -> str:
    """The beginning of a text on one line."""
    words = " ".join(text[: most * 8].split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def search_sessions(store: Store, logs: Sequence[str], query: str) -> dict[str, str]:
    """The sessions with the most words of a query in one text, in the order given, each with the line that has the
    most of them."""
    matches = {log: _best_match(store, log, query) for log in logs}
    most = max((words for words, _ in matches.values()), default=0)
    return {log: line for log, (words, line) in matches.items() if words == most > 0}


def _best_match(store: Store, log: str, query: str) -> tuple[int, str]:
    """The most words of a query in one text, among those that were said or returned in a log, and the line."""
    asked = folded_phrases(query)
    best, best_line = 0, ""
    for found in store.search(query, log=log, limit=MOST_MATCHES):
        if not found.entry or not _is_said(store, found.entry):
            continue
        text = store.text(found.artifact)
        words = count_phrases(text, asked)
        if words > best:
            line = max(text.splitlines(), key=lambda one: count_phrases(one, asked))
            best, best_line = words, first_words(line)
    return best, best_line


def _is_said(store: Store, entry: str) -> bool:
    try:
        event = _entries(store.entry(entry))[0].event
    except StoreError:
        return False
    return isinstance(event, UserSaid | AssistantReplied | ToolReturned)


def _entries(page: EntryPage) -> list[Entry]:
    return [decode_entry(row, page.texts) for row in page.rows]


def salvage_log(store: Store, log: str) -> ReadableLog:
    """The log itself if all of it can be read, else a new log with the part that can. The damaged log stays as it
    is. Nothing is filled in: the model is told that something is missing."""
    page = store.read(log)
    lost = set(range(1, page.rows[-1].seq)) - {row.seq for row in page.rows}
    entries = [_readable(row, page, lost) for row in page.rows]
    if not lost:
        return log, ()
    started = entries[0].event
    head = store.info(log).head
    meta = {**(started.meta if isinstance(started, LogStarted) else {}), "salvaged_from": log}
    new = Log.create(store, title=head.title, source=head.source, forked_from=entries[-1].id, meta=meta)
    said = (
        f"{len(lost)} of {page.rows[-1].seq} entries of this conversation's log are damaged and missing here."
    )
    kept = [
        Recorded(entry.event, at=entry.at)
        for entry in _path_over_gaps(entries)
        if not isinstance(entry.event, REFERRING)
    ]
    reminder = UserSaid((Text(f"[holdfast: {said} Look before you rely on it.]"),), "reminder")
    new.append_all([*kept, reminder])
    numbers = ", ".join(map(str, sorted(lost)[:MOST_NAMED])) + (" …" if len(lost) > MOST_NAMED else "")
    note = f"log `{log}` is damaged (entries {numbers}); the readable part continues as `{new.id}`"
    return new.id, (note,)


def _readable(row: EntryRow, page: EntryPage, lost: set[int]) -> Entry:
    """A row as an entry. One that cannot be read is added to `lost`, and a note stands in its place."""
    try:
        return decode_entry(row, page.texts)
    except StoreError as error:
        lost.add(row.seq)
        return Entry(row.id, row.log, row.seq, row.parent, Noted(DAMAGE, error.message), row.chain, row.at)


def _path_over_gaps(entries: list[Entry]) -> list[Entry]:
    """The path of the main chain. At a gap it continues with the entry that was written before."""
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
