"""Write: a whole file, a new one or one that was read before.

Rule: no text is lost that the agent has not seen: a file that it has not read, or that somebody changed since,
stays.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.line_ranges import missing_ranges
from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.changes import (
    REDACTED,
    OutsideChange,
    PlannedChange,
    carry_out,
    change_file,
    conflict_error,
    load_seen_file,
)
from holdfast.tools.files.file_text import FileText
from holdfast.tools.files.line_diff import describe_ranges, line_changes
from holdfast.tools.files.replacements import rewritten
from holdfast.tools.files.seen_files import SeenFile, SeenFiles
from holdfast.tools.files.text_encoding import UTF8, encode, expect_no_surrogates, plain_lines
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace


class WriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="File to make or to replace; folders are made as needed.")]
    content: Annotated[str, Meta(description="The whole text of the file.")]
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False


def write_tool(files: SeenFiles) -> Tool:
    return TypedTool("Write", WriteArguments, prompt_beside(__file__), partial(write, files=files))


async def write(arguments: WriteArguments, workspace: Workspace, *, files: SeenFiles) -> ToolResult:
    expect_no_surrogates(arguments.content, "content")
    work = partial(_write, workspace, files, arguments)
    return await asyncio.to_thread(change_file, workspace, files, "Write", arguments.path, work)


def _write(workspace: Workspace, files: SeenFiles, arguments: WriteArguments) -> ToolResult:
    path, content, file = arguments.path, arguments.content, None
    if _is_absent(workspace, path):
        place, encoding, old, new = workspace.locate(path), UTF8, "", content
        raw = encode(new, encoding, place.shown)
        is_gone = files.seen(place) is not None
        notes = ["it was there when you saw it, and somebody took it away since"] if is_gone else []
    else:
        file, seen, outside = load_seen_file(workspace, files, path)
        _expect_safe(file, outside, content)
        place = file.place
        encoding, old = file.encoding or UTF8, file.text
        new = rewritten(old, content.removeprefix("\ufeff"))
        raw = encode(new, encoding, place.shown)
        notes = [] if raw == file.raw else list(_losses(seen, old, new))
    change = PlannedChange(
        place=place,
        file=file,
        text=new,
        raw=raw,
        encoding=encoding,
        changes=line_changes(plain_lines(old), plain_lines(new)),
        dry_run=arguments.dry_run,
        notes=notes,
    )
    return carry_out(workspace, files, path, change)


def _is_absent(workspace: Workspace, path: str) -> bool:
    """Whether there is nothing at a path; any other trouble is reported when the file is opened."""
    try:
        workspace.status(path)
    except ToolError as error:
        return error.code == "NOT_FOUND"
    return False


def _expect_safe(file: FileText, outside: OutsideChange | None, content: str) -> None:
    if outside and (outside.before is None or outside.changes):
        raise conflict_error(file.place.shown, outside, "and Write replaces all of it")
    if REDACTED in content and REDACTED not in file.text:
        raise ToolError(
            "INVALID_PARAM",
            f"`content` contains `{REDACTED}`, which stands for a secret that was kept out of the log; "
            f"written to `{file.place.shown}` it would replace the real value",
            hint="Change the other lines with Edit",
        )


def _losses(seen: SeenFile, old: str, new: str) -> Iterator[str]:
    """What the new text does to the old one that the agent may not know."""
    if unseen := missing_ranges(seen.known, seen.total_lines):
        yield f"of the old text, {describe_ranges(unseen)} of {seen.total_lines} had never been shown to you"
    if old.endswith("\n") and new and not new.endswith("\n"):
        yield "the old text ended with a line break, the new one does not"
