"""The process of a server that speaks MCP on its standard input and output.

Rule: the process leads a group of its own, and when the connection ends so does the whole group. What it prints is
bounded: a line that is too long, too much that is not a message, or messages that nobody asked for end the
connection, never our memory.

The SDK has such a transport too. It waits for the end of a line without a bound, keeps a task for each question of
a server until the answer is sent, lets children of a server live on, and drops the end of its stderr.
"""

import asyncio
import contextlib
import json
import logging
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from holdfast.tools.mcp.server_config import StdioServer
from holdfast.tools.shell.processes import in_session, send, send_group

LEAST_WEIGHT = 256
"""The least that a message counts, since a short one costs work too."""


class MessageMeter:
    """Counts bytes since the last awaited answer, and questions whose answer could not be sent yet."""

    def __init__(self, most_unasked: int = 16 * 1024 * 1024, most_unanswered: int = 1_000) -> None:
        self._most_unasked = most_unasked
        self._most_unanswered = most_unanswered
        self._awaited: set[str] = set()
        self._unasked = 0
        self._unanswered = 0

    def sending(self, message: JSONRPCMessage) -> None:
        """Noted before sending, since the answer to a request may arrive before we know that it was sent."""
        if isinstance(message, JSONRPCRequest):
            self._awaited.add(str(message.id))

    def sent(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._unanswered -= 1

    def receive(self, message: JSONRPCMessage, size: int) -> str:
        """Why the server is given up with this message; empty if it is not."""
        if isinstance(message, JSONRPCResponse | JSONRPCError) and str(message.id) in self._awaited:
            self._awaited.remove(str(message.id))
            self._unasked = 0
            return ""
        self._unasked += max(size, LEAST_WEIGHT)
        self._unanswered += isinstance(message, JSONRPCRequest)
        if self._unanswered > self._most_unanswered:
            return f"it asked {self._unanswered} questions and did not take the answers"
        return "it sends messages without end" if self._unasked > self._most_unasked else ""


SECONDS_FOR_STDERR = 0.5
STDERR_LINES = 5
LONGEST_STDERR = 500
LARGEST_MESSAGE = 16 * 1024 * 1024
MOST_NOISE = 1024 * 1024
"""Bytes of output that is not a message, since the last message."""

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def process_streams(
    name: str, server: StdioServer, environment: Mapping[str, str], over: Callable[[str], None]
) -> AsyncIterator[Streams]:
    """The streams of a session with a new process. `over` gets the reason when the process ends the connection."""
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment),
        cwd=server.cwd or None,
        start_new_session=True,
        limit=LARGEST_MESSAGE,
    )
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    served = _ServerProcess(process, name)

    async def read() -> None:
        over(await served.read(to_session))
        await to_session.aclose()

    tasks = [
        asyncio.create_task(served.listen()),
        asyncio.create_task(read()),
        asyncio.create_task(served.write(from_session)),
    ]
    try:
        yield from_server, to_server
    finally:
        try:
            # A server that never sent a message has nothing to finish.
            grace = server.stop_seconds if served.has_sent_message else SECONDS_FOR_STDERR
            await _end(process, min(grace, server.stop_seconds))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=server.stop_seconds)
            for stream in (to_session, from_server, to_server, from_session):
                stream.close()


