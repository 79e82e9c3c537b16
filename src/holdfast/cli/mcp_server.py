"""The tools of `holdfast mcp` as an MCP server on stdin and stdout, through the official SDK.

Rule: this is the only place that knows the SDK's server; loading it takes a second, so the command imports it late.
Every call is answered, a failed one with `is_error`.
"""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from holdfast.cli.mcp_tools import INSTRUCTIONS, TOOLS, answer_call
from holdfast.store import Store
from holdfast.version import __version__

# What the SDK logs about a client that breaks the protocol is answered to that client.
logging.getLogger("mcp").addHandler(logging.NullHandler())

READS_ONLY = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def serve(store: Store) -> None:
    """Answer a client until it closes stdin, goes away, or Ctrl-C is pressed."""
    with _ends_at_once_when_interrupted():
        try:
            anyio.run(_serve, store)
        except* (BrokenPipeError, ConnectionResetError):
            pass


async def _serve(store: Store) -> None:
    server = _make_server(store)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _make_server(store: Store) -> Server[Any]:
    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=READS_ONLY,
                )
                for tool in TOOLS
            ]
        )

    async def call_tool(
        _: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        # In a thread: a long search must not keep the client from cancelling it, or from asking something else.
        text, is_error = await anyio.to_thread.run_sync(_answer, store, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)

    return Server(
        "holdfast",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _answer(store: Store, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    try:
        return answer_call(store, tool, arguments)
    except Exception as error:  # A fault of ours must not cost the client its connection.
        return f"unexpected {type(error).__name__}: {error}", True


@contextmanager
def _ends_at_once_when_interrupted() -> Iterator[None]:
    """A thread of the SDK waits for a line of stdin, and nothing can wake it; so the process ends without it.
    Nothing is lost, since nothing is written."""
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
