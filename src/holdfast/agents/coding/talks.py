"""Talks: logs of the coding agent, by the folder they were held in.

Rule: what a talk belongs to stands in its first entry and is never guessed. A log in which nobody spoke is no talk.
"""

from collections.abc import Iterator
from pathlib import Path

from holdfast.errors import NotFound, StoreError
from holdfast.events import LogStarted, UserSaid
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.store import Store
from holdfast.store.bodies import entry_of
from holdfast.store.protocol import LogInfo

SOURCE = "holdfast"
TASK_SOURCE = "holdfast task"
"""Of a sub-agent's log, which nobody goes on with by himself."""
LONGEST_TITLE = 80
FEW = 8
"""Entries that a log may have before anybody spoke in it."""


def begin_talk(store: Store, root: Path, *, title: str = "", model: str = "", redact: bool = True) -> str:
    """A new log for a talk in this folder."""
    meta: dict[str, Json] = {"root": str(root), "model": model}
    heading = " ".join(title.split())[:LONGEST_TITLE]
    log = Log.create(store, title=heading, source=SOURCE, meta=meta, redact=None if redact else str)
    return log.id


def talks_in(store: Store, root: Path) -> Iterator[LogInfo]:
    """The talks of a folder, the one that went on last first."""
    logs = (info for info in store.logs() if info.head.source == SOURCE)
    for info in sorted(logs, key=lambda one: (one.last_at or 0.0, one.head.id), reverse=True):
        if _root_of(store, info.head.id) == str(root) and _is_spoken_in(store, info):
            yield info


def newest_talk(store: Store, root: Path) -> str:
    """The log that `--continue` goes on with."""
    info = next(talks_in(store, root), None)
    if info is None:
        raise NotFound(
            f"there is no talk in `{root}` to go on with",
            hint="`holdfast logs` lists those of other folders; `holdfast resume ID` goes on with one",
        )
    return info.head.id


def find_talk(store: Store, name: str) -> str:
    """The log with this id, or whose id begins so."""
    return Log.open(store, name).id


def _root_of(store: Store, log: str) -> str:
    page = store.read(log, limit=1)
    try:
        started = entry_of(page.rows[0], page.texts).event if page.rows else None
    except StoreError:
        return ""  # a log that cannot be read hides no other
    return str(started.meta.get("root", "")) if isinstance(started, LogStarted) else ""


def _is_spoken_in(store: Store, info: LogInfo) -> bool:
    if info.entries > FEW:
        return True
    page = store.read(info.head.id)
    try:
        return any(isinstance(entry_of(row, page.texts).event, UserSaid) for row in page.rows)
    except StoreError:
        return True
