"""Running the gateway: a socket, the server, and its end."""

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from holdfast.errors import InputError
from holdfast.gateway.asgi import Application

MOST_CONNECTIONS = 1_000
UNFINISHED = "returned without completing response"
"""What uvicorn says of a reply without an end."""
HEAD_SECONDS = 30.0
"""How long a client may take to send the head of a request, and before that to begin its first one."""
LAST_SECONDS = 5
"""How long requests that are under way may take when the server ends."""


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free. Raises InputError where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        is_host = isinstance(error, socket.gaierror) or getattr(error, "errno", 0) == errno.EADDRNOTAVAIL
        raise InputError(
            f"the server cannot listen on {host}:{port}: {getattr(error, 'strerror', '') or error}",
            hint="give an address of this machine with `--host`, or leave it out"
            if is_host
            else "choose another with `--port`, or 0 for any",
        ) from None
    listening.listen(1024)
    return listening


class ClientConnection(HttpToolsProtocol):
    """A connection as uvicorn has it, but for two things: it is closed if no request comes, or only the beginning
    of one, and what comes behind a body is not taken for a header."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._start()

    def on_headers_complete(self) -> None:
        self._stop()
        super().on_headers_complete()
        self.headers = []

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._stop()
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class Server(uvicorn.Server):
    """Serves an application. It says when it has started, and for how many requests it waits at its end; it can be
    told to end."""

    def __init__(
        self,
        application: Application,
        on_start: Callable[[], None] = lambda: None,
        on_wait: Callable[[int], None] = lambda _: None,
    ) -> None:
        config = uvicorn.Config(
            application,
            # It warns of every WebSocket, which is answered as it should be.
            log_level="error",
            access_log=False,
            # Replies bring their own.
            server_header=False,
            date_header=False,
            ws="none",
            http=ClientConnection,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        super().__init__(config)
        # It is how a reply is passed on that the provider broke off.
        logging.getLogger("uvicorn.error").addFilter(lambda record: UNFINISHED not in record.getMessage())
        self._on_start = on_start
        self._on_wait = on_wait

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.tasks:
            self._on_wait(len(self.server_state.tasks))
        # It would print a traceback for every request that it cuts off.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)

    def serve_on(self, listening: socket.socket) -> None:
        """Serve until Ctrl-C, a signal to end, a terminal that is closed, or `stop`. It returns each time, so
        that what has passed can still be recorded."""
        with contextlib.suppress(KeyboardInterrupt), _signals_that_stop(self.stop):
            self.run(sockets=[listening])

    def stop(self) -> None:
        self.should_exit = True


@contextlib.contextmanager
def _signals_that_stop(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGHUP stop a server of the main thread; uvicorn, when it has ended, would end the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def in_thread(
    application: Application, listening: socket.socket, on_wait: Callable[[int], None] = lambda _: None
) -> Iterator[None]:
    """The application in a thread, for a program that does something else meanwhile."""
    started = threading.Event()
    server = Server(application, started.set, on_wait)
    thread = threading.Thread(target=server.serve_on, args=[listening], name="holdfast gateway")
    thread.start()
    started.wait(30)
    try:
        yield
    finally:
        server.stop()
        thread.join()
