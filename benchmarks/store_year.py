"""A year of a team's logs: what they take on the disk, kept for ever and pruned after 90 days, and reading speeds.

    uv run python benchmarks/store_year.py [--people 10] [--days 230] [--sessions 6]

Simulated: each person has so many sessions a working day, of 60 steps in the median (lognormal, as is the size of a
result: 600 characters in the median, 1.8 kB on average, 60 kB at most), and one result in five is word for word one
that the team has seen before. The text is cut from the files of Python's own library, which every reader has. Both
stores get the same entries; the second is pruned and vacuumed at each month's end. No redaction.
"""

import argparse
import math
import random
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.cli.log_retention import LogChoice, choose_logs, measure_logs
from holdfast.events import AssistantReplied, Event, LogStarted, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import Text, ToolCall
from holdfast.numbers import format_size, grouped
from holdfast.recall import recall
from holdfast.store import SqliteStore
from holdfast.store.encoding import encode_event
from holdfast.store.protocol import Artifact, EntryDraft, LogHead

DAY = 86_400.0
MONTHS = 12
KEPT_DAYS = 90
SEEN_BEFORE = 0.2
LONGEST = 60_000


class Work:
    """Sessions as a team has them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        folder = Path(sysconfig.get_paths()["stdlib"])
        files = sorted(folder.glob("*.py"))
        self._material = "".join(file.read_text("utf-8", "replace") for file in files)
        self._seen: list[str] = []

    def session(self) -> Iterator[Event]:
        yield LogStarted(title="a session", source="simulated")
        yield UserSaid((Text(self._text(400)),))
        for step in range(max(2, round(self._random.lognormvariate(math.log(60), 1)))):
            call = ToolCall(
                f"call-{step}", "Read", {"path": f"src/{self._random.randrange(10**6)}.py", "limit": step}
            )
            yield AssistantReplied((Text(self._text(120)), call), "a-model")
            yield ToolReturned(f"call-{step}", "Read", (Text(self._result()),))

    def _result(self) -> str:
        if self._seen and self._random.random() < SEEN_BEFORE:
            return self._random.choice(self._seen)
        text = self._text(min(LONGEST, round(self._random.lognormvariate(math.log(600), 1.5))))
        if len(self._seen) < 20_000:
            self._seen.append(text)
        else:
            self._seen[self._random.randrange(20_000)] = text
        return text

    def _text(self, size: int) -> str:
        start = self._random.randrange(len(self._material) - size)
        return self._material[start : start + size]


def drafts(events: Iterator[Event], at: float) -> Iterator[EntryDraft]:
    for event in events:
        body, kept = encode_event(event)
        yield EntryDraft(body, tuple(kept.values()), at=at)


def prune(store: SqliteStore, now: float) -> float:
    """The seconds that pruning and vacuuming took."""
    start = time.perf_counter()
    size, logs = measure_logs(store)
    chosen = choose_logs(size, logs, LogChoice(oldest=now - KEPT_DAYS * DAY), now=now)
    store.delete(*(log.info.head.id for log in chosen))
    store.vacuum()
    return time.perf_counter() - start


def median_ms(action: Callable[[], Any], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def simulate(folder: Path, people: int, days: int, sessions: int) -> None:
    work = Work(7)
    count = entries = plain = 0
    print(
        "| month | sessions | entries | as they came | kept for ever | pruned after 90 days | pruning took |"
    )
    print("|---|---|---|---|---|---|---|")
    with SqliteStore(folder / "all.db") as whole, SqliteStore(folder / "pruned.db") as pruned:
        for month in range(MONTHS):
            working_days = days * (month + 1) // MONTHS - days * month // MONTHS
            for day in range(working_days):
                now = (month * 30.4 + day * 30.4 / max(working_days, 1)) * DAY
                for _ in range(people * sessions):
                    made = list(drafts(work.session(), now))
                    for store in (whole, pruned):
                        store.create(LogHead(f"log-{count}", source="simulated", at=now), made)
                    count += 1
                    entries += len(made)
                    plain += sum(len(d.body) + sum(len(a.text.encode()) for a in d.artifacts) for d in made)
                print(
                    f"\rmonth {month + 1}, day {day + 1}, {grouped(entries)} entries ",
                    end="",
                    file=sys.stderr,
                )
            for store in (whole, pruned):
                store.search("simulated")
            took = prune(pruned, (month + 1) * 30.4 * DAY)
            print("\r", end="", file=sys.stderr)
            disk = [format_size((folder / f"{name}.db").stat().st_size) for name in ("all", "pruned")]
            row = (month + 1, grouped(count), grouped(entries), format_size(plain), *disk, f"{took:.1f} s")
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
        stored = format_size(sum(log.last for log in whole.size().logs))
        print(
            f"\nTexts and entries: {format_size(plain)} as they came, {stored} as stored; the rest are indexes."
        )
        read_speeds(whole, count)


def read_speeds(store: SqliteStore, logs: int) -> None:
    choice = random.Random(1)
    one = f"log-{choice.randrange(logs)}"
    print("\n| at the year's end, kept for ever | median |\n|---|---|")
    for what, action, times in (
        ("list all logs", store.logs, 3),
        ("sizes by session", store.size, 1),
        ("read a session", lambda: store.read(one), 20),
        ("search for a rare word", lambda: store.search("lognormvariate"), 5),
        ("search for a common word", lambda: store.search("return"), 3),
        ("search in one session", lambda: store.search("return", log=one), 5),
    ):
        print(f"| {what} | {median_ms(action, times):,.1f} ms |", flush=True)


def read_ranges(folder: Path) -> None:
    """Lines of a text of a megabyte, compressed, beside the same text plain."""
    text = Work(8)._text(1_000_000)  # noqa: SLF001
    id_ = text_id(text)
    times = {}
    for name in ("compressed", "plain"):
        with SqliteStore(folder / f"{name}.db") as store:
            store.create(LogHead("one"), [EntryDraft(b"{}", (Artifact(id_, text),))])
            if name == "plain":
                store._db.execute("DROP TRIGGER texts_are_never_changed")  # noqa: SLF001
                store._db.execute("UPDATE artifacts SET text = ?", (text,))  # noqa: SLF001
            times[name] = median_ms(partial(recall, store, id_, lines=(15_000, 15_020)), 50)
    print("\n| 20 lines in the middle of 1 MB | median | ratio |\n|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {taken:.2f} ms | {taken / times['plain']:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--days", type=int, default=230, help="working days of the year")
    parser.add_argument("--sessions", type=int, default=6, help="of one person a day")
    parser.add_argument(
        "--folder", type=Path, help="where the stores go, some 10 GB at full size (default: temporary)"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        simulate(Path(name), given.people, given.days, given.sessions)
        read_ranges(Path(name))


if __name__ == "__main__":
    main()
