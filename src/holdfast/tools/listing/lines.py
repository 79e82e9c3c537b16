"""Texts of lines, read through the guard at positions that a search gave.

Rule: a line is cut around its match, never the match away from the line; no more than the cut is ever in memory.
"""

import os

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.listing.search import Position
from holdfast.tools.places import OpenFile
from holdfast.tools.workspace import Workspace

WIDEST = 400
"""Characters of a line that are shown."""

_BEFORE = 120
"""Characters before the match, where the line is cut."""

_MOST_DECODED = 32 * 1024 * 1024
"""Bytes of a UTF-16 file that are decoded to find lines in it."""

_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_MARK = b"\xef\xbb\xbf"


class Lines:
    """The bytes of an open file as a search counts them: without a byte order mark, and UTF-16 as UTF-8."""

    def __init__(self, opened: OpenFile) -> None:
        self._descriptor = opened.file.fileno()
        head = os.pread(self._descriptor, 3, 0)
        self._shift = 3 if head == _UTF8_MARK else 0
        self._decoded: bytes | None = None
        if encoding := _UTF16.get(head[:2]):
            raw = os.pread(self._descriptor, _MOST_DECODED, 2)
            self._decoded = raw.decode(encoding, "replace").encode("utf-8", "replace")

    def _bytes(self, offset: int, count: int) -> bytes:
        if self._decoded is not None:
            return self._decoded[offset : offset + count]
        return os.pread(self._descriptor, count, offset + self._shift)

    def text(self, position: Position) -> str:
        """The line at a position, cut around its match if it is long."""
        skipped = max(position.column - 1 - _BEFORE, 0)
        raw = self._bytes(position.offset, 4 * WIDEST + 1)
        if skipped and (b"\n" not in raw or raw.index(b"\n") > WIDEST):
            raw = self._bytes(position.offset + skipped, 4 * WIDEST + 1)
            # The cut may fall inside a character: the rest of it is no text.
            raw = raw.lstrip(bytes(range(0x80, 0xC0)))
        else:
            skipped = 0
        line, ended, _ = raw.partition(b"\n")
        text = line.decode("utf-8", "replace").removesuffix("\r")
        more = not ended and len(raw) > 4 * WIDEST
        if len(text) > WIDEST or more:
            text = f"{text[:WIDEST]}… [line cut]"
        return f"…{text}" if skipped else text


def read_lines(workspace: Workspace, folder: str, positions: list[Position]) -> list[dict[str, Json]] | None:
    """Lines of one file, in order, or None if the guard does not open it (any more)."""
    try:
        with workspace.open_file(os.path.join(folder, positions[0].path)) as opened:  # noqa: PTH118
            lines = Lines(opened)
            return [
                {
                    "file": opened.place.shown,
                    "line": position.line,
                    "text": lines.text(position),
                    "is_match": position.column > 0,
                }
                for position in sorted(positions, key=lambda p: p.line)
            ]
    except ToolError:
        return None
