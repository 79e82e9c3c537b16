"""How much memory the agent's screen holds after many steps.

    uv run python benchmarks/session_memory.py [--steps 1000] [--tokens 1000]

The agent runs in a pseudo-terminal of 80 by 24. A provider on loopback lets it read files, a new part of about so
many tokens at each step, until the steps are made; what is read goes through the log, the window of 200,000 tokens
and its folds, and onto the screen. Memory is what the system counts for the process (RSS) at 10 %, 50 % and 100 %
of the steps, and its highest. The baseline is the same process before the first step, when all is loaded. The agent
was started once before: at its first start in a home the scanner for secrets compiles its rules.
"""

import argparse
import json
import os
import select
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from terminal_paint import PROMPT, TAKES_KEYS, read_until, started, ticks

BAR = 150
SETTLE = 5.0
TOKENS_PER_LINE = 20
SHARES = (0.1, 0.5, 1.0)
LONGEST = 1_800.0


class Script:
    """How many steps were made, and what a request is answered with. A request without tools is for a summary."""

    def __init__(self, steps: int, lines: int) -> None:
        self.steps, self.lines = steps, lines
        self.made = 0

    def delta(self, request: dict[str, object]) -> dict[str, object]:
        if not request.get("tools"):
            return {"content": "## Goal\n- read every part of the series"}
        if self.made >= self.steps:
            return {"content": "All is read."}
        self.made += 1
        arguments = {"path": f"part_{self.made}.txt"}
        function = {"name": "Read", "arguments": json.dumps(arguments)}
        calls = [{"index": 0, "id": f"c{self.made}", "type": "function", "function": function}]
        return {"content": f"Part {self.made} of {self.steps}.", "tool_calls": calls}


def serve(script: Script) -> ThreadingHTTPServer:
    """A provider with the API for chat completions."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._begin("application/json")
            self.wfile.write(b'{"data": [{"id": "test"}]}')

        def do_POST(self) -> None:
            delta = script.delta(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self._begin("text/event-stream")
            self._send({"delta": delta})
            self._send({"delta": {}, "finish_reason": "tool_calls" if "tool_calls" in delta else "stop"})
            self.wfile.write(b"data: [DONE]\n\n")

        def _begin(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()

        def _send(self, choice: dict[str, object]) -> None:
            chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def mebibytes(pid: int, field: str) -> float:
    """`VmRSS` is what a process holds now, `VmHWM` its highest."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024


def write_parts(folder: Path, steps: int, lines: int) -> None:
    for part in range(1, steps + 1):
        rows = (
            f"    row_{part}_{n} = load_value(path_{n % 17}, {part * n * 7919 % 99991})  # {n}"
            for n in range(lines)
        )
        (folder / f"part_{part}.txt").write_text("\n".join(rows) + "\n", "utf-8")


def settle(end: int) -> None:
    """Wait until nothing more is painted: what is loaded in the background is loaded then."""
    until = time.monotonic() + SETTLE
    while (left := until - time.monotonic()) > 0:
        if select.select([end], [], [], left)[0]:
            os.read(end, 65_536)


def measure(steps: int, lines: int) -> None:
    script = Script(steps, lines)
    server = serve(script)
    model = f"compatible/test@http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "repo").mkdir()
        write_parts(folder / "repo", steps, lines)
        agent = ("-m", "holdfast", "--model", model)
        with started(folder, agent) as (_, end):
            settle(end)
        with started(folder, agent) as (pid, end):
            read_until(end, TAKES_KEYS, PROMPT, b"$")
            settle(end)
            before = mebibytes(pid, "VmRSS")
            print(f"| steps | MiB | highest MiB | / before |\n|---|---|---|---|\n| 0 | {before:.0f} | | 1 |")
            os.write(end, b"Read all parts\r")
            wanted = [int(share * steps) for share in SHARES]
            until = time.monotonic() + LONGEST
            seen = b""
            while wanted and time.monotonic() < until:
                if select.select([end], [], [], 1.0)[0]:
                    seen = (seen + os.read(end, 65_536))[-4_096:]
                if script.made >= wanted[0] and (script.made < steps or b"All is read" in seen):
                    now, most = mebibytes(pid, "VmRSS"), mebibytes(pid, "VmHWM")
                    print(f"| {wanted.pop(0)} | {now:.0f} | {most:.0f} | {now / before:.2f} |", flush=True)
            cpu = ticks(pid) / os.sysconf("SC_CLK_TCK")
            each = cpu / max(1, script.made) * 1000
            print(f"\nbar: {BAR} MB, {BAR * 1e6 / 2**20:.0f} MiB, after 1,000 steps")
            print(f"{each:.0f} ms of processor time a step")
            if wanted:
                raise SystemExit(f"only {script.made} steps were made: {seen[-500:]!r}")
    server.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=1000)
    options = parser.parse_args()
    measure(options.steps, options.tokens // TOKENS_PER_LINE)


if __name__ == "__main__":
    main()
