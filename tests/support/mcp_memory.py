"""Calls one tool of an MCP server, given as JSON, and says how far our memory grew and what came of it."""

import asyncio
import json
import resource
import sys
import tempfile

import msgspec

from holdfast.messages import ToolCall
from holdfast.tools.mcp import session
from holdfast.tools.mcp.client import McpServers
from holdfast.tools.mcp.servers import Server, parse_servers
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

LIMIT = 2_000_000_000


def peak() -> int:
    """Megabytes at the most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


async def called(server: Server, calls: int) -> list[str]:
    """What the model reads of these calls, or of the list where the server has no tools."""
    with tempfile.TemporaryDirectory() as folder:
        async with McpServers({"h": server}) as servers:
            await servers.ready(60)
            toolbox = Toolbox(servers.tools(), Workspace([folder]))
            names = {tool.name for tool in toolbox}
            name = "mcp__h__echo" if "mcp__h__echo" in names else "McpDescribe"
            wanted = [ToolCall(str(n), name, {}) for n in range(calls)]
            return [result.envelope.text[:500] for result in await toolbox.run_calls(wanted)]


def main() -> None:
    # If the bound is broken the child is to fail, and not the machine.
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    assert session, "loaded before it is measured"
    server = parse_servers({"h": json.loads(sys.argv[1])}, "here")["h"]
    before = peak()
    texts = asyncio.run(called(server, int(sys.argv[2])))
    sys.stdout.buffer.write(msgspec.json.encode({"grown": peak() - before, "texts": texts}))


if __name__ == "__main__":
    main()
