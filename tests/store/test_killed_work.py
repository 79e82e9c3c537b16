"""300 times `kill -9` in the midst of appends, folds, summaries, an agent's run and imports: nothing that was
acknowledged is lost, nothing is torn, and the work goes on where it was."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.events import Compacted, Folded
from holdfast.log import Log
from holdfast.session import Session
from holdfast.store import SqliteStore, verify
from support import killed_work
from support.killed_work import BUDGET, LOG
from support.waiting import wait_until

KILLS = 60
KILLS_PER_STORE = 4
"""Kills before a new store is begun: a log that grows for ever only takes time."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="SIGKILL and fork"),
]


class Workers:
    """Forks workers from a process that has everything imported."""

    def __init__(self):
        command = [sys.executable, "-m", killed_work.__name__]
        folder = Path(killed_work.__file__).parents[1]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, bufsize=1, cwd=folder, **pipes)

    def start_and_kill(self, kind, store, told, *, after_lines, delay):
        """Start a worker, and kill it some seconds after it has told so many things."""
        self._process.stdin.write(f"{kind} {store} {told}\n")
        worker = int(self._process.stdout.readline())
        wait_until(lambda: told.exists() and told.read_bytes().count(b"\n") >= after_lines, every=0.0005)
        time.sleep(delay)
        os.kill(worker, signal.SIGKILL)
        assert int(self._process.stdout.readline()) == signal.SIGKILL, "the worker ended by itself"

    def close(self):
        self._process.stdin.close()
        assert self._process.wait(timeout=30) == 0
        self._process.stdout.close()


@pytest.fixture(scope="module")
def workers():
    found = Workers()
    yield found
    found.close()


def told_in(path):
    """What was told in whole lines: the last one may be torn."""
    said = path.read_text() if path.exists() else ""
    return [(int(number), id_) for number, id_ in map(str.split, said[: said.rfind("\n") + 1].splitlines())]


def check_imports(store, told):
    assert {id_ for _, id_ in told} <= {info.head.id for info in store.logs()}
    sizes = {info.entries for info in store.logs()}
    assert len(sizes) == 1, "a recording is there as a whole or not at all"
    assert verify(store) == []


def check_log(store, told):
    entries = Log.open(store, LOG).entries()
    assert verify(store, LOG) == []
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [(number, id_) for number, id_ in told if entries[number - 1].id != id_] == []
    # The next process sends what fits, whatever the last one was about to do.
    with Session(store=store, log=LOG, budget=BUDGET) as session:
        assert session.pack().tokens <= BUDGET
    return entries


@pytest.mark.parametrize("kind", ["append", "fold", "summary", "agent", "import"])
def test_nothing_that_was_acknowledged_is_lost(tmp_path, workers, kind):
    chance = random.Random(kind)
    found = []
    for number in range(KILLS):
        store = tmp_path / f"{number // KILLS_PER_STORE}.db"
        told = store.with_suffix(".told")
        before = len(told_in(told))
        workers.start_and_kill(
            kind, store, told, after_lines=before + chance.randrange(1, 4), delay=chance.random() * 0.02
        )
        with SqliteStore(store) as opened:
            if kind == "import":
                check_imports(opened, told_in(told))
            else:
                found = check_log(opened, told_in(told))
    events = [entry.event for entry in found]
    assert kind != "fold" or any(isinstance(event, Folded) for event in events)
    assert kind != "summary" or any(isinstance(event, Compacted) for event in events)