class _ServerProcess:
    """A process and its three pipes."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process = process
        self._stdin, self._stdout, self._stderr = _pipes(process)
        self._name = name
        self._meter = MessageMeter()
        self._stderr_lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._stderr_ended = asyncio.Event()
        self.has_sent_message = False

    async def listen(self) -> None:
        """Standard error goes to the program's log, never to the terminal, which belongs to the agent."""
        rest = b""
        while chunk := await self._stderr.read(8192):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-LONGEST_STDERR:]
            for line in lines:
                self._log_stderr(line)
        self._log_stderr(rest)
        self._stderr_ended.set()

    def _log_stderr(self, line: bytes) -> None:
        if text := line[-LONGEST_STDERR:].decode("utf-8", "replace").strip():
            self._stderr_lines.append(text)
            _log.info("MCP server %s: %s", self._name, text)

    async def read(self, to_session: MemoryObjectSendStream[SessionMessage | Exception]) -> str:
        """Pass on messages until there are no more; returns the reason."""
        noise = 0
        while True:
            try:
                line = await self._stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return await self._exit_reason()
            except asyncio.LimitOverrunError:
                return f"it sent a message of more than {LARGEST_MESSAGE} bytes"
            except ConnectionError as error:
                return f"its output broke off ({error})"
            message = _message(line)
            if message is None:
                noise += len(line)
                _log.debug("MCP server %s prints something that is not a message: %r", self._name, line[:200])
                if noise > MOST_NOISE:
                    beginning = " ".join(line[:80].decode("utf-8", "replace").split())
                    return f"it prints something that is not a message, such as `{beginning}`"
                continue
            noise = 0
            self.has_sent_message = True
            if reason := self._meter.receive(message, len(line)):
                return reason
            try:
                await to_session.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return "the session is closed"

    async def _exit_reason(self) -> str:
        """How the process ended, with its last lines on standard error."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_FOR_STDERR):
                await self._stderr_ended.wait()
        await _wait_exit(self._process, SECONDS_FOR_STDERR)
        code = self._process.returncode
        how = "it closed its output"
        if code is not None:
            how = f"its process ended with {f'exit code {code}' if code >= 0 else f'signal {-code}'}"
        words = " / ".join(self._stderr_lines)
        return f"{how}; its last output on stderr: {words[-LONGEST_STDERR:]}" if words else how

    async def write(self, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
        # `read` notices that a process is gone, and knows the reason.
        with contextlib.suppress(ConnectionError, RuntimeError):
            async for item in from_session:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._meter.sending(item.message)
                self._stdin.write(text.encode() + b"\n")
                await self._stdin.drain()
                self._meter.sent(item.message)
        from_session.close()


def _message(line: bytes) -> JSONRPCMessage | None:
    """The message in a line, if there is one. A lone surrogate, as in the name of an odd file, is replaced: without
    the message a call would wait for its answer in vain."""
    with contextlib.suppress(ValueError):
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    with contextlib.suppress(ValueError, RecursionError):
        if b"\\ud" in line.lower():
            text = json.dumps(json.loads(line), ensure_ascii=False)
            return jsonrpc_message_adapter.validate_json(text.encode("utf-8", "replace"), by_name=False)
    return None


def _pipes(
    process: asyncio.subprocess.Process,
) -> tuple[asyncio.StreamWriter, asyncio.StreamReader, asyncio.StreamReader]:
    assert process.stdin, "it was made with pipes"
    assert process.stdout, "it was made with pipes"
    assert process.stderr, "it was made with pipes"
    return process.stdin, process.stdout, process.stderr


async def _end(process: asyncio.subprocess.Process, seconds: float) -> None:
    """Close its input, ask it to end (each gets half of the time), and kill everything left in its group and
    session."""
    # Processes with a group of their own, as a shell with job control starts them; only known while the server
    # lives.
    members = in_session(process.pid) if process.returncode is None else []
    _pipes(process)[0].close()
    try:
        if not await _wait_exit(process, seconds / 2):
            send_group(process.pid, signal.SIGTERM)
            await _wait_exit(process, seconds / 2)
    finally:
        send_group(process.pid, signal.SIGKILL)
        send(members, signal.SIGKILL)
        await _wait_exit(process, seconds)
        # A grandchild that left the group may keep the pipes open; the transport is closed anyway.
        getattr(process, "_transport").close()  # noqa: B009 - asyncio offers no other way


async def _wait_exit(process: asyncio.subprocess.Process, seconds: float) -> bool:
    # Not `wait`, which also waits for pipes that are full, or that a grandchild keeps open.
    until = time.monotonic() + seconds
    while process.returncode is None and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return process.returncode is not None
