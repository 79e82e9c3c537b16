"""How long the page waits for a window while a what-if is replayed: at rest, beside a thread, beside a process.

    uv run python benchmarks/view_what_if.py [--requests 3000] [--tokens 300] [--asked 200] [--json]

Times are of the clock, in milliseconds, as the answer is made in the server's process. The viewer uses a process;
the thread is here to see what that is worth. On a busy machine the lower quartile says more than the median.
"""

import argparse
import json
import threading
import time
from collections.abc import Callable
from statistics import quantiles

from view_history import made_up_log

from holdfast.events import Recorded, Recording
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import CODE
from holdfast.store import MemoryStore
from holdfast.viewer.answers import window_of
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.what_if import WhatIfRuns


def ask(library: SessionLibrary, session: str, times: int) -> dict[str, float]:
    """Milliseconds that the window of a request takes, over all the session."""
    history = library.history(session)
    took = []
    for number in range(times):
        began = time.perf_counter()
        window_of(history, 1 + number * (len(history.requests) - 1) // times)
        took.append((time.perf_counter() - began) * 1000)
        # As a person who holds an arrow key down.
        time.sleep(0.01)
    quartiles = quantiles(took, n=4)
    return {"quartile_ms": round(quartiles[0], 2), "median_ms": round(quartiles[1], 2)}


def beside_thread(library: SessionLibrary, session: str, work: Callable[[], dict[str, float]]) -> dict:
    is_over = threading.Event()

    def replay() -> None:
        plan = library.plan(session, "preview")
        history = plan.start(lambda _: None)
        for entry in plan.entries:
            if is_over.is_set():
                return
            history.add(entry)

    thread = threading.Thread(target=replay)
    thread.start()
    found = {**work(), "ended_first": not thread.is_alive()}
    is_over.set()
    thread.join()
    return found


def beside_process(library: SessionLibrary, session: str, work: Callable[[], dict[str, float]]) -> dict:
    runs = WhatIfRuns(library)
    runs.start(session, "", "")
    while not any(row["kind"] == "preview" and row["done"] for row in runs.rows(session)):
        time.sleep(0.01)
    found = work()
    found["ended_first"] = runs.rows(session)[-1]["state"] != "running"
    runs.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=3_000)
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--asked", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    store = MemoryStore()
    events = tuple(Recorded(entry.event, at=entry.at) for entry in made_up_log(given.requests, given.tokens))
    session = Log.import_recording(store, Recording("made-up", "made-up", events), redact=str).id
    library = SessionLibrary([store], model_lookup(load_catalogue()), lambda *_: CODE.scaled_to(64_000))

    def work() -> dict[str, float]:
        return ask(library, session, given.asked)

    found = {
        "at rest": work(),
        "beside a thread": beside_thread(library, session, work),
        "beside a process": beside_process(library, session, work),
    }
    if given.json:
        print(json.dumps(found))
        return
    for where, figures in found.items():
        print(
            f"{where}: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
        )


if __name__ == "__main__":
    main()
