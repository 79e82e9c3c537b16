"""search_in_project: lines of the project that hold a text, those of changed files first.

Rule: the search is Grep's; what is different is the order. A line of a changed file that is not the one under
review is said to be so.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewing.tools.matches import Hit, Hits, Looking, Wanted, find_hits
from holdfast.agents.reviewing.tools.shelf import Shelf
from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolResult, answered
from holdfast.tools.listing.finding import counted
from holdfast.tools.listing.ripgrep import Searcher
from holdfast.tools.listing.search import Matching
from holdfast.tools.protocol import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "search_in_project"


class SearchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="One line of text to look for.")]
    path: Annotated[str, Meta(description="Folder or file; the project's root if left out.")] = "."
    is_regex: Annotated[bool, Meta(description="Take the query as a regular expression.")] = False
    limit: Annotated[int, Meta(ge=1, le=500, description="Most lines to show; totals are true.")] = 50


def search_in_project_tool(shelf: Shelf, searcher: Searcher) -> Tool:
    work = partial(search_in_project, shelf=shelf, searcher=searcher)
    return TypedTool(NAME, SearchArguments, prompt_beside(__file__), work, is_read_only=True)


async def search_in_project(
    arguments: SearchArguments, workspace: Workspace, *, shelf: Shelf, searcher: Searcher
) -> ToolResult:
    looking = Looking(workspace, searcher, shelf.changed)
    matching = Matching(arguments.query, literal=not arguments.is_regex)
    found = await find_hits(looking, Wanted(matching, arguments.limit, arguments.path))
    notes = await asyncio.to_thread(lambda: list(about_files(found.hits, shelf)))
    return _result(arguments, found, notes)


def about_files(hits: Iterable[Hit], shelf: Shelf) -> Iterable[str]:
    """Which of the files with hits the change touches, and which of these are others on the disk."""
    files = dict.fromkeys(hit.file for hit in hits if hit.file in shelf.changed)
    if files:
        yield f"changed by this diff: {', '.join(f'`{file}`' for file in files)}"
    ours = (hit for hit in hits if hit.file in files)
    other = dict.fromkeys(hit.file for hit in ours if not shelf.holds(hit.file, hit.line, hit.text))
    if other:
        named = ", ".join(f"`{file}`" for file in other)
        yield f"on the disk these are not the versions under review: {named}; read them with `read_file_hunk`"


def _result(arguments: SearchArguments, found: Hits, notes: list[str]) -> ToolResult:
    lines, files = counted(found.total_lines, "matching line"), counted(found.total_files, "file")
    if not found.is_whole:
        few = f"{len(found.hits)} of {found.total_lines} matching lines are shown"
        notes.append(f"{few}; narrow the search with `path` or a longer `query`")
    if found.cut:
        notes.append(f"{found.cut}: there may be more, and the totals are at least")
    head = f"Found {lines} in {files} for `{arguments.query}` in `{found.named}`."
    rows = [f"{hit.file}:{hit.line}: {hit.text}" for hit in found.hits]
    data: dict[str, Json] = {
        "query": arguments.query,
        "path": found.named,
        "total_matches": found.total_lines,
        "total_files": found.total_files,
        "truncated": not found.is_whole,
        "matches": [{"file": hit.file, "line": hit.line, "text": hit.text} for hit in found.hits],
    }
    envelope = Envelope(
        status="success" if found.is_whole else "partial",
        text="\n".join([head, *rows, *(f"({note})" for note in notes)]),
        data=data,
        context={"path": found.named},
    )
    return answered(envelope, f"{lines} in {files}")
