"""Talks: logs of agents that people talk with, by the folder they were held in.

Rule: what a talk belongs to stands in its first entry and is never guessed. A log in which nobody spoke is no talk.
"""

from collections.abc import Iterator, Mapping
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
REVIEW_SOURCE = "holdfast review"
LONGEST_TITLE = 80
FEW = 8
"""Entries that a log may have before anybody spoke in it."""


def begin_talk(
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


def talks_in(store: Store, root: Path, source: str = SOURCE) -> Iterator[LogInfo]:
    """The talks of a folder, the one that went on last first."""
    logs = (info for info in store.logs() if info.head.source == source)
    for info in sorted(logs, key=lambda one: (one.last_at or 0.0, one.head.id), reverse=True):
        if _root_of(store, info.head.id) == str(root) and _is_spoken_in(store, info):
            yield info


def newest_talk(store: Store, root: Path, source: str = SOURCE) -> str:
    """The log that `--continue` goes on with."""
    info = next(talks_in(store, root, source), None)
    if info is None:
        what = "review" if source == REVIEW_SOURCE else "talk"
        raise NotFound(
            f"there is no {what} in `{root}` to go on with",
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
