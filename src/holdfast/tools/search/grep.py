"""Grep: lines that match a pattern, in the files of a folder.

Rule: the totals are those of the whole search, however few lines are shown. Two passes keep it cheap: the first
counts, the second gets the lines of the chosen files.
"""

import asyncio
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
    SearchPattern,
    count_unreadable,
    find_ripgrep,
    pattern_error,
    read_binaries,
    read_counts,
    run_program,
)
from holdfast.tools.search.search_folder import (
    MOST_BY_TIME,
    FileOrder,
    expect_glob,
    expect_pattern,
    expect_text,
    filter_paths,
    open_search_folder,
)
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

SECONDS = 30.0


class GrepArguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(description="Regular expression (Rust syntax), matched line by line.")]
    path: Annotated[str, Meta(description="Folder or file to search; the workspace's root if left out.")] = (
        "."
    )
    glob: Annotated[
        str, Meta(description="Only files whose path matches, such as `*.py` or `src/**/*.{ts,tsx}`.")
    ] = ""
    literal: Annotated[bool, Meta(description="Take the pattern as plain text.")] = False
    ignore_case: Annotated[bool, Meta(description="Upper and lower case are the same.")] = False
    context: Annotated[int, Meta(ge=0, le=10, description="Lines to show around each match.")] = 0
    show: Annotated[
        Literal["lines", "files"], Meta(description="Matching lines, or only files with their counts.")
    ] = "lines"
    sort: Annotated[
        FileOrder,
        Meta(description="Which files come first: most relevant, newest, or in the order of paths."),
    ] = "relevance"
    include_ignored: Annotated[bool, Meta(description="Also search what `.gitignore` leaves out.")] = False
    max_results: Annotated[
        int, Meta(ge=1, le=500, description="Most lines (or files) to show; totals are always true.")
    ] = 100


def grep_tool(searcher: Ripgrep | None = None, seconds: float = SECONDS) -> Tool:
    work = partial(grep, searcher=searcher or find_ripgrep(), seconds=seconds)
    return TypedTool("Grep", GrepArguments, prompt_beside(__file__), work, is_read_only=True)


async def grep(
    arguments: GrepArguments, workspace: Workspace, *, searcher: Ripgrep, seconds: float
) -> ToolResult:
    expect_pattern(arguments.pattern)
    if arguments.glob:
        expect_glob(arguments.glob)
    matching = SearchPattern(arguments.pattern, arguments.literal, arguments.ignore_case)
    with open_search_folder(workspace, arguments.path) as found:
        if found.target != "./":
            expect_text(workspace, arguments.path)
        walking = FileWalk(found.target, arguments.include_ignored, name_glob(arguments.glob))
        counting = await run_program(searcher.counts(matching, walking), found.handle, seconds)
        # Files that could not be read are no reason to stop.
        has_failed = counting.code >= 2 and not counting.cut and not counting.output
        if has_failed and (trouble := pattern_error(counting.errors)):
            raise ToolError(
                "INVALID_PARAM",
                f"`pattern` is not a valid regular expression: {trouble}",
                hint="Escape special characters, or set `literal`",
            )
        counts, binaries = await asyncio.to_thread(_read, counting, arguments.glob)
        if counting.cut and not counts:
            raise ToolError("TIMEOUT", counting.cut, hint="Search a smaller folder or use `glob`")
        ordered = await asyncio.to_thread(found.order_files, counts, arguments.pattern, arguments.sort)
        most = arguments.max_results
        if arguments.show == "lines":
            items, files = await found.find_lines(
                searcher, matching, counts, ordered, most, seconds, arguments.context
            )
        else:
            names = await asyncio.to_thread(found.recheck, ordered, most)
            items = [{"file": found.shown(name), "matches": counts[name]} for name in names]
            files = len(items)
    return _result(arguments, found.named, counting, counts, binaries, items, files)


def _read(finished: ProgramOutput, glob: str) -> tuple[dict[str, int], int]:
    counts = read_counts(finished.output)
    binaries = read_binaries(finished.errors)
    if not glob:
        return counts, len(binaries)
    return {path: counts[path] for path in filter_paths(counts, glob)}, len(filter_paths(binaries, glob))


def _row(item: dict[str, Json]) -> str:
    """`file:12: text` for a match, `file-11- text` around one, as every grep writes them; `file: 3` for a file."""
    if "matches" in item:
        return f"{item['file']}: {item['matches']}"
    mark = ":" if item["is_match"] else "-"
    return f"{item['file']}{mark}{item['line']}{mark} {item['text']}"


def _result(
    arguments: GrepArguments,
    named: str,
    counting: ProgramOutput,
    counts: dict[str, int],
    binaries: int,
    items: list[dict[str, Json]],
    shown_files: int,
) -> ToolResult:
    """`items` are what is shown, lines of so many files or the files themselves."""
    total, cut, unreadable = sum(counts.values()), counting.cut, count_unreadable(counting.errors)
    lines, files = count_noun(total, "matching line"), count_noun(len(counts), "file")
    if arguments.show == "files":
        rest = f"{shown_files} of {len(counts)} files are shown" if shown_files < len(counts) else ""
    else:
        shown = sum(item["is_match"] for item in items)
        what = f"{shown} of {total} matching lines are shown, from {shown_files} of {files}"
        rest = what if shown < total else ""
    notes = [
        arguments.sort == "mtime"
        and len(counts) > MOST_BY_TIME
        and f"sorted by relevance: more than {MOST_BY_TIME} files are not sorted by time",
        rest and f"{rest}; narrow the search with `path`, `glob` or a longer pattern",
        cut and f"{cut}: there may be more, and the totals are at least",
        unreadable and f"{count_noun(unreadable, 'file')} could not be read",
        binaries and f"{count_noun(binaries, 'binary file')} skipped",
    ]
    head = f"Found {lines} in {files} for `{arguments.pattern}` in `{named}`."
    text = "\n".join([head, *map(_row, items), *(f"({note})" for note in notes if note)])
    data: dict[str, Json] = {
        "pattern": arguments.pattern,
        "path": named,
        "total_matches": total,
        "total_files": len(counts),
        "truncated": bool(rest or cut),
        "binary_files_skipped": binaries,
        "matches" if arguments.show == "lines" else "files": items,
    }
    is_partial = bool(rest or cut or unreadable)
    return tool_result(text, f"{lines} in {files}", data=data, context={"path": named}, is_partial=is_partial)
