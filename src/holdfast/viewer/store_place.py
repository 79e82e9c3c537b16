"""The place of a store that other processes write to.

Rule: what is shown is the store that is there now. One that appears later is opened then; a file that was deleted
or replaced is let go.
"""

import threading
from contextlib import suppress
from pathlib import Path

from holdfast.errors import NotFound
from holdfast.store import open_read_only
from holdfast.store.protocol import WatchedStore
from holdfast.store_places import Place


class StorePlace:
    """**Contract:** may be asked from any thread."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None
        """Device and number of the file that is open. While it is, no other file can have them."""
        self._store: WatchedStore | None = None
        self._openings = 0

    def store(self) -> WatchedStore | None:
        """The store; None where there is none yet, or no longer."""
        with self._lock:
            file = _file_at(self.place)
            if self._store is None or file != self._file:
                self._let_go()
                # A file without its tables: the process that made it has just begun.
                with suppress(NotFound):
                    self._store, self._file = open_read_only(self.place), file
                    self._openings += 1
            return self._store

    def state(self) -> tuple[int, int]:
        """Differs once another process has changed, deleted or replaced the file; cheap to ask."""
        store = self.store()
        return (0, 0) if store is None else (self._openings, store.data_version())

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = self._file = None


def _file_at(place: Place) -> tuple[int, int] | None:
    """None where there is no file, as with a database, which has connections that come and go instead."""
    if not isinstance(place, Path):
        return None
    try:
        found = place.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)
