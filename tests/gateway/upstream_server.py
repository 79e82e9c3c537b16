"""A provider on loopback that answers with given bytes, for tests of the gateway."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

STREAM = ("content-type", "text/event-stream")


class SeenRequest(NamedTuple):
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes


class Seen:
    """What an upstream was sent."""

    def __init__(self) -> None:
        self.requests: list[SeenRequest] = []
        self.left = threading.Event()


class Upstream(ThreadingHTTPServer):
    request_queue_size = 256


@contextmanager
def upstream(
    answer: bytes | list[bytes] = b'{"ok": true}', status: int = 200, headers=(), *, endless=False
) -> Iterator:
    """A server that answers every request with these bytes, or each with the next, and keeps what it was sent."""
    seen = Seen()
    answers = itertools.repeat(answer) if isinstance(answer, bytes) else iter(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.requests.append(SeenRequest(self.command, self.path, list(self.headers.items()), body))
            answer = next(answers)
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            if not endless:
                self.send_header("content-length", str(len(answer)))
            self.end_headers()
            try:
                if self.command != "HEAD":
                    self.wfile.write(answer)
                while endless:
                    self.wfile.write(b": still there\n\n")
            except OSError:
                seen.left.set()

        do_GET = do_HEAD = do_DELETE = do_POST  # noqa: N815 - names of the standard library

        def log_message(self, *_: object) -> None: ...

    server = Upstream(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
