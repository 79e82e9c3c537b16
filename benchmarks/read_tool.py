"""What Read costs in a very large log, beside the programs that people would use.

    uv run python benchmarks/read_tool.py [--megabytes 1000] [--rounds 5]

The first look indexes the file and hashes it; every later one goes to its place. Medians of a few rounds in which
tool and program take turns; the ratios are what to compare. The file is made in a temporary folder.
"""

import argparse
import asyncio
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.tools.files.read import read_tool
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

NAME = "big.log"
LINE = "2026-01-01T00:00:00Z worker-{0:04d} request {1:09d} served in 12 ms, nothing unusual to report\n"


def make_log(path: Path, megabytes: int) -> int:
    """A log of so many megabytes. How many lines it has."""
    lines = 0
    with path.open("w") as file:
        while file.tell() < megabytes * 1_000_000:
            file.write("".join(LINE.format(n % 1000, n) for n in range(lines, lines + 20_000)))
            lines += 20_000
    return lines


def median_times(rounds: int, *works: Callable[[], object]) -> list[float]:
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, kept in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            kept.append(time.perf_counter() - began)
    return [statistics.median(kept) for kept in times]


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measure(root: Path, lines: int, rounds: int) -> list[tuple[str, float, str, float]]:
    workspace, path = Workspace([root]), root / NAME

    def look(tool: Tool, **arguments: int) -> None:
        result = asyncio.run(tool.run({"path": NAME, **arguments}, workspace))
        assert not result.is_error, result.shown
        assert result.envelope.data["total_lines"] >= lines, "the total is true"

    def plain(*command: str) -> None:
        subprocess.run([*command, str(path)], stdout=subprocess.DEVNULL, check=True)

    known = read_tool(SeenFiles())
    rows = []
    first = median_times(min(rounds, 3), lambda: look(read_tool(SeenFiles())), lambda: plain("wc", "-l"))
    rows.append(("first look (index and hash)", first[0], "wc -l", first[1]))
    look(known)
    middle = lines // 2
    cases = [
        ("end, 100 lines", {"offset": -100}, ("tail", "-n", "100")),
        ("end, 2000 lines", {"offset": -2000, "limit": 2000}, ("tail", "-n", "2000")),
        (
            "middle, 100 lines",
            {"offset": middle, "limit": 100},
            ("sed", "-n", f"{middle},{middle + 99}p;{middle + 99}q"),
        ),
        ("beginning, 500 lines", {}, ("head", "-n", "500")),
    ]
    for name, arguments, command in cases:
        ours, theirs = median_times(rounds, lambda a=arguments: look(known, **a), lambda c=command: plain(*c))
        rows.append((name, ours, " ".join(command[:1]), theirs))

    def appended() -> None:
        with path.open("a") as file:
            file.write("one more line\n")
        look(known, offset=-100)

    ours, theirs = median_times(rounds, appended, lambda: plain("wc", "-l"))
    return [*rows, ("end, after an append", ours, "wc -l", theirs)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lines = make_log(root / NAME, options.megabytes)
        before = peak_megabytes()
        rows = measure(root, lines, options.rounds)
        grown = peak_megabytes() - before
    print(f"{options.megabytes} MB, {lines} lines; memory at its peak {grown:.1f} MB above the start\n")
    print("| | Read | program | ratio |\n| --- | ---: | ---: | ---: |")
    for name, ours, program, theirs in rows:
        print(f"| {name} | {ours * 1000:.1f} ms | `{program}` {theirs * 1000:.1f} ms | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
