"""The sessions that can be looked at: logs of stores, and recordings in files and folders.

Rule: reads only. A history is made when it is first asked for; the last few are kept, and grow with their logs.
"""

import gc
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from holdfast.errors import InputError, NotFound
from holdfast.events import Recorded, Recording
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.models.catalogue import ModelLookup
from holdfast.recall import whole_text
from holdfast.store import MemoryStore
from holdfast.store.protocol import LogInfo, Store
from holdfast.viewer.figures import FollowedFigures, SessionFigures
from holdfast.viewer.followed_history import FollowedHistory
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.history_plan import HistoryChoice, HistoryPlan, ProfileLoader, plan_history
from holdfast.viewer.listed_session import ListedSession
from holdfast.viewer.money import fixed_prices, money_of
from holdfast.viewer.recorded_sessions import RecordedSessions, Stamp
from holdfast.viewer.store_place import StorePlace
from holdfast.views import path

KEPT = 6
"""Histories that are kept; that of ten thousand requests takes tens of megabytes."""


LONG = 2_000
"""Requests from which on a history is many objects."""


class SessionLibrary:
    def __init__(
        self,
        stores: Sequence[Store | StorePlace],
        lookup: ModelLookup,
        load_profile: ProfileLoader,
        recorded: RecordedSessions | None = None,
        hidden: Collection[str] = (),
    ) -> None:
        """`hidden` are ids of logs that are no sessions, and not listed."""
        self._sources = stores
        self.recorded = recorded or RecordedSessions(())
        self._hidden = hidden
        self._lookup = lookup
        self._load_profile = load_profile
        self._histories: OrderedDict[tuple[Log, HistoryChoice], FollowedHistory] = OrderedDict()
        self._opened: dict[tuple[Store, str], Log] = {}
        self._figures: dict[Log, FollowedFigures] = {}
        self._money: dict[tuple[str, str], tuple[object, Json]] = {}
        """By history and prices, with how far the history was."""
        self._recorded_figures: dict[str, tuple[Stamp, SessionFigures]] = {}
        self._lock = threading.Lock()

    def rows(self) -> list[ListedSession]:
        """All sessions, the most recently used first."""
        stored = (
            info for store in self._stores() for info in store.logs() if info.head.id not in self._hidden
        )
        return sorted(
            [*map(_row, stored), *self.recorded.rows()],
            key=lambda row: row.last_at or row.at or 0.0,
            reverse=True,
        )

    @property
    def is_live(self) -> bool:
        """Whether another process may add to it; what was read into memory stays as it is."""
        return any(isinstance(source, StorePlace) for source in self._sources)

    def state(self) -> tuple[tuple[int, int], ...]:
        """Differs once another process has changed a store."""
        return tuple(source.state() for source in self._sources if isinstance(source, StorePlace))

    def row(self, id_: str) -> ListedSession:
        log = self._stored_log(id_)
        return self.recorded.row(id_) if log is None else _row(log.info)

    def figures(self, id_: str) -> SessionFigures:
        log = self._stored_log(id_)
        if log is None:
            return self._figures_of_recording(id_)
        with self._lock:
            followed = self._figures.setdefault(log, FollowedFigures(log, self._lookup))
        return followed.current()

    def _figures_of_recording(self, id_: str) -> SessionFigures:
        stamp = self.recorded.stamp(id_)
        known = self._recorded_figures.get(id_)
        if known is None or known[0] != stamp:
            # A session that nobody has opened is read for its figures, and let go.
            log = self.recorded.log(id_, keep=False)
            known = self._recorded_figures[id_] = (stamp, FollowedFigures(log, self._lookup).current())
        return known[1]

    def history(
        self, id_: str, shown: str = "recorded", profile: str = "", budget: str = ""
    ) -> RequestHistory:
        """The requests of a session: as recorded, or as a preview under a profile and a budget."""
        if shown not in ("recorded", "preview"):
            raise InputError(f"`{shown[:40]}` is neither `recorded` nor `preview`")
        log = self._log(id_)
        # By the log itself: a file that has changed is another one.
        key = (log, HistoryChoice(shown, profile, budget))
        with self._lock:
            is_new = key not in self._histories
            if is_new:
                self._histories[key] = FollowedHistory(
                    log, key[1], lookup=self._lookup, load_profile=self._load_profile
                )
                while len(self._histories) > KEPT:
                    self._histories.popitem(last=False)
            self._histories.move_to_end(key)
            followed = self._histories[key]
        # Without the lock: a long log takes a while, and other sessions need not wait for it.
        history = followed.current()
        if is_new and len(history.requests) >= LONG:
            # Little beside reading it, and then the first look at its memory or money takes no longer than others.
            history.known_calls.of(history.transcript(len(history.requests)).items)
            self._money_of(history, "")
            _spare_collector()
        return history

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
        return self._money_of(self.history(id_, **choice), prices)

    def _money_of(self, history: RequestHistory, prices: str) -> Json:
        lookup = self.prices(prices)
        counts = len(history.requests), len(history.side_requests), len(history.elsewhere)
        # The usage of the last request may come after it.
        stamp = (*counts, history.requests[-1] if history.requests else None)
        known = self._money.get((history.id, prices))
        if known is None or known[0] != stamp:
            known = stamp, money_of(history, lookup)
            with self._lock:
                self._money[history.id, prices] = known
                if len(self._money) > KEPT:
                    del self._money[next(iter(self._money))]
        return known[1]

    def prices(self, name: str) -> ModelLookup:
        """The prices of every model, or those of one where it is named."""
        return fixed_prices(name, self._lookup) if name else self._lookup

    def text(self, id_: str, text_id: str) -> str:
        """A whole text of a session by the id that a cut names."""
        return whole_text(self._log(id_).store, text_id)[1]

    def _log(self, id_: str) -> Log:
        return self._stored_log(id_) or self.recorded.log(id_)

    def _stored_log(self, id_: str) -> Log | None:
        for store in self._stores():
            with suppress(NotFound):
                store.info(id_)
                # Opening looks through all ids for one that begins so: once is enough.
                key = (store, id_)
                return self._opened.get(key) or self._opened.setdefault(key, Log.open(store, id_))
        return None

    def _stores(self) -> Iterator[Store]:
        """Those that are there now."""
        for source in self._sources:
            store = source.store() if isinstance(source, StorePlace) else source
            if store is not None:
                yield store

    def plan(self, id_: str, shown: str = "recorded", profile: str = "", budget: str = "") -> HistoryPlan:
        """What a history would be made of, so that it can also be made elsewhere."""
        log = self._log(id_)
        choice, entries = HistoryChoice(shown, profile, budget), log.entries()
        return plan_history(log, entries, path(entries), choice, self._load_profile)


def _spare_collector() -> None:
    """Leave all that was read out of later garbage collections: to go through a history of ten thousand requests
    takes a tenth of a second, in which no page gets an answer. What was left out before is looked at once more."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _row(info: LogInfo) -> ListedSession:
    head = info.head
    return ListedSession(head.id, head.title, head.source or head.origin, info.entries, head.at, info.last_at)
