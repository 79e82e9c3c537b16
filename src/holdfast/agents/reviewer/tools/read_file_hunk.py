"""A unit as a reviewer reads it: its change with signs, in as much of the file as its level asks for.

Rule: lines that changed come before all others. Where not all can be shown, those nearest to the change are.
"""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.numbered_rows import MOST_ROWS, NumberedRows, lines_result, select_lines
from holdfast.agents.reviewer.tools.review_files import FileVersion, ReviewFiles, require_unit
from holdfast.messages import Json
from holdfast.review.finding import Side
from holdfast.review.sides import Lines
from holdfast.review.unit import Level, Span, Unit
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

NO_LINES: Lines = {}


class UnitView(Struct, frozen=True):
    """What is shown of a unit, and how many lines more its level asks for."""

    rows: NumberedRows
    left_out: int


class _Signs(Struct, frozen=True):
    """Of a file's change: lines of the newer side that came, and those of the older that went, by the number of the
    line they stood before."""

    came: frozenset[int]
    went: dict[int, list[int]]


def view_unit(
    unit: Unit, others: Sequence[Unit], sheet: FileVersion, old: Lines, level: Level, context: int
) -> UnitView:
    """`others` are all units of the file, whose changes have signs too; `old` are the lines that went."""
    own = _signs([unit])
    signs = _signs(others)
    touched = sorted({*own.came, *own.went}) or [max(unit.new.first, 1)]
    wanted = _wanted(unit, sheet.lines, touched, level, context)
    # Every line that went takes a row too.
    room = max(MOST_ROWS - sum(map(len, own.went.values())), 1)
    near = _nearest(wanted, touched, room)
    rows = NumberedRows()
    before = 0
    for number in sorted({*near, *own.went}):
        if before and number > before + 1:
            rows.gap()
        before = number
        for gone in signs.went.get(number, ()):
            rows.add(gone, old.get(gone, ""), "-")
        if number in near:
            rows.add(number, sheet.lines[number], "+" if number in signs.came else " ")
    return UnitView(rows, rows.left_out + len(wanted) - len(near))


def _signs(units: Iterable[Unit]) -> _Signs:
    came: set[int] = set()
    went: dict[int, list[int]] = {}
    for hunk in (hunk for unit in units for hunk in unit.hunks):
        # Of a hunk without newer lines git gives the number of the line before it.
        at = hunk.new_start + (hunk.new_count == 0)
        for line in hunk.lines:
            if line.kind == "-":
                went.setdefault(at, []).append(line.old)
                continue
            if line.kind == "+":
                came.add(line.new)
            at = line.new + 1
    return _Signs(frozenset(came), went)


def _wanted(unit: Unit, lines: Lines, touched: Sequence[int], level: Level, context: int) -> list[int]:
    """Numbers of the lines that a level asks for."""
    if level == "full_file":
        return list(lines)
    spans = [Span(number - context, number + context) for number in touched]
    # The symbol's lines are those of the older side where all of it went.
    if unit.symbol is not None and unit.new.first and level in ("function", "file_context"):
        more = context if level == "file_context" else 0
        spans = [Span(number, number) for number in touched]
        spans.append(Span(unit.symbol.span.first - more, unit.symbol.span.last + more))
    elif unit.new.first:
        spans.append(unit.new)
    reach = {number for span in spans for number in range(max(span.first, 1), span.last + 1)}
    return [number for number in lines if number in reach]


def _nearest(wanted: Sequence[int], touched: Sequence[int], most: int) -> set[int]:
    if len(wanted) <= most:
        return set(wanted)
    first, last = touched[0], touched[-1]
    changed = set(touched)

    def distance(number: int) -> tuple[bool, int, int]:
        return number not in changed, max(first - number, number - last, 0), number

    return set(sorted(wanted, key=distance)[:most])


# read_file_hunk: a unit of the change in its surroundings, or lines of either side of a file.
#
# Rule: lines are those of the versions under review, not those that happen to be on the disk; where they cannot be
# had, the answer says so.

NAME = "read_file_hunk"

