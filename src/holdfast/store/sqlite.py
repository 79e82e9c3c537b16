"""The default store: one SQLite file in WAL mode.

Rule: one write is one transaction, begun with `BEGIN IMMEDIATE`, so that two processes queue instead of failing.
`synchronous = NORMAL`: a killed process loses nothing that was acknowledged, and a write costs no fsync; only a
power cut may lose the newest entries, and never damages the file.
"""

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from holdfast.errors import NotFound, StoreError
from holdfast.store.event_redaction import valid_unicode
from holdfast.store.protocol import (
    Artifact,
    EntryDraft,
    EntryPage,
    EntryRow,
    LogHead,
    LogInfo,
    LogSize,
    ResolvedId,
    SearchHit,
    StoreSize,
    pick_id,
    place_drafts,
)
from holdfast.store.sqlite_file import named_errors, open_database, transaction
from holdfast.store.text_compression import SHORTEST, packed, unpacked
from holdfast.store.text_search import phrases, segmented

INDEXED_AT_ONCE = 200
"""Texts per transaction when search catches up: about 50 ms at 4 kB each."""

COMPRESSED_AT_ONCE = 1_000

_INFO = """
SELECT l.id, l.title, l.source, l.origin, l.schema, l.at, e.seq, e.at
FROM logs l JOIN entries e ON e.log = l.n AND e.seq = (SELECT max(seq) FROM entries WHERE log = l.n)
"""
_ROWS = """
SELECT e.id, l.id, e.seq, e.parent, e.chain, e.at, CAST(e.body AS BLOB) FROM entries e JOIN logs l ON l.n = e.log
"""
_TEXTS = """
SELECT id, text FROM artifacts WHERE n IN (SELECT r.artifact FROM entries e JOIN refs r ON r.entry = e.n WHERE {})
"""
_SEARCH = """
SELECT bm25({0}), a.n, a.id FROM {0} JOIN artifacts a ON a.n = {0}.rowid
WHERE {0} MATCH :query AND (:log IS NULL OR EXISTS (
    SELECT 1 FROM refs r JOIN entries e ON e.n = r.entry WHERE r.artifact = a.n AND e.log = :log))
ORDER BY 1, a.n LIMIT :limit
"""
_REFERRER = """
SELECT l.id, e.id, e.seq FROM refs r JOIN entries e ON e.n = r.entry JOIN logs l ON l.n = e.log
WHERE r.artifact = :artifact AND (:log IS NULL OR e.log = :log) ORDER BY e.n LIMIT 1
"""
_ORPHANS = """
SELECT DISTINCT a.n, a.kind, a.text FROM entries e JOIN refs r ON r.entry = e.n JOIN artifacts a ON a.n = r.artifact
WHERE e.log = :log AND NOT EXISTS (
    SELECT 1 FROM refs o JOIN entries f ON f.n = o.entry WHERE o.artifact = a.n AND f.log <> :log)
"""
_PLAIN = """
SELECT n, text FROM artifacts WHERE n > :after AND typeof(text) = 'text' AND length(text) >= :shortest
ORDER BY n LIMIT :limit
"""
# The logs by how long they have been quiet, the texts each refers to, and of every text how many logs refer to it
# and which of them was active last.
_SIZES = """
WITH ranks AS (
    SELECT e.log AS log, row_number() OVER (ORDER BY coalesce(e.at, 0), e.log) AS rank, sum(b.bytes) AS bytes
    FROM (SELECT log, max(seq) AS seq, sum(length(body)) AS bytes FROM entries GROUP BY log) b
    JOIN entries e ON e.log = b.log AND e.seq = b.seq GROUP BY e.log),
used AS (SELECT DISTINCT e.log AS log, r.artifact AS artifact FROM refs r JOIN entries e ON e.n = r.entry),
texts AS (
    SELECT u.artifact AS artifact, length(CAST(a.text AS BLOB)) AS bytes, count(*) AS logs, max(r.rank) AS last
    FROM used u JOIN ranks r ON r.log = u.log JOIN artifacts a ON a.n = u.artifact GROUP BY u.artifact)
SELECT l.id, r.bytes + coalesce(sum(t.bytes), 0), r.bytes + coalesce(sum(t.bytes) FILTER (WHERE t.logs = 1), 0),
    r.bytes + coalesce(sum(t.bytes) FILTER (WHERE t.last = r.rank), 0)
FROM ranks r JOIN logs l ON l.n = r.log
LEFT JOIN used u ON u.log = r.log LEFT JOIN texts t ON t.artifact = u.artifact
GROUP BY r.log ORDER BY r.rank
"""
_IDS = """
SELECT 'log', id FROM logs WHERE id {0} UNION ALL SELECT 'entry', id FROM entries WHERE id {0}
UNION ALL SELECT 'artifact', id FROM artifacts WHERE id {0} LIMIT 6
"""


