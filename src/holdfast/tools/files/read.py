"""Read: lines of a file with their numbers, a picture, or the cells of a notebook.

Rule: shown lines come first and are the file's own, character for character; everything that Read says about them
comes below, in brackets. `modified_externally` is said only of somebody else's change, and "unchanged" only of
lines that are on view. No more of a long line is ever in memory than a block; what was cut is counted and can be
asked for.

Packing must recognize the lines (`packing/renditions/file_lines.py`): numbered rows come first and make up at least
half of the text, and a remark about missing lines uses words that it knows ("more lines", "left out").
"""

import asyncio
import codecs
import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.files.changes import OutsideChange, find_outside_change
from holdfast.tools.files.file_text import BLOCK, MOST_BYTES, FileText, LineIndexes, TextLines, open_text
from holdfast.tools.files.seen_files import SeenFile, SeenFiles
from holdfast.tools.files.special_files import is_notebook, is_picture, read_notebook, read_picture
from holdfast.tools.files.text_encoding import escape_bytes
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import OpenFile, WorkspacePath

DEFAULT_LINES = 500
MOST_LINES = 2_000

WIDEST = 2_000
"""Characters of a line that are shown. Packing takes a line of this length for one that may have been cut."""

MOST_ROWS = 10
"""Rows of somebody else's diff that a Read shows beside the lines that were asked for."""

MOST_KEPT = 4 * 1024 * 1024
"""Bytes of a file whose version is kept, so that later changes of it can be told line by line."""


class ReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="File to read.")]
    offset: Annotated[
        int, Meta(description="First line, counted from 1; a negative number counts from the end.")
    ] = 1
    limit: Annotated[int, Meta(ge=0, description="Lines to show: 500 if left out, 2000 at most.")] = 0
    column: Annotated[
        int, Meta(ge=1, description="First character of each line, for lines too long to show whole.")
    ] = 1
    encoding: Annotated[str, Meta(description="Only if the guessed one is wrong, such as `gb18030`.")] = ""
    raw: Annotated[bool, Meta(description="Show a notebook as the JSON that it is.")] = False


class LineSelection(Struct, frozen=True):
    """Lines from `first` on, at most `count`, each from character `column` on."""

    first: int
    count: int
    column: int = 1

    @property
    def last(self) -> int:
        return self.first + self.count - 1


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

    def row(self) -> tuple[str, int]:
        """The line as it is shown, and how many of its bytes are spelled out."""
        text, escaped = escape_bytes(self.text)
        # A number before a piece of a line must not look as if the whole line followed.
        place = f"{self.number:>6}" if self.column == 1 else f"{self.number:>6} from character {self.column}"
        if self.end >= self.length:
            return f"{place}\t{text}", escaped
        rest = f"{self.length - self.end} of {self.length} characters are left out"
        more = f"Read with offset {self.number}, limit 1, column {self.end + 1}"
        return f"{place}\t{text}… [{rest}: {more}]", escaped


class ReadPassage(Struct, frozen=True):
    """Lines that follow each other. `crlf` of them end in a carriage return and a line feed."""

    lines: list[ReadLine]
    is_capped: bool
    crlf: int


class _Reading(Struct, frozen=True):
    """`is_open` means that no end was asked for; `seen` is the file as the agent knew it before."""

    file: FileText
    selection: LineSelection
    passage: ReadPassage
    is_open: bool
    encoding: str
    step: int
    outside: OutsideChange | None
    seen: SeenFile | None

    @property
    def last(self) -> int:
        return self.passage.lines[-1].number if self.passage.lines else 0

    @property
    def is_cut(self) -> bool:
        """Whether something is missing of what was asked for."""
        is_short = self.passage.is_capped or (self.is_open and self.last < self.file.total_lines)
        return is_short or any(line.end < line.length for line in self.passage.lines)


def read_tool(files: SeenFiles) -> Tool:
    work = partial(read, files=files, indexes=LineIndexes())
    return TypedTool("Read", ReadArguments, prompt_beside(__file__), work, is_read_only=True)


