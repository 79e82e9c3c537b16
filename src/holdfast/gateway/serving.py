"""Running the gateway: a socket, the server, and its end."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn

from holdfast.errors import InputError
from holdfast.gateway.forwarding import Gateway

MOST_CONNECTIONS = 1_000


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free. Raises InputError where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise InputError(
            f"the gateway cannot listen on {host}:{port}: {error}",
            hint="choose another with `--port`, or 0 for any",
        ) from None
    listening.listen(1024)
    return listening


def serve(gateway: Gateway, listening: socket.socket, *, on_start: Callable[[], None] = lambda: None) -> None:
    """Serve until Ctrl-C or a signal to end."""
    with contextlib.suppress(KeyboardInterrupt):
        _server(gateway, on_start).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that says when it has started."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()


def _server(gateway: Gateway, on_start: Callable[[], None]) -> _Server:
    config = uvicorn.Config(
        gateway,
        # It warns of every WebSocket, which is answered as it should be.
        log_level="error",
        access_log=False,
        # Replies bring their own.
        server_header=False,
        date_header=False,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
    )
    return _Server(config, on_start)


@contextlib.contextmanager
def in_thread(gateway: Gateway, listening: socket.socket) -> Iterator[None]:
    """The gateway in a thread, for a program that does something else meanwhile."""
    started = threading.Event()
    server = _server(gateway, started.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="holdfast gateway")
    thread.start()
    started.wait(30)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
