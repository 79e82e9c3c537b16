"""`kill -9` at any moment, and several processes on one store: nothing acknowledged is lost, nothing is torn."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest

from holdfast.events import AssistantReplied, Entry, Noted, ToolReturned, UserSaid
from holdfast.log import Log
from holdfast.messages import Text, ToolCall
from holdfast.session import Session
from holdfast.store import SqliteStore, verify
from support.waiting import wait_until

WRITER = Path(__file__).with_name("writer.py")
FOREVER = 0
KILLS = 50

Process = subprocess.Popen[str]
Told = list[tuple[int, str, int]]
"""Number of the entry, name of the writer, number of the group."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL and fork")


class Nursery:
    """Forks writers from a process that has everything imported."""

    def __init__(self) -> None:
        command = [sys.executable, str(WRITER)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def start(self, path: Path, log: str, name: str, size: int, told: Path) -> int:
        self._pipes()[0].write(f"{path} {log} {name} {FOREVER} {size} {told}\n")
        return int(self._pipes()[1].readline())

    def kill(self, writer: int) -> None:
        os.kill(writer, signal.SIGKILL)
        assert int(self._pipes()[1].readline()) == signal.SIGKILL

    def close(self) -> None:
        for pipe in self._pipes():
            pipe.close()
        assert self._process.wait(timeout=10) == 0

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


def writer(path: Path, log: str, name: str, groups: int, size: int) -> Process:
    told = path.with_name(f"{name}.told")
    command = [sys.executable, str(WRITER), str(path), log, name, str(groups), str(size), str(told)]
    return subprocess.Popen(command, text=True)


def read_told(path: Path) -> Told:
    """What was told in whole lines: the last one may be torn."""
    said = path.read_text() if path.exists() else ""
    whole = said[: said.rfind("\n") + 1]
    return [
        (int(seq), name, int(group)) for seq, name, group in (line.split() for line in whole.splitlines())
    ]


def wait_for(path: Path, lines: int) -> None:
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= lines, every=0.0002)


def finished(process: Process, path: Path, name: str) -> Told:
    assert process.wait(timeout=60) == 0
    return read_told(path.with_name(f"{name}.told"))


def origin(entry: Entry) -> tuple[str, int, int]:
    """Writer, group and member that an entry came from."""
    event = entry.event
    text = event.text if isinstance(event, Noted) else event.parts[0].text.split("\n")[0]
    name, group, member = text.split()
    return name, int(group), int(member)


def checked(path: Path, log: str, told: Told, size: int) -> list[Entry]:
    """Everything that must hold of a log after any accident."""
    with SqliteStore(path) as store:
        entries = Log.open(store, log).entries()
        assert verify(store, log) == []
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    origins = [origin(entry) for entry in entries[1:]]
    for seq, name, group in told:
        assert origins[seq - 2][:2] == (name, group)
    for start in range(0, len(origins), size):
        name, group, _ = origins[start]
        assert origins[start : start + size] == [(name, group, member) for member in range(size)]
    return entries


def check_container(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        indexed = db.execute("SELECT count(*) FROM words_docsize").fetchone()[0]
        waiting = db.execute("SELECT count(*) FROM unindexed").fetchone()[0]
        assert (
            indexed + waiting
            == db.execute("SELECT count(*) FROM artifacts WHERE kind = 'text'").fetchone()[0]
        )
        unreferenced = "SELECT count(*) FROM artifacts WHERE n NOT IN (SELECT artifact FROM refs)"
        assert db.execute(unreferenced).fetchone() == (0,)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "size"), [(1, 1), (2, 4)])
