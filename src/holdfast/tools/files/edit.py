"""Edit: replace an exact piece of text in a file.

Rule: the text to replace stands in the file exactly once, or all of it is replaced.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.tools.envelope import ToolResult
from holdfast.tools.files.applying import Replacement
from holdfast.tools.files.changing import edit_file
from holdfast.tools.files.seen import Files
from holdfast.tools.protocol import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace


class EditArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="File to change; you must have read it.")]
    old_string: Annotated[str, Meta(description="Text to replace, exactly as it stands in the file.")]
    new_string: Annotated[str, Meta(description="Text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every place where it stands.")] = False
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False


def edit_tool(files: Files) -> Tool:
    return TypedTool("Edit", EditArguments, prompt_beside(__file__), partial(edit, files=files))


async def edit(arguments: EditArguments, workspace: Workspace, *, files: Files) -> ToolResult:
    wanted = [Replacement(arguments.old_string, arguments.new_string, arguments.replace_all)]
    work = partial(
        edit_file, workspace, files, arguments.path, wanted, dry_run=arguments.dry_run, tool="Edit"
    )
    return await asyncio.to_thread(work)
