"""Texts at rest: what is stored compressed is read back whole, found by words, and smaller."""

import random
import sqlite3
import string
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.events import UserSaid
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import ReadOnlyStore, SqliteStore, verify
from holdfast.store.protocol import Artifact, EntryDraft, LogHead
from holdfast.store.sqlite_file import FILE_VERSION
from holdfast.store.text_compression import DAMAGED, SHORTEST, packed, unpacked

PLAIN_TRIGGER = """CREATE TRIGGER texts_are_never_changed BEFORE UPDATE OF id, text ON artifacts
    BEGIN SELECT raise(ABORT, 'texts are never changed'); END"""
LONG = "a line of a log that repeats itself\n" * 400


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 400))
def test_every_text_comes_back(text: str, times: int) -> None:
    assert unpacked(packed(text * times)) == text * times


def test_what_does_not_pay_stays_plain() -> None:
    assert packed("x" * (SHORTEST - 1)) == "x" * (SHORTEST - 1)
    noise = "".join(random.choices(string.printable, k=4 * SHORTEST))
    assert packed(noise) == noise
    assert isinstance(packed(LONG), bytes)


def put(path: Path, *texts: str) -> None:
    with SqliteStore(path) as store:
        log = Log.create(store, id="one", redact=str)
        for text in texts:
            log.append(UserSaid((Text(text),)))


def stored_kinds(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as db:
        return {kind for (kind,) in db.execute("SELECT typeof(text) FROM artifacts")}


def make_version_one(path: Path) -> None:
    """The file as version 1 wrote it: all texts plain, and none of them may be changed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TRIGGER texts_are_never_changed")
        for number, stored in db.execute("SELECT n, text FROM artifacts").fetchall():
            db.execute("UPDATE artifacts SET text = ? WHERE n = ?", (unpacked(stored), number))
        db.execute(PLAIN_TRIGGER)
        db.execute("PRAGMA user_version = 1")


def test_a_long_text_takes_less_room_and_is_read_and_found_as_before(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    put(path, LONG)
    with SqliteStore(path) as store:
        assert store.text(text_id(LONG)) == LONG
        assert [hit.artifact for hit in store.search("repeats itself")] == [text_id(LONG)]
        (size,) = store.size().logs
        assert size.all < len(LONG) / 10
        assert verify(store) == []
        assert store.append("one", [EntryDraft(b'{"type":"noted"}', (Artifact(text_id(LONG), LONG),))])
        store.delete("one")
        assert store.search("repeats") == ()


def test_a_file_of_version_one_is_read_as_it_is_and_brought_up_to_date_by_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    put(path, LONG, "short")
    make_version_one(path)
    before = path.read_bytes()
    with ReadOnlyStore(path) as store:
        assert store.text(text_id(LONG)) == LONG
    assert path.read_bytes() == before
    put_again = LONG + "more"
    with SqliteStore(path) as store:
        Log.open(store, "one", redact=str).append(UserSaid((Text(put_again),)))
        assert {store.text(text_id(LONG)), store.text(text_id(put_again))} == {LONG, put_again}
        assert verify(store) == []
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FILE_VERSION,)
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            db.execute("UPDATE artifacts SET text = 'forged'")
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            db.execute("UPDATE artifacts SET text = x'00' WHERE typeof(text) = 'blob'")


def test_vacuum_compresses_what_version_one_stored_and_shrinks_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    texts = [f"{number} {LONG}" for number in range(60)]
    put(path, *texts)
    make_version_one(path)
    before = path.stat().st_size
    with SqliteStore(path) as store:
        assert store.search("repeats")
        store.vacuum()
        assert store.size().unused == 0
        assert [store.text(text_id(text)) for text in texts] == texts
        assert len(store.search("repeats", limit=100)) == 60
        assert verify(store) == []
    assert stored_kinds(path) == {"blob"}
    assert path.stat().st_size < before / 3


def test_a_damaged_text_is_named_and_the_rest_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    other = "another text of many words\n" * 100
    put(path, LONG, other)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TRIGGER texts_are_never_changed")
        db.execute("UPDATE artifacts SET text = substr(text, 1, 20) WHERE id = ?", (text_id(LONG),))
    with SqliteStore(path) as store:
        assert store.text(text_id(LONG)) == DAMAGED
        assert store.text(text_id(other)) == other
        assert [damage.what for damage in verify(store)] == [
            f"its text `{text_id(LONG)}` is not what was written"
        ]


def test_deleting_many_logs_leaves_no_word_of_them_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        for number in range(5):
            text = f"zebraword{number} and others"
            body = EntryDraft(b'{"type":"noted"}', (Artifact(text_id(text), text),))
            store.create(LogHead(f"log{number}"), [body])
        store.search("others")
        store.delete(*(f"log{number}" for number in range(4)))
        assert [hit.log for hit in store.search("others")] == ["log4"]
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"zebraword4" in left
    assert not any(f"zebraword{number}".encode() in left for number in range(4))
