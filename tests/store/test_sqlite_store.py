"""The file on disk: what is refused, what is never changed, and that damage is named."""

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from holdfast.errors import StoreError
from holdfast.events import Entry, ToolReturned, UserSaid
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import Damage, SqliteStore, verify
from holdfast.store.sqlite_file import APPLICATION, FILE_VERSION


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some" / "folder" / "store.db"


def filled(path: Path) -> list[Entry]:
    with SqliteStore(path) as store:
        log = Log.create(store, id="log-one", redact=str)
        log.append(UserSaid((Text("a question, " * 30),)))
        log.append(ToolReturned("c1", "Bash", (Text("an answer\n" * 30), Text("and more"))))
        return log.entries()


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The file behind the store's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


def damage(path: Path, statement: str, *values: object) -> list[Damage]:
    with raw(path) as db:
        for trigger in ("entries_are_append_only", "texts_are_never_changed"):
            db.execute(f"DROP TRIGGER {trigger}")
        assert db.execute(statement, values).rowcount == 1
    with SqliteStore(path) as store:
        return verify(store)


def test_what_was_written_is_there_after_reopening(path: Path) -> None:
    before = filled(path)
    with SqliteStore(path) as store:
        assert Log.open(store, "log-one").entries() == before
        assert verify(store) == []


def test_the_file_is_in_wal_mode_and_for_its_owner_only(path: Path) -> None:
    filled(path)
    with raw(path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA user_version").fetchone() == (FILE_VERSION,)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_entries_and_texts_cannot_be_updated(path: Path) -> None:
    filled(path)
    with raw(path) as db:
        for statement in ("UPDATE entries SET body = x'00'", "UPDATE artifacts SET text = 'forged'"):
            with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                db.execute(statement)


def test_a_newer_format_is_refused_and_left_alone(path: Path) -> None:
    filled(path)
    with raw(path) as db:
        db.execute(f"PRAGMA user_version = {FILE_VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"format {FILE_VERSION + 1}.*up to {FILE_VERSION}") as caught:
        SqliteStore(path)
    assert "upgrade" in caught.value.hint
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with raw(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a Holdfast store"):
        SqliteStore(path)
    assert path.read_bytes() == before
    assert int.from_bytes(b"HOLD", "big") == APPLICATION


@pytest.mark.parametrize(
    "content",
    [b"hello world, this is a text file\n" * 50, b"\0" * 5000, b"SQLite format 3\0" + b"\xff" * 5000],
)
def test_a_file_that_is_not_sqlite_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"notes\.txt") as caught:
        SqliteStore(path)
    assert caught.value.hint
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    filled(path)


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        SqliteStore(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created"):
        SqliteStore(tmp_path / "file" / "store.db")


@pytest.mark.skipif(os.name != "posix", reason="rights are set the POSIX way")
def test_a_read_only_file_is_named() -> None:
    # Not in tmp_path: an unprivileged user must be able to reach it when the tests run as root.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        filled(path)
        path.chmod(0o444)
        Path(folder).chmod(0o755)
        with unprivileged(), pytest.raises(StoreError, match="read-only"):
            SqliteStore(path)


@contextmanager
def unprivileged() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.logs()


def test_a_changed_body_names_its_entry(path: Path) -> None:
    entries = filled(path)
    found = damage(path, "UPDATE entries SET body = replace(body, 'Bash', 'bash') WHERE seq = 3")
    assert [(d.entry, d.seq, d.log) for d in found] == [(entries[2].id, 3, "log-one")]
    assert "does not match its id" in found[0].what


def test_a_body_that_is_no_json_names_its_entry(path: Path) -> None:
    entries = filled(path)
    found = damage(path, "UPDATE entries SET body = x'ff' || substr(body, 2) WHERE seq = 2")
    assert {d.entry for d in found} == {entries[1].id}


@pytest.mark.parametrize("byte", ["58", "ff"])
def test_one_changed_byte_of_a_text_names_the_entry(path: Path, byte: str) -> None:
    entries = filled(path)
    changed = f"CAST(x'{byte}' || substr(CAST(text AS BLOB), 2) AS TEXT)"
    found = damage(
        path, f"UPDATE artifacts SET text = {changed} WHERE text LIKE 'an answer%' AND kind = 'text'"
    )
    assert [(d.entry, "not what was written" in d.what) for d in found] == [(entries[2].id, True)]


def test_a_changed_joined_text_names_the_entry(path: Path) -> None:
    entries = filled(path)
    found = damage(path, "UPDATE artifacts SET text = 'x' || text WHERE text LIKE 'an answer%more'")
    assert [(d.entry, "not what was written" in d.what) for d in found] == [(entries[2].id, True)]


def test_a_missing_text_is_named_and_reading_says_so(path: Path) -> None:
    entries = filled(path)
    found = damage(path, "DELETE FROM artifacts WHERE text LIKE 'a question%'")
    assert [(d.entry, "not in the store" in d.what) for d in found] == [(entries[1].id, True)]
    with SqliteStore(path) as store, pytest.raises(StoreError, match=entries[1].id):
        Log.open(store, "log-one").entries()


def test_a_missing_entry_and_a_foreign_parent_are_named(path: Path) -> None:
    entries = filled(path)
    found = damage(path, "DELETE FROM entries WHERE seq = 2")
    assert {d.entry for d in found} == {entries[2].id}
    assert any("missing before it" in d.what for d in found)
    assert any("parent" in d.what for d in found)


def test_a_torn_file_is_a_store_error(path: Path) -> None:
    filled(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match=r"store\.db"), SqliteStore(path) as store:
        assert verify(store) == []


@pytest.mark.parametrize("indexed", [False, True])
def test_deleting_a_log_takes_its_words_out_of_the_file(path: Path, indexed: bool) -> None:
    with SqliteStore(path) as store:
        kept = Log.create(store, redact=str)
        kept.append(UserSaid((Text("marimba"),)))
        log = Log.create(store, redact=str)
        log.append(UserSaid((Text("xylophone " * 40),)))
        assert not indexed or store.search("xylophone")
        store.delete(log.id)
        assert store.search("marimba")
        assert not store.search("xylophone")
    assert b"xylophone" not in path.read_bytes()
    assert b"marimba" in path.read_bytes()