def test_a_killed_writer_loses_nothing_that_was_acknowledged(
    tmp_path: Path, nursery: Nursery, seed: int, size: int
) -> None:
    chance = random.Random(seed)
    path, told = tmp_path / "store.db", tmp_path / "told"
    for round_ in range(KILLS // 2):
        process = nursery.start(path, "log", f"w{round_}", size, told)
        wait_for(told, len(read_told(told)) + chance.randrange(1, 25))
        time.sleep(chance.random() * 0.004)
        nursery.kill(process)
        entries = checked(path, "log", read_told(told), size)
        # Whatever was not acknowledged is the one group that was being written, or nothing.
        assert len(entries) - 1 - len(read_told(told)) <= size * (round_ + 1)
        check_container(path)
    with SqliteStore(path) as store:
        _, name, group = read_told(told)[-1]
        assert store.search(f'"{name} {group} 0"')


def test_killed_while_the_store_is_being_made(tmp_path: Path, nursery: Nursery) -> None:
    chance = random.Random(3)
    for round_ in range(30):
        path, told = tmp_path / f"{round_}.db", tmp_path / f"{round_}.told"
        process = nursery.start(path, "log", "w", 1, told)
        time.sleep(chance.random() * 0.02)
        nursery.kill(process)
        with SqliteStore(path) as store:
            started = bool(store.logs())
        assert started or not read_told(told)
        if started:
            checked(path, "log", read_told(told), 1)
            check_container(path)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_processes_on_one_log_neither_lose_nor_interleave(tmp_path: Path, count: int) -> None:
    path = tmp_path / "store.db"
    processes = {f"w{n}": writer(path, "log", f"w{n}", 30, 3) for n in range(count)}
    told = [line for name, process in processes.items() for line in finished(process, path, name)]
    entries = checked(path, "log", told, 3)
    assert len(entries) == 1 + count * 30 * 3 == 1 + len(told)
    assert len({seq for seq, _, _ in told}) == len(told)
    assert Counter(origin(entry)[0] for entry in entries[1:]) == dict.fromkeys(processes, 90)
    check_container(path)


READER = """
import sys, time
from pathlib import Path
from holdfast.log import Log
from holdfast.store import SqliteStore

path, done = sys.argv[1:]
seen, looks = [], 0
while True:
    is_last = Path(done).exists()
    with SqliteStore(path) as store:
        now = [entry.id for entry in Log.open(store, "log").entries()]
        store.search("w0 1")
    assert now[: len(seen)] == seen, "what was read once has changed"
    seen, looks = now, looks + 1
    if is_last:
        break
print(looks, len(seen))
"""


@pytest.mark.slow
def test_readers_beside_two_writers_see_a_log_that_only_grows(tmp_path: Path) -> None:
    path, done = tmp_path / "store.db", tmp_path / "done"
    processes = {f"w{n}": writer(path, "log", f"w{n}", 60, 3) for n in range(2)}
    wait_for(path.with_name("w0.told"), 1)
    command = [sys.executable, "-c", READER, str(path), str(done)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [line for name, process in processes.items() for line in finished(process, path, name)]
    done.touch()
    for reader in readers:
        looks, entries = (int(one) for one in reader.communicate(timeout=60)[0].split())
        assert (reader.returncode, entries) == (0, 1 + 2 * 60 * 3)
        assert looks > 0
    checked(path, "log", told, 3)


@pytest.mark.slow
def test_a_log_of_fifty_thousand_events(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        log = Log.create(store, id="log", redact=str)
        log.append(UserSaid((Text("Look at every part."),)))
        for start in range(0, 50_000, 5_000):
            log.append_all([event for number in range(start, start + 5_000, 2) for event in look(number)])
    with SqliteStore(path) as store, Session(store=store, log="log", budget="32k") as session:
        assert session.log.info.entries > 50_000
        assert session.pack().tokens <= 32_000
        session.append({"role": "user", "content": "And now?"})
        assert session.pack().tokens <= 32_000
        assert "part 30000" in session.recall({"query": "part 30000"})
        assert verify(store, "log") == []
    check_container(path)


def look(number: int) -> tuple[AssistantReplied, ToolReturned]:
    call = ToolCall(f"c{number}", "Look", {"path": f"p{number}.py"})
    return AssistantReplied((call,), ""), ToolReturned(call.id, call.name, (Text(f"part {number}"),))


@pytest.mark.slow
def test_processes_on_different_logs_of_one_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    processes = {f"w{n}": writer(path, f"log-w{n}", f"w{n}", 30, 2) for n in range(4)}
    for name, process in processes.items():
        told = finished(process, path, name)
        assert len(checked(path, f"log-{name}", told, 2)) == 61 == len(told) + 1
    check_container(path)


@pytest.mark.slow
def test_one_is_killed_while_another_writes(tmp_path: Path, nursery: Nursery) -> None:
    chance = random.Random(4)
    path, told = tmp_path / "store.db", tmp_path / "victims.told"
    survivor = writer(path, "log", "survivor", 300, 3)
    wait_for(path.with_name("survivor.told"), 1)
    kills = 0
    while survivor.poll() is None:
        victim = nursery.start(path, "log", f"victim{kills}", 3, told)
        wait_for(told, len(read_told(told)) + chance.randrange(1, 12))
        nursery.kill(victim)
        kills += 1
    entries = checked(path, "log", read_told(told) + finished(survivor, path, "survivor"), 3)
    assert kills > 1
    assert Counter(origin(entry)[0] for entry in entries[1:])["survivor"] == 900
    check_container(path)
