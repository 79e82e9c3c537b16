"""Addresses on loopback: a real server in a process of its own, and some that are silent, broken, endless."""

import gzip
import itertools
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.programs import running

ECHO = {"name": "echo", "description": "Gives back.", "inputSchema": {"type": "object"}}
PROGRAM = str(Path(__file__).parent / "mcp_server.py")
MEGABYTE = b" " * 1_000_000


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
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        mode = self.server.mode
        # An address that fails only when a tool is called speaks the protocol until then.
        if mode.startswith("call: ") and message.get("method") != "tools/call":
            self._speak(message)
        else:
            self._fail(mode.removeprefix("call: "), message)

    def _speak(self, message: dict[str, Any]) -> None:
        if "method" not in message and self.server.mode == "call: questions":
            self.server.may_end.wait(30)
        if "id" not in message or "method" not in message:
            self._answer(202, "application/json", b"")
            return
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": (message.get("params") or {}).get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "0"},
            },
            "tools/list": {"tools": [ECHO]},
        }
        if message["method"] in results:
            self._say({"id": message["id"], "result": results[message["method"]]})
        else:
            self._say({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})

    def _say(self, message: dict[str, Any]) -> None:
        self._answer(200, "application/json", json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _fail(self, mode: str, message: dict[str, Any]) -> None:
        text = {"content": [{"type": "text", "text": "x" * 2_000_000}]}
        whole = {"jsonrpc": "2.0", "id": message.get("id"), "result": text}
        match mode:
            case "silent":
                self.server.may_end.wait(30)
            case "html":
                self._answer(200, "text/html", b"<html>welcome</html>")
            case "error":
                self._answer(500, "text/plain", b"out of order")
            case "forbidden":
                self._answer(401, "application/json", b'{"error": "who are you?"}')
            case "no json":
                self._answer(200, "application/json", b"{nothing")
            case "packed":
                packed = gzip.compress(MEGABYTE * 50, 1)
                self._answer(200, "application/json", packed, ("content-encoding", "gzip"))
            case "header":
                seen = {"content": [{"type": "text", "text": self.headers.get("authorization", "")}]}
                self._say({"id": message["id"], "result": seen})
            case "large event":
                self._answer(200, "text/event-stream", b"data: " + json.dumps(whole).encode() + b"\n\n")
            case "endless":
                self._answer_for_ever("application/json", itertools.repeat(MEGABYTE))
            case "endless event":
                self._answer_for_ever(
                    "text/event-stream", itertools.chain([b"data: "], itertools.repeat(MEGABYTE))
                )
            case "events":
                self._answer_for_ever("text/event-stream", map(_event, itertools.repeat(NEWS)))
            case "questions":
                asked = ({"id": f"q{n}", "method": "ping"} for n in itertools.count())
                self._answer_for_ever("text/event-stream", map(_event, asked))

    def do_GET(self) -> None:
        self._answer(405, "text/plain", b"")

    def do_DELETE(self) -> None:
        self._answer(405, "text/plain", b"")

    def _answer(self, status: int, kind: str, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("content-type", kind), *headers):
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer_for_ever(self, kind: str, chunks: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        for chunk in chunks:
            if self.server.may_end.is_set():
                return
            self.wfile.write(chunk)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002
        pass


NEWS = {"method": "notifications/message", "params": {"level": "info", "data": "x" * 2000}}


def _event(message: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n\n"


@contextmanager
def web_server(port: int = 0) -> Iterator[int]:
    """A server written with the SDK, and the port it listens on."""
    with running([sys.executable, PROGRAM, "http", str(port)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout, "it was made with a pipe"
        try:
            yield int(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGKILL)


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
