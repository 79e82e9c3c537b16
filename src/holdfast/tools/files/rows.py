"""Lines of a file as a Read shows them: behind their numbers, long ones cut.

Rule: a shown line is the file's line, character for character, without its ending. No more of a long line is ever
in memory than a block, and what was cut is counted and can be asked for.
"""

import codecs
from collections.abc import Iterator

from msgspec import Struct

from holdfast.tools.files.line_index import BLOCK, ByteSource
from holdfast.tools.files.text_encoding import Encoding, escape_bytes

WIDEST = 2_000
"""Characters of a line that are shown. Packing takes a line of this length for one that may have been cut."""

MOST_BYTES = 256 * 1024
"""Bytes of lines in one answer."""


class LineSelection(Struct, frozen=True):
    """Lines from `first` on, at most `count`, each from character `column` on."""

    first: int
    count: int
    column: int = 1


class ReadLine(Struct, frozen=True):
    """A line or a piece of it. `length` counts the characters of the whole line."""

    number: int
    text: str
    column: int
    length: int

    @property
    def end(self) -> int:
        """The last character that is shown."""
        return self.column + len(self.text) - 1

    @property
    def is_whole(self) -> bool:
        return self.column == 1 and self.end >= self.length

    def said(self) -> tuple[str, int]:
        """The row as it stands in an answer, and how many of its bytes are spelled out."""
        text, odd = escape_bytes(self.text)
        # A number that stands before a piece of a line must not look as if the line followed.
        place = f"{self.number:>6}" if self.column == 1 else f"{self.number:>6} from character {self.column}"
        if self.end >= self.length:
            return f"{place}\t{text}", odd
        rest = f"{self.length - self.end} of {self.length} characters are left out"
        more = f"Read with offset {self.number}, limit 1, column {self.end + 1}"
        return f"{place}\t{text}… [{rest}: {more}]", odd


class ReadPassage(Struct, frozen=True):
    """Rows that follow each other. `crlf` of them end in a carriage return and a line feed."""

    rows: list[ReadLine]
    is_capped: bool
    crlf: int


def read_passage(source: ByteSource, offset: int, asked: LineSelection, encoding: Encoding) -> ReadPassage:
    """Rows from an offset on, at which line `asked.first` begins."""
    lines = _Lines(source, offset, encoding)
    rows: list[ReadLine] = []
    used = 0
    for number in range(asked.first, asked.first + asked.count):
        row = lines.next(number, asked.column)
        if row is None:
            return ReadPassage(rows, False, lines.crlf)
        used += len(row.said()[0].encode()) + 1
        if rows and used > MOST_BYTES:
            return ReadPassage(rows, True, lines.crlf)
        rows.append(row)
    return ReadPassage(rows, False, lines.crlf)


class _Lines:
    """The lines of a source from an offset on."""

    def __init__(self, source: ByteSource, offset: int, encoding: Encoding) -> None:
        self._source = source
        self._next = offset + (len(encoding.mark) if offset == 0 else 0)
        self._encoding = encoding
        self._buffer = b""
        self._place = 0
        self.crlf = 0

    def next(self, number: int, column: int) -> ReadLine | None:
        """The next line, from a character on; None at the end of the file."""
        if self._place >= len(self._buffer) and not self._fill():
            return None
        shown: list[str] = []
        length = wanted = 0
        decoder = codecs.getincrementaldecoder(self._encoding.name)(_reading_errors(self._encoding))
        for piece, is_last in self._pieces():
            text = decoder.decode(piece, final=is_last)
            if column - 1 < length + len(text) and wanted < WIDEST:
                start = max(column - 1 - length, 0)
                shown.append(text[start : start + WIDEST - wanted])
                wanted += len(shown[-1])
            length += len(text)
        return ReadLine(number, "".join(shown), column, length)

    def _pieces(self) -> Iterator[tuple[bytes, bool]]:
        """The bytes of one line without its ending, block by block."""
        held = b""
        while True:
            end = self._buffer.find(b"\n", self._place)
            piece = held + self._buffer[self._place : end if end >= 0 else None]
            if end >= 0:
                self._place = end + 1
                self.crlf += piece.endswith(b"\r")
                yield piece.removesuffix(b"\r"), True
                return
            if not self._fill():
                yield piece, True
                return
            # A carriage return at the end of a block may belong to the line's ending.
            held = b"\r" if piece.endswith(b"\r") else b""
            yield piece.removesuffix(held), False

    def _fill(self) -> bool:
        self._buffer = self._source.at(self._next, BLOCK)
        self._next += len(self._buffer)
        self._place = 0
        return bool(self._buffer)


def _reading_errors(encoding: Encoding) -> str:
    # What is shown need not be written back, and a damaged byte in a large file must not hide the rest of it.
    return encoding.errors if encoding.name == "utf-8" else "backslashreplace"
