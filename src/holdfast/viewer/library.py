"""The sessions that can be looked at: logs of a store, and recordings that were read into memory.

Rule: reads only. A history is made when it is first asked for; the last few are kept, and grow with their logs.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from holdfast.errors import InputError, NotFound
from holdfast.events import Recorded, Recording
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.models.catalogue import ModelLookup
from holdfast.recall import whole_text
from holdfast.store import MemoryStore
from holdfast.store.protocol import LogInfo, Store
from holdfast.store.read_only import ReadOnlyStore
from holdfast.viewer.figures import FollowedFigures, SessionFigures
from holdfast.viewer.followed_history import FollowedHistory
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.history_plan import HistoryChoice, HistoryPlan, ProfileLoader, plan_history
from holdfast.viewer.money import fixed_prices, money_of
from holdfast.views import path

KEPT = 6
"""Histories that are kept; that of ten thousand requests takes tens of megabytes."""


class ListedSession(Struct, frozen=True):
    """A session in the list, as far as it is known without reading it."""

    id: str
    title: str
    source: str
    entries: int
    at: float | None
    last_at: float | None


class SessionLibrary:
    def __init__(self, stores: Sequence[Store], lookup: ModelLookup, load_profile: ProfileLoader) -> None:
        self._stores = stores
        self._lookup = lookup
        self._load_profile = load_profile
        self._histories: OrderedDict[tuple[str, HistoryChoice], FollowedHistory] = OrderedDict()
        self._figures: dict[str, FollowedFigures] = {}
        self._lock = threading.Lock()

    def rows(self) -> list[ListedSession]:
        """All sessions, the most recently used first."""
        infos = [info for store in self._stores for info in store.logs()]
        infos.sort(key=lambda info: info.last_at or info.head.at or 0.0, reverse=True)
        return [_row(info) for info in infos]

    @property
    def is_live(self) -> bool:
        """Whether another process may add to it; what was read into memory stays as it is."""
        return any(isinstance(store, ReadOnlyStore) for store in self._stores)

    def state(self) -> tuple[int, ...]:
        """Differs once another process has changed a store."""
        return tuple(store.data_version() for store in self._stores if isinstance(store, ReadOnlyStore))

    def row(self, id_: str) -> ListedSession:
        return _row(self._log(id_).info)

    def figures(self, id_: str) -> SessionFigures:
        log = self._log(id_)
        with self._lock:
            followed = self._figures.setdefault(log.id, FollowedFigures(log, self._lookup))
        return followed.current()

    def history(
        self, id_: str, shown: str = "recorded", profile: str = "", budget: str = ""
    ) -> RequestHistory:
        """The requests of a session: as recorded, or as a preview under a profile and a budget."""
        if shown not in ("recorded", "preview"):
            raise InputError(f"`{shown[:40]}` is neither `recorded` nor `preview`")
        log = self._log(id_)
        key = (log.id, HistoryChoice(shown, profile, budget))
        with self._lock:
            if key not in self._histories:
                self._histories[key] = FollowedHistory(
                    log, key[1], lookup=self._lookup, load_profile=self._load_profile
                )
                while len(self._histories) > KEPT:
                    self._histories.popitem(last=False)
            self._histories.move_to_end(key)
            followed = self._histories[key]
        # Without the lock: a long log takes a while, and other sessions need not wait for it.
        return followed.current()

    def redacted(self, id_: str) -> "SessionLibrary":
        """The sessions of one log without secrets. A store on disk has none; what was read into memory is read
        again, so that ids, which are made from texts, tell nothing about a secret either."""
        log = self._log(id_)
        if not isinstance(log.store, MemoryStore):
            return self
        entries, copy = log.entries(), MemoryStore()
        places = {entry.id: at for at, entry in enumerate(entries)}
        events = [
            Recorded(entry.event, entry.chain, entry.at, places.get(entry.parent or "")) for entry in entries
        ]
        Log.import_recording(copy, Recording("", "", tuple(events)))
        return SessionLibrary([copy], self._lookup, self._load_profile)

    def money(self, id_: str, prices: str = "", **choice: str) -> Json:
        """What a session cost: at the prices of the models that were asked, or at those of the model `prices`."""
        return self.money_of(id_, self.history(id_, **choice), prices)

    def money_of(self, id_: str, history: RequestHistory, prices: str = "") -> Json:
        entries = self._log(id_).entries()
        return money_of(history, entries, path(entries), self.prices(prices))

    def prices(self, name: str) -> ModelLookup:
        """The prices of every model, or those of one where it is named."""
        return fixed_prices(name, self._lookup) if name else self._lookup

    def text(self, id_: str, text_id: str) -> str:
        """A whole text of a session by the id that a cut names."""
        return whole_text(self._log(id_).store, text_id)[1]

    def _log(self, id_: str) -> Log:
        for store in self._stores:
            with suppress(NotFound):
                store.info(id_)
                return Log.open(store, id_)
        raise NotFound(f"there is no session `{id_[:100]}`")

    def plan(self, id_: str, shown: str = "recorded", profile: str = "", budget: str = "") -> HistoryPlan:
        """What a history would be made of, so that it can also be made elsewhere."""
        log = self._log(id_)
        choice, entries = HistoryChoice(shown, profile, budget), log.entries()
        return plan_history(log, entries, path(entries), choice, self._load_profile)


def _row(info: LogInfo) -> ListedSession:
    head = info.head
    return ListedSession(head.id, head.title, head.source or head.origin, info.entries, head.at, info.last_at)
