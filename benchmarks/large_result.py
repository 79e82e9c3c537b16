"""How long a result of a megabyte stops the event loop, on which a terminal paints and takes keys.

    uv run python benchmarks/large_result.py

A scripted model calls a tool once, which answers at once with a megabyte; the result is searched for secrets,
stored, read line by line and packed. Meanwhile a task on the same loop wakes up every millisecond; the longest it
had to wait is the stop. The baseline is a result of one line.
"""

import asyncio
import base64
import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.loop import run
from holdfast.messages import Text, ToolCall
from holdfast.models.scripted import ScriptedModel
from holdfast.redaction import kingfisher_problem
from holdfast.session import Session
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.tool import TypedTool
from holdfast.tools.workspace import Workspace

SIZE = 1_000_000
ROUNDS = 3


def rows(line: str, digest: str = "sha256") -> str:
    """So many bytes of lines; `{n}` is their number, `{hash}` and `{code}` a hash of it in hex and base64."""
    made, size = [], 0
    while size < SIZE:
        hashed = hashlib.new(digest, str(len(made)).encode())
        code = base64.b64encode(hashed.digest()).decode()
        made.append(line.format(n=len(made), hash=hashed.hexdigest(), code=code))
        size += len(made[-1]) + 1
    return "\n".join(made)


class Nothing(Struct, frozen=True):
    pass


async def stops(text: str) -> tuple[float, float]:
    """The longest stop in seconds, and the processor time of all."""
    waits = []

    async def beat() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            waits.append(time.perf_counter() - began)

    async def work(_: Nothing, __: Workspace) -> ToolResult:
        return tool_result(text, "seen")

    with tempfile.TemporaryDirectory() as folder:
        session = Session(store=Path(folder) / "store.db", budget="200k", system="You look.", tools=None)
        model = ScriptedModel([Text("I look."), ToolCall("c1", "Look", {})], "Done.")
        agent = Agent(model, [TypedTool("Look", Nothing, "Looks.", work, is_read_only=True)], session=session)
        agent.say("Look.")
        beating = asyncio.create_task(beat())
        began = time.process_time()
        await run(agent)
        used = time.process_time() - began
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating
        await agent.aclose()
        session.close()
    return max(waits), used


def main() -> None:
    kingfisher_problem()  # loaded before, as the screen does
    texts = {
        "one line": "all is well",
        "a log": rows("2026-11-18 12:00:00 INFO worker took invoice {n} in 17 ms, queue 4"),
        "hashes": rows("{hash}  src/part_{n}/file.py"),
        "base64": rows("{code}", "sha512"),
    }
    print("| a result of 1 MB | longest stop, ms | CPU ms |\n|---|---|---|")
    for name, text in texts.items():
        found = [asyncio.run(stops(text)) for _ in range(ROUNDS)]
        stop, used = (sorted(values)[ROUNDS // 2] * 1000 for values in zip(*found, strict=True))
        print(f"| {name} | {stop:.0f} | {used:.0f} |")
    print(f"\nmedians of {ROUNDS} runs; load {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main()
