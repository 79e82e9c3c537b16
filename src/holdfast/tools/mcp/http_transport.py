"""The streams of a session with a server at a URL.

Rule: every answer has a size limit, and a broken server is distinguished from one that refuses a call.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Self

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from holdfast.errors import HoldfastError
from holdfast.tools.mcp.servers import HttpServer
from holdfast.tools.mcp.stdio_transport import MessageMeter

LARGEST_BODY = 16 * 1024 * 1024
"""Bytes of one answer: a whole body, or one event of a stream."""
CLOSED_TO_US = (401, 403, 407)

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]


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
) -> AsyncIterator[Streams]:
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
