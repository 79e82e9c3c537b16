"""read_file_hunk: a unit of the change in its surroundings, or lines of either side of a file. previous_version: a
file as it was before the change.

Rule: lines are those of the versions under review, not those that happen to be on disk; if they cannot be read,
the result says so. Changed lines come first: if not all lines fit, those nearest to the change are shown. A row is
a line after its number and a tab, as Read shows it; a changed line has its sign before the number. What is left
out is said, with the call that shows it.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.review_files import (
    FileVersion,
    ReviewFiles,
    listing_result,
    require_unit,
)
from holdfast.messages import Json
from holdfast.review.finding import Side
from holdfast.review.findings import NumberedLines
from holdfast.review.unit import ReviewLevel, Span, Unit
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.files.text_encoding import escape_bytes
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

MOST_ROWS = 400
MOST_CHARACTERS = 32_000
WIDEST = 1_000
GAP = "   ..."

_ROW = re.compile(r"[+\- ]?[ ]{0,5}\d{1,9}\t")
_Line = Annotated[int, Meta(ge=0, description="A line, counted from 1; 0 for none.")]
_OldLine = Annotated[int, Meta(ge=0, description="A line of the old version, counted from 1; 0 for none.")]


class HunkArguments(Struct, frozen=True, forbid_unknown_fields=True):
    unit: Annotated[str, Meta(description="Id of a unit, such as `u-0123456789ab`.")] = ""
    path: Annotated[str, Meta(description="A file, where no unit is given.")] = ""
    first: _Line = 0
    last: _Line = 0
    context: Annotated[int, Meta(ge=0, le=400, description="Lines to show around these.")] = 20
    version: Annotated[Side, Meta(description="The file after the change, or before it.")] = "new"


class PreviousArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="A file, by its name now or by the one it had.")]
    first: _OldLine = 0
    last: _OldLine = 0


async def previous_version(
    arguments: PreviousArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    version = await asyncio.to_thread(files.version, arguments.path, "old", workspace)
    span = _select_lines(version, arguments.first, arguments.last)
    return _lines_result(version, span, f"previous_version with path `{version.shown}`")


async def read_file_hunk(arguments: HunkArguments, workspace: Workspace, *, files: ReviewFiles) -> ToolResult:
    if bool(arguments.unit) == bool(arguments.path):
        raise ToolError("INVALID_PARAM", "either `unit` or `path` must be given, and not both")
    return await asyncio.to_thread(_read, arguments, workspace, files)


def _read(arguments: HunkArguments, workspace: Workspace, files: ReviewFiles) -> ToolResult:
    if arguments.path:
        version = files.version(arguments.path, arguments.version, workspace)
        span = _select_lines(version, arguments.first, arguments.last, arguments.context)
        return _lines_result(version, span, _again(version))
    unit = require_unit(files.review, arguments.unit)
    if not unit.hunks:
        note = unit.note or "no lines changed"
        text = f"{_head(unit, files.review.level(unit))}\n({note})"
        data = {**_data(unit, NumberedRows(), 0), "truncated": False}
        return build_result(Envelope(status="success", text=text, data=data), note)
    if unit.change == "deleted" or arguments.version == "old":
        version = files.version(unit.path, "old", workspace)
        around = 0 if unit.change == "deleted" else arguments.context
        span = _select_lines(version, unit.old.first, unit.old.last, around)
        return _lines_result(version, span, _again(version))
    return _unit_result(files, unit, workspace, arguments.context)


def _again(version: FileVersion) -> str:
    side = ', version "old"' if version.side == "old" else ""
    return f"read_file_hunk with path `{version.shown}`{side}, context 0"


class NumberedRows:
    """Rows as long as they fit; the rest is counted."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.shown: list[int] = []
        self.left_out = 0
        self._used = 0

    def add(self, number: int, text: str, sign: str = "") -> None:
        row = format_line(number, text, sign)
        if (
            self.left_out
            or len(self.shown) >= MOST_ROWS
            or (self.rows and self._used + len(row) > MOST_CHARACTERS)
        ):
            self.left_out += 1
            return
        self._used += len(row) + 1
        self.rows.append(row)
        self.shown.append(number)

    def gap(self) -> None:
        if self.rows and not self.left_out:
            self.rows.append(GAP)


