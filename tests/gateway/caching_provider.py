"""A provider on loopback with a prompt cache: it reports what it read and what it wrote, as Anthropic does."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from typing import Any

import httpx2

from gateway.client_lists import long_text, tools
from holdfast.messages import Usage
from holdfast.tokenizers import counter_for_model

MODEL = "claude-opus-5-5"
COMPLETION = 50


class Cache:
    """Keeps every prompt that it was sent, in pieces; what a later one begins with is read."""

    def __init__(self) -> None:
        self.prompts: list[list[str]] = []
        self.usages: list[Usage] = []
        self._sizes: dict[str, int] = {}

    def take(self, body: dict[str, Any]) -> Usage:
        prompt = [json.dumps(body["tools"]), *(json.dumps(message) for message in body["messages"])]
        shared = max((_common(prompt, other) for other in self.prompts), default=0)
        self.prompts.append(prompt)
        read, write = (sum(map(self._size, part)) for part in (prompt[:shared], prompt[shared:]))
        self.usages.append(Usage(read + write, COMPLETION, read, write))
        return self.usages[-1]

    def _size(self, piece: str) -> int:
        if piece not in self._sizes:
            self._sizes[piece] = counter_for_model(MODEL).text(piece)
        return self._sizes[piece]


def _common(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@contextmanager
def caching_provider() -> Iterator[tuple[str, Cache]]:
    """Answers every request with one more call of `Bash`."""
    cache = Cache()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            usage = cache.take(body)
            number = len(cache.usages)
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "make"}}
            counts = {
                "input_tokens": 0,
                "output_tokens": usage.completion,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation_input_tokens": usage.cache_write,
            }
            about = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"]}
            reply = {**about, "content": [call], "stop_reason": "tool_use", "usage": counts}
            answer = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", cache
    finally:
        server.shutdown()
        server.server_close()


def run_agent(
    gateway: str, requests: int, session: str = "s1", *, large_every: int = 4, lines: int = 900
) -> None:
    """An agent that does what the provider says; every so many calls give a result of so many lines."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Make it work in {session}."}]
    headers = {"x-session-id": session, "user-agent": "my-agent/1.2"}
    with httpx2.Client(base_url=gateway, headers=headers, timeout=30) as client:
        for number in range(1, requests + 1):
            body = {"model": MODEL, "max_tokens": 99, "tools": tools("anthropic"), "messages": messages}
            reply = client.post("/v1/messages", json=body).raise_for_status().json()
            call = reply["content"][0]
            result = f"fine {number}"
            if number % large_every == 0:
                result = long_text(lines, name=f"{session}-{number}")
            answer = {"type": "tool_result", "tool_use_id": call["id"], "content": result}
            messages = [
                *messages,
                {"role": "assistant", "content": reply["content"]},
                {"role": "user", "content": [answer]},
            ]
