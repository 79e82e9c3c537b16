"""previous_version: a file as it was before the change.

Rule: the old side of the diff and nothing else; moves are followed.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.numbered_rows import lines_result, select_lines
from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.tools.envelope import ToolResult
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "previous_version"

_Line = Annotated[int, Meta(ge=0, description="A line of the old version, counted from 1; 0 for none.")]


class PreviousArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="A file, by its name now or by the one it had.")]
    first: _Line = 0
    last: _Line = 0


def previous_version_tool(files: ReviewFiles) -> Tool:
    work = partial(previous_version, files=files)
    return TypedTool(NAME, PreviousArguments, prompt_beside(__file__), work, is_read_only=True)


async def previous_version(
    arguments: PreviousArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    version = await asyncio.to_thread(files.version, arguments.path, "old", workspace)
    span = select_lines(version, arguments.first, arguments.last)
    return lines_result(version, span, f"{NAME} with path `{version.shown}`")
