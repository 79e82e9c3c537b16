"""The programs that `gateway_latency.py` measures, and the provider before which they stand.

Rule: each is a process of its own, asked over loopback; the provider answers at once, and at once for all of them.
"""

import asyncio
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2
import uvicorn
from peers.environments import ENVIRONMENTS, CannotSetUp, install, is_standing

TOKENS = 200_000
PIECES = 40
STREAM = [(b"content-type", b"text/event-stream")]
HELD = ("anthropic-beta", "hold")
"""The header of a request whose reply stops after its first piece, until the provider is asked for `/release`."""
START_SECONDS = 120.0


def event(data: dict[str, object]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(data["type"]).encode(), json.dumps(data).encode())


def reply() -> bytes:
    """A short reply of Anthropic's, as a stream."""
    head = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    usage = {"input_tokens": TOKENS, "output_tokens": 1}
    pieces = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"piece {n} "}}
        for n in range(PIECES)
    ]
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**head, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *pieces,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": PIECES}},
        {"type": "message_stop"},
    ]
    return b"".join(map(event, events))


REPLY = reply()


class Provider:
    """Reads a request and answers with the stream."""

    def __init__(self) -> None:
        self._released = asyncio.Event()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        if scope["path"] == "/release":
            self._released.set()
            self._released = asyncio.Event()
        name, value = HELD
        held = (name.encode(), value.encode()) in scope["headers"]
        await send({"type": "http.response.start", "status": 200, "headers": STREAM})
        for at in range(0, len(REPLY), 512):
            await send({"type": "http.response.body", "body": REPLY[at : at + 512], "more_body": True})
            if held and at == 0:
                await self._released.wait()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class PassThrough:
    """The least that a proxy can do with the same parts: it keeps nothing and checks nothing."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._client: httpx2.AsyncClient | None = None

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        self._client = self._client or httpx2.AsyncClient(
            timeout=None, limits=httpx2.Limits(max_connections=None)
        )
        pieces = []
        while True:
            message = await receive()
            pieces.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        held = [pair for pair in scope["headers"] if pair[0] == HELD[0].encode()]
        request = httpx2.Request(
            "POST", self._upstream + scope["path"], headers=held, content=b"".join(pieces)
        )
        response = await self._client.send(request, stream=True)
        await send({"type": "http.response.start", "status": response.status_code, "headers": STREAM})
        async for piece in response.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        await response.aclose()


def serve(name: str, port: int, upstream: str) -> None:
    """Be the provider or the pass-through."""
    app = Provider() if name == "provider" else PassThrough(upstream)
    listening = socket.create_server(("127.0.0.1", port), backlog=1024)
    uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")).run([listening])


@dataclass(frozen=True)
class Started:
    """A program that answers. Seconds are from its start until it had answered a request."""

    url: str
    pid: int
    answered: float

    @property
    def megabytes(self) -> float:
        """Its resident memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text("utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def program(words: list[str], port: int, environment: Mapping[str, str] | None = None) -> Iterator[Started]:
    """A program that listens on this port. Raises CannotSetUp where it never does."""
    began = time.perf_counter()
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        words, stdin=quiet, stdout=quiet, stderr=quiet, env={**os.environ, **(environment or {})}
    ) as started:
        try:
            _wait(started, port, began)
            connection = http.client.HTTPConnection("127.0.0.1", port)
            first_byte(connection, b'{"model": "m", "messages": [], "stream": true}')
            answered = time.perf_counter() - began
            yield Started(f"http://127.0.0.1:{port}", started.pid, answered)
        finally:
            started.terminate()


def _wait(started: subprocess.Popen[bytes], port: int, began: float) -> None:
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if started.poll() is not None or time.perf_counter() - began > START_SECONDS:
            raise CannotSetUp(f"`{' '.join(map(str, started.args))}` does not listen")  # type: ignore[arg-type]
        time.sleep(0.005)


def first_byte(connection: http.client.HTTPConnection, body: bytes) -> float:
    """Milliseconds from the request to the first byte of its reply, which is read to its end."""
    began = time.perf_counter()
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "none"}
    connection.request("POST", "/v1/messages", body, headers)
    response = connection.getresponse()
    response.read(1)
    taken = time.perf_counter() - began
    response.read()
    return taken * 1000


def own_server(name: str, upstream: str = "") -> contextlib.AbstractContextManager[Started]:
    port = free_port()
    script = str(Path(__file__).with_name("gateway_latency.py"))
    return program([sys.executable, script, "--serve", name, str(port), upstream], port)


def gateway(upstream: str, store: Path) -> contextlib.AbstractContextManager[Started]:
    port = free_port()
    words = [sys.executable, "-m", "holdfast", "gateway", "--port", str(port), "--anthropic", upstream]
    return program([*words, "--store", str(store)], port)


def headroom(upstream: str, home: Path) -> contextlib.AbstractContextManager[Started]:
    """headroom's proxy with its defaults, but for its limit of 60 requests a minute, offline and with a home of its
    own. Raises CannotSetUp with the reason where it cannot be had."""
    if not is_standing("headroom_proxy"):
        install("headroom_proxy")
    folder = ENVIRONMENTS / "headroom_proxy"
    # Offline it finds no vocabulary to count with, and does nothing; a library below it brings one.
    vocabulary = next(folder.glob("lib/*/site-packages/litellm/litellm_core_utils/tokenizers"), folder)
    offline = {"HEADROOM_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "TIKTOKEN_CACHE_DIR": str(vocabulary)}
    port = free_port()
    words = [str(folder / "bin" / "headroom"), "proxy", "--port", str(port), "--no-rate-limit"]
    return program([*words, "--anthropic-api-url", upstream], port, {**offline, "HOME": str(home)})
