"""What an append costs: SQLite as it is set up, with an fsync a write, with search kept up to date, in memory.

    uv run python benchmarks/store_append.py [--appends 600]

Wall time of this machine and this moment; compare the ratios. No redaction, which has a benchmark of its own.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.events import ToolReturned
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import MemoryStore, SqliteStore, Store

WORDS = [
    f"{a}{b}"
    for a in ("get", "set", "load", "parse", "emit")
    for b in ("_value", "Path", "s", "(x)", "上下文")
]


def result(rng: random.Random) -> ToolReturned:
    """A result of about 4.5 kB."""
    return ToolReturned("call", "Read", (Text(" ".join(rng.choices(WORDS, k=640))),))


def median_ms(store: Store, appends: int, after: Callable[[], object]) -> float:
    rng = random.Random(7)
    log = Log.create(store, redact=str)
    times = []
    for _ in range(appends):
        event = result(rng)
        start = time.perf_counter()
        log.append(event)
        after()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--appends", type=int, default=600)
    appends = parser.parse_args().appends
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SqliteStore(folder / "normal.db") as store:
            normal = median_ms(store, appends, lambda: None)
            start = time.perf_counter()
            store.search("load_value")
            first = time.perf_counter() - start
        with SqliteStore(folder / "full.db") as store:
            store._db.execute("PRAGMA synchronous = FULL")  # noqa: SLF001 - not offered, only compared with
            full = median_ms(store, appends, lambda: None)
        with SqliteStore(folder / "indexed.db") as store:
            indexed = median_ms(store, appends, lambda: store.search("load_value", limit=1))
        memory = median_ms(MemoryStore(), appends, lambda: None)
    rows = (("SQLite, synchronous = NORMAL", normal), ("SQLite, synchronous = FULL", full))
    rows += (("SQLite, searched after every append", indexed), ("memory", memory))
    print(f"{appends} appends of a result of about 4.5 kB, median\n")
    for what, ms in rows:
        print(f"{what:<38} {ms:6.2f} ms   {ms / normal:6.2f} x")
    print(f"\nfirst search over all of them: {first:.2f} s")


if __name__ == "__main__":
    main()
