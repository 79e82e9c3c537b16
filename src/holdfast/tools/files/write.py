"""Write: a whole file, new or in place of one that was read.

Rule: no text is lost that the agent has not seen: a file it has not read, or that somebody changed since, stays.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.changes import ChangeReport, change_result, conflict_error
from holdfast.tools.files.edit import REDACTED, keep_versions, link_notes, retry_on_race, write_file
from holdfast.tools.files.file_text import (
    FileText,
    absent,
    changed_outside,
    encoding_of,
    expect_seen,
    expect_writable,
    load_file,
)
from holdfast.tools.files.line_diff import LineChange, describe_ranges, line_changes, missing_ranges
from holdfast.tools.files.replacements import rewritten
from holdfast.tools.files.seen_files import SeenFile, SeenFiles
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.files.text_encoding import (
    UTF8,
    decode,
    encode,
    expect_no_surrogates,
    split_lines,
    unify_line_endings,
)
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

_MARK = "\ufeff"


class WriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="File to make or to replace; folders are made as needed.")]
    content: Annotated[str, Meta(description="The whole text of the file.")]
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False


def write_tool(files: SeenFiles) -> Tool:
    return TypedTool("Write", WriteArguments, prompt_beside(__file__), partial(write, files=files))


async def write(arguments: WriteArguments, workspace: Workspace, *, files: SeenFiles) -> ToolResult:
    expect_no_surrogates(arguments.content, "content")
    expect_writable(files, workspace.locate(arguments.path))
    return await asyncio.to_thread(_noted, workspace, files, arguments)


def _noted(workspace: Workspace, files: SeenFiles, arguments: WriteArguments) -> ToolResult:
    """Written and noted in one, so that a call that is cancelled meanwhile leaves no file of which nobody knows."""
    result = retry_on_race(partial(_write, workspace, files, arguments))
    files.note("Write", arguments.path, result.envelope.data)
    return result


def _write(workspace: Workspace, files: SeenFiles, arguments: WriteArguments) -> ToolResult:
    if absent(workspace, arguments.path):
        return _create(workspace, files, arguments)
    current = load_file(workspace, arguments.path)
    sight = expect_seen(files, current)
    encoding = encoding_of(current.raw, sight)
    old = decode(current.raw, encoding, current.place.shown) if encoding else ""
    _expect_safe(files, current, sight, old, arguments.content)
    new = rewritten(old, arguments.content.removeprefix(_MARK))
    raw = encode(new, encoding or UTF8, current.place.shown)
    is_same = raw == current.raw
    if not is_same:
        keep_versions(files, current.place.shown, current.raw, raw)
    is_made = not is_same and not arguments.dry_run
    replaced = write_file(workspace, files, arguments.path, raw, current.status) if is_made else None
    return change_result(
        ChangeReport(
            verb="Updated",
            place=current.place,
            old=old,
            new=new,
            changes=_changes(old, new),
            before=current.hash,
            after=content_hash(raw),
            size=len(raw),
            mtime_ns=(replaced.status if replaced else current.status).st_mtime_ns,
            encoding=(encoding or UTF8).name,
            replacements=0,
            step=files.step(),
            dry_run=arguments.dry_run,
            notes=() if is_same else (*_losses(sight, old, new), *link_notes(current)),
        )
    )


def _create(workspace: Workspace, files: SeenFiles, arguments: WriteArguments) -> ToolResult:
    place = workspace.locate(arguments.path)
    raw = encode(arguments.content, UTF8, place.shown)
    keep_versions(files, place.shown, raw)
    replaced = None if arguments.dry_run else write_file(workspace, files, arguments.path, raw, "absent")
    was_there = files.sight(place) is not None
    return change_result(
        ChangeReport(
            verb="Created",
            place=place,
            old="",
            new=arguments.content,
            changes=_changes("", arguments.content),
            before="",
            after=content_hash(raw),
            size=len(raw),
            mtime_ns=replaced.status.st_mtime_ns if replaced else 0,
            encoding=UTF8.name,
            replacements=0,
            step=files.step(),
            dry_run=arguments.dry_run,
            notes=("it was there when you saw it, and somebody took it away since",) if was_there else (),
        )
    )


def _changes(old: str, new: str) -> list[LineChange]:
    return line_changes(split_lines(unify_line_endings(old)), split_lines(unify_line_endings(new)))


def _expect_safe(files: SeenFiles, current: FileText, sight: SeenFile, old: str, content: str) -> None:
    shown = current.place.shown
    outside = changed_outside(files, current, sight, old)
    if outside and (outside.before is None or outside.changes):
        raise conflict_error(shown, outside, "and Write replaces all of it")
    if REDACTED in content and REDACTED not in old:
        raise ToolError(
            "INVALID_PARAM",
            f"`content` contains `{REDACTED}`, which stands for a secret that was kept out of the log; "
            f"written to `{shown}` it would replace the real value",
            hint="Change the other lines with Edit",
        )


def _losses(sight: SeenFile, old: str, new: str) -> tuple[str, ...]:
    """What a whole new text does to the old one that the agent may not know."""
    notes = []
    unseen = missing_ranges(sight.known, sight.total_lines)
    if unseen:
        notes.append(
            f"of the old text, {describe_ranges(unseen)} of {sight.total_lines} had never been shown to you"
        )
    if old.endswith("\n") and new and not new.endswith("\n"):
        notes.append("the old text ended with a line break, the new one does not")
    return tuple(notes)
