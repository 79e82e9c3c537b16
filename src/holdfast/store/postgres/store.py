"""The store in PostgreSQL: a schema for each database user, in a database that may be shared.

Rule: one write is one transaction, and writers of one log queue for its row. After a lost connection everything is
done again on a new one: what the lost one may have stored is looked for first, inside the same lock.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import psycopg

from holdfast.errors import NotFound
from holdfast.store.event_redaction import valid_unicode
from holdfast.store.postgres.database import (
    Connection,
    Database,
    is_passing,
    prepare,
    store_error,
    transaction,
)
from holdfast.store.postgres.search import search
from holdfast.store.postgres.texts import unpacked_text
from holdfast.store.postgres.writes import Words, append, are_stored, put, refer
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
)
from holdfast.store.text_search import phrases
from holdfast.store.word_splitting import WordSplitter
from holdfast.store_places import PostgresPlace

RECONNECT_SECONDS = 10.0
"""How long a server that stopped is waited for, once the store was open."""

T = TypeVar("T")
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_INFO = "SELECT id, title, source, origin, schema, at, entries, last_at FROM logs"
_ROWS = """
SELECT e.id, l.id, e.seq, e.parent, e.chain, e.at, e.body FROM entries e JOIN logs l ON l.n = e.log WHERE {}
"""
_TEXTS = """
SELECT id, text FROM artifacts WHERE n IN (SELECT r.artifact FROM entries e JOIN refs r ON r.entry = e.n WHERE {})
"""
_IDS = """
SELECT 'log', id FROM logs WHERE id {0} UNION ALL SELECT 'entry', id FROM entries WHERE id {0}
UNION ALL SELECT 'artifact', id FROM artifacts WHERE id {0} LIMIT 6
"""
_ORPHANS = """
SELECT DISTINCT r.artifact FROM entries e JOIN refs r ON r.entry = e.n
WHERE e.log = %(log)s AND NOT EXISTS (
    SELECT 1 FROM refs o JOIN entries f ON f.n = o.entry WHERE o.artifact = r.artifact AND f.log <> %(log)s)
"""
_DISK = """
SELECT sum(pg_total_relation_size(c.oid))::bigint, sum(
    pg_relation_size(c.oid) * coalesce(s.n_dead_tup::float8 / nullif(s.n_live_tup + s.n_dead_tup, 0), 0))::bigint
FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
"""
"""What the tables take, and how much of it rows take that are deleted, as the server last counted them."""
_SIZES = """
WITH ranks AS (
    SELECT l.n AS log, l.id, row_number() OVER (ORDER BY coalesce(l.last_at, 0), l.n) AS rank,
        (SELECT coalesce(sum(octet_length(e.body)), 0) FROM entries e WHERE e.log = l.n) AS bytes
    FROM logs l
), used AS (
    SELECT DISTINCT e.log, r.artifact FROM refs r JOIN entries e ON e.n = r.entry
), texts AS (
    SELECT u.artifact, max(octet_length(a.text)) AS bytes, count(*) AS logs, max(r.rank) AS last
    FROM used u JOIN ranks r ON r.log = u.log JOIN artifacts a ON a.n = u.artifact GROUP BY u.artifact
)
SELECT r.id, (r.bytes + coalesce(sum(t.bytes), 0))::bigint,
    (r.bytes + coalesce(sum(t.bytes) FILTER (WHERE t.logs = 1), 0))::bigint,
    (r.bytes + coalesce(sum(t.bytes) FILTER (WHERE t.last = r.rank), 0))::bigint
