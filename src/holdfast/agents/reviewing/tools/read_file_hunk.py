"""read_file_hunk: a unit of the change in its surroundings, or lines of either side of a file.

Rule: lines are those of the versions under review, not those that happen to be on the disk; where they cannot be
had, the answer says so.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewing.tools.known_units import expect_unit
from holdfast.agents.reviewing.tools.rows import Rows, passage_result, span_of
from holdfast.agents.reviewing.tools.shelf import Sheet, Shelf
from holdfast.agents.reviewing.tools.unit_view import NO_LINES, Window, unit_window
from holdfast.messages import Json
from holdfast.review.finding import Side
from holdfast.review.unit import Level, Unit
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, answered
from holdfast.tools.places import name_for_people
from holdfast.tools.protocol import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "read_file_hunk"

_Line = Annotated[int, Meta(ge=0, description="A line, counted from 1; 0 for none.")]


class HunkArguments(Struct, frozen=True, forbid_unknown_fields=True):
    unit: Annotated[str, Meta(description="Id of a unit, such as `u-0123456789ab`.")] = ""
    path: Annotated[str, Meta(description="A file, where no unit is given.")] = ""
    first: _Line = 0
    last: _Line = 0
    context: Annotated[int, Meta(ge=0, le=400, description="Lines to show around these.")] = 20
    version: Annotated[Side, Meta(description="The file after the change, or before it.")] = "new"


def read_file_hunk_tool(shelf: Shelf) -> Tool:
    work = partial(read_file_hunk, shelf=shelf)
    return TypedTool(NAME, HunkArguments, prompt_beside(__file__), work, is_read_only=True)


async def read_file_hunk(arguments: HunkArguments, workspace: Workspace, *, shelf: Shelf) -> ToolResult:
    if bool(arguments.unit) == bool(arguments.path):
        raise ToolError("INVALID_PARAM", "either `unit` or `path` must be given, and not both")
    return await asyncio.to_thread(_read, arguments, workspace, shelf)


def _read(arguments: HunkArguments, workspace: Workspace, shelf: Shelf) -> ToolResult:
    if arguments.path:
        sheet = shelf.sheet(arguments.path, arguments.version, workspace)
        span = span_of(sheet, arguments.first, arguments.last, arguments.context)
        return passage_result(sheet, span, _again(sheet))
    unit = expect_unit(shelf.review, arguments.unit)
    if not unit.hunks:
        return _without_lines(shelf, unit)
    if unit.change == "deleted" or arguments.version == "old":
        sheet = shelf.sheet(unit.path, "old", workspace)
        around = 0 if unit.change == "deleted" else arguments.context
        return passage_result(sheet, span_of(sheet, unit.old.first, unit.old.last, around), _again(sheet))
    return _unit_result(shelf, unit, workspace, arguments)


def _again(sheet: Sheet) -> str:
    version = ', version "old"' if sheet.side == "old" else ""
    return f"{NAME} with path `{sheet.shown}`{version}, context 0"


def _without_lines(shelf: Shelf, unit: Unit) -> ToolResult:
    said = unit.note or "no lines changed"
    text = f"{_head(unit, shelf.review.level(unit))}\n({said})"
    return answered(Envelope(status="success", text=text, data=_data(unit, Rows(), 0)), said)


def _unit_result(shelf: Shelf, unit: Unit, workspace: Workspace, arguments: HunkArguments) -> ToolResult:
    sheet = shelf.sheet(unit.path, "new", workspace)
    has_gone = any(line.kind == "-" for hunk in unit.hunks for line in hunk.lines)
    old = shelf.sheet(unit.path, "old", workspace).lines if has_gone else NO_LINES
    level = shelf.review.level(unit)
    others = [other for other in shelf.review.sides.units_of(unit.path) if other.path == unit.path]
    window = unit_window(unit, others, sheet, old, level, arguments.context)
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
    return answered(envelope, f"{unit.id}: {len(window.rows.shown)} lines of {sheet.shown}")


def _left_out(sheet: Sheet, window: Window) -> list[str]:
    if not window.left_out:
        return []
    return [f"{window.left_out} more lines are left out: {_again(sheet)}, first N, last M"]


def _head(unit: Unit, level: Level) -> str:
    inside = f" in `{name_for_people(unit.symbol.name)}`" if unit.symbol else ""
    tags = f", {', '.join(unit.tags)}" if unit.tags else ""
    where = f"`{name_for_people(unit.path)}`{inside}"
    return f"`{unit.id}`: {where}, {unit.change}, {unit.risk} risk{tags}; level {level}"


def _data(unit: Unit, rows: Rows, total: int) -> dict[str, Json]:
    return {
        "unit": unit.id,
        "path": name_for_people(unit.path),
        "first": min(rows.shown, default=0),
        "last": max(rows.shown, default=0),
        "total_lines": total,
        "truncated": False,
    }
