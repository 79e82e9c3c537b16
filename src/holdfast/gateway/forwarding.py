"""The server: every request goes to its provider and every reply back, byte for byte.

Rule: what arrives is what was sent, in both directions; only headers of the connection itself stay behind. What is
sent instead is for `Traffic` to say; a copy goes there when the reply has ended, off the way of the bytes.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import httpx2
from msgspec.structs import replace

from holdfast.gateway.access import AccessRules
from holdfast.gateway.asgi import Receive, Scope, Send
from holdfast.gateway.exchange import (
    TOO_LATE,
    PassedExchange,
    RequestChange,
    RewriteDeadline,
    Traffic,
    kept_headers,
)
from holdfast.gateway.metrics import CONTENT_TYPE as METRICS_TYPE
from holdfast.gateway.metrics import PATH as METRICS_PATH
from holdfast.gateway.metrics import GatewayMetrics
from holdfast.gateway.wires import Route, Wire, find_route, upstream_target

Headers = list[tuple[bytes, bytes]]

MOST_BODY = 32 * 1024 * 1024
"""Bytes that a request may have, as providers have it."""
BODY_SECONDS = 120.0
"""How long a client may take to send a request."""
REWRITE_SECONDS = 10.0
"""How long a request may wait to be changed."""
IDLE_SECONDS = 1_800.0
"""How long a provider may say nothing: a model may think for many minutes before it does."""
MOST_KEPT = 64 * 1024 * 1024
"""Bytes of a reply that are kept for the log."""
OF_THE_CONNECTION = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer trailers "
    b"transfer-encoding upgrade host content-length expect".split()
)
"""Headers that say something of one connection, not of the message."""


MOST_REFUSAL = 1024 * 1024
"""Bytes of a refusal that are looked at before it is passed on."""
REFUSALS = (400, 413, 422)
"""Statuses with which a provider refuses a request for what it says."""
ENDED = "the gateway ended before the provider answered"


class Gateway:
    """An ASGI application."""

    def __init__(
        self,
        upstreams: Mapping[Wire, str],
        *,
        access: AccessRules,
        traffic: Traffic | None = None,
        metrics: GatewayMetrics | None = None,
    ) -> None:
        self._upstreams = upstreams
        self._access = access
        self._traffic = traffic
        self._metrics = metrics or GatewayMetrics()
        self._in_flight = 0
        self._client: httpx2.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
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
        access = self._access.check(named, raw_path)
        route = find_route(scope["method"], access.path.decode("latin-1"), named)
        if access.refusal:
            await _answer(send, route, access.status, access.refusal)
            return
        if "upgrade" in named:
            # The server does not read the body of such a request.
            await _answer(send, route, 426, "this gateway speaks HTTP; send the request without an upgrade")
            return
        if access.path == b"/" and scope["method"] in ("GET", "HEAD"):
            # Some clients look whether anyone is there.
            await _answer(send, route, 200, "")
            return
        if access.path == METRICS_PATH and scope["method"] == "GET":
            await self._send_metrics(send)
            return
        body = await _receive_body(receive, send, route)
        if body is None:
            return
        exchange = PassedExchange(
            route=route,
            at=time.time(),
            headers=kept_headers(headers),
            path=access.path.decode("latin-1"),
            body=body,
            body_encoding=named.get("content-encoding", ""),
            change=RequestChange(),
            reply=bytearray(),
        )
        upstream = self._upstreams[route.wire]
        request = httpx2.Request(
            scope["method"],
            upstream,
            headers=_kept(headers),
            content=body or None,
            # Else the client would write the path in another way.
            extensions={"target": upstream_target(upstream, access.path, scope.get("query_string", b""))},
        )
        await self._pass_on(request, exchange, receive, send)

    async def _send_metrics(self, send: Send) -> None:
        waiting, missed = (self._traffic.waiting, self._traffic.missed) if self._traffic else (0, 0)
        page = self._metrics.page(in_flight=self._in_flight, waiting=waiting, missed=missed)
        await _send_whole(send, 200, METRICS_TYPE, page)

    async def _pass_on(
        self, request: httpx2.Request, exchange: PassedExchange, receive: Receive, send: Send
    ) -> None:
        """Forward, until the reply ends or the client leaves."""
        self._in_flight += 1
        relay = asyncio.create_task(self._relay(request, exchange, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({relay, leaving}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Nothing but a server that ends cancels a request, and it waits for the client to be answered.
            exchange.no_answer = ENDED
        finally:
            self._in_flight -= 1
            for task in (relay, leaving):
                task.cancel()
            ended = await asyncio.gather(relay, leaving, return_exceptions=True)
            # Set already where the provider answered.
            exchange.seconds = exchange.seconds or time.time() - exchange.at
            if exchange.route.format is not None and self._traffic:
                self._traffic.record(exchange)
        if isinstance(ended[0], Exception):
            raise ended[0]
        if exchange.no_answer == ENDED and not exchange.status:
            await _answer(send, exchange.route, 503, ENDED)

    async def _relay(self, request: httpx2.Request, exchange: PassedExchange, send: Send) -> None:
        began = time.perf_counter()
        try:
            response, pieces = await self._ask(request, exchange)
        except httpx2.HTTPError as error:
            place = request.url.netloc.decode("ascii")
            exchange.no_answer = f"{place} cannot be reached: {error or type(error).__name__}"
            await _answer(send, exchange.route, 502, exchange.no_answer)
            return
        try:
            exchange.status = response.status_code
            exchange.reply_type = response.headers.get("content-type", "")
            exchange.reply_encoding = response.headers.get("content-encoding", "")
            exchange.first_byte_seconds = time.perf_counter() - began
            raw = response.headers.raw
            # In chunks, a length counts for nothing.
            is_chunked = "transfer-encoding" in response.headers
            length = [] if is_chunked else [(k, v) for k, v in raw if k.lower() == b"content-length"]
            start = {"status": response.status_code, "headers": [*_kept(raw), *length]}
            await send({"type": "http.response.start", **start})
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if exchange.route.format is not None and len(exchange.reply) < MOST_KEPT:
                    exchange.reply += piece
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            exchange.is_whole = True
        except httpx2.HTTPError:
            # An end without the last piece closes the connection: the client sees what the provider did.
            exchange.is_broken_off = True
        finally:
            exchange.seconds = time.perf_counter() - began
            await response.aclose()

    async def _ask(
        self, request: httpx2.Request, exchange: PassedExchange
    ) -> tuple[httpx2.Response, AsyncIterator[bytes]]:
        """The provider's answer to the request, or to what is sent in its place, and its body piece by piece. A
        refusal of the latter is read whole, and may be followed by one more try."""
        assert self._client is not None, "the server has started"
        traffic = self._traffic
        if traffic is None or exchange.route.format is None or not traffic.may_rewrite:
            response = await self._client.send(request, stream=True)
            return response, response.aiter_raw()
        changed = await _rewritten(traffic, exchange)
        exchange.is_changed = changed is not None
        response = await self._client.send(_with_body(request, changed), stream=True)
        if exchange.context is None or response.status_code not in REFUSALS:
            return response, response.aiter_raw()
        pieces, reply = response.aiter_raw(), b""
        async for piece in pieces:
            reply += piece
            if len(reply) > MOST_REFUSAL:
                return response, _resumed(reply, pieces)
        encoding = response.headers.get("content-encoding", "")
        again = await asyncio.to_thread(
            traffic.rewrite_refused, exchange, response.status_code, reply, encoding
        )
        if again is None:
            return response, _resumed(reply, pieces)
        await response.aclose()
        response = await self._client.send(_with_body(request, again), stream=True)
        return response, response.aiter_raw()


async def _rewritten(traffic: Traffic, exchange: PassedExchange) -> bytes | None:
    """What to send in place of a request, as far as that is known in time: another program may hold the store."""
    # A copy, so that what is found out too late changes nothing.
    tried = replace(exchange, change=replace(exchange.change))
    deadline = RewriteDeadline()
    changing = asyncio.create_task(asyncio.to_thread(traffic.rewrite, tried, deadline))
    done, _ = await asyncio.wait({changing}, timeout=REWRITE_SECONDS)
    if not done and deadline.expire():
        exchange.change.fault = TOO_LATE
        exchange.change.removed = deadline.removed
        return deadline.known
    changed = await changing
    exchange.change, exchange.context = tried.change, tried.context
    return changed


async def _resumed(begun: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A body of which something was read already."""
    yield begun
    async for piece in rest:
        yield piece


