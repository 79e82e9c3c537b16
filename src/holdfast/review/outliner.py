"""Outlines from another process.

Rule: no text can stop the review. tree-sitter is native code, some texts of a few kilobytes keep it busy for
minutes, and the author of the diff chooses the text. A text that is not parsed in time has no outline, and after
a few such texts no more are tried. The process keeps no state, so it can be killed at any time.
"""

import os
import resource
import select
import struct
import subprocess
import sys
import time
from collections import deque
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from holdfast.review.grammars import QUERIES
from holdfast.review.outline import MOST_CHARACTERS, Outline, parse_outline

LENGTH = struct.Struct(">I")
"""Each message has its length before it."""
SECONDS = 5.0
"""For one text; the largest accepted text takes a second."""
MOST_FAILURES = 3
CHUNK = 65536


class Outliner:
    """Starts its process with the first text that has a grammar, or with `start`, and kills it on exit. Several
    texts may be submitted before the first outline is taken, so that the process works while we do something
    else."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: deque[bytes] = deque()
        """Requests whose outline was not taken yet; empty for a text that is not parsed."""
        self._out = bytearray()
        self._in = bytearray()
        self.failures = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def start(self) -> None:
        """Start before the first text: starting takes as long as parsing dozens of texts."""
        if self._process is None:
            self._start()

    def outline(self, text: str | None, language: str) -> Outline | None:
        self.submit(text, language)
        return self.take()

    def submit(self, text: str | None, language: str) -> None:
        """Have a text parsed. Outlines are taken in the order of submission."""
        is_parsed = text is not None and language in QUERIES and len(text) <= MOST_CHARACTERS
        if text is None or not is_parsed or self.failures >= MOST_FAILURES:
            self._requests.append(b"")
            return
        message = msgspec.msgpack.encode((language, text.encode("utf-8", "replace")))
        self._requests.append(LENGTH.pack(len(message)) + message)
        self._out += self._requests[-1]
        self._transfer(0)

    def take(self) -> Outline | None:
        """The outline of the first submitted text that was not taken yet."""
        if not self._requests.popleft() or self.failures >= MOST_FAILURES:
            return None
        reply = self._reply()
        if reply is None:
            self.failures += 1
            self._end()
            self._out += b"".join(self._requests)
            return None
        return msgspec.msgpack.decode(reply, type=Outline | None)

    def _reply(self) -> bytes | None:
        """None if there was no reply in time, or the process crashed on the text."""
        end = time.monotonic() + self._seconds
        size = LENGTH.size
        while len(self._in) < size or len(self._in) < size + LENGTH.unpack_from(self._in)[0]:
            left = end - time.monotonic()
            if left < 0 or not self._transfer(left):
                return None
        whole = size + LENGTH.unpack_from(self._in)[0]
        reply = bytes(self._in[size:whole])
        del self._in[:whole]
        return reply

    def _transfer(self, seconds: float) -> bool:
        """Write and read once what is possible within this time; False if nothing was."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin.fileno(), process.stdout.fileno()
        can_read, can_write, _ = select.select([stdout], [stdin] if self._out else [], [], seconds)
        if can_write:
            try:
                del self._out[: os.write(stdin, self._out[:CHUNK])]
            except BrokenPipeError:
                return False
        if can_read:
            part = os.read(stdout, CHUNK)
            self._in += part
            return bool(part)
        return bool(can_write)

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: the folder under review may contain a module of any name.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "holdfast.review.outliner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
        )
        assert self._process.stdin is not None
        # The process may wait until its replies are read while we write.
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _end(self) -> None:
        self._out.clear()
        self._in.clear()
        if self._process is not None:
            self._process.kill()
            self._process.communicate()  # closes the pipes too
            self._process = None


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """The other process: reads one text after another and writes an outline for each."""
    while len(head := requests.read(LENGTH.size)) == LENGTH.size:
        language, raw = msgspec.msgpack.decode(requests.read(LENGTH.unpack(head)[0]), type=tuple[str, bytes])
        reply = msgspec.msgpack.encode(parse_outline(raw.decode("utf-8"), language))
        replies.write(LENGTH.pack(len(reply)) + reply)
        replies.flush()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # nobody looks at the core dump of a crash
    serve(sys.stdin.buffer, sys.stdout.buffer)
