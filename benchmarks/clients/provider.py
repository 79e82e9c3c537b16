"""A strict provider on loopback: it answers Anthropic's, OpenAI's and Google's clients from a scenario.

    uv run python benchmarks/clients/provider.py --port 8099 [--scenario short|long] [--window 16000]

Every request is judged by the rules that real providers have, and refused in their words; the prompt cache is
simulated and billed at real prices. One line of JSON a request goes to stdout.

Rule: which step comes next is known here, by the ids of the calls that a request holds, never by its length:
a gateway may have shortened the history.
"""

import argparse
import asyncio
import contextlib
import gzip
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from msgspec import Struct

BENCHMARKS = Path(__file__).resolve().parents[1]
if str(BENCHMARKS) not in sys.path:
    # Called as a script, Python sees this folder but not the package it is.
    sys.path.insert(0, str(BENCHMARKS))

from clients.conversations import Conversation, Conversations  # noqa: E402
from clients.prompt_cache import PromptCache, dollars, prompt_tokens, with_output  # noqa: E402
from clients.scenario import Scenario  # noqa: E402
from clients.scenarios import SCENARIOS  # noqa: E402
from clients.thinking import BOUND_MODELS, ThinkingSigner  # noqa: E402
from clients.wires.anthropic import MOST_BYTES, AnthropicWire  # noqa: E402
from clients.wires.chat import ChatWire  # noqa: E402
from clients.wires.gemini import GeminiWire  # noqa: E402
from clients.wires.responses import ResponsesWire  # noqa: E402
from clients.wires.values import Asked, Bill, Breach, Said, Wire, canonical  # noqa: E402

Message = dict[str, Any]
Answer = tuple[int, bytes | list[bytes]]
MODELS = ("claude-opus-5-5", "claude-fable-5-2", "gpt-6-sol", "gpt-5.5", "gemini-3.8-flash")
SIDE_JSON = '{"reasoning": "All is done.", "next_speaker": "user"}'


class RequestNote(Struct, frozen=True):
    """What is kept of a request. `extends` says whether its prompt begins with all of the one before it."""

    wire: str
    path: str
    model: str
    conversation: str
    status: int
    prompt: int
    read: int
    write: int
    output: int
    dollars: float | None
    rules: tuple[str, ...]
    message: str
    extends: bool | None
    is_too_long: bool
    fixed: int
    """Tokens of tools and system prompt."""