def format_line(number: int, text: str, sign: str = "") -> str:
    shown = escape_bytes(text)[0]
    if len(shown) > WIDEST:
        shown = f"{shown[:WIDEST]}… [{len(shown) - WIDEST} characters are left out]"
    return f"{sign}{number:>6}\t{shown}"


def strip_line_number(quoted: str) -> str:
    """The line of a row that was quoted as a whole."""
    return "\n".join(_ROW.sub("", line, count=1) for line in quoted.split("\n"))


def _select_lines(version: FileVersion, first: int, last: int, context: int = 0) -> tuple[int, int]:
    """First and last of the lines that are meant, with the context around them; all if none are named."""
    if last and last < first:
        raise ToolError("INVALID_PARAM", f"`last` ({last}) lies before `first` ({first})")
    if first > max(version.last, 1):
        raise ToolError(
            "INVALID_PARAM",
            f"line {first} lies past the end of `{version.shown}`, which has {version.last} lines",
        )
    if not first and not last:
        return 1, version.last
    return max(first - context, 1), min(last + context, version.last) if last else version.last


def _lines_result(version: FileVersion, span: tuple[int, int], call: str) -> ToolResult:
    """These lines of a version; `call` is the tool that shows the rest, with its arguments except the lines."""
    rows = NumberedRows()
    wanted = [number for number in version.lines if span[0] <= number <= span[1]]
    for number in wanted:
        if rows.shown and number > rows.shown[-1] + 1:
            rows.gap()
        rows.add(number, version.lines[number])
    notes = [*_notes(version, rows, wanted, call), *version.all_notes]
    data: dict[str, Json] = {
        "path": version.shown,
        "version": version.side,
        "first": rows.shown[0] if rows.shown else 0,
        "last": rows.shown[-1] if rows.shown else 0,
        "total_lines": version.last,
    }
    return listing_result(
        rows.rows,
        ["; ".join(notes)],
        data,
        is_whole=not rows.left_out and version.is_whole,
        path=version.shown,
        shown=f"{len(rows.shown)} of {version.last} lines",
    )


def _notes(version: FileVersion, rows: NumberedRows, wanted: list[int], call: str) -> Iterable[str]:
    side = "the old version of " if version.side == "old" else ""
    if not version.lines:
        yield f"{side}`{version.shown}` is empty"
        return
    if not rows.shown:
        yield f"none of these lines of {side}`{version.shown}` are known"
        return
    yield f"lines {rows.shown[0]}-{rows.shown[-1]} of {version.last} in {side}`{version.shown}`"
    if rows.left_out:
        after = next(number for number in wanted if number > rows.shown[-1])
        yield f"{rows.left_out} more lines: {call}, first {after}, last {wanted[-1]}"


def _unit_result(files: ReviewFiles, unit: Unit, workspace: Workspace, context: int) -> ToolResult:
    version = files.version(unit.path, "new", workspace)
    has_removed = any(line.kind == "-" for hunk in unit.hunks for line in hunk.lines)
    old = files.version(unit.path, "old", workspace).lines if has_removed else {}
    level = files.review.level(unit)
    others = [other for other in files.review.sides.units_of(unit.path) if other.path == unit.path]
    rows, left_out = _unit_rows(unit, others, version, old, level, context)
    notes = list(version.all_notes)
    if left_out:
        notes.insert(0, f"{left_out} more lines are left out: {_again(version)}, first N, last M")
    return listing_result(
        [_head(unit, level), *rows.rows],
        ["; ".join(notes)] if notes else [],
        {**_data(unit, rows, version.last), "level": level},
        is_whole=not left_out and version.is_whole,
        path=version.shown,
        shown=f"{unit.id}: {len(rows.shown)} lines of {version.shown}",
    )


