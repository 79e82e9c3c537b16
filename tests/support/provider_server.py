"""A provider on loopback: a real HTTP server that answers as Anthropic and OpenAI do.

    with serving(Failure(kind="rate", headers={"retry-after": "0"}), Script(parts=(Text("hi"),))) as server:
        ...  # any client, sync or async, ours or an SDK, against server.url or server.openai_url
        assert server.requests[1].json["model"] == "test"

- `serving(*answers, models=…)`: each POST takes the next answer, the last one is given again and again.
- Answers are values out of `provider_script`: `Script` (a streamed reply and how it misbehaves), `Failure` (an
  error status in the provider's own words), `html_page()`, `Stall()`, `HangUp()`, `Endless` (bytes without end).
- The path decides the protocol: `/v1/messages`, `/v1/chat/completions`, `/v1/responses`. `GET /v1/models` lists
  `models`, in Anthropic's shape where the request has an `anthropic-version`.
- `server.url` is what Anthropic's SDK takes as its base, `server.openai_url` what OpenAI's takes.
- `server.requests`: every request that came, as `Seen` (method, path, headers, body, json).
- `server.connections`: how many were opened. `server.asked(timeout)` waits for a first request,
  `server.hung_up(timeout)` until a client left before its answer was whole; both say whether it was so.
- `events_of(path, script)`: the events of a reply without a server, to find numbers for `before`, `cut` and `drop`.

A reply is read back to `script.parts`, but for opaque thinking: chat completions have no place for it, and the
Responses API sends a signature as the encrypted content of a reasoning item.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from support.provider_anthropic import ANTHROPIC
from support.provider_chat import CHAT
from support.provider_responses import RESPONSES
from support.provider_script import (
    Answer,
    Broken,
    Endless,
    Failure,
    HangUp,
    Pause,
    Protocol,
    Script,
    Seen,
    Sent,
    Stall,
    html_page,
)

__all__ = [
    "PROTOCOLS",
    "Broken",
    "Endless",
    "Failure",
    "HangUp",
    "Pause",
    "ProviderServer",
    "Script",
    "Seen",
    "Sent",
    "Stall",
    "events_of",
    "html_page",
    "serving",
]

PROTOCOLS = {"/v1/messages": ANTHROPIC, "/v1/chat/completions": CHAT, "/v1/responses": RESPONSES}


def events_of(path: str, script: Script, model: str = "test") -> list[Sent]:
    body = {"model": model, "stream": True, "stream_options": {"include_usage": True}}
    return PROTOCOLS[path].events(script, body)


S = TypeVar("S", bound="ProviderServer")


@contextmanager
def serving(*answers: Answer, models: tuple[str, ...] = ("test",)) -> Iterator["ProviderServer"]:
    with running(ProviderServer(answers or (Script(),), models)) as server:
        yield server


@contextmanager
def running(server: S) -> Iterator[S]:
    """A server in a thread of its own, ready to be asked."""
    thread = threading.Thread(target=lambda: asyncio.run(server.run()), name="provider")
    thread.start()
    try:
        assert server.ready.wait(10), "the server did not start"
        yield server
    finally:
        server.stop()
        thread.join()


class ProviderServer:
    def __init__(self, answers: tuple[Answer, ...], models: tuple[str, ...]) -> None:
        self.requests: list[Seen] = []
        self.connections = 0
        self.ready = threading.Event()
        self.port = 0
        self._answers = list(answers)
        self._models = models
        self._asked = threading.Event()
        self._left = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._stopped: asyncio.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def asked(self, timeout: float = 5.0) -> bool:
        return self._asked.wait(timeout)

    def hung_up(self, timeout: float = 5.0) -> bool:
        return self._left.wait(timeout)

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        async with server:
            await self._stopped.wait()
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        early = b""
        while (seen := await _read_request(reader, early)) is not None:
            self.requests.append(seen)
            self._asked.set()
            answering = asyncio.create_task(self._answer(seen, writer))
            watching = asyncio.create_task(_read_early(reader))
            try:
                await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
                if not answering.done() and watching.result() == b"":
                    self._left.set()
                    return
                await answering
            except ConnectionError:
                self._left.set()
                return
            finally:
                answering.cancel()
                watching.cancel()
                await asyncio.gather(answering, watching, return_exceptions=True)
            early = b"" if watching.cancelled() else watching.result()
            if writer.is_closing():
                return

    async def _answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        protocol = PROTOCOLS.get(seen.path)
        if seen.method == "GET" and seen.path == "/v1/models":
            await _whole(writer, 200, self._model_list("anthropic-version" in seen.headers))
        elif seen.method != "POST" or protocol is None:
            await _whole(writer, 404, {"error": {"message": f"no such path: {seen.path}"}})
        else:
            await self._answer_with(protocol, seen, writer)

    async def _answer_with(self, protocol: Protocol, seen: Seen, writer: asyncio.StreamWriter) -> None:
        match self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]:
            case Failure() as failure:
                status, said = protocol.failure(failure.kind)
                body = said if failure.body is None else failure.body
                headers = dict(failure.headers)
                await _whole(writer, failure.status or status, body, failure.content_type, headers)
            case Stall():
                await asyncio.sleep(3600)
            case HangUp():
                writer.close()
            case Endless() as endless:
                await _repeat(writer, endless)
            case Script() if seen.json.get("stream") is not True:
                await _whole(writer, 400, {"error": {"message": "this server only streams"}})
            case Script() as script:
                await _Telling(writer, script, protocol, seen.json).tell()

    def _model_list(self, anthropic: bool) -> Any:
        if not anthropic:
            data = [{"id": m, "object": "model", "created": 0, "owned_by": "loopback"} for m in self._models]
            return {"object": "list", "data": data}
        since = "2026-01-01T00:00:00Z"
        fixed = {"type": "model", "created_at": since, "lifecycle": "active"}
        data = [{**fixed, "id": m, "display_name": m} for m in self._models]
        return {"data": data, "has_more": False, "first_id": None, "last_id": None}


class _Telling:
    """One reply being streamed."""

    def __init__(self, writer: asyncio.StreamWriter, script: Script, protocol: Protocol, body: Any) -> None:
        self._writer = writer
        self._script = script
        self._protocol = protocol
        self._body = body

    async def tell(self) -> None:
        script = self._script
        head = {
            "content-type": script.content_type,
            "transfer-encoding": "chunked",
            "cache-control": "no-store",
        }
        self._writer.write(_head(200, head))
        for number, event in enumerate(self._protocol.events(script, self._body)):
            await self._pause(number)
            if number == script.drop:
                await self._writer.drain()
                return self._writer.transport.abort()
            if number == script.cut:
                break
            if number in script.extra:
                await self._write(script.extra[number])
            if script.broken and number == script.broken.before:
                for said in self._protocol.broken(script.broken, self._body):
                    await self._write(_encoded(said))
                break
            await self._write(_encoded(event))
        self._writer.write(b"0\r\n\r\n")
        return await self._writer.drain()

    async def _pause(self, number: int) -> None:
        for pause in self._script.pauses:
            if pause.before == number:
                left = pause.seconds
                while pause.ping_every and left > 0:
                    await self._write(self._protocol.ping)
                    await asyncio.sleep(min(left, pause.ping_every))
                    left -= pause.ping_every
                await asyncio.sleep(max(0.0, left))

    async def _write(self, event: bytes) -> None:
        event = event.replace(b"\n", self._script.newline)
        size = self._script.chunk or len(event)
        for start in range(0, len(event), size):
            piece = event[start : start + size]
            self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await self._writer.drain()


async def _repeat(writer: asyncio.StreamWriter, endless: Endless) -> None:
    writer.write(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
    while True:
        writer.write(b"%x\r\n%b\r\n" % (len(endless.piece), endless.piece))
        await writer.drain()
        await asyncio.sleep(endless.every)


def _encoded(event: Sent) -> bytes:
    data = event.data if isinstance(event.data, str) else msgspec.json.encode(event.data).decode()
    name = f"event: {event.name}\n" if event.name else ""
    return f"{name}data: {data}\n\n".encode()


async def _read_early(reader: asyncio.StreamReader) -> bytes:
    """The first byte of a next request; none where the client has left, in good order or not."""
    try:
        return await reader.read(1)
    except ConnectionError:
        return b""


async def _read_request(reader: asyncio.StreamReader, early: bytes) -> Seen | None:
    """The next request; None where the client has left."""
    try:
        head = early + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (li.partition(":") for li in lines if li)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Seen(method, path.partition("?")[0], headers, body, msgspec.json.decode(body) if body else None)


async def _whole(
    writer: asyncio.StreamWriter,
    status: int,
    body: Any,
    content_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> None:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    writer.write(
        _head(status, {"content-type": content_type, "content-length": str(len(raw)), **(headers or {})})
        + raw
    )
    await writer.drain()


def _head(status: int, headers: dict[str, str]) -> bytes:
    known = status in HTTPStatus._value2member_map_
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if known else 'Unknown'}"]
    return "\r\n".join([*lines, *(f"{k}: {v}" for k, v in headers.items()), "", ""]).encode("latin-1")
