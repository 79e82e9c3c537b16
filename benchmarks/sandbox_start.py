"""What the sandbox costs: its self-test at the start of an agent, and each command, beside bash alone.

    uv run python benchmarks/sandbox_start.py [--rounds 20] [--json]

A command is `:` in the shell of an agent, from its start to the end of its output; the baseline is `bash -c :` as a
process of its own. They take turns within a round. Figures are medians.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.errors import InputError
from holdfast.tools.access import Access
from holdfast.tools.shell.sandbox import Sandbox, Unconfined, find_sandbox, self_test
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace

MEASURED_LEVELS: tuple[Access, ...] = ("read", "write", "network")


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def measure(sandbox: Sandbox, rounds: int, root: Path) -> dict[str, float]:
    workspace, times = Workspace([root]), dict[str, list[float]]()
    with Shell(sandbox=sandbox) as shell:

        def run(level: Access) -> None:
            shell.access = level
            asyncio.run(shell.run(":", workspace, seconds=60))

        for _ in range(rounds):
            bare = milliseconds(lambda: subprocess.run(["bash", "-c", ":"], check=True, cwd=root))
            times.setdefault("bash -c :", []).append(bare)
            if sandbox.state == "holds":
                times.setdefault("self-test", []).append(milliseconds(lambda: self_test(sandbox)))
            for level in MEASURED_LEVELS:
                times.setdefault(level, []).append(milliseconds(lambda level=level: run(level)))
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: dict[str, Sandbox] = {"none": Unconfined()}
    for name in ("bubblewrap", "landlock"):
        try:
            found[name] = find_sandbox(name)
        except InputError as error:
            print(f"{error.message}\n")
    # Not below `/tmp`, which a sandbox replaces.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        rows = {name: measure(sandbox, args.rounds, Path(folder)) for name, sandbox in found.items()}
    if args.json:
        print(json.dumps(rows))
        return
    print("| sandbox | self-test | `bash -c :` | at `read` | at `write` | at `network` |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, row in rows.items():
        test = f"{row['self-test']:.0f} ms" if "self-test" in row else "–"
        levels = " | ".join(f"{row[level]:.0f} ms" for level in MEASURED_LEVELS)
        print(f"| {name} | {test} | {row['bash -c :']:.1f} ms | {levels} |")


if __name__ == "__main__":
    main()