def _unit_rows(
    unit: Unit,
    others: Sequence[Unit],
    version: FileVersion,
    old: NumberedLines,
    level: ReviewLevel,
    context: int,
) -> tuple[NumberedRows, int]:
    """The rows of a unit, and how many more lines its level asks for. `others` are all units of the file, whose
    changes get signs too; `old` are the lines of the old side."""
    own_added, own_removed = _changed_lines([unit])
    added, removed = _changed_lines(others)
    touched = sorted({*own_added, *own_removed}) or [max(unit.new.first, 1)]
    wanted = _wanted(unit, version.lines, touched, level, context)
    # Every removed line takes a row too.
    room = max(MOST_ROWS - sum(map(len, own_removed.values())), 1)
    near = _nearest(wanted, touched, room)
    rows = NumberedRows()
    before = 0
    for number in sorted({*near, *own_removed}):
        if before and number > before + 1:
            rows.gap()
        before = number
        for line in removed.get(number, ()):
            rows.add(line, old.get(line, ""), "-")
        if number in near:
            rows.add(number, version.lines[number], "+" if number in added else " ")
    return rows, rows.left_out + len(wanted) - len(near)


def _changed_lines(units: Iterable[Unit]) -> tuple[set[int], dict[int, list[int]]]:
    """Added lines by their new number, and removed lines by the new number of the line they were before."""
    added: set[int] = set()
    removed: dict[int, list[int]] = {}
    for hunk in (hunk for unit in units for hunk in unit.hunks):
        # For a hunk without new lines git gives the number of the line before it.
        at = hunk.new_start + (hunk.new_count == 0)
        for line in hunk.lines:
            if line.kind == "-":
                removed.setdefault(at, []).append(line.old)
                continue
            if line.kind == "+":
                added.add(line.new)
            at = line.new + 1
    return added, removed


def _wanted(
    unit: Unit, lines: NumberedLines, touched: Sequence[int], level: ReviewLevel, context: int
) -> list[int]:
    """The numbers of the lines that a level asks for."""
    if level == "full_file":
        return list(lines)
    spans = [Span(number - context, number + context) for number in touched]
    # If the symbol was deleted, its lines are those of the old side.
    if unit.symbol is not None and unit.new.first and level in ("function", "file_context"):
        more = context if level == "file_context" else 0
        spans = [Span(number, number) for number in touched]
        spans.append(Span(unit.symbol.span.first - more, unit.symbol.span.last + more))
    elif unit.new.first:
        spans.append(unit.new)
    numbers = {number for span in spans for number in range(max(span.first, 1), span.last + 1)}
    return [number for number in lines if number in numbers]


def _nearest(wanted: Sequence[int], touched: Sequence[int], most: int) -> set[int]:
    first, last, changed = touched[0], touched[-1], set(touched)

    def distance(number: int) -> tuple[bool, int, int]:
        return number not in changed, max(first - number, number - last, 0), number

    return set(wanted if len(wanted) <= most else sorted(wanted, key=distance)[:most])


def _head(unit: Unit, level: ReviewLevel) -> str:
    inside = f" in `{printable_path(unit.symbol.name)}`" if unit.symbol else ""
    tags = f", {', '.join(unit.tags)}" if unit.tags else ""
    where = f"`{printable_path(unit.path)}`{inside}"
    return f"`{unit.id}`: {where}, {unit.change}, {unit.risk} risk{tags}; level {level}"


def _data(unit: Unit, rows: NumberedRows, total: int) -> dict[str, Json]:
    return {
        "unit": unit.id,
        "path": printable_path(unit.path),
        "first": min(rows.shown, default=0),
        "last": max(rows.shown, default=0),
        "total_lines": total,
    }
