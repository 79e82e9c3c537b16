"""Words of texts and queries, exactly as a full-text index of SQLite has them.

Rule: SQLite splits, folds and cuts words for every store, so that the same words of a query find the same texts in
each, whatever Unicode says in another version.
"""

import sqlite3
import threading
from functools import partial

from holdfast.store.text_search import segmented

TOKENIZE = "unicode61 remove_diacritics 2"


class WordSplitter:
    """An index in memory that holds one text at a time. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # The longest words are cut by bytes, maybe in the middle of a character.
        self._db.text_factory = partial(str, encoding="utf-8", errors="replace")
        self._db.execute(
            f"CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = '{TOKENIZE}')"
        )
        self._db.execute("CREATE VIRTUAL TABLE places USING fts5vocab (words, 'instance')")

    def split(self, text: str) -> list[str]:
        """The words of a text, in their order."""
        with self._lock:
            self._db.execute("INSERT INTO words (rowid, text) VALUES (1, ?)", (segmented(text),))
            found = self._db.execute("SELECT term FROM places ORDER BY offset").fetchall()
            self._db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return [word for (word,) in found]

    def close(self) -> None:
        self._db.close()
