"""What a folder of many sessions costs: the first list, the list again, one session, and the memory of all that.

    uv run python benchmarks/view_folder.py [--sessions 5000] [--kilobytes 1000] [--keep FOLDER]

Sessions are made up in the format of Claude Code, each in a file of the given size. Times are wall-clock times; the
files were just written, so they come from the memory of the system. `--keep` leaves the folder where it is named.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from holdfast.viewer.recorded_sessions import RecordedSessions


def lines(number: int, size: int) -> list[bytes]:
    """A session: a person asks, then calls with results until the size is reached."""

    def line(kind: str, own: int, content: object, **more: object) -> bytes:
        head = {"type": kind, "uuid": f"u{own}", "parentUuid": f"u{own - 1}" if own else None}
        head |= {"sessionId": f"s{number}", "timestamp": "2026-01-01T00:00:00Z"}
        return json.dumps({**head, "message": {"role": kind, "content": content, **more}}).encode() + b"\n"

    found = [line("user", 0, f"Task {number}: make the parser faster")]
    written = len(found[0])
    while written < size:
        at = len(found)
        call = [{"type": "tool_use", "id": f"c{at}", "name": "Bash", "input": {"command": f"make part-{at}"}}]
        usage = {"input_tokens": 10, "cache_read_input_tokens": written // 4, "output_tokens": 40}
        found.append(line("assistant", at, call, id=f"m{at}", model="claude-opus-4-5", usage=usage))
        result = {
            "type": "tool_result",
            "tool_use_id": f"c{at}",
            "content": f"row {at} of the output\n" * 200,
        }
        found.append(line("user", at + 1, [result]))
        written += len(found[-1]) + len(found[-2])
    return found


def write(folder: Path, sessions: int, size: int) -> None:
    content = lines(0, size)
    for number in range(sessions):
        place = folder / f"-home-me-project-{number % 40}" / f"{number:05d}.jsonl"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"".join([*lines(number, 0), *content[1:]]))


def measure(folder: Path) -> None:
    def memory() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    recorded, empty = RecordedSessions([folder]), memory()
    for name in ("list", "list again"):
        began = time.perf_counter()
        rows = recorded.rows()
        print(f"| {name}, {len(rows):,} sessions | {time.perf_counter() - began:.2f} s |")
    print(f"| memory for the list | {memory() - empty} MB |")
    began = time.perf_counter()
    recorded.log(rows[0].id)
    print(f"| open one session of {rows[0].size / 1e6:.1f} MB | {time.perf_counter() - began:.2f} s |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--kilobytes", type=int, default=1_000)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, given.sessions, given.kilobytes * 1000)
        print("| what | cost |\n| --- | --- |")
        measure(folder)


if __name__ == "__main__":
    main()
