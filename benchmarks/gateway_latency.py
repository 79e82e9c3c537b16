"""What the gateway adds to a request: time to the first byte, beside no gateway and beside a plain pass-through.

    uv run python benchmarks/gateway_latency.py [--requests 200] [--streams 200] [--headroom]

A provider on loopback answers at once with a stream. Each request has a body of about 200,000 tokens, in which only
the last messages are new, as an agent's requests are. All are asked in turns, so that a busy machine is as busy for
each. Also: seconds from the start of a program until it has answered a first request; resident memory then, after
the requests, and while many streams are in flight; and how many of these arrive whole. `--headroom` adds headroom's
proxy, in an environment of its own, which is made if there is none.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from gateway_parts import HELD, REPLY, TOKENS, Started, first_byte, gateway, headroom, own_server, serve
from peers.environments import CannotSetUp, pins

CHARACTERS_PER_TOKEN = 4
DIRECT, PASS_THROUGH = "direct", "pass-through"


@dataclass
class Measured:
    """What was found of one program. Times in milliseconds, memory in MB."""

    program: Started
    times: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    whole: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def p99(self) -> float:
        return sorted(self.times)[min(len(self.times) - 1, int(len(self.times) * 0.99))]


def conversation() -> list[dict[str, object]]:
    """Messages of about so many tokens."""
    text = "the quick brown fox jumps over the lazy dog " * 90
    count = TOKENS * CHARACTERS_PER_TOKEN // len(text)
    return [
        {"role": "assistant" if n % 2 else "user", "content": f"{n} {text}"}
        for n in range(count - 1 + count % 2)
    ]


def measure(programs: dict[str, Measured], requests: int, *, warm_up: int = 5) -> None:
    connections = {
        name: http.client.HTTPConnection(found.program.url.partition("//")[2])
        for name, found in programs.items()
    }
    messages = conversation()
    for number in range(-warm_up, requests):
        messages += [{"role": "assistant", "content": f"step {number}"}, {"role": "user", "content": "go on"}]
        body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": messages}).encode()
        for name, connection in connections.items():
            taken = first_byte(connection, body)
            if number >= 0:
                programs[name].times.append(taken)
            # The log is written after a reply; let it be, as an agent would, which runs a tool first.
            time.sleep(0.05)


async def stream_many(measured: Measured, provider: str, count: int) -> None:
    """So many streams at once: all are begun before any may end."""
    begun = asyncio.Semaphore(0)
    limits = httpx2.Limits(max_connections=None)

    async def stream(client: httpx2.AsyncClient, number: int) -> bool:
        messages = [{"role": "user", "content": f"hello {number}"}]
        body = json.dumps({"model": "m", "max_tokens": 9, "messages": messages, "stream": True})
        headers = {"content-type": "application/json", "x-api-key": "none", HELD[0]: HELD[1]}
        url = f"{measured.program.url}/v1/messages"
        got = b""
        async with client.stream("POST", url, content=body, headers=headers) as response:
            async for piece in response.aiter_raw():
                if not got:
                    begun.release()
                got += piece
        return got == REPLY

    async with httpx2.AsyncClient(timeout=120, limits=limits) as client:
        streams = [asyncio.create_task(stream(client, number)) for number in range(count)]
        for _ in streams:
            await begun.acquire()
        measured.memory.append(measured.program.megabytes)
        await client.get(f"{provider}/release")
        measured.whole = sum(await asyncio.gather(*streams))


def run(requests: int, streams: int, *, with_headroom: bool) -> dict[str, Measured]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = stack.enter_context(own_server("provider"))
        programs = {
            DIRECT: Measured(provider),
            PASS_THROUGH: Measured(stack.enter_context(own_server(PASS_THROUGH, provider.url))),
            "holdfast gateway": Measured(stack.enter_context(gateway(provider.url, folder / "store.db"))),
        }
        if with_headroom:
            try:
                proxy = stack.enter_context(headroom(provider.url, folder))
                programs[f"{pins('headroom_proxy').partition(',')[0]}"] = Measured(proxy)
            except CannotSetUp as error:
                print(f"headroom is left out: {error}", file=sys.stderr)
        for found in programs.values():
            found.memory.append(found.program.megabytes)
        measure(programs, requests)
        for found in programs.values():
            found.memory.append(found.program.megabytes)
        for found in [*programs.values()][1:]:
            asyncio.run(stream_many(found, provider.url, streams))
    return programs


def show(programs: dict[str, Measured], requests: int, streams: int) -> None:
    print("| | median ms | p99 ms | added median ms | ratio to pass-through |\n|---|---:|---:|---:|---:|")
    for name, found in programs.items():
        added, ratio = (
            found.median - programs[DIRECT].median,
            found.median / programs[PASS_THROUGH].median,
        )
        print(f"| {name} | {found.median:.1f} | {found.p99:.1f} | {added:.1f} | {ratio:.2f} |")
    print(
        f"\n| | first answer after s | MB at start | MB after {requests} requests "
        f"| MB with {streams} streams | of these whole |\n|---|---:|---:|---:|---:|---:|"
    )
    for name, found in [*programs.items()][1:]:
        memory = " | ".join(f"{megabytes:.0f}" for megabytes in found.memory)
        print(f"| {name} | {found.program.answered:.2f} | {memory} | {found.whole} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--headroom", action="store_true", help="also measure headroom's proxy")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        name, port, upstream = options.serve
        serve(name, int(port), upstream)
        return
    programs = run(options.requests, options.streams, with_headroom=options.headroom)
    show(programs, options.requests, options.streams)


if __name__ == "__main__":
    main()
