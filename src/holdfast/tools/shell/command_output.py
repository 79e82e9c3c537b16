"""What a command printed: a file that grows, and an index of its lines.

Rule: the file contains the bytes as they came, nothing else. Its name is unique and never used twice. Memory use
does not grow with it, and it is not allowed to fill the disk.
"""

import os
import secrets
import threading
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

STRIDE = 256 << 10
"""Bytes between two marks of the index."""
SPARE = 256 << 20
"""Bytes that are left free on the disk."""
LOOK = 64 << 20
"""Bytes after which the free space is checked again."""
WINDOW = 256 << 10


class OutputLine(Struct, frozen=True):
    """A line, or its beginning: `size` is its length in bytes, without the line break."""

    number: int
    offset: int
    start: bytes
    size: int


class CommandOutput:
    """One thread adds, any may read; a reader sees what had arrived when it began."""

    def __init__(self, folder: Path, name: str, most: int) -> None:
        self.path = folder / f"{name}-{secrets.token_hex(6)}.txt"
        self._file = os.open(
            self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        self._most = most
        self._lock = threading.Lock()
        self._marks: list[tuple[int, int]] = [(0, 0)]
        self._ends = 0
        self._is_open = False
        self._next_look = LOOK
        self.size = 0
        self.trouble = ""
        """Why no more is kept; empty as long as everything is."""

    @property
    def lines(self) -> int:
        """How many lines there are, including an unfinished last one."""
        with self._lock:
            return self._ends + self._is_open

    def add(self, chunk: bytes) -> None:
        if self.trouble:
            return
        room = self._most - self.size
        if len(chunk) > room:
            chunk = chunk[:room]
            self.trouble = f"the limit of {format_size(self._most)} was reached"
        try:
            view = memoryview(chunk)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self.trouble = f"it could not be stored: {error.strerror}"
            return
        with self._lock:
            self.size += len(chunk)
            self._ends += chunk.count(b"\n")
            self._is_open = not chunk.endswith(b"\n") if chunk else self._is_open
            if self.size - self._marks[-1][0] >= STRIDE:
                self._marks.append((self.size, self._ends))
        if self.size >= self._next_look:
            self._next_look = self.size + LOOK
            status = os.fstatvfs(self._file)
            if status.f_bavail * status.f_frsize < SPARE:
                self.trouble = f"less than {format_size(SPARE)} are free on the disk"

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`."""
        end = min(self.size if end is None else end, self.size)
        pieces = []
        while start < end and (piece := os.pread(self._file, end - start, start)):
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def read_lines(self, first: int, longest: int) -> Iterator[OutputLine]:
        """The lines from `first` on (counted from 1), each with at most `longest` bytes of its beginning."""
        size = self.size
        with self._lock:
            # The last mark before the end of the line before: those after it may lie inside the line.
            at = bisect_left(self._marks, first - 1, key=lambda mark: mark[1]) - 1
            offset, passed = self._marks[max(at, 0)]
        number, begin, head = passed + 1, offset, b""
        while offset < size:
            *ended, rest = self.read(offset, min(offset + WINDOW, size)).split(b"\n")
            for piece in ended:
                end = offset + len(piece)
                if number >= first:
                    yield OutputLine(number, begin, (head + piece)[:longest], end - begin)
                number, begin, head = number + 1, end + 1, b""
                offset = begin
            head = (head + rest)[:longest]
            offset += len(rest)
        if begin < size and number >= first:
            yield OutputLine(number, begin, head, size - begin)

    def close(self) -> None:
        os.close(self._file)

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)


def format_size(size: int) -> str:
    """`812 bytes`, `1.4 MB`: decimal units, as for disks."""
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} TB"
