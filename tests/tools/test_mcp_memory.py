"""However much an MCP server sends, our memory stays bounded, the terminal clean, and no process is left.

They are called by a process of its own, one after the other, so that what it grew by is known.
"""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from support.mcp_web import hostile_address

SUPPORT = Path(__file__).parents[1] / "support"
MOST = 150
"""Megabytes. The largest message has 16, and stands in memory a few times over while it is read."""
CASES = {
    "endless line": "it sent a message of more than 16777216 bytes",
    "notifications": "it sends messages without end",
    "requests": "questions and did not take the answers",
    "giant": "aaaa",
    "endless words": "it did not answer within 1 s",
    "many pages": "mcp__h__tool",
    "http call: endless": "the answer is longer than 16777216 bytes",
    "http call: endless event": "SSE",
    "http call: questions": "questions and did not take the answers",
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes in /proc")


def server(mode, stack):
    if mode.startswith("http "):
        url = stack.enter_context(hostile_address(mode.removeprefix("http ")))
        return {"url": url, "call_seconds": 20}
    seconds = 1 if mode == "endless words" else 20
    program = {"command": sys.executable, "args": [str(SUPPORT / "mcp_hostile.py"), mode]}
    return {**program, "call_seconds": seconds, "stop_seconds": 0.1}


@pytest.fixture(scope="module")
def found():
    with ExitStack() as stack:
        servers = {mode: server(mode, stack) for mode in CASES}
        argv = [sys.executable, str(SUPPORT / "mcp_memory.py"), json.dumps(servers)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("mode", CASES)
def test_a_server_that_floods_us_costs_no_more_than_a_few_messages(found, mode):
    assert CASES[mode] in found[mode]["text"]
    assert found[mode]["grown"] < MOST
    assert found[mode]["children"] == []