_Line = Annotated[int, Meta(ge=0, description="A line, counted from 1; 0 for none.")]


class HunkArguments(Struct, frozen=True, forbid_unknown_fields=True):
    unit: Annotated[str, Meta(description="Id of a unit, such as `u-0123456789ab`.")] = ""
    path: Annotated[str, Meta(description="A file, where no unit is given.")] = ""
    first: _Line = 0
    last: _Line = 0
    context: Annotated[int, Meta(ge=0, le=400, description="Lines to show around these.")] = 20
    version: Annotated[Side, Meta(description="The file after the change, or before it.")] = "new"


def read_file_hunk_tool(shelf: ReviewFiles) -> Tool:
    work = partial(read_file_hunk, shelf=shelf)
    return TypedTool(NAME, HunkArguments, prompt_beside(__file__), work, is_read_only=True)


async def read_file_hunk(arguments: HunkArguments, workspace: Workspace, *, shelf: ReviewFiles) -> ToolResult:
    if bool(arguments.unit) == bool(arguments.path):
        raise ToolError("INVALID_PARAM", "either `unit` or `path` must be given, and not both")
    return await asyncio.to_thread(_read, arguments, workspace, shelf)


def _read(arguments: HunkArguments, workspace: Workspace, shelf: ReviewFiles) -> ToolResult:
    if arguments.path:
        sheet = shelf.sheet(arguments.path, arguments.version, workspace)
        span = select_lines(sheet, arguments.first, arguments.last, arguments.context)
        return lines_result(sheet, span, _again(sheet))
    unit = require_unit(shelf.review, arguments.unit)
    if not unit.hunks:
        return _without_lines(shelf, unit)
    if unit.change == "deleted" or arguments.version == "old":
        sheet = shelf.sheet(unit.path, "old", workspace)
        around = 0 if unit.change == "deleted" else arguments.context
        return lines_result(sheet, select_lines(sheet, unit.old.first, unit.old.last, around), _again(sheet))
    return _unit_result(shelf, unit, workspace, arguments)


def _again(sheet: FileVersion) -> str:
    version = ', version "old"' if sheet.side == "old" else ""
    return f"{NAME} with path `{sheet.shown}`{version}, context 0"


def _without_lines(shelf: ReviewFiles, unit: Unit) -> ToolResult:
    said = unit.note or "no lines changed"
    text = f"{_head(unit, shelf.review.level(unit))}\n({said})"
    return build_result(Envelope(status="success", text=text, data=_data(unit, NumberedRows(), 0)), said)


def _unit_result(
    shelf: ReviewFiles, unit: Unit, workspace: Workspace, arguments: HunkArguments
) -> ToolResult:
    sheet = shelf.sheet(unit.path, "new", workspace)
    has_gone = any(line.kind == "-" for hunk in unit.hunks for line in hunk.lines)
    old = shelf.sheet(unit.path, "old", workspace).lines if has_gone else NO_LINES
    level = shelf.review.level(unit)
    others = [other for other in shelf.review.sides.units_of(unit.path) if other.path == unit.path]
    window = view_unit(unit, others, sheet, old, level, arguments.context)
    notes = [*_left_out(sheet, window), *sheet.said_notes]
    is_cut = bool(window.left_out) or not sheet.is_whole
    envelope = Envelope(
        status="partial" if is_cut else "success",
        text="\n".join(
            [_head(unit, level), *window.rows.rows, *([f"({'; '.join(notes)})"] if notes else [])]
        ),
        data=_data(unit, window.rows, sheet.last) | {"level": level, "truncated": is_cut},
        context={"path": sheet.shown},
    )
    return build_result(envelope, f"{unit.id}: {len(window.rows.shown)} lines of {sheet.shown}")


def _left_out(sheet: FileVersion, window: UnitView) -> list[str]:
    if not window.left_out:
        return []
    return [f"{window.left_out} more lines are left out: {_again(sheet)}, first N, last M"]


def _head(unit: Unit, level: Level) -> str:
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
        "truncated": False,
    }
