"""`holdfast run` as a process of its own, in a real git repository, against the provider on loopback."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.messages import Text, ToolCall, Usage
from support.provider_script import Answer, Protocol
from support.provider_server import ProviderServer, Script, Seen, running

CONFIG = """
[models."compatible/test"]
window = {window}
price = {{ input = 1.0, cache_read = 0.1, output = 5.0 }}

[models."anthropic/test"]
window = {window}
"""


def repository(folder: Path, *, window: int = 200_000, more: str = "") -> Path:
    """A git repository with a file, and a configuration that knows the model."""
    root = folder / "repo"
    root.mkdir(parents=True)
    (root / "main.py").write_text("def main():\n    print('old')\n")
    (root / "holdfast.toml").write_text(CONFIG.format(window=window) + more)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def says(*parts: Text | ToolCall | str, prompt: int = 1_200, **more: Any) -> Script:
    """A reply of the provider."""
    shaped = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    usage = Usage(prompt=prompt, completion=40, cache_read=prompt // 2, cache_write=0)
    return Script(**{"parts": shaped, "usage": usage, "piece": 400, **more})


def call(name: str, id_: str, **arguments: Any) -> ToolCall:
    return ToolCall(id_, name, arguments)


class Ran:
    """A run that has ended."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out.decode()
        self.err = err.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def environment(root: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    own = {"HOLDFAST_STORE": str(root.parent / "store.db"), "XDG_CONFIG_HOME": str(root.parent / "config")}
    return {**kept, **own, "NO_COLOR": "1"}


def start(root: Path, server: ProviderServer, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    """`holdfast run` in this folder, with the sandbox off: what is under test is the agent."""
    name = f"compatible/test@{server.openai_url}"
    command = [sys.executable, "-m", "holdfast", "run", "--model", name, "--sandbox", "off", *arguments]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=root, env=environment(root), **{**streams, **options})


def run(root: Path, server: ProviderServer, *arguments: str, data: bytes | None = None) -> Ran:
    options = {} if data is None else {"stdin": subprocess.PIPE}
    running = start(root, server, *arguments, **options)
    out, err = running.communicate(data, timeout=60)
    return Ran(running.returncode, out, err)


def killed(running: "subprocess.Popen[bytes]", when: Callable[[], bool], number: int = signal.SIGKILL) -> Ran:
    """Wait until something is so, then send the signal."""
    try:
        waited(when)
    finally:
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    return Ran(running.returncode, out, err)


def waited(when: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not when():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.02)


class Answering(ProviderServer):
    """A provider whose answer is a function of the request's body."""

    def __init__(self, answer: Callable[[Any], Answer]) -> None:
        super().__init__((Script(),), ("test",))
        self._answer_to = answer

    async def _answer_with(self, protocol: Protocol, seen: Seen, writer: asyncio.StreamWriter) -> None:
        self._answers = [self._answer_to(seen.json)]
        await super()._answer_with(protocol, seen, writer)


@contextmanager
def working(*steps: Answer, summary: str = "") -> Iterator[ProviderServer]:
    """A provider that says one after the other, and writes a summary whenever one is asked for: such a request
    offers no tools."""
    left = list(steps)

    def answer(body: Any) -> Answer:
        if not body.get("tools"):
            return says(summary or "There is nothing to sum up.")
        return left.pop(0) if len(left) > 1 else left[0]

    with running(Answering(answer)) as server:
        yield server


def work_bodies(server: ProviderServer) -> list[Any]:
    """The requests that were steps of the work, and no summaries."""
    return [body for body in bodies(server) if body.get("tools")]


def bodies(server: ProviderServer) -> list[Any]:
    """The requests for replies that the server saw."""
    return [seen.json for seen in server.requests if seen.method == "POST"]


def before_tail(messages: list[Any]) -> list[Any]:
    """The messages without the last one if that is rebuilt for every request."""
    last = messages[-1]
    is_tail = last.get("role") == "user" and str(last["content"]).startswith("<system-reminder>")
    return messages[:-1] if is_tail else messages


def last_content(body: Any) -> Any:
    return before_tail(body["messages"])[-1]["content"]
