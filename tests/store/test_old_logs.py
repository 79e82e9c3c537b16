"""Stores written by an earlier version open, and their logs pack to the same bytes as they did then.

The files under `tests/data` hold a run of `holdfast tour` and one of `examples/pair/run.py`, of November 2026.
The digests are of the packs that the version of that day made of them, except where a fold or a cut on first sight
is in them: these changed when `draft16k` followed its document, and when cuts named the call for what is missing.
"""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

import holdfast
from holdfast.pair.phases import pair_state, read_phase
from holdfast.store import SqliteStore

DATA = Path(__file__).parents[1] / "data"
CODING = "l1m7h8qww140x80k8"
PAIR = "l1m7h8q97xxb57kgj"


def store_file(name: str, folder: Path) -> Path:
    file = folder / "store.db"
    file.write_bytes(gzip.decompress((DATA / f"{name}-2026-11.db.gz").read_bytes()))
    return file


@pytest.mark.parametrize(
    ("store", "log", "profile", "budget", "messages", "digest"),
    [
        ("coding-log", CODING, "code", None, 18, "f2e98b17239bb72e"),
        ("coding-log", CODING, "code", "8k", 15, "51c37963a723314d"),
        ("coding-log", CODING, "draft16k", None, 18, "f2e98b17239bb72e"),
        ("coding-log", CODING, "execute", None, 18, "f2e98b17239bb72e"),
        ("coding-log", CODING, "rich", "12k", 18, "1da1487406c8fe82"),
        ("pair-logs", f"{PAIR}.init", "code", None, 14, "e8370c9bd5f3408b"),
        ("pair-logs", f"{PAIR}.init", "code", "8k", 14, "e8370c9bd5f3408b"),
        ("pair-logs", f"{PAIR}.init", "draft16k", None, 14, "e8370c9bd5f3408b"),
        ("pair-logs", f"{PAIR}.init", "execute", None, 15, "aae1ff8fc39c8160"),
        ("pair-logs", f"{PAIR}.init", "rich", "12k", 14, "e8370c9bd5f3408b"),
        ("pair-logs", f"{PAIR}.execute", "code", None, 25, "8d3d88a3ffa5758f"),
        ("pair-logs", f"{PAIR}.execute", "code", "8k", 13, "bb33454ccc2f4321"),
        ("pair-logs", f"{PAIR}.execute", "draft16k", None, 25, "8d3d88a3ffa5758f"),
        ("pair-logs", f"{PAIR}.execute", "execute", None, 26, "2343a1dcf370b829"),
        ("pair-logs", f"{PAIR}.execute", "rich", "12k", 25, "1ba66185e11c4ba1"),
    ],
)
def test_a_log_packs_as_it_did(store, log, profile, budget, messages, digest, tmp_path):
    file = store_file(store, tmp_path)
    with holdfast.Session(store=file, log=log, profile=profile, budget=budget) as session:
        packed = session.pack()
    text = json.dumps(packed.messages, sort_keys=True)
    assert len(packed.messages) == messages
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def test_the_journal_of_a_pair_is_read_to_its_end(tmp_path):
    with SqliteStore(store_file("pair-logs", tmp_path)) as store:
        phases = [
            phase
            for entry in holdfast.Session(store=store, log=PAIR).log.entries()
            if (phase := read_phase(entry.event)) is not None
        ]
    assert len(phases) > 15
    assert pair_state(phases, "execute").ended is not None
