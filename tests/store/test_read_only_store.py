"""The store on disk, opened for reading only: it finds what others write, and changes nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import NotFound, StoreError
from holdfast.events import UserSaid
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import ReadOnlyStore, SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two logs; no search has indexed their texts yet."""
    path = tmp_path / "store.db"
    with SqliteStore(path) as opened:
        for id_, text in (("log-parser", "the parser fails"), ("log-printer", "the printer is on fire")):
            Log.create(opened, id=id_).append(UserSaid((Text(text),)))
    return path


@pytest.fixture
def logs(store: Path) -> Iterator[ReadOnlyStore]:
    with ReadOnlyStore(store) as opened:
        yield opened


def test_the_store_refuses_every_write(store: Path, logs: ReadOnlyStore) -> None:
    before = store.read_bytes()
    assert logs.search("fire")
    for write in (lambda: logs.delete("log-parser"), lambda: Log.create(logs, title="new")):
        with pytest.raises(StoreError, match="read-only"):
            write()
    logs.close()
    assert store.read_bytes() == before


def test_search_sees_what_others_append_index_and_delete(store: Path, logs: ReadOnlyStore) -> None:
    assert [hit.log for hit in logs.search("fire")] == ["log-printer"]
    with SqliteStore(store) as other:
        assert other.search("fire")  # indexes all texts in the file
        Log.open(other, "log-parser").append(UserSaid((Text("more fire in the hall"),)))
        assert sorted(hit.log for hit in logs.search("fire")) == ["log-parser", "log-printer"]
        assert len(logs.search("fire", limit=1)) == 1
        other.delete("log-parser")
        Log.create(other, id="log-third").append(UserSaid((Text("nothing burns"),)))
    assert [hit.log for hit in logs.search("fire")] == ["log-printer"]
    assert [hit.log for hit in logs.search("burns")] == ["log-third"]


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no store"):
        ReadOnlyStore(tmp_path / "none.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(NotFound, match="is empty"):
        ReadOnlyStore(tmp_path / "empty.db")
    assert not (tmp_path / "none.db").exists()
