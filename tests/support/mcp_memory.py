"""Calls a tool of each of some MCP servers, given as JSON, and says how far our memory grew and what is left."""

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from holdfast.messages import ToolCall
from holdfast.tools.mcp import sdk_session
from holdfast.tools.mcp.client import McpServers
from holdfast.tools.mcp.server_config import Server, parse_servers
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

LIMIT = 2_000_000_000


def peak() -> int:
    """Megabytes at the most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


async def called(server: Server) -> str:
    """What the model reads of a call, or of the list where the server has no such tool."""
    with tempfile.TemporaryDirectory() as folder:
        async with McpServers({"h": server}) as servers:
            await servers.ready(60)
            toolbox = Toolbox(servers.tools(), Workspace([folder]))
            names = {tool.name for tool in toolbox}
            name = "mcp__h__echo" if "mcp__h__echo" in names else "McpDescribe"
            (result,) = await toolbox.run_calls([ToolCall("c", name, {})])
            return result.envelope.text[:500]


def children() -> list[str]:
    """Processes that are still ours, those included that are dead and were not waited for."""
    until = time.monotonic() + 5
    while (left := Path("/proc/self/task", str(os.getpid()), "children").read_text().split()) and (
        time.monotonic() < until
    ):
        time.sleep(0.05)
    return left


def main() -> None:
    # If the bound is broken the child is to fail, and not the machine.
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    assert sdk_session, "loaded before it is measured"
    before = peak()
    found = {}
    for mode, server in parse_servers(json.loads(sys.argv[1]), "here").items():
        text = asyncio.run(called(server))
        found[mode] = {"text": text, "grown": peak() - before, "children": children()}
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main()
