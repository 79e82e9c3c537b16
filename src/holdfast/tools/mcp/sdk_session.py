"""A session with one server, through the official SDK: the only place that knows its types.

Rule: what goes in and out are our values and JSON. Loading this module loads the SDK, which takes more than a
second, so it is imported only when a server is first connected. Every answer over HTTP has a size limit, and a
broken server is distinguished from one that refuses a call.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Self

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from holdfast.errors import HoldfastError
from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.mcp.connection import ConnectionAttempt
from holdfast.tools.mcp.server_config import HttpServer, Server, StdioServer
from holdfast.tools.mcp.stdio_transport import MessageMeter, process_streams
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


LARGEST_BODY = 16 * 1024 * 1024
"""Bytes of one answer: a whole body, or one event of a stream."""
CLOSED_TO_US = (401, 403, 407)


class BrokenServer(HoldfastError):
    """The server is gone, or answers in a way that ends the session."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > LARGEST_BODY:
                raise httpx2.StreamError(f"the answer is longer than {LARGEST_BODY} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _check(response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "").lower()
    status = response.status_code
    # A protocol error may come with any other status, as JSON.
    is_broken = status in CLOSED_TO_US or (status >= 500 and not kind.startswith("application/json"))
    if response.request.method == "POST" and is_broken:
        raise BrokenServer(f"it answered with HTTP {status} {response.reason_phrase}".rstrip())
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        # A small body could expand to any size.
        raise BrokenServer(f"it compresses its answers with `{coding[:40]}`, which it was not asked to do")
    if not kind.startswith("text/event-stream") and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


class _Metered:
    """A stream of the SDK in either direction: our messages are counted, and the server's end when there are too
    many."""

    def __init__(self, inner: Any, meter: MessageMeter, over: Callable[[str], None]) -> None:
        self._inner = inner
        self._meter = meter
        self._over = over

    @property
    def last_context(self) -> object:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._inner.receive()
        if isinstance(item, SessionMessage) and (
            reason := self._meter.receive(item.message, len(repr(item.message)))
        ):
            self._over(reason)
            raise anyio.EndOfStream
        return item

    async def send(self, item: SessionMessage, /) -> None:
        self._meter.sending(item.message)
        await self._inner.send(item)
        self._meter.sent(item.message)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@contextlib.asynccontextmanager
async def http_streams(
    server: HttpServer, headers: Mapping[str, str], over: Callable[[str], None]
) -> AsyncIterator[tuple[_Metered, _Metered]]:
    """`over` gets the reason when the server is given up."""
    meter = MessageMeter()
    # A first byte may take as long as a call.
    seconds = server.call_seconds
    async with (
        httpx2.AsyncClient(
            headers={"accept-encoding": "identity", **headers},
            timeout=httpx2.Timeout(min(seconds, 30.0), read=seconds),
            event_hooks={"response": [_check]},
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LARGEST_BODY) as (
            incoming,
            outgoing,
        ),
    ):
        yield _Metered(incoming, meter, over), _Metered(outgoing, meter, over)


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
                hint = bool(tool.annotations and tool.annotations.read_only_hint)
                about = tool.description or tool.title or ""
                tools.setdefault(tool.name, RemoteTool(tool.name, about, tool.input_schema, hint))
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


@contextlib.asynccontextmanager
async def open_mcp_session(
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
            attempt.tools_changed.set()

    us = types.Implementation(name="holdfast", version=__version__)
    return Client(streams, cache=None, client_info=us, message_handler=hear)


async def _listen(client: Client, attempt: ConnectionAttempt) -> None:
    """Changes of the list, to which newer protocol versions subscribe; in older ones they arrive unasked."""
    with contextlib.suppress(ListenNotSupportedError, MCPError, SubscriptionLost, TimeoutError):
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                attempt.tools_changed.set()