class SqliteStore:
    _indexes: tuple[str, ...] = ("words",)
    """The tables that are searched for words."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.place = Path(path)
        self._lock = threading.RLock()
        self._db = open_database(self.place)

    def create(self, head: LogHead, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        with self._transaction("BEGIN IMMEDIATE") as db:
            if _log_number(db, head.id) is not None:
                return ()
            (number,) = db.execute(
                "INSERT INTO logs (id, title, source, origin, schema, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING n",
                (head.id, head.title, head.source, head.origin, head.schema, head.at),
            ).fetchone()
            return _append(db, head.id, number, drafts)

    def append(self, log: str, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        with self._transaction("BEGIN IMMEDIATE") as db:
            return _append(db, log, _known_log(db, log), drafts)

    def read(self, log: str, since: int = 0, limit: int | None = None) -> EntryPage:
        with self._transaction("BEGIN") as db:
            span = (_known_log(db, log), since, -1 if limit is None else limit)
            rows = db.execute(
                f"{_ROWS} WHERE e.log = ? AND e.seq > ? ORDER BY e.seq LIMIT ?", span
            ).fetchall()
            last = rows[-1][2] if rows else since
            texts = db.execute(_TEXTS.format("e.log = ? AND e.seq > ? AND e.seq <= ?"), (*span[:2], last))
            return EntryPage(tuple(EntryRow(*row) for row in rows), _texts(texts))

    def entry(self, entry: str) -> EntryPage:
        with self._transaction("BEGIN") as db:
            row = db.execute(f"{_ROWS} WHERE e.id = ?", (entry,)).fetchone()
            if row is None:
                raise NotFound(f"no entry `{entry}` in the store")
            return EntryPage((EntryRow(*row),), _texts(db.execute(_TEXTS.format("e.id = ?"), (entry,))))

    def info(self, log: str) -> LogInfo:
        with self._transaction("BEGIN") as db:
            _known_log(db, log)
            return _info(db.execute(f"{_INFO} WHERE l.id = ?", (log,)).fetchone())

    def logs(self) -> tuple[LogInfo, ...]:
        with self._transaction("BEGIN") as db:
            return tuple(_info(row) for row in db.execute(f"{_INFO} ORDER BY l.n"))

    def delete(self, *logs: str) -> None:
        forgotten = [self._delete(log) for log in logs]
        if any(forgotten):
            with self._transaction("BEGIN IMMEDIATE") as db:
                # Until its segments are merged, the index only marks words as deleted.
                db.execute("INSERT INTO words (words) VALUES ('optimize')")

    def put(self, artifact: Artifact, log: str) -> None:
        with self._transaction("BEGIN IMMEDIATE") as db:
            number = _known_log(db, log)
            first = db.execute("SELECT min(n) FROM entries WHERE log = ?", (number,)).fetchone()[0]
            ref = (first, _put(db, artifact))
            db.execute("INSERT OR IGNORE INTO refs (entry, artifact) VALUES (?, ?)", ref)

    def text(self, artifact: str) -> str:
        with self._transaction("BEGIN") as db:
            row = db.execute("SELECT text FROM artifacts WHERE id = ?", (artifact,)).fetchone()
        if row is None:
            raise NotFound(f"no text `{artifact}` in the store")
        return unpacked(row[0])

    def search(self, query: str, *, log: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        quoted = [f'"{phrase}"' for phrase in phrases(query)]
        if not quoted:
            return ()
        self._index()
        with self._transaction("BEGIN") as db:
            scope = {"log": None if log is None else _known_log(db, log), "limit": limit}
            found = self._best(db, {"query": " AND ".join(quoted), **scope})
            if not found:
                found = self._best(db, {"query": " OR ".join(quoted), **scope})
            return tuple(_hit(db, number, id_, scope["log"]) for number, id_ in found[:limit])

    def resolve(self, prefix: str) -> ResolvedId:
        prefix = valid_unicode(prefix)
        with self._transaction("BEGIN") as db:
            exact = db.execute(_IDS.format("= :id"), {"id": prefix}).fetchall()
            # A range instead of LIKE: it uses the index, and `_` and `%` mean themselves.
            near = db.execute(_IDS.format("BETWEEN :id AND :id || char(1114111)"), {"id": prefix}).fetchall()
        return pick_id(prefix, [ResolvedId(*row) for row in exact], [ResolvedId(*row) for row in near])

    def size(self) -> StoreSize:
        with self._transaction("BEGIN") as db:
            pages, unused, page = (
                int(db.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
            logs = tuple(LogSize(*row) for row in db.execute(_SIZES))
        return StoreSize(pages * page, unused * page, logs)

    def vacuum(self) -> None:
        done = 0
        while done := self._compress(done):
            """In batches, so that writers need not wait long."""
        with self._lock, named_errors(self.place):
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def damage(self) -> tuple[str, ...]:
        with self._transaction("BEGIN") as db:
            said = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
        return () if said == ["ok"] else tuple(said)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _delete(self, log: str) -> bool:
        """Delete one log. Whether words of it are left in the index, marked as deleted."""
        with self._transaction("BEGIN IMMEDIATE") as db:
            number = _known_log(db, log)
            orphans = db.execute(_ORPHANS, {"log": number}).fetchall()
            forgotten = [_forget_words(db, orphan, text) for orphan, kind, text in orphans if kind == "text"]
            db.executemany("DELETE FROM artifacts WHERE n = ?", [(orphan,) for orphan, _, _ in orphans])
            db.execute("DELETE FROM refs WHERE entry IN (SELECT n FROM entries WHERE log = ?)", (number,))
            db.execute("DELETE FROM entries WHERE log = ?", (number,))
            db.execute("DELETE FROM logs WHERE n = ?", (number,))
        return any(forgotten)

    def _compress(self, after: int) -> int:
        """Compress some texts that an earlier version stored plain, after that number; the number of the last."""
        with self._transaction("BEGIN IMMEDIATE") as db:
            plain = db.execute(_PLAIN, {"after": after, "shortest": SHORTEST, "limit": COMPRESSED_AT_ONCE})
            last = 0
            for last, text in plain.fetchall():
                small = packed(text)
                if small is not text:
                    db.execute("UPDATE artifacts SET text = ? WHERE n = ?", (small, last))
        return last

    def _best(self, db: sqlite3.Connection, asked: dict[str, Any]) -> list[tuple[int, str]]:
        """Numbers and ids of the texts that match, best first, each once."""
        rows = [row for index in self._indexes for row in db.execute(_SEARCH.format(index), asked)]
        return list(dict.fromkeys((number, id_) for _, number, id_ in sorted(rows)))

    def _index(self) -> None:
        """Index what was appended since the last search, in batches, so that writers need not wait long."""
        while True:
            with self._transaction("BEGIN") as db:
                if db.execute("SELECT 1 FROM unindexed LIMIT 1").fetchone() is None:
                    return
            with self._transaction("BEGIN IMMEDIATE") as db:
                for (number,) in db.execute(
                    "SELECT artifact FROM unindexed LIMIT ?", (INDEXED_AT_ONCE,)
                ).fetchall():
                    (text,) = db.execute("SELECT text FROM artifacts WHERE n = ?", (number,)).fetchone()
                    db.execute(
                        "INSERT INTO words (rowid, text) VALUES (?, ?)", (number, segmented(unpacked(text)))
                    )
                    db.execute("DELETE FROM unindexed WHERE artifact = ?", (number,))

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock, named_errors(self.place), transaction(self._db, begin):
            yield self._db


def _append(
    db: sqlite3.Connection, log: str, number: int, drafts: Sequence[EntryDraft]
) -> tuple[EntryRow, ...]:
    last = db.execute("SELECT max(seq) FROM entries WHERE log = ?", (number,)).fetchone()[0] or 0

    def tip(chain: str) -> str | None:
        newest = "SELECT id FROM entries WHERE log = ? AND chain = ? ORDER BY seq DESC LIMIT 1"
        row = db.execute(newest, (number, chain)).fetchone()
        return row and str(row[0])

    def known(id_: str) -> bool:
        return bool(db.execute("SELECT 1 FROM entries WHERE id = ? AND log = ?", (id_, number)).fetchone())

    rows = place_drafts(log, drafts, last=last, tip=tip, known=known)
    for row, draft in zip(rows, drafts, strict=True):
        entry = _insert_entry(db, number, row)
        refs = [(entry, _put(db, artifact)) for artifact in draft.artifacts]
        db.executemany("INSERT INTO refs (entry, artifact) VALUES (?, ?)", refs)
    return rows


def _insert_entry(db: sqlite3.Connection, log: int, row: EntryRow) -> int:
    try:
        (number,) = db.execute(
            "INSERT INTO entries (id, log, seq, parent, chain, at, body) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING n",
            (row.id, log, row.seq, row.parent, row.chain, row.at, row.body),
        ).fetchone()
    except sqlite3.IntegrityError:
        raise StoreError(f"two different entries have the id `{row.id}`; the second was not stored") from None
    return int(number)


def _put(db: sqlite3.Connection, artifact: Artifact) -> int:
    """The number of a text, stored now or earlier."""
    added = db.execute(
        "INSERT INTO artifacts (id, kind, text) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING n",
        (artifact.id, artifact.kind, packed(artifact.text)),
    ).fetchone()
    if added:
        number = added[0]
    else:
        number, kind, text = db.execute(
            "SELECT n, kind, text FROM artifacts WHERE id = ?", (artifact.id,)
        ).fetchone()
        if unpacked(text) != artifact.text:
            raise StoreError(f"two different texts have the id `{artifact.id}`; the second was not stored")
        if kind == "text" or artifact.kind != "text":
            return int(number)
        db.execute("UPDATE artifacts SET kind = 'text' WHERE n = ?", (number,))
    if artifact.kind == "text":
        db.execute("INSERT INTO unindexed (artifact) VALUES (?)", (number,))
    return int(number)


def _forget_words(db: sqlite3.Connection, artifact: int, text: str | bytes) -> bool:
    """Remove a text from the index; false if it was not indexed yet."""
    if db.execute("DELETE FROM unindexed WHERE artifact = ? RETURNING 1", (artifact,)).fetchone():
        return False
    # A contentless index deletes a text only when it is given that text again.
    forget = "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)"
    db.execute(forget, (artifact, segmented(unpacked(text))))
    return True


def _texts(rows: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    return {id_: unpacked(stored) for id_, stored in rows}


def _log_number(db: sqlite3.Connection, log: str) -> int | None:
    row = db.execute("SELECT n FROM logs WHERE id = ?", (log,)).fetchone()
    return row and int(row[0])


def _known_log(db: sqlite3.Connection, log: str) -> int:
    number = _log_number(db, log)
    if number is None:
        raise NotFound(f"no log `{log}` in the store", hint="`holdfast logs` lists what is there")
    return number


def _info(row: tuple[Any, ...]) -> LogInfo:
    return LogInfo(LogHead(*row[:6]), entries=row[6], last_at=row[7])


def _hit(db: sqlite3.Connection, number: int, artifact: str, log: int | None) -> SearchHit:
    row = db.execute(_REFERRER, {"artifact": number, "log": log}).fetchone()
    return SearchHit(artifact, *row) if row else SearchHit(artifact)
