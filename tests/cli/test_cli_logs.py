"""`holdfast logs`: list, export, import, delete, verify."""

import sqlite3
from pathlib import Path

import pytest
from command_line import holdfast, json_file, lines_file, neutral, on_terminal, work

from holdfast.log import Log
from holdfast.store import SqliteStore


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = lines_file(tmp_path / "work.jsonl", [neutral("work", work(6)[1:], ts=[1.7e9] * 14)])
    id_: str = holdfast("pack", path, "--json").json["log"]
    return id_


def ids() -> list[str]:
    return [info["id"] for info in holdfast("logs", "--json").json]


def test_the_list(log: str) -> None:
    done = holdfast("logs")
    assert done.code == 0
    assert log in done.text
    assert "2023-11-1" in done.text
    assert "neutral" in done.text
    assert "Look around [first]" in done.text
    assert done.err == "note: 1 log\n"


@pytest.mark.parametrize("columns", [80, 40])
def test_an_id_is_always_whole(store: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """It is there to be copied. Ids of sessions are longer than those of imported recordings."""
    monkeypatch.setenv("COLUMNS", str(columns))
    with SqliteStore(store) as opened:
        Log.create(opened, id="l1m7hqf1eshjwya7c", source="an-agent-with-a-long-name-of-its-own")
    assert "l1m7hqf1eshjwya7c" in holdfast("logs").text


def test_an_empty_store_is_not_made_by_looking(store: Path) -> None:
    done = holdfast("logs")
    assert (done.code, done.out) == (0, b"")
    assert holdfast("logs", "--json").json == []
    assert not store.exists()


def test_export_and_import_keep_every_id(log: str, tmp_path: Path) -> None:
    exported = holdfast("logs", "export", log[:9])
    path = tmp_path / "out" / "log.jsonl"
    path.parent.mkdir()
    assert holdfast("logs", "export", log, "-o", path).code == 0
    assert path.read_bytes() == exported.out
    assert [p.name for p in path.parent.iterdir()] == ["log.jsonl"]
    other = tmp_path / "other.db"
    done = holdfast("logs", "import", path, "--store", other, "--json")
    assert [(i["id"], i["existed"]) for i in done.json] == [(log, False)]
    assert holdfast("--store", other, "logs", "export", log).out == exported.out
    assert [i["existed"] for i in holdfast("logs", "import", path, "--store", other, "--json").json] == [True]


def test_import_takes_recordings_too(tmp_path: Path) -> None:
    many = lines_file(tmp_path / "many.jsonl", [neutral(n, work(2, 2)[1:]) for n in "abc"])
    one = json_file(tmp_path / "one.json", work(3, 3))
    done = holdfast("logs", "import", many, one)
    assert done.code == 0
    assert done.text.count(" new ") == 4
    assert "note: 4 logs stored, 0 already there" in done.err
    assert len(ids()) == 4


def test_a_damaged_file_leaves_the_store_as_it_was(log: str, tmp_path: Path) -> None:
    good = json_file(tmp_path / "good.json", work(3, 3))
    bad = lines_file(tmp_path / "bad.jsonl", [neutral(n, work(2, 2)[1:]) for n in "abc"])
    lines = bad.read_text().split("\n")
    bad.write_text("\n".join([lines[0], lines[1][:40], lines[2], ""]))
    done = holdfast("logs", "import", good, bad)
    assert done.code == 2
    assert "error: bad.jsonl line 2 is not valid JSON" in done.err
    assert ids() == [log]


def test_an_export_that_was_edited_names_file_and_line(log: str, tmp_path: Path) -> None:
    exported = holdfast("logs", "export", log).text
    path = tmp_path / "edited.jsonl"
    path.write_text(exported.replace("Reading 2.", "Reading X."))
    other = tmp_path / "other.db"
    done = holdfast("logs", "import", path, "--store", other)
    assert done.code == 2
    assert "error: edited.jsonl: line " in done.err
    assert "was changed after it was written" in done.err
    assert not other.exists()


def test_an_export_cannot_go_to_a_folder_that_is_not_there(log: str, tmp_path: Path) -> None:
    done = holdfast("logs", "export", log, "-o", tmp_path / "no" / "log.jsonl")
    assert done.code == 2
    assert "cannot be written: No such file or directory" in done.err


def test_nothing_is_deleted_without_consent(log: str) -> None:
    done = holdfast("logs", "delete", log)
    assert done.code == 2
    assert "hint: add `--yes`" in done.err
    assert ids() == [log]


@pytest.mark.slow
def test_deleting_asks_on_a_terminal(log: str) -> None:
    shown = on_terminal("logs", "delete", log, answer=b"n\n")
    assert shown.code == 0
    assert b"Delete 1 log? [y/N]" in shown.out
    assert b"nothing was deleted" in shown.out
    assert ids() == [log]
    assert on_terminal("logs", "delete", log, answer=b"y\n").code == 0
    assert ids() == []


def test_deleting_takes_the_texts_along(log: str) -> None:
    found = holdfast("recall", "--query", "name_5_9")
    assert found.code == 0
    assert holdfast("logs", "delete", "--yes", log, log[:8]).code == 0
    assert ids() == []
    assert holdfast("recall", found.text.split(":")[0]).code == 3


def test_one_unknown_id_and_nothing_is_deleted(log: str) -> None:
    done = holdfast("logs", "delete", "--yes", log, "lnothere")
    assert done.code == 3
    assert ids() == [log]


def test_verify_finds_a_changed_text(log: str, store: Path) -> None:
    done = holdfast("logs", "verify")
    assert (done.code, done.out) == (0, b"")
    assert "note: 0 faults in 1 log, " in done.err
    with sqlite3.connect(store) as db:
        db.execute("DROP TRIGGER texts_are_never_changed")
        db.execute("UPDATE artifacts SET text = 'forged' WHERE n = (SELECT max(artifact) FROM refs)")
    db.close()
    for arguments in ([], [log]):
        damaged = holdfast("logs", "verify", *arguments)
        assert damaged.code == 1
        assert "is not what was written" in damaged.text
    assert holdfast("logs", "verify", "--json").json[0]["log"] == log


def test_a_date_that_no_calendar_has(tmp_path: Path) -> None:
    lines_file(tmp_path / "a.jsonl", [neutral("a", [{"role": "user", "content": "hi"}], ts=[9e14])])
    assert holdfast("logs", "import", "a.jsonl").code == 0
    assert holdfast("logs").code == 0
