"""The MCP servers of an agent and their tools.

Rule: the definitions are fixed when `tools` is called, since they are in the cached part of a request. A server
that connects later, or changes its tools, is reached through McpDescribe and McpCall.
"""

import asyncio
import difflib
import os
from collections.abc import Coroutine, Mapping, Sequence
from typing import Self

from msgspec import Struct

from holdfast.tools.breaker import BreakerRules
from holdfast.tools.envelope import ToolError
from holdfast.tools.mcp.connection import MCP_BREAKER, ServerConnection
from holdfast.tools.mcp.mcp_call import McpTool, ResultLimits, mcp_call_tool
from holdfast.tools.mcp.mcp_describe import mcp_describe_tool
from holdfast.tools.mcp.server_config import Server
from holdfast.tools.mcp.tool_names import NamedTool, named_tools, plan_tools
from holdfast.tools.tool import Tool

SECONDS_TO_RETRY = 10.0
"""How long a call waits for servers that were down and are tried again."""


class McpSettings(Struct, frozen=True):
    """`budget` limits the characters of all definitions, `listing` those of the list of the other tools."""

    budget: int = 24_000
    listing: int = 8_000
    bounds: ResultLimits = ResultLimits()
    breaker: BreakerRules = MCP_BREAKER


class McpServers:
    def __init__(
        self,
        servers: Mapping[str, Server],
        *,
        environment: Mapping[str, str] | None = None,
        settings: McpSettings | None = None,
    ) -> None:
        ours = os.environ if environment is None else environment
        self.settings = settings or McpSettings()
        self._connections = {
            name: ServerConnection(name, server, ours, self.settings.breaker)
            for name, server in sorted(servers.items())
        }

    def start(self) -> None:
        for connection in self._connections.values():
            connection.start()

    async def ready(self, seconds: float) -> None:
        """Wait until it is known for each server whether it can be used, but not longer than this."""
        await _at_most(seconds, [one.ready() for one in self._connections.values()])

    async def _refresh(self) -> None:
        await _at_most(SECONDS_TO_RETRY, [one.retry() for one in self._connections.values()])

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._connections.values()))

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def troubles(self) -> dict[str, str]:
        """Servers that cannot be used, and why, for the person to see."""
        return {name: one.trouble for name, one in self._connections.items() if one.trouble}

    @property
    def starting(self) -> tuple[str, ...]:
        """Servers that have not answered yet."""
        return tuple(name for name, one in self._connections.items() if one.is_starting)

    def listed(self) -> dict[str, NamedTool]:
        return named_tools({name: one.tools for name, one in self._connections.items()})

    def tools(self) -> list[Tool]:
        """The tools that are known now, and McpDescribe and McpCall for those that are not defined."""
        if not self._connections:
            return []
        fitting, deferred = plan_tools(self.listed().values(), self.settings.budget)
        defined: list[Tool] = [
            McpTool(tool, self._connections[tool.server], self.settings.bounds) for tool in fitting
        ]
        if not deferred and all(one.tools or one.is_open for one in self._connections.values()):
            return defined
        describe = mcp_describe_tool(self.find, self._relist, deferred, self._states(), self.settings.listing)
        return [*defined, describe, mcp_call_tool(self.find, self._connections, self.settings.bounds)]

    async def find(self, name: str) -> NamedTool:
        """The tool with this name; NOT_FOUND suggests the nearest, and names the servers that are down."""
        if name not in self.listed():
            await self._refresh()
        listed = self.listed()
        if name in listed:
            return listed[name]
        near = difflib.get_close_matches(name, listed, n=3, cutoff=0.5)
        hints = [f"The nearest are {', '.join(near)}"] if near else []
        hints += [state.rstrip(".") for state in self._states()]
        hint = ". ".join(hints) or "McpDescribe lists the tools"
        raise ToolError("NOT_FOUND", f"no MCP server has a tool `{name[:100]}`", hint=hint)

    async def _relist(self) -> tuple[Sequence[NamedTool], Sequence[str]]:
        await self._refresh()
        return list(self.listed().values()), self._states()

    def _states(self) -> Sequence[str]:
        """A line for each server that has not listed its tools."""
        return [
            f"The server `{name}` has no tools."
            if one.is_open
            else f"The server `{name}` is not there: {one.trouble or 'it is still being started'}."
            for name, one in self._connections.items()
            if not one.tools
        ]


async def _at_most(seconds: float, waiting: Sequence[Coroutine[None, None, None]]) -> None:
    if not waiting:
        return
    _, late = await asyncio.wait([asyncio.create_task(one) for one in waiting], timeout=seconds)
    for task in late:
        task.cancel()
