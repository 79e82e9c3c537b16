"""The streams of a session with a server at an address.

Rule: no answer is read without a bound. The SDK bounds the events of a stream; a whole body is bounded here.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

LARGEST_BODY = 16 * 1024 * 1024

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]


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


async def _bound(response: httpx2.Response) -> None:
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


@contextlib.asynccontextmanager
async def web_streams(url: str, headers: Mapping[str, str], seconds: float) -> AsyncIterator[Streams]:
    """`seconds` is how long a call may take, and so how long we wait for a first byte."""
    timeout = httpx2.Timeout(min(seconds, 30.0), read=seconds)
    hooks = {"response": [_bound]}
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, event_hooks=hooks) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