async def read(
    arguments: ReadArguments, workspace: Workspace, *, files: SeenFiles, indexes: LineIndexes
) -> ToolResult:
    opened = await asyncio.to_thread(workspace.open_file, arguments.path)
    with opened:
        if not arguments.raw and await asyncio.to_thread(is_picture, opened):
            result = await asyncio.to_thread(read_picture, opened, files.step())
        elif not arguments.raw and is_notebook(opened.place):
            count = arguments.limit or DEFAULT_LINES
            result = await asyncio.to_thread(read_notebook, opened, arguments.offset, count, files.step())
        else:
            result = await _read_lines(opened, arguments, files, indexes)
    files.note("Read", arguments.path, result.envelope.data)
    return result


async def _read_lines(
    opened: OpenFile, arguments: ReadArguments, files: SeenFiles, indexes: LineIndexes
) -> ToolResult:
    seen = files.seen(opened.place)
    encoding = arguments.encoding or (seen.encoding if seen else "")
    file = await asyncio.to_thread(_open_and_keep, opened, files, indexes, encoding)
    selection = _select_lines(arguments, file)
    outside = await asyncio.to_thread(find_outside_change, files, file, MOST_KEPT)
    if seen and not outside and not arguments.encoding and selection.column == 1 and selection.count:
        step = seen.step_of(selection.first, selection.last)
        # Asked in this thread: the window belongs to the loop.
        if step is not None and _is_on_view(files, arguments.path, file.place, selection):
            return _unchanged_result(file, selection, step)
    passage = await asyncio.to_thread(read_passage, file.lines, selection)
    is_open = not arguments.limit and arguments.offset >= 0
    return _result(_Reading(file, selection, passage, is_open, encoding, files.step(), outside, seen))


def _open_and_keep(opened: OpenFile, files: SeenFiles, indexes: LineIndexes, encoding: str) -> FileText:
    """The text of a file, with its lines counted; a small one is kept as it is now."""
    file = open_text(opened, indexes, encoding, files.seen(opened.place))
    _ = file.lines
    if not file.large and file.size <= MOST_KEPT:
        # On a full disk files can still be read; what is not kept is told less exactly when it changes.
        with contextlib.suppress(OSError):
            files.snapshots.keep(file.raw)
    return file


def _select_lines(arguments: ReadArguments, file: FileText) -> LineSelection:
    """The lines that are meant, all of which exist."""
    total, offset = file.total_lines, arguments.offset
    first = max(total + offset + 1, 1) if offset < 0 else max(offset, 1)
    if first > max(total, 1):
        raise ToolError(
            "INVALID_PARAM",
            f"`offset` {offset} lies past the end of `{file.place.shown}`, which has {total} lines",
            hint="A negative `offset` counts from the end",
        )
    wanted = arguments.limit or (-offset if offset < 0 else DEFAULT_LINES)
    return LineSelection(first, min(wanted, MOST_LINES, total - first + 1), arguments.column)


def _is_on_view(files: SeenFiles, asked: str, place: WorkspacePath, lines: LineSelection) -> bool:
    """Whether the window shows these lines, under the name that was asked for or the one we give."""
    if files.may_mislead(place, lines.first, lines.last):
        return False
    seen = files.seen(place)
    since = seen.since(lines.first, lines.last) if seen else 0
    names = dict.fromkeys((asked, place.shown))
    return any(files.resident(name, lines.first, lines.last, since) for name in names)


def read_passage(lines: TextLines, selection: LineSelection) -> ReadPassage:
    """The selected lines, as many as have room."""
    reader = _LineReader(lines, lines.index.offset(lines.source, selection.first))
    found: list[ReadLine] = []
    used = 0
    for number in range(selection.first, selection.last + 1):
        line = reader.next(number, selection.column)
        if line is None:
            break
        used += len(line.row()[0].encode()) + 1
        if found and used > MOST_BYTES:
            return ReadPassage(found, True, reader.crlf)
        found.append(line)
    return ReadPassage(found, False, reader.crlf)


class _LineReader:
    """The lines of a text from an offset on."""

    def __init__(self, lines: TextLines, offset: int) -> None:
        self._source = lines.source
        self._encoding = lines.encoding
        self._next = offset + (len(lines.encoding.mark) if offset == 0 else 0)
        # What is shown need not be written back, and a damaged byte in a large file must not hide the rest of it.
        self._errors = lines.encoding.errors if lines.encoding.name == "utf-8" else "backslashreplace"
        self._buffer = b""
        self._place = 0
        self.crlf = 0

    def next(self, number: int, column: int) -> ReadLine | None:
        """The next line, from a character on; None at the end of the file."""
        if self._place >= len(self._buffer) and not self._fill():
            return None
        shown: list[str] = []
        length = wanted = 0
        decoder = codecs.getincrementaldecoder(self._encoding.name)(self._errors)
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


