"""LS: the entries of a folder, folders first.

Rule: everything is listed, and what `.gitignore` excludes is marked; ignored folders are not entered.
"""

import asyncio
import os
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.search.path_patterns import IgnoreScope, ignore_scope
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import VERSION_CONTROL, WorkspacePath, printable_path

MOST_LOOKED_AT = 100_000
"""Entries after which a deep listing stops."""


class LsArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Folder to list; the workspace's root if left out.")] = "."
    depth: Annotated[int, Meta(ge=1, le=5, description="How many levels of folders to list.")] = 1
    max_results: Annotated[
        int, Meta(ge=1, le=2000, description="Most entries to list; the total is true.")
    ] = 200


class _Row(Struct, frozen=True):
    """An entry: its path relative to the listed folder, how it is shown, and whether a listing may enter it."""

    path: str
    text: str
    is_entered: bool


def ls_tool() -> Tool:
    return TypedTool("LS", LsArguments, prompt_beside(__file__), ls, is_read_only=True)


async def ls(arguments: LsArguments, workspace: Workspace) -> ToolResult:
    place = workspace.locate(arguments.path)
    rows, is_cut = await asyncio.to_thread(_list, workspace, place, arguments.depth)
    entries = [row.text for row in rows[: arguments.max_results]]
    total = count_noun(len(rows), "entry", "entries")
    notes = []
    if len(entries) < len(rows):
        notes.append(f"{len(entries)} of {total} are shown; list a smaller folder or raise `max_results`")
    if is_cut:
        notes.append(f"stopped after {MOST_LOOKED_AT} entries: the total is at least")
    data: dict[str, Json] = {
        "path": place.shown,
        "total_entries": len(rows),
        "truncated": bool(notes),
        "entries": entries,
    }
    levels = f" in {arguments.depth} levels" if arguments.depth > 1 else ""
    text = "\n".join([f"`{place.shown}` has {total}{levels}:", *entries, *(f"({note})" for note in notes)])
    return tool_result(text, total, data=data, context={"path": place.shown}, is_partial=bool(notes))


def _list(workspace: Workspace, place: WorkspacePath, depth: int) -> tuple[list[_Row], bool]:
    """The entries, and whether there were too many to look at all."""
    rows: list[_Row] = []
    # Breadth first, so that a cut drops the deepest entries and not whole branches.
    level: list[tuple[str, IgnoreScope]] = [("", ignore_scope(place.path))]
    for _ in range(depth):
        below: list[tuple[str, IgnoreScope]] = []
        for inner, above in level:
            scope = above.entered(_whole(place, inner)) if inner else above
            found = _rows(workspace, place, inner, scope)
            rows += found
            if len(rows) > MOST_LOOKED_AT:
                return rows, True
            below += [(row.path, scope) for row in found if row.is_entered]
        level = below
    if depth > 1:
        rows.sort(key=lambda row: row.path.split("/"))
    return rows, False


def _whole(place: WorkspacePath, inner: str) -> str:
    return os.path.join(place.path, inner)  # noqa: PTH118


def _rows(workspace: Workspace, place: WorkspacePath, inner: str, scope: IgnoreScope) -> list[_Row]:
    """The entries of one folder, folders first. A subfolder that is gone or may not be read has none."""
    try:
        with workspace.open_directory(_whole(place, inner) if inner else place.path) as directory:
            entries = directory.entries()
    except ToolError:
        if inner:
            return []
        raise
    rows = []
    for entry in sorted(entries, key=lambda e: (e.kind != "directory", e.name)):
        path = f"{inner}/{entry.name}" if inner else entry.name
        is_folder = entry.kind == "directory"
        is_ignored = scope.ignores(_whole(place, path), is_folder)
        about = "/" if is_folder else f" ({entry.size} bytes)" if entry.kind == "file" else f" ({entry.kind})"
        text = f"{printable_path(path)}{about}{' (ignored)' if is_ignored else ''}"
        is_entered = is_folder and not is_ignored and entry.name not in VERSION_CONTROL
        rows.append(_Row(path, text, is_entered))
    return rows
