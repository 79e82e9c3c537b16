"""MultiEdit: several replacements in one file, all or none.

Rule: each is applied to the result of the ones before it; the file is written once.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.edit import edit_file
from holdfast.tools.files.replacements import TextReplacement
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace


class OneEdit(Struct, frozen=True, forbid_unknown_fields=True):
    old_string: Annotated[str, Meta(description="Text to replace, as the edits before left it.")]
    new_string: Annotated[str, Meta(description="Text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every place where it stands.")] = False


class MultiEditArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="File to change; you must have read it.")]
    edits: Annotated[list[OneEdit], Meta(description="Replacements, made one after the other.")]
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False


def multi_edit_tool(files: SeenFiles) -> Tool:
    return TypedTool(
        "MultiEdit", MultiEditArguments, prompt_beside(__file__), partial(multi_edit, files=files)
    )


async def multi_edit(arguments: MultiEditArguments, workspace: Workspace, *, files: SeenFiles) -> ToolResult:
    if not arguments.edits:
        raise ToolError("INVALID_PARAM", "`edits` is empty", hint="Give at least one replacement")
    wanted = [TextReplacement(one.old_string, one.new_string, one.replace_all) for one in arguments.edits]
    work = partial(edit_file, workspace, files, arguments.path, wanted, tool="MultiEdit")
    return await asyncio.to_thread(work, dry_run=arguments.dry_run)
