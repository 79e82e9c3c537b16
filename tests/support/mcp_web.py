"""Addresses on loopback that speak no MCP: silent, broken, endless."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    mode = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.may_end = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves early is what is tested here."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        match self.server.mode:
            case "silent":
                self.server.may_end.wait(30)
            case "html":
                self._answer(200, "text/html", b"<html>welcome</html>")
            case "error":
                self._answer(500, "text/plain", b"out of order")
            case "no json":
                self._answer(200, "application/json", b"{nothing")
            case "endless":
                self._answer_for_ever()

    def do_GET(self) -> None:
        self._answer(405, "text/plain", b"")

    def do_DELETE(self) -> None:
        self._answer(405, "text/plain", b"")

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer_for_ever(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        while not self.server.may_end.is_set():
            self.wfile.write(b" " * 1_000_000)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002
        pass


@contextmanager
def hostile_address(mode: str) -> Iterator[str]:
    server = _Server()
    server.mode = mode
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.may_end.set()
        server.shutdown()
        server.server_close()
        thread.join()
