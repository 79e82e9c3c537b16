"""How long it takes until the prompt can be seen, and what the screen costs while nothing happens.

    python benchmarks/terminal_paint.py [RUNS]

The agent is started in a pseudo-terminal, and the time from the start of its process to the first frame with the
prompt is taken; beside it that of an interpreter that only imports Textual, since machines differ. Then the
processor time that the idle screen takes is read from the system.
"""

import contextlib
import os
import pty
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MODEL = "compatible/none@http://127.0.0.1:9/v1"
"""Nobody answers there: the screen is there without a model, and nothing is said to it."""
PROMPT = b"ay what to do"  # the cursor stands on the first letter
SETTLE, IDLE = 4.0, 5.0


@contextlib.contextmanager
def started(folder: Path) -> Iterator[tuple[int, int]]:
    """The agent in a terminal of 80 by 24: its process, and the terminal's other end."""
    pid, end = pty.fork()
    if pid == 0:
        os.environ.update(COLUMNS="80", LINES="24", TERM="xterm-256color", HOME=str(folder))
        os.environ.update(HOLDFAST_STORE=str(folder / "store.db"), XDG_CONFIG_HOME=str(folder))
        os.chdir(folder / "repo")
        os.execv(sys.executable, [sys.executable, "-m", "holdfast", "--model", MODEL])
    try:
        yield pid, end
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(end)


def read_until(end: int, wanted: bytes, seconds: float = 30.0) -> None:
    seen = b""
    until = time.perf_counter() + seconds
    while wanted not in seen:
        ready, _, _ = select.select([end], [], [], max(0.0, until - time.perf_counter()))
        if not ready:
            raise SystemExit(f"the prompt did not come: {seen[-500:]!r}")
        seen += os.read(end, 65_536)


def first_paint(folder: Path) -> float:
    began = time.perf_counter()
    with started(folder) as (_, end):
        read_until(end, PROMPT)
        return time.perf_counter() - began


def idle_share(folder: Path) -> float:
    """Processor time over time, of a screen that nobody touches."""
    with started(folder) as (pid, end):
        read_until(end, PROMPT)
        settled = time.perf_counter() + SETTLE
        while time.perf_counter() < settled:
            if select.select([end], [], [], 0.2)[0]:
                os.read(end, 65_536)
        before = ticks(pid)
        time.sleep(IDLE)
        return (ticks(pid) - before) / os.sysconf("SC_CLK_TCK") / IDLE


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def import_alone() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import textual.app"], check=True)
    return time.perf_counter() - began


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "repo").mkdir()
        first_paint(folder)  # once for the compiled modules
        paints, imports = [], []
        for _ in range(runs):
            paints.append(first_paint(folder))
            imports.append(import_alone())
        paint, alone = min(paints), min(imports)
        print(f"first paint, best of {runs}: {paint:.3f} s (median {statistics.median(paints):.3f} s)")
        print(
            f"`import textual.app`, best of {runs}: {alone:.3f} s (median {statistics.median(imports):.3f} s)"
        )
        print(f"ratio of the best: {paint / alone:.2f}; bar: first paint <= 0.5 s")
        print(f"idle: {idle_share(folder):.2%} of a processor over {IDLE:g} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
