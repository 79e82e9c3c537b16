"""The protocol's messages as lines of JSON on stdin and stdout.

Rule: whatever a line holds, it is answered or passed on; a client that writes nonsense gets an error and keeps its
connection. Nothing but messages is written to stdout.
"""

import asyncio
import json
import os
import stat
import sys
from typing import Any

from holdfast.errors import InputError
from holdfast.tools.call import without_surrogates

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a message; images come in them."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600

JsonMessage = dict[str, Any]


class StdioTransport:
    """**Contract:** `receive` returns None when the client has closed its side, or reads no longer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._is_gone = False

    async def receive(self) -> JsonMessage | None:
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
                if not line.strip():
                    return None
            except ConnectionError:
                return None
            except asyncio.LimitOverrunError:
                # Where the next message begins cannot be known.
                await self._refuse(PARSE_ERROR, f"a message has more than {LONGEST_LINE} bytes")
                return None
            if not line.strip():
                continue
            try:
                message = json.loads(line)
                # Half of a character could not be written to a log.
                message = without_surrogates(message) if b"\\ud" in line.lower() else message
            except (ValueError, RecursionError) as error:
                await self._refuse(PARSE_ERROR, f"a line is not JSON: {error}")
                continue
            if isinstance(message, dict) and _is_message(message):
                return message
            await self._refuse(INVALID_REQUEST, "a line is not a message of JSON-RPC 2.0", message)

    async def send(self, message: JsonMessage) -> None:
        if self._is_gone:
            return
        # `default`: the package puts exceptions into what it says about wrong parameters.
        self._writer.write(json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n")
        try:
            await self._writer.drain()
        except ConnectionError:
            # Nobody reads what is answered, so nothing more should be asked either.
            self._is_gone = True
            self._reader.feed_eof()

    async def close(self) -> None:
        self._writer.close()

    async def _refuse(self, code: int, why: str, about: Any = None) -> None:
        id_ = about.get("id") if isinstance(about, dict) else None
        await self.send({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": why}})


def _is_message(message: JsonMessage) -> bool:
    if "method" in message:
        return isinstance(message["method"], str)
    return "id" in message and ("result" in message or "error" in message)


async def open_stdio() -> StdioTransport:
    """The transport on this process's own stdin and stdout. From now on what is printed goes to stderr, and no
    program that is started reads a message."""
    for stream in (sys.stdin, sys.stdout):
        if stream is None or not _is_pipe(stream.fileno()):
            raise InputError(
                "`holdfast acp` talks to an editor through pipes, and this is none",
                hint="let your editor start it; docs/agent.md says how",
            )
    loop = asyncio.get_running_loop()
    given = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), given)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, output)
    return StdioTransport(reader, asyncio.StreamWriter(transport, protocol, None, loop))


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
