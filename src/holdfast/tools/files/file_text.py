"""The text of a file at one moment: its bytes, their hash and encoding, and where its lines begin.

Rule: what is said of a file is true of all its bytes. Small files are held in memory; large ones are read block by
block through an index that is kept between two reads. An index serves only the bytes it was made of: a file that
was changed is counted again, and one that only grew is counted from where it ended.
"""

import os
import threading
import time
import zlib
from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.seen_files import SeenFile, SeenFiles, path_data
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.files.text_encoding import (
    GUESSES,
    UTF8,
    WIDE,
    Encoding,
    decode,
    decodes,
    detect_encoding,
    encoding_named,
)
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import OpenFile, WorkspacePath

HELD = 16 * 1024 * 1024
"""Bytes of a file that Read holds in memory."""

LARGEST = 32 * 1024 * 1024
"""Bytes of a file that is edited in memory."""

BLOCK = 256 * 1024
"""Bytes of a block: what is read to find one line. A gigabyte has 4096 of them."""

SETTLED = 2_000_000_000
"""Nanoseconds: two writes that come faster than a file system's clock ticks leave the same time."""

MOST_INDEXES = 64
"""Indexes that are kept."""

MOST_BYTES = 256 * 1024
"""Bytes of text in one answer of Read."""

_HEAD = 64
"""Bytes at the beginning of each block by which a change shows."""

_SAMPLE = 64 * 1024
"""Bytes of a large file by which its encoding is detected."""


class ByteSource(Struct, frozen=True):
    """The bytes of a file, as many as there were when it was opened: `raw`, or those behind a descriptor."""

    size: int
    raw: bytes = b""
    descriptor: int = -1

    def at(self, offset: int, count: int) -> bytes:
        if self.descriptor < 0:
            return self.raw[offset : offset + count]
        return os.pread(self.descriptor, max(min(count, self.size - offset), 0), offset)

    def stream(self, offset: int) -> BinaryIO:
        stream: BinaryIO = (
            BytesIO(self.raw) if self.descriptor < 0 else os.fdopen(self.descriptor, "rb", closefd=False)
        )
        stream.seek(offset)
        return stream


class LineIndex(Struct, frozen=True):
    """`before[i]` line feeds come before block `i`; the last item counts them all."""

    before: "array[int]"
    has_last_feed: bool
    hash: str
    size: int

    @property
    def total(self) -> int:
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
    """Builds an index, and can continue where a file grew."""

    def __init__(self) -> None:
        self._before = array("Q", [0])
        self._heads = array("I")
        self._hash = sha256()
        self._read = 0

    def count(self, source: ByteSource) -> LineIndex:
        """Count to the end of the source. Whole blocks stay counted, the rest is counted again next time."""
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
        has_last_feed = size > 0 and source.at(size - 1, 1) == b"\n"
        return LineIndex(before, has_last_feed, digest.hexdigest(), size)

    def still_holds(self, source: ByteSource) -> bool:
        """Whether a file begins like the one that was counted, by the beginnings of all blocks: lines inserted in
        the middle move everything behind them."""
        if source.size < self._read:
            return False
        return all(
            zlib.crc32(source.at(number * BLOCK, _HEAD)) == head for number, head in enumerate(self._heads)
        )


class LineIndexes:
    """The indexes of the files that were read last. Thread-safe."""

    def __init__(self) -> None:
        # By device and inode: size and times of the version, whether it had settled, and what was counted.
        self._kept: OrderedDict[
            tuple[int, int], tuple[tuple[int, int, int], bool, LineCounter, LineIndex]
        ] = OrderedDict()
        self._lock = threading.Lock()

    def index(self, descriptor: int) -> tuple[LineIndex, ByteSource]:
        """The index of an open file, and its bytes."""
        status = os.fstat(descriptor)
        source = ByteSource(status.st_size, descriptor=descriptor)
        identity = status.st_dev, status.st_ino
        version = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        is_settled = time.time_ns() - status.st_mtime_ns > SETTLED
        with self._lock:
            # Taken out while it is in use: two threads must not add to one counter.
            kept = self._kept.pop(identity, None)
        earlier, was_settled, counter, index = kept or ((0, 0, 0), False, LineCounter(), None)
        if index is None or earlier != version or not was_settled:
            may_hold = earlier == version or earlier[0] < status.st_size
            if not (may_hold and counter.still_holds(source)):
                counter = LineCounter()
            index = counter.count(source)
        with self._lock:
            self._kept[identity] = version, is_settled, counter, index
            while len(self._kept) > MOST_INDEXES:
                self._kept.popitem(last=False)
        return index, source


class TextLines(Struct, frozen=True):
    """The lines of a text: its bytes, their encoding, and where each line begins."""

    source: ByteSource
    encoding: Encoding
    index: LineIndex


