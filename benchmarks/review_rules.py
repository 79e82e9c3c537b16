"""How long `holdfast review --no-model` takes from the start of its process, as before a commit.

    python benchmarks/review_rules.py [--rounds 5] [--sizes 50,500,5000] [--key 500] [--files 2000]

Each size is a made-up repository (Python, TypeScript and Go, always the same) whose working tree has so many
changed lines; `and a key` has one more that looks like a secret, for which another scanner is loaded; the last row
has so many changed files of two lines each. `python -c pass`, `git diff` and the review take turns within a round,
and their medians are compared: seconds depend on the machine, ratios less. `memory` is the most that the process or
one of those it started has held.
"""

import argparse
import os
import random
import statistics
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

SEED = 20
LINES_A_FILE = 25
"""Changed lines of one file, all sizes but the last."""
FUNCTIONS = 24
"""In one file: some 170 lines."""

WORDS = (
    "order price stock buyer cart total rate limit page entry store token window batch queue event".split()
)
CLEAN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


class Run(NamedTuple):
    seconds: float
    megabytes: float


def python_function(draw: random.Random, name: str, body: list[str]) -> str:
    a, b = draw.sample(WORDS, 2)
    lines = [
        f"def {name}({a}, {b}=0):",
        f'    """The {a} of a {b}."""',
        f"    found = {a} * {draw.randint(2, 99)}",
    ]
    lines += [
        f"    if found > {b}:",
        f"        found -= {b}",
        *(f"    {line}" for line in body),
        "    return found",
    ]
    return "\n".join(lines) + "\n\n\n"


def typescript_function(draw: random.Random, name: str, body: list[str]) -> str:
    a, b = draw.sample(WORDS, 2)
    lines = [
        f"export function {name}({a}: number, {b} = 0): number {{",
        f"  let found = {a} * {draw.randint(2, 99)};",
    ]
    lines += [f"  if (found > {b}) {{", f"    found -= {b};", "  }", *(f"  {line};" for line in body)]
    return "\n".join([*lines, "  return found;", "}"]) + "\n\n"


def go_function(draw: random.Random, name: str, body: list[str]) -> str:
    a, b = draw.sample(WORDS, 2)
    lines = [f"func {name}({a} int, {b} int) int {{", f"\tfound := {a} * {draw.randint(2, 99)}"]
    lines += [f"\tif found > {b} {{", f"\t\tfound -= {b}", "\t}", *(f"\t{line}" for line in body)]
    return "\n".join([*lines, "\treturn found", "}"]) + "\n\n"


LANGUAGES: tuple[tuple[str, str, Callable[[random.Random, str, list[str]], str]], ...] = (
    (".py", "", python_function),
    (".ts", "", typescript_function),
    (".go", "package shop\n\n", go_function),
)


def source(number: int, functions: int, added: int) -> tuple[str, str]:
    """A file's name and its text, with so many lines more than without."""
    suffix, head, write = LANGUAGES[number % len(LANGUAGES)]
    draw = random.Random(SEED + number)
    bodies: list[list[str]] = [[] for _ in range(functions)]
    for line in range(added):
        # By themselves, so that they do not move what the others draw.
        own = random.Random(f"{SEED} {number} {line}")
        bodies[line * 7 // 3 % functions].append(
            f"found += {own.choice(('2', '3'))} * {own.randint(10, 999)}"
        )
    parts = [write(draw, f"{draw.choice(WORDS)}{i}", body) for i, body in enumerate(bodies)]
    return f"src/part{number % 20}/module{number}{suffix}", head + "".join(parts)


def make(folder: Path, files: int, functions: int, added: int) -> None:
    """A repository with one commit, and a change to each file in the working tree."""
    folder.mkdir()
    git(folder, "init", "-q")
    write_all(folder, (source(number, functions, 0) for number in range(files)))
    git(folder, "add", "-A")
    git(folder, *AUTHOR, "commit", "-q", "-m", "base")
    write_all(folder, (source(number, functions, added) for number in range(files)))


def add_key(folder: Path) -> None:
    """A line with a made-up token at the end of the first file."""
    drawn = "".join(random.Random(SEED).choices(string.ascii_letters + string.digits, k=36))
    with (folder / source(0, FUNCTIONS, 0)[0]).open("a") as file:
        file.write(f'KEY = "ghp_{drawn}"\n')


def write_all(folder: Path, files: Iterator[tuple[str, str]]) -> None:
    for name, text in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env={**os.environ, **CLEAN}, check=True, capture_output=True)


def timed(folder: Path, command: list[str]) -> Run:
    with Path(os.devnull).open("wb") as null:
        began = time.perf_counter()
        running = subprocess.Popen(command, cwd=folder, stdout=null, stderr=null, env={**os.environ, **CLEAN})
        _, status, usage = os.wait4(running.pid, 0)
        seconds = time.perf_counter() - began
    running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 0, command
    return Run(seconds, usage.ru_maxrss / 1000)


def measure(name: str, folder: Path, rounds: int) -> str:
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "git": ["git", "diff"],
        "review": [sys.executable, "-m", "holdfast", "review", "--no-model"],
    }
    runs: dict[str, list[Run]] = {which: [] for which in commands}
    for round_ in range(rounds + 1):
        for which, command in commands.items():
            run = timed(folder, command)
            if round_:  # The first one fills caches.
                runs[which].append(run)
    taken = {which: statistics.median(run.seconds for run in own) for which, own in runs.items()}
    review, best = taken["review"], min(run.seconds for run in runs["review"])
    memory = max(run.megabytes for run in runs["review"])
    shown = [
        f"{taken['python'] * 1000:.0f} ms",
        f"{taken['git'] * 1000:.0f} ms",
        f"{review:.2f} s",
        f"{best:.2f} s",
    ]
    shown += [f"{review / taken['python']:.0f}", f"{review / taken['git']:.0f}", f"{memory:.0f} MB"]
    return f"| {name} | {' | '.join(shown)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", default="50,500,5000")
    parser.add_argument("--key", type=int, default=500, help="lines of the change with a key in it; 0: none")
    parser.add_argument("--files", type=int, default=2000)
    options = parser.parse_args()
    print(
        "| change | `python -c pass` | `git diff` | review, median | best | × python | × git diff | memory |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as place:
        for size in map(int, options.sizes.split(",")):
            folder = Path(place) / str(size)
            make(folder, size // LINES_A_FILE, FUNCTIONS, LINES_A_FILE)
            print(measure(f"{size} lines", folder, options.rounds), flush=True)
        if options.key:
            folder = Path(place) / "key"
            make(folder, options.key // LINES_A_FILE, FUNCTIONS, LINES_A_FILE)
            add_key(folder)
            print(measure(f"{options.key} lines and a key", folder, options.rounds), flush=True)
        if options.files:
            folder = Path(place) / "files"
            make(folder, options.files, 3, 2)
            print(measure(f"{options.files} files", folder, options.rounds), flush=True)


if __name__ == "__main__":
    main()
