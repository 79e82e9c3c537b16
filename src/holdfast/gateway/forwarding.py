"""The server: every request goes to its provider and every reply back, byte for byte.

Rule: what arrives is what was sent, in both directions; only headers of the connection itself stay behind. A copy
goes to `listen` when the reply has ended, off the way of the bytes.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

import httpx2

from holdfast.gateway.access import AccessRules
from holdfast.gateway.exchange import PassedExchange, session_headers
from holdfast.gateway.wires import Route, Wire, find_route, upstream_target

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

MOST_BODY = 32 * 1024 * 1024
"""Bytes that a request may have, as providers have it."""
MOST_KEPT = 64 * 1024 * 1024
"""Bytes of a reply that are kept for the log."""
OF_THE_CONNECTION = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer trailers "
    b"transfer-encoding upgrade host content-length expect".split()
)
"""Headers that say something of one connection, not of the message."""


class Gateway:
    """An ASGI application. `listen` is told of every exchange whose messages a log could hold."""

    def __init__(
        self,
        upstreams: Mapping[Wire, str],
        *,
        access: AccessRules,
        listen: Callable[[PassedExchange], None] = lambda _: None,
    ) -> None:
        self._upstreams = upstreams
        self._access = access
        self._listen = listen
        self._client: httpx2.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open the client when the server starts, close it when it ends."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._client = _new_client()
                await send({"type": "lifespan.startup.complete"})
            else:
                if self._client:
                    await self._client.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = scope["headers"]
        named = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        granted = self._access.check(named, raw_path)
        route = find_route(scope["method"], granted.path.decode("latin-1"), named)
        if granted.refusal:
            await _answer(send, route, granted.status, granted.refusal)
            return
        if named.get("upgrade", "").lower() == "websocket":
            await _answer(send, route, 426, "this gateway speaks HTTP; send the request without an upgrade")
            return
        if granted.path == b"/" and scope["method"] in ("GET", "HEAD"):
            # Some clients look whether anyone is there.
            await _answer(send, route, 200, "")
            return
        body = await _read_body(receive)
        if body is None:
            await _answer(send, route, 413, f"the request is larger than {MOST_BODY} bytes")
            return
        exchange = PassedExchange(
            route=route,
            at=time.time(),
            headers=session_headers(headers),
            path=granted.path.decode("latin-1"),
            body=body,
            body_encoding=named.get("content-encoding", ""),
            reply=bytearray(),
        )
        await self._pass_on(scope, headers, granted.path, exchange, receive, send)

    async def _pass_on(
        self,
        scope: Scope,
        headers: Headers,
        path: bytes,
        exchange: PassedExchange,
        receive: Receive,
        send: Send,
    ) -> None:
        """Forward, until the reply ends or the client leaves."""
        target = upstream_target(self._upstreams[exchange.route.wire], path, scope.get("query_string", b""))
        request = httpx2.Request(
            scope["method"], target, headers=_kept(headers), content=exchange.body or None
        )
        relay = asyncio.create_task(self._relay(request, exchange, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({relay, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (relay, leaving):
                task.cancel()
            ended = await asyncio.gather(relay, leaving, return_exceptions=True)
            if exchange.route.format is not None:
                self._listen(exchange)
        if isinstance(ended[0], Exception):
            raise ended[0]

    async def _relay(self, request: httpx2.Request, exchange: PassedExchange, send: Send) -> None:
        began = time.perf_counter()
        assert self._client is not None, "the server has started"
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.HTTPError as error:
            words = f"{request.url.host} cannot be reached: {error or type(error).__name__}"
            await _answer(send, exchange.route, 502, words)
            return
        try:
            exchange.status = response.status_code
            exchange.reply_type = response.headers.get("content-type", "")
            exchange.reply_encoding = response.headers.get("content-encoding", "")
            exchange.first_byte_seconds = time.perf_counter() - began
            length = [
                (b"content-length", v) for k, v in response.headers.raw if k.lower() == b"content-length"
            ]
            start = {"status": response.status_code, "headers": [*_kept(response.headers.raw), *length]}
            await send({"type": "http.response.start", **start})
            async for piece in response.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if exchange.route.format is not None and len(exchange.reply) < MOST_KEPT:
                    exchange.reply += piece
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            exchange.is_whole = True
        finally:
            exchange.seconds = time.perf_counter() - began
            await response.aclose()


def _new_client() -> httpx2.AsyncClient:
    # A model may think for many minutes before it says anything, so only connecting has a time limit.
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=20.0),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        follow_redirects=False,
    )


def _kept(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Headers of the message, in their order; not those of the connection, and those that `connection` names."""
    pairs = [(bytes(name), bytes(value)) for name, value in headers]
    named = b",".join(value for name, value in pairs if name.lower() == b"connection").lower()
    left_behind = OF_THE_CONNECTION | {word.strip() for word in named.split(b",")}
    return [(name, value) for name, value in pairs if name.lower() not in left_behind]


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; None if it is too large."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > MOST_BODY:
            return None
        if not message.get("more_body"):
            return b"".join(pieces)


async def _left(receive: Receive) -> None:
    """Wait until the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Send, route: Route, status: int, words: str) -> None:
    """An answer of our own, in the form in which the provider says errors."""
    body = json.dumps(_error(route, status, f"holdfast gateway: {words}")).encode() if words else b""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _error(route: Route, status: int, message: str) -> dict[str, Any]:
    match route.wire:
        case "anthropic":
            return {"type": "error", "error": {"type": "api_error", "message": message}}
        case "gemini":
            return {"error": {"code": status, "message": message, "status": "UNAVAILABLE"}}
        case "openai":
            return {"error": {"message": message, "type": "gateway_error", "param": None, "code": status}}