class Provider:
    """An ASGI application. `clock` is the time of the prompt cache; `folder` is where the client works."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        folder: str = "",
        window: int = 0,
        bound: Sequence[str] = BOUND_MODELS,
        clock: Callable[[], float] = time.monotonic,
        listen: Callable[[RequestNote], None] = lambda _: None,
    ) -> None:
        self.notes: list[RequestNote] = []
        self.bodies: list[bytes] = []
        self._window = window
        self._listen = listen
        self._conversations = Conversations(scenario, folder)
        self._cache = PromptCache(clock)
        self._anthropic = AnthropicWire(ThinkingSigner(bound))
        self._chat, self._responses, self._gemini = ChatWire(), ResponsesWire(), GeminiWire()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                phase = (await receive())["type"].removeprefix("lifespan.")
                await send({"type": f"lifespan.{phase}.complete"})
                if phase == "shutdown":
                    return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        status, answer = self.answer(scope["method"], scope["path"], headers, await _body(receive))
        is_stream = isinstance(answer, list)
        kind = b"text/event-stream" if is_stream else b"application/json"
        head = [(b"content-type", kind), (b"request-id", b"req_loopback")]
        await send({"type": "http.response.start", "status": status, "headers": head})
        for piece in answer if is_stream else [answer]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})

    def answer(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Answer:
        """The status, and a whole answer or the events of a streamed one."""
        if headers.get("upgrade", "").lower() == "websocket":
            return 426, b'{"error": {"message": "use HTTP"}}'
        if path == "/" and method in ("GET", "HEAD"):
            return 200, b""
        wire = self._wire(path) if method == "POST" else None
        if wire is None:
            return self._other(method, path, headers)
        if len(raw) > MOST_BYTES:
            return 413, msgspec.json.encode(
                wire.error(Breach("A20", "Request exceeds the maximum size", 413))
            )
        try:
            body = msgspec.json.decode(
                _decoded(raw, headers.get("content-encoding", "")), type=dict[str, Any]
            )
        except (msgspec.DecodeError, zlib.error, OSError) as error:
            return 400, msgspec.json.encode(
                wire.error(Breach("json", f"the body is no JSON object: {error}"))
            )
        self.bodies.append(raw)
        return self._reply(wire, path, wire.read(body, path, headers))

    def _wire(self, path: str) -> Wire | None:
        if path in ("/v1/messages", "/v1/messages/count_tokens"):
            return self._anthropic
        if path.endswith("/chat/completions"):
            return self._chat
        if path.endswith(("/responses", "/responses/input_tokens")):
            return self._responses
        is_gemini = path.endswith((":generateContent", ":streamGenerateContent", ":countTokens"))
        return self._gemini if is_gemini else None

    def _other(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
        if method != "GET" or not path.endswith("/models"):
            return 404, msgspec.json.encode({"error": {"message": f"no such path: {path}"}})
        if "anthropic-version" in headers:
            about = {"type": "model", "created_at": "2026-01-01T00:00:00Z"}
            data = [{**about, "id": model, "display_name": model} for model in MODELS]
            return 200, msgspec.json.encode(
                {"data": data, "has_more": False, "first_id": None, "last_id": None}
            )
        listed = [{"id": m, "object": "model", "created": 0, "owned_by": "loopback"} for m in MODELS]
        return 200, msgspec.json.encode({"object": "list", "data": listed})

    def _reply(self, wire: Wire, path: str, asked: Asked) -> Answer:
        breaches, tokens = wire.judge(asked), prompt_tokens(asked)
        is_too_long = not breaches and not asked.is_counting and 0 < self._window < tokens
        if is_too_long:
            breaches = [wire.too_long(tokens, self._window)]
        talk = None if asked.is_counting else self._conversations.find(wire.name, asked)
        extends = talk.follow(asked) if talk and not breaches else None
        if breaches:
            self._note(wire, path, asked, talk, Bill(prompt=tokens), breaches, extends, is_too_long)
            return breaches[0].status, msgspec.json.encode(wire.error(breaches[0]))
        if asked.is_counting:
            self._note(wire, path, asked, talk, Bill(prompt=tokens), [], None)
            return 200, msgspec.json.encode(wire.counted(Bill(prompt=tokens)))
        said = (
            talk.next_reply(asked) if talk else Said(0, SIDE_JSON if asked.wants_json else "A short session")
        )
        content = wire.say(asked, said)
        bill = with_output(self._cache.bill(wire.name, asked), asked.model, canonical(content).decode())
        self._note(wire, path, asked, talk, bill, [], extends)
        if asked.is_streamed:
            return 200, wire.events(asked, content, bill)
        return 200, msgspec.json.encode(wire.whole(asked, content, bill))

    def _note(
        self,
        wire: Wire,
        path: str,
        asked: Asked,
        talk: Conversation | None,
        bill: Bill,
        breaches: list[Breach],
        extends: bool | None,
        is_too_long: bool = False,
    ) -> None:
        fixed = [block for block in asked.blocks if block.section != "messages"]
        if wire.name in ("chat", "responses"):
            # There the system prompt is the first message, or the first few.
            roles = (b'"role":"system"', b'"role":"developer"')
            fixed += [block for block in asked.blocks if any(role in block.data for role in roles)]
        note = RequestNote(
            wire=wire.name,
            path=path,
            model=asked.model,
            conversation=talk.name if talk else "counting" if asked.is_counting else "side",
            status=breaches[0].status if breaches else 200,
            prompt=bill.prompt,
            read=bill.read,
            write=bill.write,
            output=bill.output,
            dollars=dollars(wire.name, asked.model, bill) if bill.output else None,
            rules=tuple(breach.rule for breach in breaches),
            message=breaches[0].message if breaches else "",
            extends=extends,
            is_too_long=is_too_long,
            fixed=prompt_tokens(msgspec.structs.replace(asked, blocks=fixed)),
        )
        self.notes.append(note)
        self._listen(note)


def _decoded(raw: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(raw)
    return raw


async def _body(receive: Any) -> bytes:
    out = b""
    while True:
        message = await receive()
        out += message.get("body", b"")
        if not message.get("more_body"):
            return out


@contextlib.contextmanager
def serving(application: Any, port: int = 0) -> Iterator[str]:
    """An application in a thread; its address."""
    listening = socket.create_server(("127.0.0.1", port))
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

    config = uvicorn.Config(
        application,
        log_level="error",
        access_log=False,
        ws="none",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
    server = Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="provider")
    thread.start()
    try:
        assert started.wait(30), "the server did not start"
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="provider.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default="short")
    parser.add_argument("--folder", default=str(Path.cwd()), help="where the client works")
    parser.add_argument("--window", type=int, default=0, help="refuse prompts of more tokens; 0 takes any")
    options = parser.parse_args(arguments)

    def write(note: RequestNote) -> None:
        print(msgspec.json.encode(note).decode(), flush=True)

    scenario = SCENARIOS[options.scenario]()
    provider = Provider(scenario, folder=options.folder, window=options.window, listen=write)
    with contextlib.suppress(KeyboardInterrupt), serving(provider, options.port) as address:
        print(f"listening on {address}; the task is: {scenario.task}", file=sys.stderr)
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
