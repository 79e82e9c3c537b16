"""What a streaming reply costs on the screens of other agents: `terminal_stream.py` with their programs.

    uv run python benchmarks/rival_screens.py [--seconds 60] [--kilobytes 180] [--only pi,opencode]

The same reply in the same terminal of 80 by 24, and keys in turns with the same program that only echoes them.
Processor time is that of the process that paints; memory is what it holds when the reply has ended. pi and opencode
are measured, where `benchmarks/clients/installed.py` has installed them: both show a prompt without signing in.
"""

import argparse
import contextlib
import os
import pty
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from clients.client_programs import CLIENTS, ClientProgram, Place, minimal_environment
from clients.scenarios import make_folder
from session_memory import mebibytes
from terminal_paint import read_until, started
from terminal_stream import ECHO, KEY_PAUSE, cpu, milliseconds, press, read_for, reply, serve

TASK = "Tell me everything"
LETTERS = "QVYZ"
"""What these programs send holds none of them."""
LONGEST_START = 90.0


def screen_words(client: ClientProgram, words: list[str]) -> list[str]:
    """How the client is started on a screen, from how it is started without one."""
    return ["--prompt", TASK] if client.name == "opencode" else [*words[:-2], TASK]


@contextlib.contextmanager
def on_screen(client: ClientProgram, place: Place) -> Iterator[tuple[int, int]]:
    """The client in a terminal, asked for the reply: its process, and the terminal's other end."""
    start = client.start(place)
    words = [str(client.package.path), *screen_words(client, start.arguments)]
    shown = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    environment = {**minimal_environment(place.home, start.environment), **shown}
    environment.pop("NO_COLOR")
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(place.folder)
        os.execve(words[0], words, environment)
    try:
        yield pid, end
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(end)


def measure(client: ClientProgram, text: str, seconds: float) -> None:
    rng = random.Random(7)
    server = serve(text, seconds)
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name, "home"), Path(name, "repo")
        home.mkdir()
        make_folder(folder)
        place = Place(f"http://127.0.0.1:{server.server_port}", home, folder, TASK)
        with started(Path(name), ("-c", ECHO)) as (_, echo_end), on_screen(client, place) as (pid, end):
            read_until(echo_end, b"ready")
            read_until(end, b"Part", seconds=LONGEST_START)
            before, began = cpu(pid), time.perf_counter()
            took: list[float] = []
            echoed: list[float] = []
            while time.perf_counter() - began < seconds - 1.0:
                letter = LETTERS[len(took) % len(LETTERS)].encode()
                took.append(press(end, letter))
                read_for(end, rng.uniform(0.0, KEY_PAUSE))
                echoed.append(press(echo_end, letter))
                read_for(end, rng.uniform(0.0, KEY_PAUSE))
            share = (cpu(pid) - before) / (time.perf_counter() - began)
            held = mebibytes(pid, "VmRSS")
    server.shutdown()
    what = f"{client.name} {client.package.version}"
    print(f"{what}: {share:.1%} of a core, {held:.0f} MiB; load {os.getloadavg()[0]:.0f}")
    print(f"  a key: {milliseconds(took)} ({len(took)} keys)")
    print(f"  a key that is only echoed: {milliseconds(echoed)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kilobytes", type=int, default=180)
    parser.add_argument("--only", default="pi,opencode", help="names, with commas between")
    options = parser.parse_args()
    for name in options.only.split(","):
        if CLIENTS[name].package.is_installed:
            measure(CLIENTS[name], reply(options.kilobytes * 1000), options.seconds)


if __name__ == "__main__":
    main()
