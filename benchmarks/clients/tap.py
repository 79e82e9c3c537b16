"""A pass-through between a client and what it is pointed at, which counts what the client received.

Rule: it is no part of what is measured, so direct runs have it too.
"""

import time
from collections import Counter
from typing import Any

import httpx2

LEFT_BEHIND = frozenset(
    (b"host", b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"expect")
)


class Tap:
    """An ASGI application before `upstream`. `statuses` counts the answers to requests with a body, `refusals` is
    what those of 400 and above said, `waits` the seconds until an answer began."""

    def __init__(self, upstream: str) -> None:
        self.statuses: Counter[int] = Counter()
        self.refusals: list[str] = []
        self.waits: list[float] = []
        self._upstream = upstream
        self._client = httpx2.AsyncClient(timeout=None, follow_redirects=False)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                phase = (await receive())["type"].removeprefix("lifespan.")
                await send({"type": f"lifespan.{phase}.complete"})
                if phase == "shutdown":
                    return await self._client.aclose()
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        query = scope.get("query_string", b"").decode("latin-1")
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        target = f"{self._upstream}{path}{'?' + query if query else ''}"
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in LEFT_BEHIND]
        request = httpx2.Request(scope["method"], target, headers=headers, content=body or None)
        began = time.perf_counter()
        response = await self._client.send(request, stream=True)
        waited = time.perf_counter() - began
        kept = [pair for pair in response.headers.raw if pair[0].lower() not in LEFT_BEHIND]
        await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
        said = b""
        async for piece in response.aiter_raw():
            said += piece if response.status_code >= 400 else b""
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        await response.aclose()
        if body:
            self.statuses[response.status_code] += 1
            self.waits.append(waited)
            if response.status_code >= 400:
                self.refusals.append(f"{path}: {said[:400].decode('utf-8', 'replace')}")
        return None
