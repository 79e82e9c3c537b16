"""What the history of a long log costs: every request read once, and the window of any one of them.

    uv run python benchmarks/view_history.py [--requests 10000] [--tokens 300] [--budget 64k] [--json]

Times are CPU time. The log is made up from a seed: rounds of calls with their results. `list` is the client's own
list, `preview` what Holdfast would pack; the share of the second half shows whether a request costs more the later
it comes. `search` looks for words in all that the last request left out, `memory` is what the engine knows there.
The peak is the memory of the process.

`live` is the list in a store on disk, with one request more each time: what the server does for a page that shows
the session, and for one that shows the list of sessions, beside reading the log again.
"""

import argparse
import json
import random
import resource
import time
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
from step_cost import text

from holdfast.events import (
    AssistantReplied,
    Entry,
    Event,
    LogStarted,
    Recorded,
    Recording,
    SystemSet,
    ToolReturned,
    UserSaid,
)
from holdfast.log import Log
from holdfast.messages import Text, ToolCall
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import CODE
from holdfast.store import SqliteStore
from holdfast.tokenizers import counter_for_model
from holdfast.viewer.answers import timeline_of, window_of
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.left_out import search_left_out
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.remembered import remembered_at
from holdfast.viewer.store_place import StorePlace

MODEL = "claude-opus-4-5"


def made_up_log(requests: int, tokens: int, rounds: int = 20) -> list[Entry]:
    rng = random.Random(11)
    events: list[Event] = [LogStarted(origin="import"), SystemSet("You are careful. " + text(rng, 2_000))]
    for number in range(requests):
        if number % max(requests // rounds, 1) == 0:
            events.append(UserSaid((Text(f"Now part {number}: make it faster."),)))
        call = ToolCall(f"c{number}", "Read", {"file_path": f"src/module_{number % 40}.py"})
        events.append(AssistantReplied((Text(f"Step {number}."), call), model=MODEL))
        events.append(ToolReturned(call.id, call.name, (Text(text(rng, tokens)),)))
    ids = (f"e{number:012d}" for number in count())
    entries: list[Entry] = []
    for seq, event in enumerate(events, 1):
        parent = entries[-1].id if entries else None
        entries.append(Entry(next(ids), "made-up", seq, parent, event, at=float(seq)))
    return entries


def measure(entries: list[Entry], basis: str, budget: int) -> dict:
    history = RequestHistory(
        basis, CODE.scaled_to(budget), counter_for_model(MODEL), model_lookup(load_catalogue())
    )
    began = time.process_time()
    middle = began
    for at, entry in enumerate(entries):
        if at == len(entries) // 2:
            middle = time.process_time()
        history.add(entry)
    ended = time.process_time()
    total = len(history.requests)
    began_windows = time.process_time()
    sizes = [len(history.window(number)) for number in (1, total // 2, total)]
    window = (time.process_time() - began_windows) / 3
    began_search = time.process_time()
    search_left_out(history, total, "no such words")
    searched = time.process_time()
    remembered_at(history, total)
    remembered = time.process_time()
    return {
        "basis": basis,
        "requests": total,
        "folds": sum(any(mark.kind == "fold" for mark in r.marks) for r in history.requests),
        "seconds": round(ended - began, 2),
        "second_half": round((ended - middle) / (ended - began), 2),
        "blocks_of_the_last": sizes[-1],
        "window_ms": round(window * 1000, 2),
        "search_ms": round((searched - began_search) * 1000),
        "memory_ms": round((remembered - searched) * 1000),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measure_live(entries: list[Entry], more: int = 20) -> dict:
    with TemporaryDirectory() as folder, SqliteStore(Path(folder) / "store.db") as written:
        recording = Recording("made-up", "sample", tuple(Recorded(e.event, at=e.at) for e in entries))
        log = Log.import_recording(written, recording, redact=str)
        with closing(StorePlace(written.place)) as store:
            library = SessionLibrary([store], model_lookup(load_catalogue()), lambda *_: CODE)
            began = time.process_time()
            timeline_of(library.history(log.id))
            library.figures(log.id)
            whole = time.process_time() - began
            spent = []
            for number in range(more):
                call = ToolCall(f"new{number}", "Read", {"file_path": "src/new.py"})
                replied = AssistantReplied((Text("One more."), call), model=MODEL)
                log.append_all([replied, ToolReturned(call.id, call.name, (Text("a line\n" * 100),))])
                began = time.process_time()
                library.state()
                library.rows()
                history = library.history(log.id)
                msgspec.json.encode(timeline_of(history, len(history.requests) - 2))
                middle = time.process_time()
                library.figures(log.id)
                ended = time.process_time()
                window_of(history, len(history.requests))
                spent.append((middle - began, ended - middle, time.process_time() - ended))
            began = time.process_time()
            for _ in range(1000):
                library.state()
            look = (time.process_time() - began) / 1000
    session, listed, window = (median(column) * 1000 for column in zip(*spent, strict=True))
    return {
        "basis": "live",
        "requests": len(history.requests),
        "read_again_ms": round(whole * 1000),
        "one_more_ms": round(session, 2),
        "its_window_ms": round(window, 2),
        "its_figures_ms": round(listed, 2),
        "look_at_the_store_ms": round(look * 1000, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--budget", default="64k")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    entries = made_up_log(given.requests, given.tokens)
    found = [measure(entries, basis, parse_tokens(given.budget)) for basis in ("list", "preview")]
    found.append(measure_live(entries))
    if given.json:
        print(json.dumps(found))
        return
    for one in found:
        print(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in one.items()))


if __name__ == "__main__":
    main()
