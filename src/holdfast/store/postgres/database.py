"""The PostgreSQL database of a store: its connections, its schema, and its errors as sentences.

Rule: a database that is not ours, or newer than we are, is left untouched and named. What libpq reads from the URL,
the environment and its files, TLS among it, is left to libpq.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

import psycopg

from holdfast.errors import HoldfastError, InputError, NotFound, StoreError
from holdfast.store_places import PostgresPlace

Connection = psycopg.Connection[tuple[Any, ...]]

FORMAT_VERSION = 1
BUSY_SECONDS = 30
CONNECT_SECONDS = 10
"""How long a connection is waited for, unless the URL or PGCONNECT_TIMEOUT says otherwise."""

MOST_CONNECTIONS = 8
"""Made when they are needed; further threads wait for one."""

_SESSION = f"""
SELECT set_config('search_path', quote_ident('holdfast_' || current_user) || ', pg_temp', false),
    set_config('lock_timeout', '{BUSY_SECONDS}s', false)
"""
_SCHEMA = """
SELECT 'holdfast_' || current_user, current_user, current_database(), current_setting('server_encoding'),
    (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'holdfast_' || current_user),
    count(c.oid) > 0, count(c.oid) FILTER (WHERE c.relname = 'holdfast_format') > 0
FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = 'holdfast_' || current_user
"""
_OTHER_PROGRAM = r"""
SELECT s.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND s.nspname NOT LIKE 'pg\_%' AND s.nspname <> 'information_schema'
    AND s.nspname NOT LIKE 'holdfast\_%'
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
LIMIT 1
"""
_NAMES_ANOTHER = "name another one, with `store=`, --store or HOLDFAST_STORE"


class Database:
    """A pool of connections to one database. May be used from any thread."""

    def __init__(self, place: PostgresPlace, *, reads_only: bool = False) -> None:
        self.place = place
        self._reads_only = reads_only
        self._free: list[Connection] = []
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._is_closed = False

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection that nobody else uses meanwhile. After an error that ended it, the next one is new."""
        self.check_open()
        with self._room:
            try:
                db = self._free.pop()
            except IndexError:
                db = self._connect()
            try:
                yield db
            finally:
                if db.closed or self._is_closed:
                    db.close()
                else:
                    self._free.append(db)

    def check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"the store `{self.place}` is closed", hint="open it again: `Session.resume(…)`")

    def forget(self) -> None:
        """Close the connections that are not in use: what ended one has most likely ended all."""
        while self._free:
            with suppress(IndexError):
                self._free.pop().close()

    def close(self) -> None:
        self._is_closed = True
        self.forget()

    def _connect(self) -> Connection:
        more: dict[str, Any] = {"client_encoding": "UTF8", "fallback_application_name": "holdfast"}
        if "connect_timeout" not in self.place.url and "PGCONNECT_TIMEOUT" not in os.environ:
            more["connect_timeout"] = CONNECT_SECONDS
        db = psycopg.connect(self.place.url, autocommit=True, **more)
        try:
            db.execute(_SESSION)
            if self._reads_only:
                db.execute("SET default_transaction_read_only = on")
        except BaseException:
            db.close()
            raise
        return db


@contextmanager
def transaction(db: Connection, begin: str = "BEGIN") -> Iterator[None]:
    """A transaction, rolled back after any error."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if not db.closed:
            with suppress(psycopg.Error):
                db.execute("ROLLBACK")
        raise


_PASSING = frozenset({"57P01", "57P02", "57P03", "40001", "40P01"})
"""A server that stops, crashed or starts; transactions that were in each other's way."""


def is_passing(error: psycopg.Error) -> bool:
    """Whether the same may succeed a moment later, on another connection: nothing was stored."""
    is_lost = error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return is_lost or error.sqlstate in _PASSING


_ADVICE = {
    "53100": ("the disk of its server is full", "make room there; what was acknowledged is stored"),
    "53300": ("its server takes no more connections", "try again later, or raise its `max_connections`"),
    "55P03": (
        f"it was busy for {BUSY_SECONDS} seconds",
        "another process is writing to it: try again when it has finished",
    ),
    "25006": ("it is read-only", "connect to a server, and as a user, that may write"),
}
"""What went wrong and what to do, by SQLSTATE."""


