"""The sessions that can be looked at: logs of a store, and recordings that were read into memory.

Rule: reads only. A history is made when it is first asked for, and the last few are kept.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.errors import InputError, NotFound
from holdfast.events import AssistantReplied, Compacted, Entry, Folded, LogStarted, UsageReported
from holdfast.log import Log
from holdfast.messages import Usage, add_usage
from holdfast.models.catalogue import ModelLookup, request_cost
from holdfast.packing.counting.families import recorded_model
from holdfast.packing.profile import Profile
from holdfast.recall import whole_text
from holdfast.session_settings import SESSION, session_settings
from holdfast.store.protocol import LogInfo, Store
from holdfast.tokenizers import counter_for_model
from holdfast.viewer.history import RequestHistory, recorded_basis
from holdfast.views import path

KEPT = 6
"""Histories that are kept; that of ten thousand requests takes tens of megabytes."""

UNTOLD = (
    "The log does not name its profile and budget: others are used, so sizes may differ from what was sent."
)

ProfileLoader = Callable[[str, str], Profile]
"""A profile by its name and a budget, each empty for the default."""


class ListedSession(Struct, frozen=True):
    """A session in the list, as far as it is known without reading it."""

    id: str
    title: str
    source: str
    entries: int
    at: float | None
    last_at: float | None


class SessionFigures(Struct, frozen=True):
    """What a session amounts to. `tokens` are those of all prompts as reported; `priced` of the `requests` have a
    price. `off_path` requests were made on branches that were left."""

    model: str
    requests: int
    tokens: int
    dollars: float | None
    priced: int
    cache_read_share: float | None
    folds: int
    compactions: int
    off_path: int


class SessionLibrary:
    def __init__(self, stores: Sequence[Store], lookup: ModelLookup, load_profile: ProfileLoader) -> None:
        self._stores = stores
        self._lookup = lookup
        self._load_profile = load_profile
        self._histories: OrderedDict[tuple[str, str, str, str, int], RequestHistory] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self) -> list[ListedSession]:
        """All sessions, the most recently used first."""
        infos = [info for store in self._stores for info in store.logs()]
        infos.sort(key=lambda info: info.last_at or info.head.at or 0.0, reverse=True)
        return [_row(info) for info in infos]

    def row(self, id_: str) -> ListedSession:
        return _row(self._log(id_).info)

    def figures(self, id_: str) -> SessionFigures:
        entries = self._log(id_).entries()
        return _figures(entries, path(entries), self._lookup)

    def history(
        self, id_: str, shown: str = "recorded", profile: str = "", budget: str = ""
    ) -> RequestHistory:
        """The requests of a session: as recorded, or as a preview under a profile and a budget."""
        if shown not in ("recorded", "preview"):
            raise InputError(f"`{shown[:40]}` is neither `recorded` nor `preview`")
        log = self._log(id_)
        key = (log.id, shown, profile, budget, log.info.entries)
        with self._lock:
            if key not in self._histories:
                self._histories[key] = self._read(log, shown, profile, budget)
                while len(self._histories) > KEPT:
                    self._histories.popitem(last=False)
            self._histories.move_to_end(key)
            return self._histories[key]

    def text(self, id_: str, text_id: str) -> str:
        """A whole text of a session by the id that a cut names."""
        return whole_text(self._log(id_).store, text_id)[1]

    def _log(self, id_: str) -> Log:
        for store in self._stores:
            if any(info.head.id == id_ for info in store.logs()):
                return Log.open(store, id_)
        raise NotFound(f"there is no session `{id_[:100]}`")

    def _read(self, log: Log, shown: str, profile: str, budget: str) -> RequestHistory:
        entries = log.entries()
        basis = "preview" if shown == "preview" else recorded_basis(entries)
        started = entries[0].event if entries else None
        has_settings = isinstance(started, LogStarted) and SESSION in started.meta
        is_told = basis == "pack" and has_settings and not (profile or budget)
        kept = session_settings(log.store, log.id).profile if is_told else None
        counter = counter_for_model(recorded_model(on_path := path(entries)))
        return RequestHistory(
            basis,
            kept or self._load_profile(profile, budget),
            counter,
            self._lookup,
            on_path,
            UNTOLD if basis == "pack" and not is_told else "",
        )


def _row(info: LogInfo) -> ListedSession:
    head = info.head
    return ListedSession(head.id, head.title, head.source or head.origin, info.entries, head.at, info.last_at)


def _figures(entries: Sequence[Entry], on_path: Sequence[Entry], lookup: ModelLookup) -> SessionFigures:
    """From what the log says; nothing is packed for it."""
    requests = priced = 0
    usage, dollars = Usage(0), 0.0
    for event in (entry.event for entry in entries):
        requests += isinstance(event, AssistantReplied)
        if not isinstance(event, AssistantReplied | UsageReported) or event.usage is None:
            continue
        usage = add_usage(usage, event.usage)
        known = lookup(event.model)
        cost = request_cost(known, event.usage) if known else None
        priced += cost is not None
        dollars += cost or 0.0
    walked = sum(isinstance(entry.event, AssistantReplied) for entry in on_path)
    return SessionFigures(
        model=recorded_model(on_path),
        requests=requests,
        tokens=usage.prompt,
        dollars=dollars if priced else None,
        priced=priced,
        cache_read_share=usage.cache_read / usage.prompt if usage.prompt else None,
        folds=sum(isinstance(entry.event, Folded) for entry in on_path),
        compactions=sum(isinstance(entry.event, Compacted) for entry in on_path),
        off_path=sum(isinstance(e.event, AssistantReplied) for e in entries if not e.chain) - walked,
    )
