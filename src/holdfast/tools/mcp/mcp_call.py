"""Calls of the tools of MCP servers: directly, or by name through McpCall.

Rule: a result is mapped to the envelope here and nowhere else, whichever way a tool was called.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct, field

from holdfast.messages import Json, ToolDefinition
from holdfast.tools.envelope import ToolError, ToolResult, failed
from holdfast.tools.mcp.connection import Connection
from holdfast.tools.mcp.results import Bounds, map_result
from holdfast.tools.mcp.tools import NamedTool
from holdfast.tools.protocol import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace


@dataclass(frozen=True)
class McpTool:
    """A tool of a server, defined on its own."""

    tool: NamedTool
    connection: Connection
    bounds: Bounds

    @property
    def name(self) -> str:
        return self.tool.name

    @cached_property
    def definition(self) -> ToolDefinition:
        return self.tool.definition

    @property
    def is_read_only(self) -> bool:
        return self.connection.server.trusted and self.tool.remote.claims_read_only

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:  # noqa: ARG002
        try:
            return await call_remote(self.tool, self.connection, arguments, self.bounds)
        except ToolError as error:
            return failed(error, {"tool": self.name, "server": self.tool.server})


async def call_remote(
    tool: NamedTool, connection: Connection, arguments: dict[str, Json], bounds: Bounds
) -> ToolResult:
    answer = await connection.call(tool.remote.name, arguments)
    return map_result(answer, {"tool": tool.name, "server": tool.server}, bounds)


class McpCallArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="The tool's whole name, such as `mcp__server__tool`.")]
    arguments: Annotated[dict[str, Json], Meta(description="Arguments that fit the tool's schema.")] = field(
        default_factory=dict
    )


def mcp_call_tool(find: Callable[[str], Awaitable[tuple[NamedTool, Connection]]], bounds: Bounds) -> Tool:
    async def call(arguments: McpCallArguments, _workspace: Workspace) -> ToolResult:
        tool, connection = await find(arguments.name)
        return await call_remote(tool, connection, arguments.arguments, bounds)

    return TypedTool("McpCall", McpCallArguments, prompt_beside(__file__), call)