def _result(reading: _Reading) -> ToolResult:
    file, selection = reading.file, reading.selection
    rows, escaped = [], 0
    for line in reading.passage.lines:
        row, spelled = line.row()
        rows.append(row)
        escaped += spelled
    note = "; ".join(_notes(reading, escaped))
    # One row, so that of a file of one line still half the rows are numbered.
    notes = [f"({note})"] if note else []
    notes += _outside_rows(reading, len(rows) - len(notes))
    head = []
    if selection.column > 1:
        head = [f"(lines from character {selection.column} on; what stands before it is left out)"]
    data: dict[str, Json] = {
        **file.facts(),
        "first": selection.first if rows else 0,
        "last": reading.last,
        "column": selection.column,
        "truncated": reading.is_cut,
        "unchanged": False,
        "modified_externally": reading.outside is not None,
        "asked_encoding": reading.encoding,
        "step": reading.step,
    }
    envelope = Envelope(
        status="partial" if reading.is_cut else "success",
        text="\n".join([*head, *rows, *notes]),
        data=data,
        context={"path": file.place.shown},
    )
    total = file.total_lines
    return build_result(envelope, f"{len(rows)} of {total} lines" if total else "empty")


def _unchanged_result(file: FileText, selection: LineSelection, step: int) -> ToolResult:
    """Instead of lines that are in the window already."""
    first, last, shown = selection.first, selection.last, file.place.shown
    data: dict[str, Json] = {
        **file.facts(),
        "first": first,
        "last": last,
        "truncated": False,
        "unchanged": True,
        "modified_externally": False,
        "step": step,
    }
    text = f"(unchanged since step {step}: lines {first}-{last} of `{shown}` are on view there)"
    return build_result(
        Envelope(status="success", text=text, data=data, context={"path": shown}), "unchanged"
    )


def _notes(reading: _Reading, escaped: int) -> Iterator[str]:
    file, passage, last = reading.file, reading.passage, reading.last
    first, name, total = reading.selection.first, f"`{file.place.shown}`", file.total_lines
    if not total:
        yield f"{name} is empty"
        return
    if file.encoding and not file.encoding.is_plain:
        yield f"encoding: {file.encoding.label}"
    if passage.crlf:
        whole = passage.crlf >= len(passage.lines) - (last == total)
        amount = "lines" if whole else f"{passage.crlf} of the {len(passage.lines)} lines above"
        yield f"{amount} end in CRLF, which edits keep: write plain line breaks"
    if escaped:
        yield f"{escaped} bytes or characters that are no text are spelled `\\xNN`"
    if last < total:
        if passage.is_capped:
            yield f"stopped after {MOST_BYTES} bytes"
        more = f"{total - last} more {'line' if total - last == 1 else 'lines'}"
        yield f"lines {first}-{last} of {total} in {name}"
        yield f"{more}: Read with offset {last + 1}"
        return
    if not file.lines.index.has_last_feed:
        yield "the file does not end with a line break"
    if first > 1:
        yield f"lines {first}-{last} of {total}: the end of {name}"


def _outside_rows(reading: _Reading, room: int) -> list[str]:
    """Somebody else's change, as long as the lines that were asked for stay more than half of the text."""
    outside, seen = reading.outside, reading.seen
    if outside is None:
        return []
    name = f"`{reading.file.place.shown}`"
    counts = f"it had {seen.total_lines if seen else 0} lines and has {reading.file.total_lines}"
    note = f"(modified_externally: {name} was changed since you saw it, not by your edits; {counts}"
    rows = [f"| {row}" for row in outside.diff(MOST_ROWS)]
    if outside.before is not None and not outside.changes:
        return [f"{note}, and no line differs)"]
    if not rows or len(rows) + 3 > room:
        where = f"; changed: {outside.lines}" if outside.changes else ""
        return [f"{note}{where})"]
    return [f"{note}; unchanged parts left out:)", *rows]
