"""What the gateway adds to a request: time to the first byte, beside no gateway and beside a plain pass-through.

    uv run python benchmarks/gateway_latency.py [--requests 200] [--streams 200]

A provider on loopback answers at once with a stream. Each request has a body of about 200,000 tokens, in which only
the last messages are new, as an agent's requests are. The three are asked in turns, so that a busy machine is as
busy for each. Also: how long `holdfast gateway` takes to start, and whether many streams at once all arrive whole.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import uvicorn

TOKENS = 200_000
CHARACTERS_PER_TOKEN = 4
PIECES = 40
STREAM = [(b"content-type", b"text/event-stream")]


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


async def provider(scope, receive, send):
    """Reads the request and answers with the stream."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": STREAM})
    for at in range(0, len(REPLY), 512):
        await send({"type": "http.response.body", "body": REPLY[at : at + 512], "more_body": True})
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
        request = httpx2.Request("POST", self._upstream + scope["path"], content=b"".join(pieces))
        response = await self._client.send(request, stream=True)
        await send({"type": "http.response.start", "status": response.status_code, "headers": STREAM})
        async for piece in response.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        await response.aclose()


@contextlib.contextmanager
def program(*words: str) -> Iterator[tuple[str, float]]:
    """A program that prints its address when it listens; and the seconds until then."""
    began = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as started:
        assert started.stdout is not None
        line = started.stdout.readline()
        while "http://" not in line:
            line = started.stdout.readline()
        taken = time.perf_counter() - began
        try:
            yield line[line.index("http://") :].split()[0].rstrip(";"), taken
        finally:
            started.terminate()
            started.communicate()


def serve(name: str, upstream: str) -> None:
    app = provider if name == "provider" else PassThrough(upstream)
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")).run([listening])


def conversation() -> list[dict[str, object]]:
    """Messages of about so many tokens."""
    text = "the quick brown fox jumps over the lazy dog " * 90
    count = TOKENS * CHARACTERS_PER_TOKEN // len(text)
    return [
        {"role": "assistant" if n % 2 else "user", "content": f"{n} {text}"}
        for n in range(count - 1 + count % 2)
    ]


def first_byte(connection: http.client.HTTPConnection, body: bytes) -> float:
    began = time.perf_counter()
    connection.request("POST", "/v1/messages", body, {"content-type": "application/json"})
    response = connection.getresponse()
    response.read(1)
    taken = time.perf_counter() - began
    response.read()
    return taken * 1000


def measured(addresses: dict[str, str], requests: int) -> dict[str, list[float]]:
    connections = {
        name: http.client.HTTPConnection(url.partition("//")[2]) for name, url in addresses.items()
    }
    messages = conversation()
    times: dict[str, list[float]] = {name: [] for name in addresses}
    for number in range(requests):
        messages += [{"role": "assistant", "content": f"step {number}"}, {"role": "user", "content": "go on"}]
        body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": messages}).encode()
        for name, connection in connections.items():
            times[name].append(first_byte(connection, body))
            # The log is written after a reply; let it be, as an agent would, which runs a tool first.
            time.sleep(0.05)
    return times


async def streams(address: str, count: int) -> int:
    """How many of so many streams at once arrive whole."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=120, limits=limits) as client:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": True})
        asked = (client.post(f"{address}/v1/messages", content=body) for _ in range(count))
        return sum(response.content == REPLY for response in await asyncio.gather(*asked))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    own = [sys.executable, __file__, "--serve"]
    with tempfile.TemporaryDirectory() as folder, program(*own, "provider", "") as (upstream, _):
        gateway = [sys.executable, "-m", "holdfast", "gateway", "--port", "0", "--anthropic", upstream]
        store = str(Path(folder) / "store.db")
        with (
            program(*own, "pass-through", upstream) as (passing, _),
            program(*gateway, "--store", store) as (address, started),
        ):
            addresses = {"direct": upstream, "pass-through": passing, "gateway": address}
            measured(addresses, 5)
            times = measured(addresses, options.requests)
            whole = asyncio.run(streams(address, options.streams))
    medians = {name: statistics.median(found) for name, found in times.items()}
    print(
        "| | median ms | p99 ms | added median ms | ratio to pass-through |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for name, found in times.items():
        p99 = sorted(found)[min(len(found) - 1, int(len(found) * 0.99))]
        added, ratio = medians[name] - medians["direct"], medians[name] / medians["pass-through"]
        print(f"| {name} | {medians[name]:.1f} | {p99:.1f} | {added:.1f} | {ratio:.2f} |")
    print(
        f"\n{whole} of {options.streams} streams at once arrived whole; the gateway started in {started:.2f} s"
    )


if __name__ == "__main__":
    main()
