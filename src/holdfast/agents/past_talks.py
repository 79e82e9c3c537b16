"""The talks of a folder, read: what they were about, how long they are, and where words were said.

Rule: a talk belongs to the folder that its first entry names, and is listed by what is in its log; nothing is kept
beside the store. A log that cannot be read hides no other.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from holdfast.agents.coding.talks import SOURCE, TASK_SOURCE
from holdfast.errors import StoreError
from holdfast.events import AssistantReplied, Entry, LogStarted, ToolReturned, UserSaid
from holdfast.messages import Json, joined_text
from holdfast.store import LogInfo, Store
from holdfast.store.bodies import entry_of
from holdfast.store.protocol import Page
from holdfast.store.words import score, wanted
from holdfast.views import Transcript, path

ROOT, COPIED, PARENT = "root", "copied", "parent"
"""In the `meta` of a log's first entry: its folder, how many entries behind it a fork brought along, and, of a
sub-agent's log, the log that it worked for."""

TITLE = 72
MOST_HITS = 60
"""Texts of a talk that a search looks at: the prompt and the tools, which every talk has, may be found first."""


class Talk(Struct, frozen=True):
    """A log as a person knows it. `trouble` is why it cannot be read, if so."""

    id: str
    title: str = ""
    rounds: int = 0
    last_at: float | None = None
    forked_from: str = ""
    entries: tuple[Entry, ...] = ()
    trouble: str = ""


class Hit(Struct, frozen=True):
    """A talk in which words were said: how many of them stand in one text, and the line that says most."""

    log: str
    words: int
    line: str


def started_in(store: Store, log: str) -> LogStarted:
    """The first entry of a log; an empty one where it cannot be read."""
    page = store.read(log, limit=1)
    try:
        first = entry_of(page.rows[0], page.texts).event if page.rows else None
    except StoreError:
        first = None
    return first if isinstance(first, LogStarted) else LogStarted()


def folder_of(store: Store, log: str) -> str:
    """The folder that a log belongs to; empty if it is no talk of this agent."""
    root = started_in(store, log).meta.get(ROOT)
    return root if isinstance(root, str) else ""


def copied_by(entries: Sequence[Entry]) -> int:
    """How many entries from the first one on say nothing that happened in this log."""
    first = entries[0].event if entries else None
    count: Json = first.meta.get(COPIED, 0) if isinstance(first, LogStarted) else 0
    return count + 1 if isinstance(count, int) and count > 0 else 0


def logs_of(store: Store, root: str) -> list[LogInfo]:
    """The logs of a folder, the one that was used last first; also those in which nobody spoke yet."""
    own = (info for info in store.logs() if info.head.source == SOURCE)
    infos = [info for info in own if folder_of(store, info.head.id) == root]
    return sorted(infos, key=lambda info: info.last_at or 0.0, reverse=True)


def tasks_by_log(store: Store) -> dict[str, list[str]]:
    """The logs of sub-agents, by the log that they worked for."""
    found: dict[str, list[str]] = {}
    for info in store.logs():
        if info.head.source == TASK_SOURCE:
            parent = started_in(store, info.head.id).meta.get(PARENT)
            found.setdefault(str(parent), []).append(info.head.id)
    return found


def tasks_of(log: str, by_log: Mapping[str, Sequence[str]]) -> list[str]:
    """The logs of all sub-agents that worked for one, and of those that worked for them."""
    return [id_ for task in by_log.get(log, ()) for id_ in (task, *tasks_of(task, by_log))]


def entries_of(store: Store, log: str) -> list[Entry]:
    """The entries of a log; none where it cannot be read."""
    try:
        return _entries(store.read(log))
    except StoreError:
        return []


def read_talk(store: Store, info: LogInfo) -> Talk:
    """A log read whole: what it was about and how long it is."""
    id_ = info.head.id
    try:
        entries = _entries(store.read(id_))
    except StoreError as error:
        return Talk(id_, trouble=error.message, last_at=info.last_at)
    on_path = path(entries)
    started = entries[0].event
    return Talk(
        id_,
        title=info.head.title or title_of(on_path),
        rounds=len(Transcript(on_path).rounds),
        last_at=info.last_at,
        forked_from=started.forked_from if isinstance(started, LogStarted) else "",
        entries=tuple(entries),
    )


def title_of(entries: Sequence[Entry]) -> str:
    """The first words that a person said."""
    spoken = (e.event for e in entries if isinstance(e.event, UserSaid) and e.event.origin == "person")
    return next((words for said in spoken if (words := first_words(joined_text(said.parts)))), "")


def first_words(text: str, most: int = TITLE) -> str:
    """The beginning of a text on one line."""
    words = " ".join(text[: most * 8].split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def search_talks(store: Store, logs: Sequence[str], query: str) -> list[Hit]:
    """The talks in which all words of a query were said, or else the most of them, in the order given."""
    hits = [hit for log in logs if (hit := _best(store, log, query))]
    most = max((hit.words for hit in hits), default=0)
    return [hit for hit in hits if hit.words == most]


def _best(store: Store, log: str, query: str) -> Hit | None:
    """Of the texts that were said or returned in a log, the one with the most words of a query."""
    asked = wanted(query)
    best: Hit | None = None
    for found in store.search(query, log=log, limit=MOST_HITS):
        if not found.entry or not _is_said(store, found.entry):
            continue
        text = store.text(found.artifact)
        words = score(text, asked)
        if words and (best is None or words > best.words):
            line = max(text.splitlines(), key=lambda one: score(one, asked))
            best = Hit(log, words, first_words(line))
    return best


def _is_said(store: Store, entry: str) -> bool:
    try:
        event = _entries(store.entry(entry))[0].event
    except StoreError:
        return False
    return isinstance(event, UserSaid | AssistantReplied | ToolReturned)


def _entries(page: Page) -> list[Entry]:
    return [entry_of(row, page.texts) for row in page.rows]
