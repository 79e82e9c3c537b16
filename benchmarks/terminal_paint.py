"""How long it takes until there is something to be seen, until keys are taken, and what the screen costs when idle.

    python benchmarks/terminal_paint.py [RUNS]

The agent is started in a pseudo-terminal of 80 by 24. `first paint` is the time from the start of its process to
the prompt on the screen, which is painted before Textual is loaded; `ready` that to Textual's own first frame with
the prompt, which takes what was typed meanwhile. Beside them, since machines differ: an interpreter that does
nothing, and the smallest app of Textual up to its first frame. Then the processor time that the idle screen takes
is read from the system.
"""

import contextlib
import os
import pty
import select
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

MODEL = "compatible/none@http://127.0.0.1:9/v1"
"""Nobody answers there: the screen is there without a model, and nothing is said to it."""
PROMPT = b"ay what to do"  # the cursor stands on the first letter
TAKES_KEYS = b"\x1b[?1000h"
"""What Textual sends when it begins; the prompt that comes after it is its own."""
SETTLE, IDLE = 4.0, 5.0
BAR = 0.5

AGENT = ("-m", "holdfast", "--model", MODEL)
NOTHING = ("-c", "print('ay what to do')")
SMALLEST_APP = """
from textual.app import App
from textual.widgets import Static

class Smallest(App):
    def compose(self):
        yield Static("Say what to do")

Smallest().run()
"""
SMALLEST = ("-c", SMALLEST_APP)


@contextlib.contextmanager
def started(folder: Path, arguments: Sequence[str] = AGENT) -> Iterator[tuple[int, int]]:
    """An interpreter in a terminal: its process, and the terminal's other end."""
    pid, end = pty.fork()
    if pid == 0:
        os.environ.update(COLUMNS="80", LINES="24", TERM="xterm-256color", HOME=str(folder))
        os.environ.update(HOLDFAST_STORE=str(folder / "store.db"), XDG_CONFIG_HOME=str(folder))
        os.chdir(folder / "repo")
        os.execv(sys.executable, [sys.executable, *arguments])
    try:
        yield pid, end
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(end)


def read_until(end: int, *wanted: bytes, seconds: float = 30.0) -> None:
    """Until all of them came, each behind the one before."""
    seen = b""
    until = time.perf_counter() + seconds
    for text in wanted:
        while text not in seen:
            ready, _, _ = select.select([end], [], [], max(0.0, until - time.perf_counter()))
            if not ready:
                raise SystemExit(f"{text!r} did not come: {seen[-500:]!r}")
            seen += os.read(end, 65_536)
        seen = seen.partition(text)[2]


def seconds_until(folder: Path, arguments: Sequence[str], *wanted: bytes) -> float:
    began = time.perf_counter()
    with started(folder, arguments) as (_, end):
        read_until(end, *wanted)
        return time.perf_counter() - began


def idle_share(folder: Path) -> float:
    """Processor time over time, of a screen that nobody touches."""
    with started(folder) as (pid, end):
        read_until(end, TAKES_KEYS, PROMPT)
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


MEASURED = {
    "first paint": (AGENT, (PROMPT,)),
    "ready": (AGENT, (TAKES_KEYS, PROMPT)),
    "python alone": (NOTHING, (PROMPT,)),
    "the smallest Textual app": (SMALLEST, (TAKES_KEYS, PROMPT)),
}


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "repo").mkdir()
        seconds_until(folder, AGENT, TAKES_KEYS, PROMPT)  # once for the compiled modules
        took: dict[str, list[float]] = {what: [] for what in MEASURED}
        for _ in range(runs):
            for what, (arguments, wanted) in MEASURED.items():
                took[what].append(seconds_until(folder, arguments, *wanted))
        print(f"{'seconds':<26}{'best':>8}{'median':>8}")
        for what, found in took.items():
            print(f"{what:<26}{min(found):>8.3f}{statistics.median(found):>8.3f}")
        paint, ready = min(took["first paint"]), min(took["ready"])
        bare, smallest = min(took["python alone"]), min(took["the smallest Textual app"])
        print(f"first paint / python alone: {paint / bare:.1f}; bar: first paint <= {BAR} s")
        print(f"ready / the smallest Textual app: {ready / smallest:.2f}")
        print(f"idle: {idle_share(folder):.2%} of a processor over {IDLE:g} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
