"""The store on disk, opened for reading only, as a server needs it that others may ask.

Rule: the file is never changed; SQLite itself refuses every write. Texts that no search has indexed yet are indexed
in memory, so that they are found all the same.
"""

import os
import threading
from pathlib import Path

from holdfast.store.sqlite import SqliteStore
from holdfast.store.sqlite_file import named_errors, open_to_read
from holdfast.store.text_compression import unpacked
from holdfast.store.text_search import segmented

_RECENT = """
CREATE VIRTUAL TABLE temp.recent_words
USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2')
"""


class ReadOnlyStore(SqliteStore):
    """What other processes append is seen; `create`, `append`, `put` and `delete` raise StoreError."""

    _indexes = ("words", "recent_words")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.place = Path(path)
        self._lock = threading.RLock()
        self._db = open_to_read(self.place)
        self._db.execute(_RECENT)
        self._recent: dict[int, str] = {}
        """The texts that are indexed in memory: ids by number."""

    def data_version(self) -> int:
        """A number that differs once another process has changed the file; cheap to ask."""
        with self._lock, named_errors(self.place):
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def _index(self) -> None:
        with self._transaction("BEGIN") as db:
            rows = db.execute("SELECT a.n, a.id FROM unindexed u JOIN artifacts a ON a.n = u.artifact")
            waiting = dict(rows.fetchall())
            if not self._recent.items() <= waiting.items():
                # Another process has indexed or deleted some of them.
                db.execute("DROP TABLE recent_words")
                db.execute(_RECENT)
                self._recent = {}
            for number in waiting.keys() - self._recent.keys():
                (text,) = db.execute("SELECT text FROM artifacts WHERE n = ?", (number,)).fetchone()
                db.execute(
                    "INSERT INTO recent_words (rowid, text) VALUES (?, ?)",
                    (number, segmented(unpacked(text))),
                )
                self._recent[number] = waiting[number]
