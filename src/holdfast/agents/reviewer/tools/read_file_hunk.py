"""read_file_hunk: a unit of the change in its surroundings, or lines of either side of a file.

Rule: lines are those of the versions under review, not those that happen to be on disk; if they cannot be read,
the result says so. Changed lines come first: if not all lines fit, those nearest to the change are shown.
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
from holdfast.review.findings import Lines
from holdfast.review.unit import Level, Span, Unit
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

NAME = "read_file_hunk"

_Line = Annotated[int, Meta(ge=0, description="A line, counted from 1; 0 for none.")]


class HunkArguments(Struct, frozen=True, forbid_unknown_fields=True):
    unit: Annotated[str, Meta(description="Id of a unit, such as `u-0123456789ab`.")] = ""
    path: Annotated[str, Meta(description="A file, where no unit is given.")] = ""
    first: _Line = 0
    last: _Line = 0
    context: Annotated[int, Meta(ge=0, le=400, description="Lines to show around these.")] = 20
    version: Annotated[Side, Meta(description="The file after the change, or before it.")] = "new"


class UnitView(Struct, frozen=True):
    """The rows of a unit, and how many more lines its level asks for."""

    rows: NumberedRows
    left_out: int


class _ChangedLines(Struct, frozen=True):
    """Added lines by their new number, and removed lines by the new number of the line they were before."""

    added: frozenset[int]
    removed: dict[int, list[int]]


def view_unit(
    unit: Unit, others: Sequence[Unit], version: FileVersion, old: Lines, level: Level, context: int
) -> UnitView:
    """`others` are all units of the file, whose changes get signs too; `old` are the lines of the old side."""
    own = _changed_lines([unit])
    changed = _changed_lines(others)
    touched = sorted({*own.added, *own.removed}) or [max(unit.new.first, 1)]
    wanted = _wanted(unit, version.lines, touched, level, context)
    # Every removed line takes a row too.
    room = max(MOST_ROWS - sum(map(len, own.removed.values())), 1)
    near = _nearest(wanted, touched, room)
    rows = NumberedRows()
    before = 0
    for number in sorted({*near, *own.removed}):
        if before and number > before + 1:
            rows.gap()
        before = number
        for removed in changed.removed.get(number, ()):
            rows.add(removed, old.get(removed, ""), "-")
        if number in near:
            rows.add(number, version.lines[number], "+" if number in changed.added else " ")
    return UnitView(rows, rows.left_out + len(wanted) - len(near))


def _changed_lines(units: Iterable[Unit]) -> _ChangedLines:
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
    return _ChangedLines(frozenset(added), removed)


def _wanted(unit: Unit, lines: Lines, touched: Sequence[int], level: Level, context: int) -> list[int]:
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
    if len(wanted) <= most:
        return set(wanted)
    first, last = touched[0], touched[-1]
    changed = set(touched)

    def distance(number: int) -> tuple[bool, int, int]:
        return number not in changed, max(first - number, number - last, 0), number

    return set(sorted(wanted, key=distance)[:most])


def read_file_hunk_tool(files: ReviewFiles) -> Tool:
    work = partial(read_file_hunk, files=files)
    return TypedTool(NAME, HunkArguments, prompt_beside(__file__), work, is_read_only=True)


async def read_file_hunk(arguments: HunkArguments, workspace: Workspace, *, files: ReviewFiles) -> ToolResult:
    if bool(arguments.unit) == bool(arguments.path):
        raise ToolError("INVALID_PARAM", "either `unit` or `path` must be given, and not both")
    return await asyncio.to_thread(_read, arguments, workspace, files)


def _read(arguments: HunkArguments, workspace: Workspace, files: ReviewFiles) -> ToolResult:
    if arguments.path:
        version = files.version(arguments.path, arguments.version, workspace)
        span = select_lines(version, arguments.first, arguments.last, arguments.context)
        return lines_result(version, span, _again(version))
    unit = require_unit(files.review, arguments.unit)
    if not unit.hunks:
        return _without_lines(files, unit)
    if unit.change == "deleted" or arguments.version == "old":
        version = files.version(unit.path, "old", workspace)
        around = 0 if unit.change == "deleted" else arguments.context
        span = select_lines(version, unit.old.first, unit.old.last, around)
        return lines_result(version, span, _again(version))
    return _unit_result(files, unit, workspace, arguments)


def _again(version: FileVersion) -> str:
    side = ', version "old"' if version.side == "old" else ""
    return f"{NAME} with path `{version.shown}`{side}, context 0"


def _without_lines(files: ReviewFiles, unit: Unit) -> ToolResult:
    note = unit.note or "no lines changed"
    text = f"{_head(unit, files.review.level(unit))}\n({note})"
    return tool_result(text, note, data=_data(unit, NumberedRows(), 0))


def _unit_result(
    files: ReviewFiles, unit: Unit, workspace: Workspace, arguments: HunkArguments
) -> ToolResult:
    version = files.version(unit.path, "new", workspace)
    has_removed = any(line.kind == "-" for hunk in unit.hunks for line in hunk.lines)
    old = files.version(unit.path, "old", workspace).lines if has_removed else {}
    level = files.review.level(unit)
    others = [other for other in files.review.sides.units_of(unit.path) if other.path == unit.path]
    view = view_unit(unit, others, version, old, level, arguments.context)
    notes = list(version.all_notes)
    if view.left_out:
        notes.insert(0, f"{view.left_out} more lines are left out: {_again(version)}, first N, last M")
    is_cut = bool(view.left_out) or not version.is_whole
    return tool_result(
        "\n".join([_head(unit, level), *view.rows.rows, *([f"({'; '.join(notes)})"] if notes else [])]),
        f"{unit.id}: {len(view.rows.shown)} lines of {version.shown}",
        data=_data(unit, view.rows, version.last) | {"level": level, "truncated": is_cut},
        context={"path": version.shown},
        is_partial=is_cut,
    )


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
