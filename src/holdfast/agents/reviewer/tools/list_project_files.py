"""list_project_files: which files the project has, and which of them the change touches.

Rule: the files are those that Glob finds; sizes and marks are added, nothing is left out.
"""

import asyncio
import contextlib
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.agents.reviewer.tools.search_in_project import SECONDS
from holdfast.messages import Json
from holdfast.tools.envelope import ToolError, ToolResult, build_result
from holdfast.tools.search.glob import GlobArguments, glob
from holdfast.tools.search.search_folder import filter_paths
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

NAME = "list_project_files"
MOST_DELETED = 20


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Folder to list; the project's root if left out.")] = "."
    pattern: Annotated[str, Meta(description="Only files that match, such as `*.py` or `src/**/*.ts`.")] = ""
    limit: Annotated[int, Meta(ge=1, le=1000, description="Most files to list; the total is true.")] = 200


def list_project_files_tool(files: ReviewFiles) -> Tool:
    work = partial(list_project_files, files=files)
    return TypedTool(NAME, ListArguments, prompt_beside(__file__), work, is_read_only=True)


async def list_project_files(
    arguments: ListArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    asked = GlobArguments(
        arguments.pattern or "**/*", path=arguments.path, sort="path", max_results=arguments.limit
    )
    found = await glob(asked, workspace, searcher=files.program, seconds=SECONDS)
    return await asyncio.to_thread(_with_sizes, found, arguments, workspace, files)


def _with_sizes(
    found: ToolResult, arguments: ListArguments, workspace: Workspace, files: ReviewFiles
) -> ToolResult:
    data = found.envelope.data
    names: list[str] = data["files"]
    sizes = [_size(workspace, name) for name in names]
    # No name that is shown contains a line break.
    head, *lines = found.envelope.text.split("\n")
    notes = lines[len(names) :]
    changed = files.changed
    rows = [_row(name, size, name in changed) for name, size in zip(names, sizes, strict=True)]
    deleted = _deleted(arguments, workspace, files)
    if deleted:
        more = f" and {len(deleted) - MOST_DELETED} more" if len(deleted) > MOST_DELETED else ""
        notes.append(f"(deleted by the change: {', '.join(deleted[:MOST_DELETED])}{more})")
    listed: list[Json] = [
        {"path": name, "size": size, "changed": name in changed}
        for name, size in zip(names, sizes, strict=True)
    ]
    envelope = replace(
        found.envelope,
        text="\n".join([head, *rows, *notes]),
        data={**data, "total_entries": data["total_matches"], "files": listed, "deleted": list(deleted)},
    )
    return build_result(envelope, found.shown)


def _row(name: str, size: int, is_changed: bool) -> str:
    bytes_ = f" ({size} bytes)" if size >= 0 else ""
    return f"{name}{bytes_}{' (changed)' if is_changed else ''}"


def _size(workspace: Workspace, name: str) -> int:
    """-1 for a name that was escaped, or a file that no longer exists."""
    with contextlib.suppress(ToolError):
        return workspace.status(name).st_size
    return -1


def _deleted(arguments: ListArguments, workspace: Workspace, files: ReviewFiles) -> list[str]:
    """The files below the folder that the change deletes, if the pattern would list them."""
    place = workspace.locate(arguments.path)
    lead = f"{place.inner}/" if place.inner else ""
    deleted = [file.path for file in files.review.diff.files if file.change == "deleted"]
    below = [path[len(lead) :] for path in deleted if path.startswith(lead)]
    pattern = arguments.pattern.removeprefix(place.path.rstrip("/") + "/") or "**/*"
    return sorted(printable_path(lead + path) for path in filter_paths(below, pattern))
