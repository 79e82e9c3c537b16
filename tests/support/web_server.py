"""A web server on loopback whose pages are functions."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext

from msgspec import Struct


class Answer(Struct):
    """`body` may be pieces, which are written one by one until the reader goes away."""

    body: bytes | Iterator[bytes] = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = {}


class WebServer(Struct):
    site: str
    requests: list[tuple[str, dict[str, str]]]
    """The path and the headers of each request."""
    scheme: str = "http"

    def url(self, path: str) -> str:
        return f"{self.scheme}://{self.site}{path}"


@contextmanager
def web_server(
    answer: Callable[[str], Answer], *, host: str = "127.0.0.1", secure: SSLContext | None = None
) -> Iterator[WebServer]:
    requests: list[tuple[str, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            given = answer(self.path)
            self.send_response(given.status)
            if given.content_type:
                self.send_header("content-type", given.content_type)
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in [given.body] if isinstance(given.body, bytes) else given.body:
                    self.wfile.write(piece)
            except OSError:
                pass  # the reader had enough
            self.close_connection = True

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    if secure:
        server.socket = secure.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        site = f"{host}:{server.server_address[1]}"
        yield WebServer(site, requests, "https" if secure else "http")
    finally:
        server.shutdown()
        server.server_close()
