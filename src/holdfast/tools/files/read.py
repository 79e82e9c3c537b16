"""Read: lines of a file with their numbers, a picture, or the cells of a notebook.

Rule: shown lines stand first and are the file's own; all that Read says about them stands below in brackets. It
says `modified_externally` of somebody else's change only, and "unchanged" only of lines that are on view.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.changes import OutsideChange
from holdfast.tools.files.looking import ReadFile, look_at, outside_of
from holdfast.tools.files.readings import ReadReport, reading_result, unchanged_result
from holdfast.tools.files.rows import LineSelection, read_passage
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.special_files import is_notebook, is_picture, read_notebook, read_picture
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import OpenFile, WorkspacePath

DEFAULT_LINES = 500
MOST_LINES = 2_000


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


def read_tool(files: SeenFiles) -> Tool:
    work = partial(read, files=files)
    return TypedTool("Read", ReadArguments, prompt_beside(__file__), work, is_read_only=True)


async def read(arguments: ReadArguments, workspace: Workspace, *, files: SeenFiles) -> ToolResult:
    opened = await asyncio.to_thread(workspace.open_file, arguments.path)
    with opened:
        if not arguments.raw and await asyncio.to_thread(is_picture, opened):
            result = await asyncio.to_thread(read_picture, opened, files.step())
        elif not arguments.raw and is_notebook(opened.place):
            count = arguments.limit or DEFAULT_LINES
            result = await asyncio.to_thread(read_notebook, opened, arguments.offset, count, files.step())
        else:
            result = await _read_lines(opened, arguments, files)
    files.note("Read", arguments.path, result.envelope.data)
    return result


async def _read_lines(opened: OpenFile, arguments: ReadArguments, files: SeenFiles) -> ToolResult:
    sight = files.sight(opened.place)
    encoding = arguments.encoding or (sight.encoding if sight else "")
    look = await asyncio.to_thread(look_at, opened, files, encoding, sight)
    asked = _asked(arguments, look)
    outside: OutsideChange | None = None
    if sight and sight.hash != look.hash:
        outside = await asyncio.to_thread(outside_of, files, look, sight)
    elif sight and not arguments.encoding:
        last = asked.first + asked.count - 1
        step = sight.step_of(asked.first, last) if asked.column == 1 and asked.count else None
        # Asked in this thread: the window is the loop's.
        if step is not None and _is_on_view(files, arguments.path, look.place, asked.first, last):
            return unchanged_result(look, asked, step)
    offset = await asyncio.to_thread(look.index.offset, look.source, asked.first)
    passage = await asyncio.to_thread(read_passage, look.source, offset, asked, look.shown_as)
    is_open = not arguments.limit and arguments.offset >= 0
    before = sight.total_lines if sight else 0
    return reading_result(ReadReport(look, asked, passage, is_open, encoding, files.step(), outside, before))


def _asked(arguments: ReadArguments, look: ReadFile) -> LineSelection:
    """The lines that are meant, all of which exist."""
    total, offset = look.lines, arguments.offset
    first = max(total + offset + 1, 1) if offset < 0 else max(offset, 1)
    if first > max(total, 1):
        raise ToolError(
            "INVALID_PARAM",
            f"`offset` {offset} lies past the end of `{look.place.shown}`, which has {total} lines",
            hint="A negative `offset` counts from the end",
        )
    wanted = arguments.limit or (-offset if offset < 0 else DEFAULT_LINES)
    return LineSelection(first, min(wanted, MOST_LINES, total - first + 1), arguments.column)


def _is_on_view(files: SeenFiles, asked: str, place: WorkspacePath, first: int, last: int) -> bool:
    """Whether the window shows these lines, under the name that was asked for or the one we give."""
    if files.may_mislead(place, first, last):
        return False
    sight = files.sight(place)
    since = sight.since(first, last) if sight else 0
    return any(files.resident(name, first, last, since) for name in dict.fromkeys((asked, place.shown)))
