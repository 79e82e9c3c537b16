"""Talks: logs of agents that people talk with, by the folder they were held in.

Rule: what a talk belongs to stands in its first entry and is never guessed. A log in which nobody spoke is no talk.
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
    Event,
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
"""Of a sub-agent's log, which nobody goes on with by himself."""
REVIEW_SOURCE = "holdfast review"
LONGEST_TITLE = 80
FEW = 8
"""Entries that a log may have before anybody spoke in it."""


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
    """A new log for a talk in this folder. `source` says with whom, `meta` what else is to be known of it."""
    about: dict[str, Json] = {"root": str(root), "model": model, **(meta or {})}
    heading = " ".join(title.split())[:LONGEST_TITLE]
    log = Log.create(store, title=heading, source=source, meta=about, redact=None if redact else str)
    return log.id


def sessions_in(store: Store, root: Path, source: str = SOURCE) -> Iterator[LogInfo]:
    """The talks of a folder, the one that went on last first."""
    logs = (info for info in store.logs() if info.head.source == source)
    for info in sorted(logs, key=lambda one: (one.last_at or 0.0, one.head.id), reverse=True):
        if _root_of(store, info.head.id) == str(root) and _is_spoken_in(store, info):
            yield info


def newest_session(store: Store, root: Path, source: str = SOURCE) -> str:
    """The log that `--continue` goes on with."""
    info = next(sessions_in(store, root, source), None)
    if info is None:
        what = "review" if source == REVIEW_SOURCE else "talk"
        raise NotFound(
            f"there is no {what} in `{root}` to go on with",
            hint="`holdfast logs` lists those of other folders; `holdfast resume ID` goes on with one",
        )
    return info.head.id


def find_session(store: Store, name: str) -> str:
    """The log with this id, or whose id begins so."""
    return Log.open(store, name).id


def _root_of(store: Store, log: str) -> str:
    page = store.read(log, limit=1)
    try:
        started = decode_entry(page.rows[0], page.texts).event if page.rows else None
    except StoreError:
        return ""  # a log that cannot be read hides no other
    return str(started.meta.get("root", "")) if isinstance(started, LogStarted) else ""


def _is_spoken_in(store: Store, info: LogInfo) -> bool:
    if info.entries > FEW:
        return True
    page = store.read(info.head.id)
    try:
        return any(isinstance(decode_entry(row, page.texts).event, UserSaid) for row in page.rows)
    except StoreError:
        return True


# The talks of a folder, read: what they were about, how long they are, and where words were said.
#
# Rule: a talk belongs to the folder that its first entry names, and is listed by what is in its log; nothing is kept
# beside the store. A log that cannot be read hides no other.

ROOT, COPIED, PARENT = "root", "copied", "parent"
"""In the `meta` of a log's first entry: its folder, how many entries behind it a fork brought along, and, of a
sub-agent's log, the log that it worked for."""

TITLE = 72
MOST_HITS = 60
"""Texts of a talk that a search looks at: the prompt and the tools, which every talk has, may be found first."""


class StoredSession(Struct, frozen=True):
    """A log as a person knows it. `trouble` is why it cannot be read, if so."""

    id: str
    title: str = ""
    rounds: int = 0
    last_at: float | None = None
    forked_from: str = ""
    entries: tuple[Entry, ...] = ()
    trouble: str = ""


class SessionMatch(Struct, frozen=True):
    """A talk in which words were said: how many of them stand in one text, and the line that says most."""

    log: str
    words: int
    line: str


def read_start(store: Store, log: str) -> LogStarted:
    """The first entry of a log; an empty one where it cannot be read."""
    page = store.read(log, limit=1)
    try:
        first = decode_entry(page.rows[0], page.texts).event if page.rows else None
    except StoreError:
        first = None
    return first if isinstance(first, LogStarted) else LogStarted()


def session_folder(store: Store, log: str) -> str:
    """The folder that a log belongs to; empty if it is no talk of this agent."""
    root = read_start(store, log).meta.get(ROOT)
    return root if isinstance(root, str) else ""


def count_copied(entries: Sequence[Entry]) -> int:
    """How many entries from the first one on say nothing that happened in this log."""
    first = entries[0].event if entries else None
    count: Json = first.meta.get(COPIED, 0) if isinstance(first, LogStarted) else 0
    return count + 1 if isinstance(count, int) and count > 0 else 0


