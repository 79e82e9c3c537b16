"""Glob: files whose path matches a pattern, newest first.

Rule: a pattern selects among the files found inside the folder; it cannot lead anywhere else.
"""

import asyncio
import heapq
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.search.path_patterns import name_glob
from holdfast.tools.search.ripgrep import (
    FileWalk,
    ProgramOutput,
    Ripgrep,
    count_unreadable,
    find_ripgrep,
    read_paths,
    run_program,
)
from holdfast.tools.search.search_folder import (
    MOST_BY_TIME,
    SearchFolder,
    expect_glob,
    expect_pattern,
    filter_paths,
    open_search_folder,
)
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

SECONDS = 30.0


class GlobArguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str,
        Meta(
            description="Such as `**/*.py` or `src/**/*.{ts,tsx}`; without a slash it is a name at any depth."
        ),
    ]
    path: Annotated[str, Meta(description="Folder to look in; the workspace's root if left out.")] = "."
    sort: Annotated[Literal["mtime", "path"], Meta(description="Newest first, or in the order of paths.")] = (
        "mtime"
    )
    include_ignored: Annotated[bool, Meta(description="Also list what `.gitignore` leaves out.")] = False
    max_results: Annotated[int, Meta(ge=1, le=1000, description="Most files to list; the total is true.")] = (
        100
    )


def glob_tool(searcher: Ripgrep | None = None, seconds: float = SECONDS) -> Tool:
    work = partial(glob, searcher=searcher or find_ripgrep(), seconds=seconds)
    return TypedTool("Glob", GlobArguments, prompt_beside(__file__), work, is_read_only=True)


async def glob(
    arguments: GlobArguments, workspace: Workspace, *, searcher: Ripgrep, seconds: float
) -> ToolResult:
    pattern = _pattern_from_folder(arguments, workspace)
    with open_search_folder(workspace, arguments.path) as found:
        if found.target != "./":
            raise ToolError("INVALID_PARAM", f"`{found.named}` is a file; `path` must be a folder")
        walk = FileWalk("./", arguments.include_ignored, name_glob(pattern))
        walked = await run_program(searcher.files(walk), found.handle, seconds)
        return await asyncio.to_thread(_result, arguments, walked, pattern, found)


def _pattern_from_folder(arguments: GlobArguments, workspace: Workspace) -> str:
    """The pattern, relative to the folder; an absolute one is accepted if it lies inside."""
    pattern = arguments.pattern
    expect_pattern(pattern)
    folder = workspace.locate(arguments.path).path.rstrip("/") + "/"
    inner = pattern.removeprefix(folder)
    if inner.startswith(("/", "~")) or ".." in inner.split("/"):
        raise ToolError(
            "ACCESS_DENIED",
            f"the pattern `{pattern}` leads out of `{arguments.path}`",
            hint="Patterns start at `path`",
        )
    expect_glob(inner)
    return inner


def _result(arguments: GlobArguments, walked: ProgramOutput, pattern: str, found: SearchFolder) -> ToolResult:
    paths = filter_paths(read_paths(walked.output), pattern)
    if walked.cut and not paths:
        raise ToolError("TIMEOUT", walked.cut, hint="Look in a smaller folder")
    notes = []
    if arguments.sort == "mtime" and len(paths) <= MOST_BY_TIME:
        ordered: Iterable[str] = found.newest_first(paths)
    else:
        ordered = _by_name(paths, arguments.max_results)
        if arguments.sort == "mtime":
            notes.append(f"sorted by path: more than {MOST_BY_TIME} files are not sorted by time")
    files = [found.shown(path) for path in found.recheck(ordered, arguments.max_results)]
    if len(files) < len(paths):
        notes.append(f"{len(files)} of {len(paths)} files are shown; narrow the pattern or `path`")
    unreadable = count_unreadable(walked.errors)
    if unreadable:
        notes.append(f"{count_noun(unreadable, 'folder')} could not be read")
    if walked.cut:
        notes.append(f"{walked.cut}: there may be more, and the total is at least")
    is_whole = len(files) == len(paths) and not (walked.cut or unreadable)
    total = count_noun(len(paths), "file")
    head = f"Found {total} for `{arguments.pattern}` in `{found.named}`."
    data: dict[str, Json] = {
        "pattern": arguments.pattern,
        "path": found.named,
        "total_matches": len(paths),
        "truncated": not is_whole,
        "files": files,
    }
    text = "\n".join([head, *files, *(f"({note})" for note in notes)])
    return tool_result(text, total, data=data, context={"path": found.named}, is_partial=not is_whole)


def _by_name(paths: list[str], most: int) -> Iterator[str]:
    """Sorted by name. The first ones are found without sorting all; more are needed only if some are gone."""
    first = heapq.nsmallest(most, paths)
    yield from first
    yield from sorted(set(paths).difference(first))
