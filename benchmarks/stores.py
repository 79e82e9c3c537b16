"""SQLite against PostgreSQL: appends and packs per second with one writer and with eight, and search in many texts.

    uv run python benchmarks/stores.py [--texts 100000] [--seconds 5] [--json]

Both are measured in one run, one after the other, on the same disk; the ratios are what to compare. PostgreSQL is
started from the packages of the system in a temporary folder, with the settings it comes with, and is reached over
loopback. Each writer is a process with a log of its own; an append is a call and its result of about 4 kB, a pack
opens a log of 60 steps and packs it; searches come after `holdfast logs vacuum`. SQLite acknowledges what a killed
process cannot lose, PostgreSQL what a power cut cannot lose either.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from holdfast import Session
from holdfast.events import AssistantReplied, ToolReturned
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Text, ToolCall
from holdfast.store import Store, open_store
from holdfast.store.protocol import Artifact, EntryDraft, LogHead
from holdfast.store_places import parse_place
from support.postgres import PostgresServer

WRITERS = 8
BATCH = 500
WORDS = [f"{a}{b}" for a in ("get", "set", "load", "parse", "emit", "fold", "read") for b in range(300)]
QUERIES = {
    "a rare word": "rare77",
    "two words": "parse17 emit200",
    "a phrase of code": '"load_rare3"',
    "a word in one text of 5": "common",
}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def made_up_text(chance: random.Random, number: int) -> str:
    words = [WORDS[min(int(chance.paretovariate(0.4)), len(WORDS) - 1)] for _ in range(100)]
    words += chance.choices(WORDS, k=20)
    if number % 5 == 0:
        words[7] = "common"
    if number % 1000 == 77:
        words[9], words[11] = "rare77", f"load_rare{number % 7}"
    return f"text {number}\n" + "\n".join(" ".join(words[at : at + 8]) for at in range(0, len(words), 8))


def append_for(place: str, log: str, seconds: float) -> int:
    """How many steps were appended in so many seconds."""
    chance, done = random.Random(log), 0
    with open_store(parse_place(place)) as store:
        opened = Log.create(store, id=log, redact=str)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            call = ToolCall(f"c{done}", "Bash", {"command": f"make part-{done}"})
            said = "\n".join(made_up_text(chance, done * 10 + part) for part in range(4))
            opened.append(AssistantReplied((call,), ""))
            opened.append(ToolReturned(call.id, call.name, (Text(said),)))
            done += 1
    return done


def pack_for(place: str, log: str, seconds: float) -> int:
    """How many times a log was opened and packed in so many seconds."""
    done, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        with Session.resume(place, log) as session:
            session.pack()
        done += 1
    return done


def prepare_log(place: str, log: str) -> None:
    chance = random.Random(log)
    with Session(store=place, log=log, budget="32k") as session:
        session.append({"role": "user", "content": "Make it faster."})
        for number in range(60):
            call = {"id": f"c{number}", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
            session.append({"role": "assistant", "content": "On.", "tool_calls": [call]})
            said = made_up_text(chance, number)
            session.append({"role": "tool", "tool_call_id": f"c{number}", "content": said})


def per_second(kind: str, place: str, writers: int, seconds: float) -> float:
    """What so many processes do in a second, all together."""
    logs = [f"{kind}-{writers}-{number}" for number in range(writers)]
    if kind == "pack":
        for log in logs:
            prepare_log(place, log)
    else:
        open_store(parse_place(place)).close()
    words = [sys.executable, __file__, "--work", kind, "--seconds", str(seconds), "--place", place]
    running = [subprocess.Popen([*words, "--log", log], stdout=subprocess.PIPE, text=True) for log in logs]
    return sum(int(one.communicate()[0]) for one in running) / seconds


def fill(store: Store, texts: int) -> float:
    """Seconds for so many texts, appended in batches."""
    chance, started = random.Random(3), time.monotonic()
    store.create(LogHead("many"), [EntryDraft(b'{"type":"noted"}')])
    for first in range(0, texts, BATCH):
        said = [made_up_text(chance, number) for number in range(first, min(first + BATCH, texts))]
        store.append("many", [EntryDraft(b'{"type":"noted"}', (Artifact(text_id(t), t),)) for t in said])
        if first % 10_000 == 0:
            say(f"  {first} of {texts} texts")
    return time.monotonic() - started


def search_seconds(store: Store, query: str) -> float:
    times = []
    for _ in range(7):
        started = time.perf_counter()
        store.search(query)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def measure(places: dict[str, str], texts: int, seconds: float) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for kind in ("append", "pack"):
        for writers in (1, WRITERS):
            row = found[
                f"{kind}s per second, {'one process' if writers == 1 else f'{writers} processes'}"
            ] = {}
            for name, place in places.items():
                row[name] = per_second(kind, place, writers, seconds)
                say(f"{kind}, {writers} at once, {name}: {row[name]:.1f} per second")
    filled = found[f"texts appended per second, {BATCH} at a time"] = {}
    hits: dict[str, list[object]] = {}
    for name, place in places.items():
        with open_store(parse_place(place)) as store:
            filled[name] = texts / fill(store, texts)
            started = time.monotonic()
            store.search("first")
            store.vacuum()
            say(f"first search and vacuum, {name}: {time.monotonic() - started:.1f} s")
            for about, query in QUERIES.items():
                row = found.setdefault(f"searches per second in {texts} texts, {about}", {})
                row[name] = 1 / search_seconds(store, query)
                hits.setdefault(about, []).append([hit.artifact for hit in store.search(query, log="many")])
                say(f"search, {about}, {name}: {1000 / row[name]:.1f} ms")
    for about, (one, two) in hits.items():
        assert one == two, f"both stores must find the same: {about}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", action="store_true")
    for hidden in ("--work", "--place", "--log"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work = append_for if asked.work == "append" else pack_for
        print(work(asked.place, asked.log, asked.seconds))
        return
    server = PostgresServer()
    try:
        with tempfile.TemporaryDirectory(dir=server.folder.parent) as folder:
            places = {"SQLite": f"{folder}/store.db", "PostgreSQL": server.tcp_url(server.make_database())}
            found = measure(places, asked.texts, asked.seconds)
    finally:
        server.close()
    if asked.json:
        print(json.dumps(found, indent=1))
        return
    print("| | SQLite | PostgreSQL | SQLite : PostgreSQL |\n| --- | ---: | ---: | ---: |")
    for about, row in found.items():
        one, two = row["SQLite"], row["PostgreSQL"]
        print(f"| {about} | {one:.3g} | {two:.3g} | {one / two:.2g} |")


if __name__ == "__main__":
    main()
