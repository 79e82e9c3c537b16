"""The SQLite file of a store: its tables, how it is opened, and its errors as sentences.

Rule: a file that is not ours, or newer than we are, is left untouched and named.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

from holdfast.errors import NotFound, StoreError

FILE_VERSION = 2
"""Version 2 has compressed texts, as BLOBs among the others; `_UPGRADES` leads there from version 1."""
APPLICATION = 0x484F4C44
"""`HOLD` in ASCII: tells our files from other SQLite files."""

BUSY_SECONDS = 30.0

_FORGIVING = partial(str, encoding="utf-8", errors="replace")
"""A damaged byte must not make the rest unreadable; `verify` finds it by the id."""

# What was stored plain may be compressed later; nothing else about a text changes.
_TEXTS_ARE_NEVER_CHANGED = """CREATE TRIGGER texts_are_never_changed BEFORE UPDATE OF id, text ON artifacts
    WHEN old.id <> new.id OR typeof(old.text) <> 'text' OR typeof(new.text) <> 'blob'
    BEGIN SELECT raise(ABORT, 'texts are never changed'); END"""
_TABLES = (
    """CREATE TABLE logs (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, source TEXT NOT NULL,
        origin TEXT NOT NULL, schema INTEGER NOT NULL, at REAL)""",
    """CREATE TABLE entries (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, log INTEGER NOT NULL REFERENCES logs (n),
        seq INTEGER NOT NULL, parent TEXT, chain TEXT NOT NULL, at REAL, body BLOB NOT NULL,
        UNIQUE (log, seq))""",
    "CREATE INDEX entries_by_chain ON entries (log, chain, seq)",
    """CREATE TABLE artifacts (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, text TEXT NOT NULL)""",
    """CREATE TABLE refs (
        entry INTEGER NOT NULL, artifact INTEGER NOT NULL, PRIMARY KEY (entry, artifact)) WITHOUT ROWID""",
    "CREATE INDEX refs_by_artifact ON refs (artifact)",
    # Texts that search has yet to index: done at append, it takes several times as long, with long peaks.
    "CREATE TABLE unindexed (artifact INTEGER PRIMARY KEY)",
    # Contentless: texts are indexed with CJK characters set apart, and that copy need not be kept.
    "CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2')",
    """CREATE TRIGGER entries_are_append_only BEFORE UPDATE ON entries
        BEGIN SELECT raise(ABORT, 'entries are never changed'); END""",
    _TEXTS_ARE_NEVER_CHANGED,
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FILE_VERSION}",
)

_UPGRADES = {
    1: ("DROP TRIGGER texts_are_never_changed", _TEXTS_ARE_NEVER_CHANGED, "PRAGMA user_version = 2"),
}
"""What leads from a version to the next one."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the store at `path`, which is created if there is none."""
    _create_file(path)
    with named_errors(path):
        # Absolute, so that no file name is special to SQLite, as `:memory:` is.
        place = path.absolute()
        db = sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.text_factory = _FORGIVING
            # In one transaction: another process may be creating the tables at this moment.
            with transaction(db, "BEGIN"):
                version = _file_version(db, path)
            if version == 0:
                _switch_to_wal(db, path)
            if version < FILE_VERSION:
                _bring_up_to_date(db, path)
            db.execute("PRAGMA synchronous = NORMAL")
            # Small and often: with the default of 1000 pages, an append that made a checkpoint took up to 50 ms.
            db.execute("PRAGMA wal_autocheckpoint = 100")
            db.execute("PRAGMA secure_delete = ON")
            # KiB; the system caches the file too, and appends read little of it. The default is four times as much.
            db.execute("PRAGMA cache_size = -512")
        except BaseException:
            db.close()
            raise
    return db


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot change the store at `path`. NotFound if there is none."""
    if not path.is_file():
        raise NotFound(f"there is no store at `{path}`", hint="name one with --store or HOLDFAST_STORE")
    with named_errors(path):
        place = f"{path.absolute().as_uri()}?mode=ro"
        db = sqlite3.connect(
            place, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            db.text_factory = _FORGIVING
            if not _file_version(db, path):
                raise NotFound(f"the store `{path}` is empty", hint="`holdfast logs import` fills it")
            # What a search needs is made in memory, so that no text reaches another file.
            db.execute("PRAGMA temp_store = MEMORY")
        except BaseException:
            db.close()
            raise
    return db


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Errors of SQLite as a StoreError that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        if "not a database" in said:
            message, hint = (
                f"`{path}` is not a SQLite file",
                "name another file, with `store=`, --store or HOLDFAST_STORE",
            )
        elif "closed database" in said:
            message, hint = f"the store `{path}` is closed", "open it again: `Session.resume(…)`"
        elif "readonly" in said:
            message, hint = f"the store `{path}` is read-only", "make the file writable"
        elif "locked" in said:
            message = f"the store `{path}` was busy for {BUSY_SECONDS:.0f} seconds"
            hint = "another process is writing to it: try again when it has finished"
        elif "malformed" in said:
            message = f"the store `{path}` is damaged: {said}"
            hint = "keep a copy of the file, export the logs that can still be read, and start a new store"
        else:
            message, hint = (
                f"the store `{path}` cannot be used: {said}",
                "check the folder, its permissions and the disk",
            )
        raise StoreError(message, hint=hint) from error


def _create_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Logs hold whatever an agent saw: other users of the machine need not read them.
            path.touch(mode=0o600)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have.
        raise StoreError(
            f"the store `{path}` cannot be created: {getattr(error, 'strerror', '') or error}",
            hint="name a file in a folder you may write to, with `store=`, --store or HOLDFAST_STORE",
        ) from None
    if path.is_dir():
        raise StoreError(f"the store `{path}` is a folder, not a file", hint=f"try `{path / 'store.db'}`")
    if not os.access(path, os.W_OK):
        raise StoreError(f"the store `{path}` is read-only", hint="make the file writable")


def _file_version(db: sqlite3.Connection, path: Path) -> int:
    """The version of the tables; 0 for an empty file. Raises StoreError for a file that is not ours."""
    version, application = _number(db, "user_version"), _number(db, "application_id")
    if application == APPLICATION and version > FILE_VERSION:
        raise StoreError(
            f"the store `{path}` has format {version}, and this Holdfast knows formats up to {FILE_VERSION}",
            hint="a newer Holdfast wrote it: upgrade this one, or name another store",
        )
    if application == APPLICATION and version > 0:
        return version
    if version or application or db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise StoreError(
            f"`{path}` is a SQLite database, but not a Holdfast store",
            hint="name another file, with `store=`, --store or HOLDFAST_STORE",
        )
    return 0


def _switch_to_wal(db: sqlite3.Connection, path: Path) -> None:
    """Done once for a file. SQLite does not wait here when two processes do it at the same time."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreError(
                f"the store `{path}` is on a file system where SQLite cannot share a file safely",
                hint="put it on a local disk",
            )
        return


def _bring_up_to_date(db: sqlite3.Connection, path: Path) -> None:
    # Looked up again inside the lock: another process may have been faster.
    with transaction(db, "BEGIN IMMEDIATE"):
        version = _file_version(db, path)
        steps = [_UPGRADES[earlier] for earlier in range(version, FILE_VERSION)] if version else [_TABLES]
        for statement in chain.from_iterable(steps):
            db.execute(statement)


@contextmanager
def transaction(db: sqlite3.Connection, begin: str) -> Iterator[None]:
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])