def store_error(error: psycopg.Error, place: PostgresPlace) -> HoldfastError:
    """An error of PostgreSQL as a sentence that names the store."""
    if error.sqlstate is None and isinstance(error, psycopg.ProgrammingError):
        # What libpq says of it may hold the password.
        return InputError(
            f"the URL of the store `{place}` is not one that libpq reads",
            hint="its parameters are those of libpq, such as `?sslmode=verify-full`",
        )
    said = " ".join((error.diag.message_primary or str(error)).split())
    if error.sqlstate in _ADVICE:
        what, hint = _ADVICE[error.sqlstate]
        return StoreError(f"the store `{place}` cannot be used: {what}", hint=hint)
    if error.sqlstate == "42501":
        return StoreError(
            f"the store `{place}` cannot be used: {said}",
            hint="connect as its owner; a new user needs `GRANT CREATE ON DATABASE` to have a store of its own",
        )
    if not is_passing(error):
        return StoreError(
            f"the store `{place}` cannot be used: {said}", hint="look into the log of its server"
        )
    if "password" in said or "pg_hba" in said or "authentication" in said:
        hint = "give the password in the URL, PGPASSWORD or ~/.pgpass, and check the name of the user"
    elif "does not exist" in said:
        hint = "make it with `createdb` or `createuser`, or check the URL"
    else:
        hint = "is the server running, and does the URL lead to it? What was acknowledged is stored"
    return StoreError(
        f"the store `{place}` cannot be reached: {said.removeprefix('connection failed: ')}", hint=hint
    )


def prepare(db: Connection, place: PostgresPlace, *, reads_only: bool) -> None:
    """Make or update the schema of a store, or find out that it cannot be used."""
    if _version(db, place) == FORMAT_VERSION:
        return
    if reads_only:
        raise NotFound(f"there is no store at `{place}`", hint="name one with --store or HOLDFAST_STORE")
    with transaction(db):
        # Checked again inside the lock: another process may have been faster.
        db.execute("SELECT pg_advisory_xact_lock(hashtext('holdfast_' || current_user))")
        version = _version(db, place)
        if version == 0:
            schema = db.execute("SELECT quote_ident('holdfast_' || current_user)").fetchone()
            assert schema is not None, "a query without a table gives a row"
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {schema[0]}")
        for number in range(version + 1, FORMAT_VERSION + 1):
            db.execute((files(__package__) / f"version_{number}.sql").read_bytes())
        db.execute("DELETE FROM holdfast_format")
        db.execute("INSERT INTO holdfast_format VALUES (%s)", (FORMAT_VERSION,))


def _version(db: Connection, place: PostgresPlace) -> int:
    """The version of the schema; 0 where there is none. Raises StoreError for what is not ours."""
    row = db.execute(_SCHEMA).fetchone()
    assert row is not None, "a query without a table gives a row"
    schema, user, database, encoding, owner, has_tables, has_format = row
    if encoding != "UTF8":
        raise StoreError(
            f"the database `{database}` of the store `{place}` has the encoding {encoding}, not UTF8",
            hint=f"make one with `createdb --encoding=UTF8 --template=template0`, and {_NAMES_ANOTHER}",
        )
    if owner is not None and owner != user:
        raise StoreError(
            f"the schema `{schema}` of the store `{place}` belongs to `{owner}`, not to `{user}`",
            hint="connect as its owner, or ask for a schema of your own",
        )
    if has_format:
        found = db.execute("SELECT version FROM holdfast_format").fetchone()
        version = int(found[0]) if found else 0
        if version > FORMAT_VERSION:
            raise StoreError(
                f"the store `{place}` has format {version}, and this Holdfast knows formats up to {FORMAT_VERSION}",
                hint="a newer Holdfast wrote it: upgrade this one, or name another store",
            )
        return version
    other = db.execute(_OTHER_PROGRAM).fetchone()
    if has_tables or other:
        raise StoreError(
            f"the database `{database}` of `{place}` has tables of another program"
            f" (such as `{other[0] if other else schema}`), and no Holdfast store",
            hint=f"make a database of its own with `createdb`, and {_NAMES_ANOTHER}",
        )
    return 0