def logs_in_folder(store: Store, root: str) -> list[LogInfo]:
    """The logs of a folder, the one that was used last first; also those in which nobody spoke yet."""
    own = (info for info in store.logs() if info.head.source == SOURCE)
    infos = [info for info in own if session_folder(store, info.head.id) == root]
    return sorted(infos, key=lambda info: info.last_at or 0.0, reverse=True)


def sub_agent_logs(store: Store) -> dict[str, list[str]]:
    """The logs of sub-agents, by the log that they worked for."""
    found: dict[str, list[str]] = {}
    for info in store.logs():
        if info.head.source == TASK_SOURCE:
            parent = read_start(store, info.head.id).meta.get(PARENT)
            found.setdefault(str(parent), []).append(info.head.id)
    return found


def sub_agents_of(log: str, by_log: Mapping[str, Sequence[str]]) -> list[str]:
    """The logs of all sub-agents that worked for one, and of those that worked for them."""
    return [id_ for task in by_log.get(log, ()) for id_ in (task, *sub_agents_of(task, by_log))]


def read_entries(store: Store, log: str) -> list[Entry]:
    """The entries of a log; none where it cannot be read."""
    try:
        return _entries(store.read(log))
    except StoreError:
        return []


def read_session(store: Store, info: LogInfo) -> StoredSession:
    """A log read whole: what it was about and how long it is."""
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


def first_words(text: str, most: int = TITLE) -> str:
    """The beginning of a text on one line."""
    words = " ".join(text[: most * 8].split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def search_sessions(store: Store, logs: Sequence[str], query: str) -> list[SessionMatch]:
    """The talks in which all words of a query were said, or else the most of them, in the order given."""
    hits = [hit for log in logs if (hit := _best(store, log, query))]
    most = max((hit.words for hit in hits), default=0)
    return [hit for hit in hits if hit.words == most]


def _best(store: Store, log: str, query: str) -> SessionMatch | None:
    """Of the texts that were said or returned in a log, the one with the most words of a query."""
    asked = folded_phrases(query)
    best: SessionMatch | None = None
    for found in store.search(query, log=log, limit=MOST_HITS):
        if not found.entry or not _is_said(store, found.entry):
            continue
        text = store.text(found.artifact)
        words = count_phrases(text, asked)
        if words and (best is None or words > best.words):
            line = max(text.splitlines(), key=lambda one: count_phrases(one, asked))
            best = SessionMatch(log, words, first_words(line))
    return best


def _is_said(store: Store, entry: str) -> bool:
    try:
        event = _entries(store.entry(entry))[0].event
    except StoreError:
        return False
    return isinstance(event, UserSaid | AssistantReplied | ToolReturned)


def _entries(page: EntryPage) -> list[Entry]:
    return [decode_entry(row, page.texts) for row in page.rows]


# A talk whose log is damaged: what can be read goes on in a new log, and what cannot is named.
#
# Rule: the damaged log is left as it is. Nothing is filled in: where something is missing, the model is told so.

DAMAGE = "damage"
REFERRING = (LogStarted, Folded, Compacted, CompactionFailed, Undone, Rewound)
"""Events that speak of their own log or its entries: in another they mean nothing, and folds are made anew."""
NAMED = 10
"""Entries that are named to the person."""


class SalvagedLog(Struct, frozen=True):
    log: str
    note: str = ""


def salvage_log(store: Store, log: str) -> SalvagedLog:
    """The log itself where all of it can be read, else a new one with what can."""
    page = store.read(log)
    lost = set(range(1, page.rows[-1].seq)) - {row.seq for row in page.rows}
    entries = [_readable(row, page, lost) for row in page.rows]
    if not lost:
        return SalvagedLog(log)
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
    return SalvagedLog(
        new.id, f"log `{log}` is damaged (entries {numbers}); what can be read goes on as `{new.id}`"
    )


def _readable(row: EntryRow, page: EntryPage, lost: set[int]) -> Entry:
    """A row as an entry; in place of one that is lost, which is noted, a remark."""
    try:
        return decode_entry(row, page.texts)
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
