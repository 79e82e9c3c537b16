"""A session with one server, through the official SDK: the only place that knows its types.

Rule: what goes in and out are our values and JSON. Loading this module loads the SDK, which takes more than a
second, so it is imported only when a server is first connected.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from pydantic import ValidationError

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.mcp.connection import ConnectionAttempt
from holdfast.tools.mcp.http_transport import BrokenServer, http_streams
from holdfast.tools.mcp.servers import HttpServer, Server, StdioServer
from holdfast.tools.mcp.stdio_transport import process_streams
from holdfast.tools.mcp.tool_names import RemoteTool
from holdfast.version import __version__

MOST_TOOLS = 2_000
MOST_PAGES = 100
LARGEST_LISTING = 8_000_000
"""Characters of everything that a server says about its tools."""

_LOST = (types.CONNECTION_CLOSED, types.PARSE_ERROR, types.INVALID_REQUEST)
"""Codes after which a new connection is made: closed, out of step, or a session that the server forgot."""


# What the SDK logs about a broken server belongs in a log; without a handler Python prints it on the terminal.
for _name in ("mcp", "client", "httpx2", "httpcore2"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class SdkSession:
    """**Contract:** `call` raises `ToolError` for what the server refuses, `BrokenServer` for what it cannot do."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def list_tools(self) -> list[RemoteTool]:
        """The tools, up to a limit; the rest of a longer list is dropped."""
        tools: dict[str, RemoteTool] = {}
        size = 0
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                size += len(tool.model_dump_json())
                if len(tools) >= MOST_TOOLS or size > LARGEST_LISTING:
                    return list(tools.values())
                tools.setdefault(tool.name, _remote(tool))
            cursor = page.next_cursor
            if not cursor:
                break
        return list(tools.values())

    async def call(self, tool: str, arguments: dict[str, Json]) -> dict[str, Json]:
        # Not `call_tool`, which validates the answer with the server's own patterns: those may take forever, and an
        # answer that does not fit its schema is still an answer.
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        try:
            result = await self._client.session.send_request(request, types.CallToolResult)
        except MCPError as error:
            if error.code in _LOST:
                raise BrokenServer(f"the connection was lost ({error.message})") from error
            message = " ".join(error.message.split())[:2000]
            if error.code == types.INVALID_PARAMS:
                refusal = ToolError("INVALID_PARAM", f"the server refuses the arguments: {message}")
            else:
                said = f"the server answered with error {error.code}: {message}"
                refusal = ToolError("EXECUTION_ERROR", said)
            raise refusal from error
        except ValidationError as error:
            raise BrokenServer("it answered with something that is not a tool result") from error
        answer: dict[str, Json] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return answer


def _remote(tool: types.Tool) -> RemoteTool:
    hint = tool.annotations.read_only_hint if tool.annotations else None
    return RemoteTool(tool.name, tool.description or tool.title or "", tool.input_schema, bool(hint))


@contextlib.asynccontextmanager
async def open_session(
    name: str, server: Server, environment: Mapping[str, str], attempt: ConnectionAttempt
) -> AsyncIterator[SdkSession]:
    """A session, after both sides have agreed on a protocol version."""
    where = f"the MCP server `{name}`"
    match server:
        case StdioServer():
            variables = server.environment(environment, where)
            client = _client(process_streams(name, server, variables, attempt.end), attempt)
        case HttpServer():
            headers = server.filled_headers(environment, where)
            client = _client(http_streams(server, headers, attempt.end), attempt)
    async with client:
        listening = asyncio.create_task(_listen(client, attempt))
        try:
            yield SdkSession(client)
        finally:
            listening.cancel()
            await asyncio.wait({listening})


def _client(streams: Any, attempt: ConnectionAttempt) -> Client:
    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            attempt.change()

    us = types.Implementation(name="holdfast", version=__version__)
    return Client(streams, cache=None, client_info=us, message_handler=hear)


async def _listen(client: Client, attempt: ConnectionAttempt) -> None:
    """Changes of the list, to which newer protocol versions subscribe; in older ones they arrive unasked."""
    with contextlib.suppress(ListenNotSupportedError, MCPError, SubscriptionLost, TimeoutError):
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                attempt.change()
