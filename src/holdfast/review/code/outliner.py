"""Outlines out of another process.

Rule: no text can stop the review. tree-sitter is native code, there are texts of some kilobytes that it reads for
minutes, and whoever wrote the diff chooses the text. What is not read in time has no outline, and after a few such
texts no more are tried.
"""

import os
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

import msgspec

from holdfast.review.code.grammars import QUERIES
from holdfast.review.code.outline import MOST_CHARACTERS, Outline
from holdfast.review.code.worker import LENGTH

SECONDS = 5.0
"""For one text; the largest that is read at all takes a second."""
MOST_FAILURES = 3


class Outliner:
    """Starts its process with the first text that there is a grammar for, or when it is told, and ends it at the
    end."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
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
        if text is None or language not in QUERIES or len(text) > MOST_CHARACTERS:
            return None
        if self.failures >= MOST_FAILURES:
            return None
        said = self._ask(msgspec.msgpack.encode((language, text.encode("utf-8", "replace"))))
        if said is None:
            self.failures += 1
            self._end()
            return None
        return msgspec.msgpack.decode(said, type=Outline | None)

    def _ask(self, message: bytes) -> bytes | None:
        """None where there was no answer in time, or the process died of it."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            # It reads a message whole before it answers, so this cannot wait for its answer to be taken.
            process.stdin.write(LENGTH.pack(len(message)) + message)
            process.stdin.flush()
        except OSError:
            return None
        end = time.monotonic() + self._seconds
        head = self._read(process, LENGTH.size, end)
        return self._read(process, LENGTH.unpack(head)[0], end) if head else None

    def _read(self, process: subprocess.Popen[bytes], size: int, end: float) -> bytes | None:
        assert process.stdout is not None
        number = process.stdout.fileno()
        parts = bytearray()
        while len(parts) < size:
            ready, _, _ = select.select([number], [], [], max(end - time.monotonic(), 0))
            part = os.read(number, size - len(parts)) if ready else b""
            if not part:
                return None
            parts += part
        return bytes(parts)

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: a folder under review may hold a module of any name.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "holdfast.review.code.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            # Closes the pipes too.
            self._process.communicate()
            self._process = None
