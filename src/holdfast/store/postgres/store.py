"""The store in PostgreSQL: a schema for each database user, in a database that may be shared.

Rule: one write is one transaction, and writers of one log queue for its row. After a lost connection everything is
done again on a new one: what the lost one may have stored is looked for first, inside the same lock.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import psycopg

from holdfast.errors import NotFound, StoreError
from holdfast.store.event_redaction import valid_unicode
from holdfast.store.postgres.database import (
    Connection,
    Database,
    is_passing,
    prepare,
    store_error,
    transaction,
)
from holdfast.store.postgres.search import joined, search
from holdfast.store.protocol import (
    Artifact,
    EntryDraft,
    EntryPage,
    EntryRow,
    LogHead,
    LogInfo,
    ResolvedId,
    SearchHit,
    pick_id,
    place_drafts,
)
from holdfast.store.text_search import phrases
from holdfast.store.word_splitting import WordSplitter
from holdfast.store_places import PostgresPlace

RECONNECT_SECONDS = 10.0
"""How long a server that stopped is waited for, once the store was open."""

T = TypeVar("T")
Words = dict[str, list[str]]
"""The words of texts that search finds, by id."""

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
# Numbers are in the order of the texts; rows are inserted in that of the ids, lest two writers block each other.
_NEW_TEXTS = """
INSERT INTO artifacts (n, id, kind, text)
SELECT n, id, kind, text FROM (
    SELECT nextval(pg_get_serial_sequence('artifacts', 'n')) AS n, g.*
    FROM unnest(%s::text[], %s::text[], %s::bytea[]) AS g (id, kind, text)
) g ORDER BY id ON CONFLICT (id) DO NOTHING RETURNING n, id
"""
_KNOWN_TEXTS = """
SELECT a.n, a.id, a.kind, a.text = g.text FROM unnest(%s::text[], %s::bytea[]) AS g (id, text)
JOIN artifacts a ON a.id = g.id
"""
_ORPHANS = """
SELECT DISTINCT r.artifact FROM entries e JOIN refs r ON r.entry = e.n
WHERE e.log = %(log)s AND NOT EXISTS (
    SELECT 1 FROM refs o JOIN entries f ON f.n = o.entry WHERE o.artifact = r.artifact AND f.log <> %(log)s)
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
                return tuple(tried) if _are_stored(db, tried) else ()
            return _append(db, head.id, row[0], 0, drafts, words, tried)

        return self._run(work)

    def append(self, log: str, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        words, tried = self._split(drafts), list[EntryRow]()

        def work(db: Connection) -> tuple[EntryRow, ...]:
            number, last = _locked_log(db, log)
            if _are_stored(db, tried):
                return tuple(tried)
            return _append(db, log, number, last, drafts, words, tried)

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

    def delete(self, log: str) -> None:
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
            _refer(db, [(first[0], id_) for id_ in _put(db, [artifact], words).values()])

        self._run(work)

    def text(self, artifact: str) -> str:
        query = "SELECT text FROM artifacts WHERE id = %s"
        row = self._run(lambda db: db.execute(query, (artifact,), binary=True).fetchone(), _SNAPSHOT)
        if row is None:
            raise NotFound(f"no text `{artifact}` in the store")
        return _text(row[0])

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


def _append(
    db: Connection,
    log: str,
    number: int,
    last: int,
    drafts: Sequence[EntryDraft],
    words: Words,
    tried: list[EntryRow],
) -> tuple[EntryRow, ...]:
    def tip(chain: str) -> str | None:
        row = db.execute(
            "SELECT id FROM entries WHERE log = %(log)s AND chain = %(chain)s"
            " AND substring(chain, 1, 100) = substring(%(chain)s::bytea, 1, 100) ORDER BY seq DESC LIMIT 1",
            {"log": number, "chain": chain.encode()},
        ).fetchone()
        return str(row[0]) if row else None

    def known(id_: str) -> bool:
        return bool(db.execute("SELECT 1 FROM entries WHERE id = %s AND log = %s", (id_, number)).fetchone())

    rows = place_drafts(log, drafts, last=last, tip=tip, known=known)
    tried[:] = rows
    artifacts = _put(db, [artifact for draft in drafts for artifact in draft.artifacts], words)
    entries = _insert_entries(db, number, rows)
    pairs = zip(entries, drafts, strict=True)
    _refer(db, [(entry, artifacts[one.id]) for entry, draft in pairs for one in draft.artifacts])
    if rows:
        ended = (rows[-1].seq, rows[-1].at, number)
        db.execute("UPDATE logs SET entries = %s, last_at = %s WHERE n = %s", ended)
    return rows


def _insert_entries(db: Connection, log: int, rows: Sequence[EntryRow]) -> list[int]:
    """The numbers of new entries, in their order."""
    columns = (
        [row.id for row in rows],
        [row.seq for row in rows],
        [row.parent for row in rows],
        [row.chain.encode() for row in rows],
        [row.at for row in rows],
        [row.body for row in rows],
    )
    try:
        found = db.execute(
            "INSERT INTO entries (log, id, seq, parent, chain, at, body) SELECT %s, * FROM"
            " unnest(%s::text[], %s::integer[], %s::text[], %s::bytea[], %s::float8[], %s::bytea[]) RETURNING n",
            (log, *columns),
        )
    except psycopg.errors.UniqueViolation as error:
        if error.diag.constraint_name != "entry_ids":
            raise
        raise StoreError(
            "two different entries have the same id; the second was not stored",
        ) from None
    return [row[0] for row in found]


def _put(db: Connection, given: Sequence[Artifact], words: Words) -> dict[str, int]:
    """The numbers of texts by id, stored now or earlier."""
    # A text that is said counts as said, wherever it is repeated.
    artifacts = {one.id: one for one in sorted(given, key=lambda one: one.kind == "text")}
    artifacts = {one.id: artifacts[one.id] for one in given}
    if not artifacts:
        return {}
    ids, kinds = list(artifacts), [one.kind for one in artifacts.values()]
    texts = [one.text.encode() for one in artifacts.values()]
    new = {id_: number for number, id_ in db.execute(_NEW_TEXTS, (ids, kinds, texts))}
    old = [(id_, text) for id_, text in zip(ids, texts, strict=True) if id_ not in new]
    numbers, said = dict(new), [id_ for id_ in ids if id_ in new and artifacts[id_].kind == "text"]
    if old:
        for number, id_, kind, is_same in db.execute(_KNOWN_TEXTS, tuple(map(list, zip(*old, strict=True)))):
            if not is_same:
                raise StoreError(f"two different texts have the id `{id_}`; the second was not stored")
            numbers[id_] = number
            if kind != "text" and artifacts[id_].kind == "text":
                db.execute("UPDATE artifacts SET kind = 'text' WHERE n = %s", (number,))
                said.append(id_)
    if said:
        columns = (
            [numbers[i] for i in said],
            [joined(words[i]) for i in said],
            [len(words[i]) for i in said],
        )
        db.execute("INSERT INTO words SELECT * FROM unnest(%s::bigint[], %s::text[], %s::integer[])", columns)
    return numbers


def _refer(db: Connection, refs: Sequence[tuple[int, int]]) -> None:
    if refs:
        columns = tuple(map(list, zip(*refs, strict=True)))
        db.execute(
            "INSERT INTO refs SELECT * FROM unnest(%s::bigint[], %s::bigint[]) ON CONFLICT DO NOTHING",
            columns,
        )


def _are_stored(db: Connection, rows: Sequence[EntryRow]) -> bool:
    """Whether these very entries are there."""
    if not rows:
        return False
    asked = (rows[0].id, rows[0].at)
    query = "SELECT 1 FROM entries WHERE id = %s AND at IS NOT DISTINCT FROM %s"
    return db.execute(query, asked).fetchone() is not None


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
        EntryRow(id_, log, seq, parent, _text(chain), at, body)
        for id_, log, seq, parent, chain, at, body in found
    )


def _texts(db: Connection, where: str, given: tuple[Any, ...]) -> dict[str, str]:
    return {id_: _text(text) for id_, text in db.execute(_TEXTS.format(where), given, binary=True)}


def _info(row: tuple[Any, ...]) -> LogInfo:
    id_, title, source, origin, schema, at, entries, last_at = row
    head = LogHead(id_, _text(title), _text(source), _text(origin), schema, at)
    return LogInfo(head, entries=entries, last_at=last_at)


def _text(stored: bytes) -> str:
    # A damaged byte must not make the rest unreadable; `verify` finds it by the id.
    return stored.decode("utf-8", "replace")
