"""What a command that prints without end costs: time beside plain bash, and the memory of this process.

    uv run python benchmarks/bash_output.py [--megabytes 2000] [--rounds 3] [--sandbox]

The plain command and the tool take turns within a round; the ratio of their medians is what to compare. `a page` is
one BashOutput of a hundred lines at the end.
"""

import argparse
import asyncio
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import bash_output_tool
from holdfast.tools.shell.sandbox import find_sandbox
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace


def commands(size: int) -> dict[str, str]:
    """Ways to print so many bytes: many lines, one line, and lines of which some say that something failed."""
    return {
        "short lines": f"yes 'a line of output that says nothing new' | head -c {size}",
        "one line": f"head -c {size} /dev/zero | tr '\\0' x",
        "failures": f"yes $'step 17 of 90 done\\nERROR: could not open the file' | head -c {size}",
    }


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


async def run_tool(shell: Shell, workspace: Workspace, command: str) -> tuple[float, float]:
    """Seconds of the command, and of one page of its output."""
    began = time.perf_counter()
    result = await bash_tool(shell).run({"command": command, "timeout": 600}, workspace)
    took = time.perf_counter() - began
    assert result.envelope.data["exit_code"] == 0, result.shown
    assert len(result.envelope.text) < 2_000_000, "the text is bounded"
    job = str(result.envelope.data["output"])
    began = time.perf_counter()
    page = await bash_output_tool(shell).run({"id": job, "lines": "-100"}, workspace)
    assert not page.is_error, page.shown
    paged = time.perf_counter() - began
    shell.forget(shell.job(job))
    return took, paged


def run_plain(root: Path, command: str) -> float:
    began = time.perf_counter()
    with tempfile.NamedTemporaryFile(dir=root.parent) as file:
        subprocess.run(["bash", "-c", command], stdout=file, check=True)
    return time.perf_counter() - began


def measure(root: Path, size: int, rounds: int, sandbox: str) -> None:
    print("| output | bash to a file | Bash | ratio | peak memory | before | a page |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, command in commands(size).items():
        plain, tool, pages = [], [], []
        before = peak_megabytes()
        with Shell(sandbox=find_sandbox(sandbox)) as shell:
            for _ in range(rounds):
                plain.append(run_plain(root, command))
                took, paged = asyncio.run(run_tool(shell, Workspace([root]), command))
                tool.append(took)
                pages.append(paged)
        ours, theirs = statistics.median(tool), statistics.median(plain)
        memory = f"{peak_megabytes():.0f} MB | {before:.0f} MB"
        page = statistics.median(pages) * 1000
        print(f"| {name} | {theirs:.2f} s | {ours:.2f} s | {ours / theirs:.2f} | {memory} | {page:.1f} ms |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sandbox", action="store_true", help="in the best sandbox there is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        measure(root, options.megabytes * 1_000_000, options.rounds, "auto" if options.sandbox else "off")


if __name__ == "__main__":
    main()
