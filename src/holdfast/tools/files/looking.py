"""A look at an open file: its hash, how many lines it has, how they are encoded, and where each begins.

Rule: what is said of a file is true of all its bytes. Small files are looked at in memory, large ones block by
block through an index that is kept.
"""

import contextlib
import os

from msgspec import Struct

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.changes import OutsideChange, compare_versions
from holdfast.tools.files.file_text import encoding_of
from holdfast.tools.files.line_index import BytesInMemory, ByteSource, LineCounter, LineIndex
from holdfast.tools.files.seen_files import SeenFile, SeenFiles, path_data
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.files.text_encoding import (
    UTF8,
    WIDE,
    Encoding,
    decode,
    detect_encoding,
    encoding_named,
)
from holdfast.tools.workspace_files import OpenFile, WorkspacePath

HELD = 16 * 1024 * 1024
"""Bytes of a file that is read into memory as a whole."""

MOST_KEPT = 4 * 1024 * 1024
"""Bytes of a file whose version is kept, so that later changes of it can be told line by line."""

_HEAD = 64 * 1024


class ReadFile(Struct, frozen=True):
    """`encoding` is the file's, `shown_as` that of the source: UTF-16 is shown by way of UTF-8. `raw` is what a
    small file holds."""

    place: WorkspacePath
    hash: str
    size: int
    mtime_ns: int
    index: LineIndex
    source: ByteSource
    encoding: Encoding
    shown_as: Encoding
    raw: bytes | None

    @property
    def lines(self) -> int:
        return self.index.lines

    def facts(self) -> dict[str, Json]:
        return {
            **path_data(self.place),
            "hash": self.hash,
            "size": self.size,
            "mtime_ns": self.mtime_ns,
            "total_lines": self.lines,
            "encoding": self.encoding.name,
        }


def look_at(
    opened: OpenFile, files: SeenFiles, asked_encoding: str, sight: SeenFile | None = None
) -> ReadFile:
    place, raw = opened.place, b""
    if opened.status.st_size <= HELD:
        raw = opened.file.read(HELD + 1)
    # By its status, or because it grew meanwhile.
    if max(opened.status.st_size, len(raw)) > HELD:
        return _look_far(opened, files, asked_encoding)
    encoding = encoding_named(asked_encoding, raw) if asked_encoding else encoding_of(raw, sight)
    if encoding is None:
        raise binary(place.shown, raw)
    source, shown_as = BytesInMemory(raw), encoding
    if encoding.name in WIDE or (asked_encoding and encoding.name != "utf-8"):
        source = BytesInMemory(decode(raw, encoding, place.shown).encode("utf-8", "surrogatepass"))
        shown_as = UTF8
    if len(raw) <= MOST_KEPT:
        # On a full disk files can still be read; what is not kept is told less exactly when it changes.
        with contextlib.suppress(OSError):
            files.snapshots.keep(raw)
    index = LineCounter().count(source)
    return ReadFile(
        place,
        content_hash(raw),
        len(raw),
        opened.status.st_mtime_ns,
        index,
        source,
        encoding,
        shown_as,
        raw,
    )


def _look_far(opened: OpenFile, files: SeenFiles, asked_encoding: str) -> ReadFile:
    descriptor, shown = opened.file.fileno(), opened.place.shown
    head = os.pread(descriptor, _HEAD, 0)
    encoding = (
        encoding_named(asked_encoding, head) if asked_encoding else detect_encoding(head, is_whole=False)
    )
    if encoding is None:
        raise binary(shown, head)
    if encoding.name in WIDE:
        raise ToolError(
            "EXECUTION_ERROR",
            f"`{shown}` is {encoding.said} and larger than {HELD} bytes",
            hint="Convert it to UTF-8 with Bash (`iconv`)",
        )
    index, source = files.indexes.index(descriptor)
    mtime_ns = opened.status.st_mtime_ns
    return ReadFile(opened.place, index.hash, index.size, mtime_ns, index, source, encoding, encoding, None)


def binary(shown: str, raw: bytes) -> ToolError:
    begins = " ".join(f"{byte:02x}" for byte in raw[:8])
    return ToolError(
        "BINARY_FILE",
        f"`{shown}` is a binary file; it begins with the bytes {begins}",
        hint="Look into it with Bash (`file`, `xxd`, `strings`), or name its `encoding` if it is text",
    )


def outside_of(files: SeenFiles, look: ReadFile, sight: SeenFile) -> OutsideChange:
    """What somebody else changed since a file was seen, as far as both versions are at hand."""
    before = files.snapshots.get(sight.hash)
    now = look.raw if look.size <= MOST_KEPT else None
    encoding = encoding_of(before, sight) if before is not None else None
    if before is None or now is None or encoding is None:
        return OutsideChange(None, "")
    shown = look.place.shown
    return compare_versions(decode(before, encoding, shown), decode(now, look.encoding, shown))
