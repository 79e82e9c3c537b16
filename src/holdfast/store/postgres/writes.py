"""Rows of entries and texts, written inside a transaction that holds the log.

Rule: texts get their numbers in the order in which they are given, as in SQLite, since search lists equals by them.
"""

from collections.abc import Sequence

import psycopg

from holdfast.errors import StoreError
from holdfast.store.postgres.database import Connection
from holdfast.store.postgres.search import joined
from holdfast.store.postgres.texts import packed_text, unpacked_text
from holdfast.store.protocol import Artifact, EntryDraft, EntryRow, place_drafts

Words = dict[str, list[str]]
"""The words of texts that search finds, by id."""

# Numbers are in the order of the texts; rows are inserted in that of the ids, lest two writers block each other.
_NEW_TEXTS = """
INSERT INTO artifacts (n, id, kind, text)
SELECT n, id, kind, text FROM (
    SELECT nextval(pg_get_serial_sequence('artifacts', 'n')) AS n, g.*
    FROM unnest(%s::text[], %s::text[], %s::bytea[]) AS g (id, kind, text)
) g ORDER BY id ON CONFLICT (id) DO NOTHING RETURNING n, id
"""
_KNOWN_TEXTS = """
SELECT a.n, a.id, a.kind, CASE WHEN a.text <> g.text THEN a.text END
FROM unnest(%s::text[], %s::bytea[]) AS g (id, text)
JOIN artifacts a ON a.id = g.id
"""


def append(
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
    artifacts = put(db, [artifact for draft in drafts for artifact in draft.artifacts], words)
    entries = _insert_entries(db, number, rows)
    pairs = zip(entries, drafts, strict=True)
    refer(db, [(entry, artifacts[one.id]) for entry, draft in pairs for one in draft.artifacts])
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


def put(db: Connection, given: Sequence[Artifact], words: Words) -> dict[str, int]:
    """The numbers of texts by id, stored now or earlier."""
    # A text that is said counts as said, wherever it is repeated.
    artifacts = {one.id: one for one in sorted(given, key=lambda one: one.kind == "text")}
    artifacts = {one.id: artifacts[one.id] for one in given}
    if not artifacts:
        return {}
    ids, kinds = list(artifacts), [one.kind for one in artifacts.values()]
    texts = [packed_text(one.text) for one in artifacts.values()]
    new = {id_: number for number, id_ in db.execute(_NEW_TEXTS, (ids, kinds, texts))}
    old = [(id_, text) for id_, text in zip(ids, texts, strict=True) if id_ not in new]
    numbers, said = dict(new), [id_ for id_ in ids if id_ in new and artifacts[id_].kind == "text"]
    if old:
        columns = tuple(map(list, zip(*old, strict=True)))
        for number, id_, kind, other in db.execute(_KNOWN_TEXTS, columns, binary=True):
            # Another version may have compressed it otherwise.
            if other is not None and unpacked_text(other) != artifacts[id_].text:
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


def refer(db: Connection, refs: Sequence[tuple[int, int]]) -> None:
    if refs:
        columns = tuple(map(list, zip(*refs, strict=True)))
        db.execute(
            "INSERT INTO refs SELECT * FROM unnest(%s::bigint[], %s::bigint[]) ON CONFLICT DO NOTHING",
            columns,
        )


def are_stored(db: Connection, rows: Sequence[EntryRow]) -> bool:
    """Whether these very entries are there."""
    if not rows:
        return False
    asked = (rows[0].id, rows[0].at)
    query = "SELECT 1 FROM entries WHERE id = %s AND at IS NOT DISTINCT FROM %s"
    return db.execute(query, asked).fetchone() is not None
