"""Read: lines of a file with their numbers, a picture, or the cells of a notebook.

Rule: shown lines come first and are the file's own, character for character; everything that Read says about them
comes below, in brackets. `modified_externally` is said only of somebody else's change, and "unchanged" only of
lines that are on view. No more of a long line is ever in memory than a block; what was cut is counted and can be
asked for.

Packing must recognize the lines (`packing/presence.py`): numbered rows come first and make up at least
half of the text, and a remark about missing lines uses words that it knows ("more lines", "left out").
"""

import asyncio
import codecs
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.files.changes import OutsideChange, find_outside_change
from holdfast.tools.files.file_text import BLOCK, MOST_BYTES, FileText, LineIndexes, TextLines, open_text
from holdfast.tools.files.seen_files import SeenFile, SeenFiles
from holdfast.tools.files.special_files import read_special_file
from holdfast.tools.files.text_encoding import UTF8, escape_bytes
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import OpenFile

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
    """A line or a piece of it. `length` counts the characters of the whole line; `is_crlf` says how it ends."""

    number: int
    text: str
    column: int
    length: int
    is_crlf: bool

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


class _Reading(Struct, frozen=True):
    """`is_capped` means that not all lines had room, `is_open` that no end was asked for; `seen` is the file as the
    agent knew it before."""

    file: FileText
    selection: LineSelection
    lines: list[ReadLine]
    is_capped: bool
    is_open: bool
    encoding: str
    step: int
    outside: OutsideChange | None
    seen: SeenFile | None

    @property
    def last(self) -> int:
        return self.lines[-1].number if self.lines else 0

    @property
    def is_cut(self) -> bool:
        """Whether something is missing of what was asked for."""
        is_short = self.is_capped or (self.is_open and self.last < self.file.total_lines)
        return is_short or any(line.end < line.length for line in self.lines)


def read_tool(files: SeenFiles) -> Tool:
    work = partial(read, files=files, indexes=LineIndexes())
    return TypedTool("Read", ReadArguments, prompt_beside(__file__), work, is_read_only=True)


async def read(
    arguments: ReadArguments, workspace: Workspace, *, files: SeenFiles, indexes: LineIndexes
) -> ToolResult:
    opened = await asyncio.to_thread(workspace.open_file, arguments.path)
    with opened:
        result = None
        if not arguments.raw:
            count, step = arguments.limit or DEFAULT_LINES, files.step()
            result = await asyncio.to_thread(read_special_file, opened, arguments.offset, count, step)
        if result is None:
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
        # Asked in this thread: the window belongs to the loop.
        first, last, shown = selection.first, selection.last, file.place.shown
        step = files.visible_step(file.place, arguments.path, first, last)
        if step is not None:
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
            return tool_result(text, "unchanged", data=data, context={"path": shown})
    lines, is_capped = await asyncio.to_thread(read_passage, file.lines, selection)
    is_open = not arguments.limit and arguments.offset >= 0
    step = files.step()
    return _result(_Reading(file, selection, lines, is_capped, is_open, encoding, step, outside, seen))


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


def read_passage(lines: TextLines, selection: LineSelection) -> tuple[list[ReadLine], bool]:
    """The selected lines, as many as have room, and whether some had none."""
    offset = lines.index.offset(lines.source, selection.first) or len(lines.encoding.mark)
    stream = lines.source.stream(offset)
    found: list[ReadLine] = []
    used = 0
    for number in range(selection.first, selection.last + 1):
        line = _read_line(stream, lines, number, selection.column)
        if line is None:
            break
        used += len(line.row()[0].encode()) + 1
        if found and used > MOST_BYTES:
            return found, True
        found.append(line)
    return found, False


def _read_line(stream: BinaryIO, lines: TextLines, number: int, column: int) -> ReadLine | None:
    """The next line of a stream, from a character on; None at its end."""
    # What is shown need not be written back, and a damaged byte in a large file must not hide the rest of it.
    errors = lines.encoding.errors if lines.encoding.name == "utf-8" else "backslashreplace"
    decoder = codecs.getincrementaldecoder(lines.encoding.name)(errors)
    shown, length, wanted, ending = "", 0, 0, None
    for piece, ending in _pieces(stream, lines.source.size):
        text = decoder.decode(piece, final=ending is not None)
        if column - 1 < length + len(text) and wanted < WIDEST:
            start = max(column - 1 - length, 0)
            shown += text[start : start + WIDEST - wanted]
            wanted = len(shown)
        length += len(text)
    return None if ending is None else ReadLine(number, shown, column, length, ending == b"\r\n")


def _pieces(stream: BinaryIO, size: int) -> Iterator[tuple[bytes, bytes | None]]:
    """The bytes of one line block by block, the last with the line's ending; nothing at the end of the file."""
    held = b""
    is_begun = False
    while piece := stream.readline(min(BLOCK, size - stream.tell())):
        is_begun, piece = True, held + piece
        if piece.endswith(b"\n"):
            ending = b"\r\n" if piece.endswith(b"\r\n") else b"\n"
            yield piece.removesuffix(ending), ending
            return
        # A carriage return at the end of a block may belong to the line's ending.
        held = b"\r" if piece.endswith(b"\r") else b""
        yield piece.removesuffix(held), None
    if is_begun:
        yield held, b""


def _result(reading: _Reading) -> ToolResult:
    file, selection = reading.file, reading.selection
    shown = [line.row() for line in reading.lines]
    rows = [row for row, _ in shown]
    note = "; ".join(_notes(reading, sum(escaped for _, escaped in shown)))
    # One row, so that of a file of one line still half the rows are numbered.
    notes = [f"({note})"] if note else []
    notes += _outside_rows(reading, len(rows) - len(notes))
    head = [_heading(reading)]
    if selection.column > 1:
        head += [f"(lines from character {selection.column} on; what comes before it is left out)"]
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
    text, context = "\n".join([*head, *rows, *notes]), {"path": file.place.shown}
    amount = f"{len(rows)} of {file.total_lines} lines" if file.total_lines else "empty"
    return tool_result(text, amount, data=data, context=context, is_partial=reading.is_cut)


def _heading(reading: _Reading) -> str:
    """The file, its size, when it was changed and, first of all that a digest keeps, whether by somebody else."""
    file = reading.file
    changed = datetime.fromtimestamp(file.status.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    outside = ", modified_externally" if reading.outside else ""
    return f"({file.place.shown}: {count_noun(file.total_lines, 'line')}, modified {changed}{outside})"


def _notes(reading: _Reading, escaped: int) -> Iterator[str]:
    file, lines, last = reading.file, reading.lines, reading.last
    first, name, total = reading.selection.first, f"`{file.place.shown}`", file.total_lines
    if not total:
        yield f"{name} is empty"
        return
    if file.encoding and file.encoding != UTF8:
        yield f"encoding: {file.encoding.label}"
    if crlf := sum(line.is_crlf for line in lines):
        whole = crlf >= len(lines) - (last == total)
        amount = "lines" if whole else f"{crlf} of the {len(lines)} lines above"
        yield f"{amount} end in CRLF, which edits keep: write plain line breaks"
    if escaped:
        yield f"{escaped} bytes or characters that are no text are spelled `\\xNN`"
    if last < total:
        if reading.is_capped:
            yield f"stopped after {MOST_BYTES} bytes"
        yield f"lines {first}-{last} of {total} in {name}"
        yield f"{count_noun(total - last, 'more line')}: Read with offset {last + 1}"
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