@dataclass(frozen=True)
class FileText:
    """`encoding` is None for a binary file. Of a file too large to hold `raw` is empty, and `large` has its
    lines."""

    place: WorkspacePath
    status: os.stat_result
    hash: str
    size: int
    encoding: Encoding | None
    raw: bytes
    large: TextLines | None = None

    @cached_property
    def text(self) -> str:
        """The whole text, without its byte order mark; empty if it is binary."""
        assert not self.large, "a large file is read line by line"
        return decode(self.raw, self.encoding, self.place.shown) if self.encoding else ""

    @cached_property
    def lines(self) -> TextLines:
        if self.large:
            return self.large
        assert self.encoding, "a binary file has no lines"
        raw, encoding = self.raw, self.encoding
        if encoding.name != "utf-8":
            raw, encoding = self.text.encode("utf-8", "surrogatepass"), UTF8
        source = ByteSource(len(raw), raw)
        return TextLines(source, encoding, LineCounter().count(source))

    @property
    def total_lines(self) -> int:
        return self.lines.index.total

    def facts(self) -> dict[str, Json]:
        facts = file_facts(self.place, self.status, self.hash, self.size, self.total_lines)
        return facts | {"encoding": self.encoding.name if self.encoding else ""}


def file_facts(
    place: WorkspacePath, status: os.stat_result, hash_: str, size: int, total_lines: int
) -> dict[str, Json]:
    """What the `data` of every Read says of a file; `SeenFiles` remembers it."""
    return {
        **path_data(place),
        "hash": hash_,
        "size": size,
        "mtime_ns": status.st_mtime_ns,
        "total_lines": total_lines,
    }


def load_file(workspace: Workspace, path: str, files: SeenFiles | None = None) -> FileText:
    """A file as it is now, whole. What is written later is only written if the file is still this one."""
    with workspace.open_file(path) as opened:
        status, place = opened.status, opened.place
        # One that grows while it is read must not fill the memory.
        raw = opened.file.read(LARGEST + 1) if status.st_size <= LARGEST else b""
    size = max(status.st_size, len(raw))
    if size > LARGEST:
        raise ToolError(
            "EXECUTION_ERROR",
            f"`{place.shown}` has {size} bytes; {LARGEST} can be edited",
            hint="Change it with Bash (`sed`, or a script)",
        )
    encoding = choose_encoding(raw, files.seen(place) if files else None)
    return FileText(place, status, content_hash(raw), len(raw), encoding, raw)


def open_text(
    opened: OpenFile, indexes: LineIndexes, asked_encoding: str, seen: SeenFile | None = None
) -> FileText:
    """The text of an open file of any size. BINARY_FILE if it is not text."""
    place, status, descriptor = opened.place, opened.status, opened.file.fileno()
    raw = opened.file.read(HELD + 1) if status.st_size <= HELD else b""
    # By its status, or because it grew meanwhile.
    is_large = max(status.st_size, len(raw)) > HELD
    sample = os.pread(descriptor, _SAMPLE, 0) if is_large else raw
    if asked_encoding:
        encoding: Encoding | None = encoding_named(asked_encoding, sample)
    else:
        encoding = detect_encoding(sample, is_whole=False) if is_large else choose_encoding(raw, seen)
    if encoding is None:
        begins = " ".join(f"{byte:02x}" for byte in sample[:8])
        raise ToolError(
            "BINARY_FILE",
            f"`{place.shown}` is a binary file; it begins with the bytes {begins}",
            hint="Look into it with Bash (`file`, `xxd`, `strings`), or name its `encoding` if it is text",
        )
    if not is_large:
        return FileText(place, status, content_hash(raw), len(raw), encoding, raw)
    if encoding.name in WIDE:
        raise ToolError(
            "EXECUTION_ERROR",
            f"`{place.shown}` is {encoding.label} and larger than {HELD} bytes",
            hint="Convert it to UTF-8 with Bash (`iconv`)",
        )
    index, source = indexes.index(descriptor)
    lines = TextLines(source, encoding, index)
    return FileText(place, status, index.hash, index.size, encoding, b"", lines)


def choose_encoding(raw: bytes, seen: SeenFile | None) -> Encoding | None:
    """The encoding to keep: the one the file was read with. None if it is not text, such as a picture.

    A guess is not made again: after one more edit, the umlauts of a Western file may look like Chinese. Only bytes
    that somebody else wrote, and that are certain to have another encoding, are taken for what they are.
    """
    if seen and seen.encoding:
        return encoding_named(seen.encoding, raw)
    found = detect_encoding(raw)
    if found is None or seen is None or seen.seen_as in ("", found.name):
        return found
    kept = replace(encoding_named(seen.seen_as, raw), is_guess=seen.seen_as in GUESSES)
    is_sure = seen.hash == content_hash(raw) or (kept.is_guess and found.is_guess)
    return kept if is_sure and decodes(raw, kept) else found
