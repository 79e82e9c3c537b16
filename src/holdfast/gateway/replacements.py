"""What is sent in place of results that were too large when they came. It is kept for ever.

Rule: a replacement is stored before it is sent, and from then on it is sent byte for byte wherever the same result
of the same call comes again: in a later request, in another session that continues this one, after a restart, in
another version. So it is a log of its own: what every request must know, no single conversation can keep.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from msgspec import Struct

from holdfast.errors import InputError, NotFound
from holdfast.events import Event, Noted
from holdfast.gateway.result_texts import ResultText
from holdfast.gateway.settings import REPLACEMENTS
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.store import Store
from holdfast.wire.foreign_json import count

REPLACED, WITHDRAWN = "replaced", "withdrawn"
SHORTEST_RESULT = 2_000
"""Characters of the shortest result that may be replaced: shorter ones need not be looked up."""


class Replacement(Struct, frozen=True):
    """What is sent in place of a result, how many tokens that saves, and when it was stored."""

    text: str
    saved: int
    at: float = 0.0


class Replacements:
    """All replacements of a store, from any thread and, one after the other, from several processes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._log: Log | None = None
        self._by_key: dict[str, Replacement] = {}
        self._seq = 0
        self._lock = Lock()
        self._catch_up()

    @property
    def have_begun(self) -> bool:
        """Whether the log is there. It is made before any request is changed."""
        return self._log is not None

    def get(self, result: ResultText) -> Replacement | None:
        """What is sent in place of a result, if it was ever replaced."""
        if len(result.text) < SHORTEST_RESULT:
            return None
        with self._lock:
            return self._by_key.get(result_key(result.call_id, result.text))

    def catch_up(self) -> bool:
        """Take in what other processes replaced meanwhile; whether that was anything."""
        with self._lock:
            known = self._seq
            self._catch_up()
            return self._seq > known

    def add(
        self, result: ResultText, new: Replacement, is_waited_for: Callable[[], bool] = lambda: True
    ) -> Replacement | None:
        """Store what is sent in place of a result, and return it; None where the store would change it, because
        something in it looks like a secret. A store may be slow: where the request is not waited for any more when
        it is stored, the result was sent whole, and what was stored is withdrawn."""
        assert len(result.text) >= SHORTEST_RESULT, "short results stay as they are"
        key = result_key(result.call_id, result.text)
        event = Noted(REPLACED, new.text, {"key": key, "saved": new.saved})
        with self._lock:
            log = self._log or self.begin()
            if log.stored(event) != event:
                return None
            log.append(event)
            if not is_waited_for():
                log.append(_withdrawn(key))
            self._catch_up()
            # If two processes replaced it at once, the first one counts for both.
            return self._by_key.get(key)

    def withdraw(self, result: ResultText) -> None:
        """Forget a replacement that was stored and never sent."""
        with self._lock:
            if self._log is not None:
                self._log.append(_withdrawn(result_key(result.call_id, result.text)))
                self._catch_up()

    def begin(self) -> Log:
        """Make the log, if there is none: that it is there says that requests may have to be changed."""
        # Another gateway may make it at this moment.
        with suppress(InputError):
            Log.create(self._store, id=REPLACEMENTS, title="What the gateway sent in place of results")
        self._log = Log.open(self._store, REPLACEMENTS)
        return self._log

    def _catch_up(self) -> None:
        if self._log is None:
            try:
                self._store.info(REPLACEMENTS)
            except NotFound:
                return
            self._log = Log.open(self._store, REPLACEMENTS)
        for entry in self._log.entries(self._seq):
            self._seq = entry.seq
            event: Event = entry.event
            if isinstance(event, Noted) and event.kind == REPLACED:
                found = Replacement(event.text, count(event.data.get("saved")), entry.at or 0.0)
                self._by_key.setdefault(str(event.data.get("key")), found)
            elif isinstance(event, Noted) and event.kind == WITHDRAWN:
                self._by_key.pop(str(event.data.get("key")), None)


def _withdrawn(key: str) -> Noted:
    return Noted(WITHDRAWN, "", {"key": key})


def result_key(call_id: str, text: str) -> str:
    """What a result is found by: a client may give results of two sessions the same id."""
    return text_id(f"{call_id}\n{text}")
