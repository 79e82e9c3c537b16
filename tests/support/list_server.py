"""A server on loopback that gives one answer to every GET, whatever it is: lists of models, refusals, nonsense."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ListServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, status: int, body: bytes, silent: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.body = body
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.may_answer = threading.Event()
        if not silent:
            self.may_answer.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ListServer

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.path, headers))
        self.server.may_answer.wait(30)
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002
        """Nothing: what was asked is in `seen`."""


@contextmanager
def listing(answer: Any = None, *, status: int = 200, silent: bool = False) -> Iterator[ListServer]:
    """Bytes as they are, anything else as JSON. A silent server takes the question and says nothing."""
    server = ListServer(status, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), silent)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.may_answer.set()
        server.shutdown()
        thread.join()
        server.server_close()
