"""Grep: lines that match a pattern, in the files of a folder.

Rule: the totals are those of the whole search, however few lines are shown. Two passes keep it cheap: the first
counts, the second gets the lines of the chosen files.
"""

import asyncio
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.search.file_order import (
    MOST_BY_TIME,
    ChosenFiles,
    FileChoice,
    FileOrder,
    choose_files,
)
from holdfast.tools.search.path_patterns import name_glob
from holdfast.tools.search.ripgrep import (
    FileWalk,
    LineRequest,
    MatchPosition,
    ProgramOutput,
    Ripgrep,
    SearchPattern,
    count_unreadable,
    find_ripgrep,
    pattern_error,
    read_binaries,
    read_counts,
    read_positions,
    run_program,
)
from holdfast.tools.search.search_folder import (
    SearchFolder,
    count_noun,
    expect_glob,
    expect_pattern,
    expect_text,
    filter_paths,
    open_search_folder,
    read_lines,
    recheck_paths,
)
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

SECONDS = 30.0

_Number = Annotated[
    int, Meta(ge=1, le=500, description="Most lines (or files) to show; totals are always true.")
]


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
    max_results: _Number = 100


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
        _expect_answer(counting)
        counts, binaries = await asyncio.to_thread(_read, counting, arguments.glob)
        if counting.cut and not counts:
            raise ToolError("TIMEOUT", counting.cut, hint="Search a smaller folder or use `glob`")
        asked = FileChoice(matching, arguments.sort, arguments.max_results)
        chosen = await asyncio.to_thread(choose_files, counts, found.descriptor, asked)
        lines: list[dict[str, Json]] = []
        if arguments.show == "lines" and counts:
            picking = LineRequest(chosen.shown, chosen.cap, arguments.context)
            picked = await run_program(searcher.positions(matching, picking), found.handle, seconds)
            lines = await asyncio.to_thread(_texts, workspace, found, picking, picked)
    tally = _Tally(counts, binaries, count_unreadable(counting.errors), counting.cut)
    if arguments.show == "lines":
        return _result(arguments, found, tally, _shown_lines(lines, tally, chosen))
    names = await asyncio.to_thread(recheck_paths, workspace, found, chosen.order, arguments.max_results)
    return _result(arguments, found, tally, _shown_files(found, tally, names))


class _Tally(Struct, frozen=True):
    counts: dict[str, int]
    binaries: int
    unreadable: int
    cut: str

    @property
    def lines(self) -> int:
        return sum(self.counts.values())


def _expect_answer(finished: ProgramOutput) -> None:
    """INVALID_PARAM if ripgrep rejected the pattern; files that it could not read are no reason to stop."""
    if finished.code < 2 or finished.cut or finished.output:
        return
    if trouble := pattern_error(finished.errors):
        raise ToolError(
            "INVALID_PARAM",
            f"`pattern` is not a valid regular expression: {trouble}",
            hint="Escape special characters, or set `literal`",
        )


def _read(finished: ProgramOutput, glob: str) -> tuple[dict[str, int], int]:
    counts = read_counts(finished.output)
    binaries = read_binaries(finished.errors)
    if not glob:
        return counts, len(binaries)
    return {path: counts[path] for path in filter_paths(counts, glob)}, len(filter_paths(binaries, glob))


def _texts(
    workspace: Workspace, found: SearchFolder, picking: LineRequest, picked: ProgramOutput
) -> list[dict[str, Json]]:
    """The lines of the chosen files, in the order of the files."""
    by_file: dict[str, list[MatchPosition]] = {name: [] for name in picking.files}
    for position in read_positions(picked.output):
        by_file.get(position.path, []).append(position)
    lines: list[dict[str, Json]] = []
    for positions in by_file.values():
        if positions:
            lines += read_lines(workspace, found.place.path, positions) or []
    return lines


class _Shown(Struct, frozen=True):
    """What is shown: rows for the model, items for programs, and a sentence about what is left out."""

    key: str
    rows: list[str]
    items: list[dict[str, Json]]
    rest: str


def _shown_lines(lines: list[dict[str, Json]], tally: _Tally, chosen: ChosenFiles) -> _Shown:
    matches = sum(1 for line in lines if line["is_match"])
    of_files = f"{len(chosen.shown)} of {count_noun(len(tally.counts), 'file')}"
    rest = f"{matches} of {tally.lines} matching lines are shown, from {of_files}"
    return _Shown("matches", [_row(line) for line in lines], lines, rest if matches < tally.lines else "")


def _shown_files(found: SearchFolder, tally: _Tally, names: list[str]) -> _Shown:
    total = len(tally.counts)
    items: list[dict[str, Json]] = [
        {"file": found.shown(name), "matches": tally.counts[name]} for name in names
    ]
    rest = f"{len(items)} of {total} files are shown" if len(items) < total else ""
    return _Shown("files", [f"{item['file']}: {item['matches']}" for item in items], items, rest)


def _row(line: dict[str, Json]) -> str:
    """`file:12: text` for a match, `file-11- text` around one, as every grep writes them."""
    mark = ":" if line["is_match"] else "-"
    return f"{line['file']}{mark}{line['line']}{mark} {line['text']}"


def _result(arguments: GrepArguments, found: SearchFolder, tally: _Tally, shown: _Shown) -> ToolResult:
    lines, files = count_noun(tally.lines, "matching line"), count_noun(len(tally.counts), "file")
    unsorted = arguments.sort == "mtime" and len(tally.counts) > MOST_BY_TIME
    notes = [
        unsorted and f"sorted by relevance: more than {MOST_BY_TIME} files are not sorted by time",
        shown.rest and f"{shown.rest}; narrow the search with `path`, `glob` or a longer pattern",
        tally.cut and f"{tally.cut}: there may be more, and the totals are at least",
        tally.unreadable and f"{count_noun(tally.unreadable, 'file')} could not be read",
        tally.binaries and f"{count_noun(tally.binaries, 'binary file')} skipped",
    ]
    head = f"Found {lines} in {files} for `{arguments.pattern}` in `{found.named}`."
    text = "\n".join([head, *shown.rows, *(f"({note})" for note in notes if note)])
    data: dict[str, Json] = {
        "pattern": arguments.pattern,
        "path": found.named,
        "total_matches": tally.lines,
        "total_files": len(tally.counts),
        "truncated": bool(shown.rest or tally.cut),
        "binary_files_skipped": tally.binaries,
        shown.key: shown.items,
    }
    whole = not (shown.rest or tally.cut or tally.unreadable)
    envelope = Envelope(
        status="success" if whole else "partial", text=text, data=data, context={"path": found.named}
    )
    return build_result(envelope, f"{lines} in {files}")
