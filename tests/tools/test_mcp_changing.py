"""MCP servers whose list of tools changes, and those that hang when they are started; and the end of each."""

import asyncio
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from holdfast.messages import ToolCall
from holdfast.tools.mcp.client import McpServers, McpSettings
from holdfast.tools.mcp.server_config import StdioServer
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

OLD = """
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

names = ["grow"]
for line in sys.stdin:
    asked = json.loads(line)
    match asked.get("method"):
        case "initialize":
            able = {"tools": {"listChanged": True}}
            about = {"name": "grows", "version": "1"}
            say(id=asked["id"], result={
                "protocolVersion": "2025-06-18", "capabilities": able, "serverInfo": about
            })
        case "tools/list":
            say(id=asked["id"], result={
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            })
            if sys.argv[1] == "hangs" and len(names) > 1:
                for line in sys.stdin:
                    pass
        case "tools/call":
            if asked["params"]["name"] == "grow":
                names.append(f"tool{len(names)}")
                say(method="notifications/tools/list_changed")
            say(id=asked["id"], result={"content": [{"type": "text", "text": "done " + asked["params"]["name"]}]})
        case _ if "id" in asked:
            say(id=asked["id"], error={"code": -32601, "message": "unknown"})
"""
NEW = """
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("grows", log_level="CRITICAL")

def later() -> str:
    return "done later"

@server.tool(structured_output=False)
async def grow(ctx: Context) -> str:
    server.add_tool(later, name="tool1", structured_output=False)
    await ctx.notify_tools_changed()
    return "done grow"

server.run("stdio")
"""
HANGS = """
import os, pathlib, signal, subprocess, sys, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "1000"])
place = pathlib.Path(sys.argv[1])
place.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
place.with_suffix(".part").rename(place)
while True:
    time.sleep(1000)
"""
# Nothing is defined on its own, so that every tool is reached by its name.
DEFERRED = McpSettings(budget=0)


@pytest.fixture
def workspace(tmp_path):
    return Workspace([tmp_path])


def program(tmp_path, text, *arguments):
    path = tmp_path / "server.py"
    path.write_text(text)
    return StdioServer(sys.executable, (str(path), *arguments), start_seconds=60.0)


async def call(servers, workspace, name):
    toolbox = Toolbox(servers.tools(), workspace)
    asked = ToolCall("1", "McpCall", {"name": f"mcp__g__{name}", "arguments": {}})
    (result,) = await toolbox.run_calls([asked])
    return result.envelope.text


async def until(is_so):
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110 - what is waited for is in another process
            await asyncio.sleep(0.02)


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.slow
@pytest.mark.parametrize("text", [OLD, NEW], ids=["told unasked", "told to who listens"])
def test_a_tool_that_comes_later_is_found(tmp_path, workspace, text):
    async def scenario():
        async with McpServers({"g": program(tmp_path, text, "")}, settings=DEFERRED) as servers:
            await servers.ready(60)
            assert list(servers.listed()) == ["mcp__g__grow"]
            assert "no MCP server has a tool `mcp__g__tool1`" in await call(servers, workspace, "tool1")
            assert "done grow" in await call(servers, workspace, "grow")
            await until(lambda: "mcp__g__tool1" in servers.listed())
            return await call(servers, workspace, "tool1"), servers.troubles

    answer, troubles = asyncio.run(scenario())
    assert "done" in answer
    assert troubles == {}


def test_a_server_that_does_not_tell_its_new_list_is_closed_all_the_same(tmp_path, workspace):
    async def scenario():
        async with McpServers({"g": program(tmp_path, OLD, "hangs")}, settings=DEFERRED) as servers:
            await servers.ready(60)
            await call(servers, workspace, "grow")
            await until(lambda: "mcp__g__tool1" in servers.listed())
            assert len(servers.listed()) == 2
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(scenario()) == set()


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
def test_who_hangs_while_it_is_started_is_not_waited_for_at_the_end(tmp_path):
    """Neither for the time that it has to start, nor for all the time that it would have to leave."""
    place = tmp_path / "pids"

    async def scenario():
        servers = McpServers({"g": program(tmp_path, HANGS, str(place))})
        servers.start()
        await until(place.exists)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await servers.close()
        return loop.time() - began, asyncio.all_tasks() - {asyncio.current_task()}

    seconds, tasks = asyncio.run(scenario())
    assert tasks == set()
    server, child = place.read_text().split()
    assert not Path(f"/proc/{server}").exists()
    # Dead, though whoever inherited it may not have looked after it yet.
    assert state_of(child) in ("", "Z")
    # Far less than the limits that once were waited for: 60 s to start, 10 s to close.
    assert seconds < 8
