"""The process that reads code: one text after another from its input, one outline each to its output.

Rule: it holds nothing that would be missed. Whoever started it may end it at any time.
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


def main() -> None:
    # Nobody looks into what a crash leaves behind.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answer(sys.stdin.buffer, sys.stdout.buffer)


def answer(given: BinaryIO, out: BinaryIO) -> None:
    while len(head := given.read(LENGTH.size)) == LENGTH.size:
        language, raw = msgspec.msgpack.decode(given.read(LENGTH.unpack(head)[0]), type=tuple[str, bytes])
        said = msgspec.msgpack.encode(parse_outline(raw.decode("utf-8"), language))
        out.write(LENGTH.pack(len(said)) + said)
        out.flush()


if __name__ == "__main__":
    main()


# Outlines out of another process.
#
# Rule: no text can stop the review. tree-sitter is native code, there are texts of some kilobytes that it reads for
# minutes, and whoever wrote the diff chooses the text. What is not read in time has no outline, and after a few such
# texts no more are tried.

SECONDS = 5.0
"""For one text; the largest that is read at all takes a second."""
MOST_FAILURES = 3
AT_ONCE = 65536


class Outliner:
    """Starts its process with the first text that there is a grammar for, or when it is told, and ends it at the
    end. Texts may be asked for ahead, so that it reads while we do something else."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: deque[bytes] = deque()
        """Messages whose answer was not taken yet; empty where there is nothing to ask."""
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
        """Ahead of the first text: to start takes as long as to read dozens."""
        if self._process is None:
            self._start()

    def outline(self, text: str | None, language: str) -> Outline | None:
        self.ask(text, language)
        return self.take()

    def ask(self, text: str | None, language: str) -> None:
        """Have a text read. What comes of it is taken in the order of the asking."""
        is_read = text is not None and language in QUERIES and len(text) <= MOST_CHARACTERS
        if text is None or not is_read or self.failures >= MOST_FAILURES:
            self._asked.append(b"")
            return
        message = msgspec.msgpack.encode((language, text.encode("utf-8", "replace")))
        self._asked.append(LENGTH.pack(len(message)) + message)
        self._out += self._asked[-1]
        self._move(0)

    def take(self) -> Outline | None:
        """The outline of the first text that was asked for and not taken."""
        if not self._asked.popleft() or self.failures >= MOST_FAILURES:
            return None
        said = self._answer()
        if said is None:
            self.failures += 1
            self._end()
            self._out += b"".join(self._asked)
            return None
        return msgspec.msgpack.decode(said, type=Outline | None)

    def _answer(self) -> bytes | None:
        """None where there was no answer in time, or the process died of the text."""
        end = time.monotonic() + self._seconds
        size = LENGTH.size
        while len(self._in) < size or len(self._in) < size + LENGTH.unpack_from(self._in)[0]:
            left = end - time.monotonic()
            if left < 0 or not self._move(left):
                return None
        whole = size + LENGTH.unpack_from(self._in)[0]
        said = bytes(self._in[size:whole])
        del self._in[:whole]
        return said

    def _move(self, seconds: float) -> bool:
        """Write and read once what can be, waiting for it no longer than this; False where nothing could."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        given, out = process.stdin.fileno(), process.stdout.fileno()
        can_read, can_write, _ = select.select([out], [given] if self._out else [], [], seconds)
        if can_write:
            try:
                del self._out[: os.write(given, self._out[:AT_ONCE])]
            except BrokenPipeError:
                return False
        if can_read:
            part = os.read(out, AT_ONCE)
            self._in += part
            return bool(part)
        return bool(can_write)

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: a folder under review may hold a module of any name.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "holdfast.review.outliner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
        )
        assert self._process.stdin is not None
        # It may wait for its answers to be taken while we write.
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _end(self) -> None:
        self._out.clear()
        self._in.clear()
        if self._process is not None:
            self._process.kill()
            # Closes the pipes too.
            self._process.communicate()
            self._process = None
