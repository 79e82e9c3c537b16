"""Where the lines of a large file begin: how many line feeds stand before each block of it.

Rule: the number of lines is true. An index serves the very bytes it was made of: a file that was changed is counted
anew, and one that was only added to is counted from where it ended.
"""

import os
import threading
import time
import zlib
from array import array
from bisect import bisect_left
from collections import OrderedDict
from hashlib import sha256
from typing import Protocol

from msgspec import Struct

from holdfast.tools.envelope import ToolError

BLOCK = 256 * 1024
"""Bytes of a block: what is read to find one line. A gigabyte has 4096 of them."""

_HEAD = 64
"""Bytes at the beginning of each block by which a change shows."""

SETTLED = 2_000_000_000
"""Nanoseconds: two writes that come faster than a file system's clock ticks leave the same time."""

MOST = 64
"""Indexes that are kept."""


class ByteSource(Protocol):
    """Bytes at an offset. **Contract:** fewer than asked for only at the end."""

    @property
    def size(self) -> int: ...

    def at(self, offset: int, count: int) -> bytes: ...


class BytesInMemory(Struct, frozen=True):
    """A file in memory."""

    raw: bytes

    @property
    def size(self) -> int:
        return len(self.raw)

    def at(self, offset: int, count: int) -> bytes:
        return self.raw[offset : offset + count]


class BytesInFile(Struct, frozen=True):
    """An open file, of which only the bytes that were there at the look are read."""

    descriptor: int
    size: int

    def at(self, offset: int, count: int) -> bytes:
        wanted = min(count, self.size - offset)
        return os.pread(self.descriptor, wanted, offset) if wanted > 0 else b""


class LineIndex(Struct, frozen=True):
    """`before[i]` line feeds stand before block `i`; the last item counts them all."""

    size: int
    before: "array[int]"
    has_last_feed: bool
    hash: str

    @property
    def lines(self) -> int:
        return self.before[-1] + (self.size > 0 and not self.has_last_feed)

    def offset(self, source: ByteSource, line: int) -> int:
        """Where a line begins, counted from 1."""
        feeds = line - 1
        if feeds <= 0:
            return 0
        assert feeds <= self.before[-1]
        block = bisect_left(self.before, feeds) - 1
        raw = source.at(block * BLOCK, BLOCK)
        place = -1
        for _ in range(feeds - self.before[block]):
            place = raw.find(b"\n", place + 1)
            if place < 0:
                raise ToolError(
                    "EXECUTION_ERROR", "the file was changed while it was read", hint="Read it again"
                )
        return block * BLOCK + place + 1


class LineCounter:
    """An index in the making, which can go on where a file was added to."""

    def __init__(self) -> None:
        self._before = array("Q", [0])
        self._heads = array("I")
        self._hash = sha256()
        self._read = 0

    def count(self, source: ByteSource) -> LineIndex:
        """Go on to the end of the source; whole blocks stay counted, the rest at the end is for this time only."""
        while len(block := source.at(self._read, BLOCK)) == BLOCK:
            self._before.append(self._before[-1] + block.count(b"\n"))
            self._heads.append(zlib.crc32(block[:_HEAD]))
            self._hash.update(block)
            self._read += BLOCK
        digest = self._hash.copy()
        digest.update(block)
        before = self._before[:]
        if block:
            before.append(before[-1] + block.count(b"\n"))
        size = self._read + len(block)
        ended = size > 0 and source.at(size - 1, 1) == b"\n"
        return LineIndex(size, before, ended, digest.hexdigest())

    def still_holds(self, source: ByteSource) -> bool:
        """Whether a file begins as the one that was counted, by the beginnings of all blocks. Whoever puts lines
        into the middle moves all that follow."""
        if source.size < self._read:
            return False
        return all(
            zlib.crc32(source.at(number * BLOCK, _HEAD)) == head for number, head in enumerate(self._heads)
        )


class _Kept(Struct, frozen=True):
    version: tuple[int, int, int]
    is_settled: bool
    counting: LineCounter
    index: LineIndex


class LineIndexes:
    """The indexes of the files that were read last. Safe to ask from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def index(self, descriptor: int) -> tuple[LineIndex, BytesInFile]:
        """The index of an open file, and the file as far as it goes."""
        status = os.fstat(descriptor)
        source = BytesInFile(descriptor, status.st_size)
        identity = status.st_dev, status.st_ino
        version = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        is_settled = time.time_ns() - status.st_mtime_ns > SETTLED
        with self._lock:
            # Taken out while it is worked on: two threads must not add to one counting.
            kept = self._kept.pop(identity, None)
        if kept and kept.version == version and kept.is_settled:
            index, counting = kept.index, kept.counting
        else:
            grew = kept is not None and (kept.version == version or kept.version[0] < status.st_size)
            counting = kept.counting if kept and grew and kept.counting.still_holds(source) else LineCounter()
            index = counting.count(source)
        with self._lock:
            self._kept[identity] = _Kept(version, is_settled, counting, index)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return index, source