FROM ranks r LEFT JOIN used u ON u.log = r.log LEFT JOIN texts t ON t.artifact = u.artifact
GROUP BY r.log, r.id, r.rank, r.bytes ORDER BY r.rank
"""


class PostgresStore:
    _reads_only = False

    def __init__(self, place: PostgresPlace) -> None:
        self.place = place
        self._words = WordSplitter()
        self._database = Database(place, reads_only=self._reads_only)
        try:
            with self._database.connection() as db:
                prepare(db, place, reads_only=self._reads_only)
        except psycopg.Error as error:
            self.close()
            raise store_error(error, place) from None
        except BaseException:
            self.close()
            raise

    def create(self, head: LogHead, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        words, tried = self._split(drafts), list[EntryRow]()

        def work(db: Connection) -> tuple[EntryRow, ...]:
            texts = (text.encode() for text in (head.title, head.source, head.origin))
            row = db.execute(
                "INSERT INTO logs (id, title, source, origin, schema, at, entries)"
                " VALUES (%s, %s, %s, %s, %s, %s, 0) ON CONFLICT (id) DO NOTHING RETURNING n",
                (head.id, *texts, head.schema, head.at),
            ).fetchone()
            if row is None:
                return tuple(tried) if are_stored(db, tried) else ()
            return append(db, head.id, row[0], 0, drafts, words, tried)

        return self._run(work)

    def append(self, log: str, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        words, tried = self._split(drafts), list[EntryRow]()

        def work(db: Connection) -> tuple[EntryRow, ...]:
            number, last = _locked_log(db, log)
            if are_stored(db, tried):
                return tuple(tried)
            return append(db, log, number, last, drafts, words, tried)

        return self._run(work)

    def read(self, log: str, since: int = 0, limit: int | None = None) -> EntryPage:
        def work(db: Connection) -> EntryPage:
            number = _known_log(db, log)
            where = "e.log = %s AND e.seq > %s"
            rows = _rows(db, f"{where} ORDER BY e.seq LIMIT %s", (number, since, limit))
            last = rows[-1].seq if rows else since
            return EntryPage(rows, _texts(db, f"{where} AND e.seq <= %s", (number, since, last)))

        return self._run(work, _SNAPSHOT)

    def entry(self, entry: str) -> EntryPage:
        def work(db: Connection) -> EntryPage:
            rows = _rows(db, "e.id = %s", (entry,))
            if not rows:
                raise NotFound(f"no entry `{entry}` in the store")
            return EntryPage(rows, _texts(db, "e.id = %s", (entry,)))

        return self._run(work, _SNAPSHOT)

    def info(self, log: str) -> LogInfo:
        found = self._run(lambda db: db.execute(f"{_INFO} WHERE id = %s", (log,)).fetchone(), _SNAPSHOT)
        if found is None:
            raise _unknown_log(log)
        return _info(found)

    def logs(self) -> tuple[LogInfo, ...]:
        found = self._run(lambda db: db.execute(f"{_INFO} ORDER BY n").fetchall(), _SNAPSHOT)
        return tuple(map(_info, found))

    def delete(self, *logs: str) -> None:
        for log in logs:
            self._delete(log)

    def _delete(self, log: str) -> None:
        tries = 0

        def work(db: Connection) -> None:
            nonlocal tries
            tries += 1
            try:
                number, _ = _locked_log(db, log)
            except NotFound:
                if tries > 1:
                    return  # the connection was lost, but the log is deleted
                raise
            # Nobody adds a reference to a text while it is decided which texts go.
            db.execute("LOCK TABLE artifacts IN SHARE ROW EXCLUSIVE MODE")
            orphans = [row[0] for row in db.execute(_ORPHANS, {"log": number})]
            db.execute("DELETE FROM words WHERE artifact = ANY(%s)", (orphans,))
            db.execute("DELETE FROM artifacts WHERE n = ANY(%s)", (orphans,))
            db.execute("DELETE FROM refs r USING entries e WHERE e.n = r.entry AND e.log = %s", (number,))
            db.execute("DELETE FROM entries WHERE log = %s", (number,))
            db.execute("DELETE FROM logs WHERE n = %s", (number,))

        self._run(work)

    def put(self, artifact: Artifact, log: str) -> None:
        words = self._split([EntryDraft(b"", (artifact,))])

        def work(db: Connection) -> None:
            number, _ = _locked_log(db, log)
            first = db.execute(
                "SELECT n FROM entries WHERE log = %s ORDER BY seq LIMIT 1", (number,)
            ).fetchone()
            assert first is not None, "a log has a first entry"
            refer(db, [(first[0], id_) for id_ in put(db, [artifact], words).values()])

        self._run(work)

    def text(self, artifact: str) -> str:
        query = "SELECT text FROM artifacts WHERE id = %s"
        row = self._run(lambda db: db.execute(query, (artifact,), binary=True).fetchone(), _SNAPSHOT)
        if row is None:
            raise NotFound(f"no text `{artifact}` in the store")
        return unpacked_text(row[0])

    def search(self, query: str, *, log: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        self._database.check_open()
        asked = [self._words.split(phrase) for phrase in phrases(query)]

        def work(db: Connection) -> tuple[SearchHit, ...]:
            scope = None if log is None else _known_log(db, log)
            return search(db, asked, scope, limit)

        return self._run(work, _SNAPSHOT) if asked else ()

    def resolve(self, prefix: str) -> ResolvedId:
        prefix = valid_unicode(prefix)

        def work(db: Connection) -> list[list[tuple[Any, ...]]]:
            asked = {"id": prefix, "end": prefix + chr(0x10FFFF)}
            exact, near = _IDS.format("= %(id)s"), _IDS.format("BETWEEN %(id)s AND %(end)s")
            return [db.execute(query, asked).fetchall() for query in (exact, near)]

        # No id has a NUL, and no parameter can have one.
        exact, near = ([], []) if "\0" in prefix else self._run(work, _SNAPSHOT)
        return pick_id(prefix, [ResolvedId(*row) for row in exact], [ResolvedId(*row) for row in near])

    def size(self) -> StoreSize:
        def work(db: Connection) -> StoreSize:
            row = db.execute(_DISK).fetchone()
            assert row is not None, "an aggregate gives a row"
            return StoreSize(row[0], row[1], tuple(LogSize(*row) for row in db.execute(_SIZES)))

        return self._run(work, _SNAPSHOT)

    def vacuum(self) -> None:
        """Writers and readers of a table wait while it is rewritten."""
        try:
            with self._database.connection() as db:
                for table in ("refs", "words", "artifacts", "entries", "logs"):
                    db.execute(f"VACUUM (FULL) {table}")
                    # Only this one notes which pages an index alone can answer for.
                    db.execute(f"VACUUM (ANALYZE) {table}")
        except psycopg.Error as error:
            raise store_error(error, self.place) from None

    def damage(self) -> tuple[str, ...]:
        """Nothing: the server checks its own files."""
        return ()

    def close(self) -> None:
        self._database.close()
        self._words.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _split(self, drafts: Sequence[EntryDraft]) -> Words:
        """Words are split before anything is locked."""
        self._database.check_open()
        texts = {one.id: one.text for draft in drafts for one in draft.artifacts if one.kind == "text"}
        return {id_: self._words.split(text) for id_, text in texts.items()}

    def _run(self, work: Callable[[Connection], T], begin: str = "BEGIN") -> T:
        """What `work` gives in a transaction of its own; done again if the connection was lost."""
        deadline = 0.0
        while True:
            try:
                with self._database.connection() as db, transaction(db, begin):
                    return work(db)
            except psycopg.Error as error:
                deadline = deadline or time.monotonic() + RECONNECT_SECONDS
                if not is_passing(error) or time.monotonic() > deadline:
                    raise store_error(error, self.place) from None
                self._database.forget()
                time.sleep(0.05)


class ReadOnlyPostgresStore(PostgresStore):
    """What other processes append is seen; `create`, `append`, `put` and `delete` raise StoreError."""

    _reads_only = True

    def data_version(self) -> int:
        """A number that differs once another process has changed the store."""
        query = "SELECT count(*), coalesce(max(n), 0), coalesce(sum(entries), 0) FROM logs"
        return hash(self._run(lambda db: db.execute(query).fetchone(), _SNAPSHOT))


def _locked_log(db: Connection, log: str) -> tuple[int, int]:
    """The number of a log and that of its last entry; nobody else writes to it until the transaction ends."""
    row = db.execute("SELECT n, entries FROM logs WHERE id = %s FOR UPDATE", (log,)).fetchone()
    if row is None:
        raise _unknown_log(log)
    return row[0], row[1]


def _known_log(db: Connection, log: str) -> int:
    row = db.execute("SELECT n FROM logs WHERE id = %s", (log,)).fetchone()
    if row is None:
        raise _unknown_log(log)
    return int(row[0])


def _unknown_log(log: str) -> NotFound:
    return NotFound(f"no log `{log}` in the store", hint="`holdfast logs` lists what is there")


def _rows(db: Connection, where: str, given: tuple[Any, ...]) -> tuple[EntryRow, ...]:
    found = db.execute(_ROWS.format(where), given, binary=True)
    return tuple(
        EntryRow(id_, log, seq, parent, unpacked_text(chain), at, body)
        for id_, log, seq, parent, chain, at, body in found
    )


def _texts(db: Connection, where: str, given: tuple[Any, ...]) -> dict[str, str]:
    return {id_: unpacked_text(text) for id_, text in db.execute(_TEXTS.format(where), given, binary=True)}


def _info(row: tuple[Any, ...]) -> LogInfo:
    id_, title, source, origin, schema, at, entries, last_at = row
    head = LogHead(id_, unpacked_text(title), unpacked_text(source), unpacked_text(origin), schema, at)
    return LogInfo(head, entries=entries, last_at=last_at)
