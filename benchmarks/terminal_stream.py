"""What a streaming reply costs: processor time, and how long a key takes to appear while it streams.

    python benchmarks/terminal_stream.py [SECONDS] [KILOBYTES] [LOOPS]

A provider on loopback streams a reply of Markdown (paragraphs, lists, code, tables), 180 kB over 60 seconds
unless said otherwise, in forty parts a second. The agent shows it in a pseudo-terminal of 80 by 24. Some three
times a second, at random moments, a letter is typed, and the time until the terminal is sent it back is taken. The
baseline for keys is a program that only echoes them, in a terminal of its own and in turns with the agent: on a
busy machine both wait for the processor. Processor time is read from the system; `alone` is that of an agent that
does nothing for as long, and is taken off. LOOPS endless loops make the machine busy; none unless said otherwise.
"""

import contextlib
import json
import os
import random
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from terminal_paint import PROMPT, TAKES_KEYS, read_until, started, ticks

RATE = 40
KEY_PAUSE = 0.3
"""Seconds between two keys on average. In a rhythm they could always meet a repaint, or never."""
LETTERS = "qxzjkvwy"
BARS = (0.25, 0.050)
ECHO = "import os, tty; tty.setraw(0); os.write(1, b'ready')\nwhile key := os.read(0, 1): os.write(1, key)"

PART = """## Part {n}

The loader reads the settings **once**, and `load()` returns a *copy* of them, so that a caller who changes what
it was given changes nothing for the others. See [the page](https://example.org/{n}) for the reasons.

- a missing file is an empty one
- a broken file is an error, with the line in which it broke
  - and the name of the file

1. read the file
2. parse it

```python
def load(path: Path) -> dict[str, object]:
    \"\"\"The settings of part {n}.\"\"\"
    if not path.exists():
        return {{}}
    return tomllib.loads(path.read_text("utf-8"))
```

| setting | default | meaning |
|---|---|---|
| `depth` | {n} | how far it looks |
| `retries` | 3 | how often it tries again |

"""


def reply(size: int) -> str:
    text = ""
    while len(text) < size:
        text += PART.format(n=text.count("## ") + 1)
    return text[:size]


def serve(text: str, seconds: float) -> ThreadingHTTPServer:
    """A provider with the API for chat completions, which streams this text. A request without tools is for a
    title, which is short."""

    def parts() -> Iterator[str]:
        count = int(seconds * RATE)
        size = -(-len(text) // count)
        began = time.perf_counter()
        for n in range(count):
            time.sleep(max(0.0, began + n / RATE - time.perf_counter()))
            yield text[n * size : (n + 1) * size]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._begin("application/json")
            self.wfile.write(b'{"data": [{"id": "test"}]}')

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self._begin("text/event-stream")
            with contextlib.suppress(ConnectionError):  # the agent is ended before the reply
                for part in parts() if request.get("tools") else ("Everything",):
                    self._send({"delta": {"content": part}})
                self._send({"delta": {}, "finish_reason": "stop"})
                self.wfile.write(b"data: [DONE]\n\n")

        def _begin(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()

        def _send(self, choice: dict[str, object]) -> None:
            chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def read_for(end: int, seconds: float, wanted: bytes = b"") -> float | None:
    """Read what is sent for so long, or until something came; when it came."""
    until = time.perf_counter() + seconds
    while (left := until - time.perf_counter()) > 0:
        if (
            select.select([end], [], [], left)[0]
            and wanted in (seen := os.read(end, 65_536))
            and wanted
            and seen
        ):
            return time.perf_counter()
    return None


def press(end: int, letter: bytes) -> float:
    """Seconds until the terminal shows the letter."""
    pressed = time.perf_counter()
    os.write(end, letter)
    return (read_for(end, 5.0, letter) or pressed + 5.0) - pressed


def milliseconds(took: list[float]) -> str:
    took.sort()
    p90 = took[int(len(took) * 0.9)]
    values = (statistics.median(took), p90, took[-1])
    return "median {:.0f} ms, p90 {:.0f} ms, longest {:.0f} ms".format(*(one * 1000 for one in values))


def settle(end: int, pid: int) -> None:
    """Wait until what is loaded in the background is loaded: with a new home, that takes seconds."""
    for _ in range(60):
        before = cpu(pid)
        read_for(end, 1.0)
        if cpu(pid) - before < 0.05:
            return


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that take all of the processor that they get."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def cpu(pid: int) -> float:
    return ticks(pid) / os.sysconf("SC_CLK_TCK")


def main(seconds: float, kilobytes: int, loops: int) -> None:
    text, rng = reply(kilobytes * 1000), random.Random(7)
    server = serve(text, seconds)
    model = f"compatible/test@http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as beside:
        folder = Path(name)
        (folder / "repo").mkdir()
        agent, echo = ("-m", "holdfast", "--model", model), ("-c", ECHO)
        with started(folder, agent) as (pid, end), started(folder, echo) as (_, echo_end):
            read_until(echo_end, b"ready")
            read_until(end, TAKES_KEYS, PROMPT, b"$")
            settle(end, pid)
            before = cpu(pid)
            read_for(end, 5.0)
            alone = (cpu(pid) - before) / 5.0
            beside.enter_context(busy(loops))
            os.write(end, b"Tell me everything\r")
            read_until(end, b"Part")
            before, began = cpu(pid), time.perf_counter()
            took: list[float] = []
            echoed: list[float] = []
            n = 0
            while time.perf_counter() - began < seconds - 1.0:
                letter = LETTERS[n % len(LETTERS)].upper().encode()
                n += 1
                took.append(press(end, letter))
                read_for(end, rng.uniform(0.0, KEY_PAUSE))
                echoed.append(press(echo_end, letter))
                read_for(end, rng.uniform(0.0, KEY_PAUSE))
            wall = time.perf_counter() - began
            share = (cpu(pid) - before) / wall - alone
    server.shutdown()
    print(f"{len(text) / 1000:.0f} kB in {seconds:g} s: {share:.1%} of a core; bar {BARS[0]:.0%}")
    print(f"a key: {milliseconds(took)}; bar p90 {BARS[1] * 1000:.0f} ms ({len(took)} keys)")
    print(f"a key that is only echoed: {milliseconds(echoed)}; load {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    given = [float(one) for one in sys.argv[1:]]
    main(
        given[0] if given else 60.0,
        int(given[1]) if len(given) > 1 else 180,
        int(given[2]) if len(given) > 2 else 0,
    )