def _with_body(request: httpx2.Request, body: bytes | None) -> httpx2.Request:
    """The request with another body, which is not compressed; as it is without one."""
    if body is None:
        return request
    headers = [
        (name, value)
        for name, value in request.headers.raw
        if name.lower() not in (b"content-length", b"content-encoding", b"host")
    ]
    return httpx2.Request(
        request.method, request.url, headers=headers, content=body, extensions=request.extensions
    )


def _new_client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(IDLE_SECONDS, connect=20.0),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        follow_redirects=False,
    )


def _kept(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Headers of the message, in their order; not those of the connection, and those that `connection` names."""
    pairs = [(bytes(name), bytes(value)) for name, value in headers]
    named = b",".join(value for name, value in pairs if name.lower() == b"connection").lower()
    left_behind = OF_THE_CONNECTION | {word.strip() for word in named.split(b",")}
    return [(name, value) for name, value in pairs if name.lower() not in left_behind]


async def _receive_body(receive: Receive, send: Send, route: Route) -> bytes | None:
    """The whole body; None where the client left, or was refused for a body that is too slow or too large."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read_body(receive)
    except _ClientLeft:
        return None
    except TimeoutError:
        await _answer(send, route, 408, f"the request did not arrive in {BODY_SECONDS:.0f} seconds")
        return None
    if body is None:
        await _answer(send, route, 413, f"the request is larger than {MOST_BODY} bytes")
    return body


class _ClientLeft(Exception):
    """The client left before it had sent its whole request."""


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; None if it is too large. Raises _ClientLeft."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientLeft
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
    await _send_whole(send, status, b"application/json", body)


async def _send_whole(send: Send, status: int, kind: bytes, body: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
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
