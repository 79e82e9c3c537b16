"""Lines of the project that match, those of changed files first.

Rule: totals are true however few lines are given back, and files that the change leaves alone always get a share.
"""

import asyncio
from collections.abc import Collection, Iterable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.search import ripgrep
from holdfast.tools.search.file_order import FileChoice, choose_files
from holdfast.tools.search.ripgrep import ProgramOutput, Ripgrep, SearchPattern, run_program
from holdfast.tools.search.search_folder import (
    SearchFolder,
    count_noun,
    expect_pattern,
    expect_text,
    open_search_folder,
    read_lines,
)
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

SECONDS = 30.0


class LineQuery(Struct, frozen=True):
    """`names` is a glob over file names, empty for all; `most` is the most lines that are given back."""

    matching: ripgrep.SearchPattern
    most: int
    path: str = "."
    names: str = ""


class MatchingLine(Struct, frozen=True):
    file: str
    line: int
    text: str


class MatchingLines(Struct, frozen=True):
    """`named` is where was looked; `cut` says why the totals are at least."""

    named: str
    total_lines: int
    total_files: int
    hits: tuple[MatchingLine, ...]
    cut: str = ""

    @property
    def is_whole(self) -> bool:
        return len(self.hits) == self.total_lines and not self.cut


class ProjectSearch(Struct, frozen=True):
    """Who looks, where, and which files come first."""

    workspace: Workspace
    searcher: Ripgrep
    changed: Collection[str] = ()


async def count_lines(looking: ProjectSearch, wanted: LineQuery) -> tuple[dict[str, int], str]:
    """How many lines match in which files, as tools name them; and why there may be more."""
    with open_search_folder(looking.workspace, wanted.path) as found:
        counts, cut = await _counts(looking, wanted, found)
        return {found.shown(path): number for path, number in counts.items()}, cut


async def find_lines(looking: ProjectSearch, wanted: LineQuery) -> MatchingLines:
    with open_search_folder(looking.workspace, wanted.path) as found:
        if found.target != "./":
            expect_text(looking.workspace, wanted.path)
        counts, cut = await _counts(looking, wanted, found)
        ours = {path: n for path, n in counts.items() if found.shown(path) in looking.changed}
        others = {path: n for path, n in counts.items() if path not in ours}
        share = min(sum(others.values()), wanted.most // 3)
        hits = await _lines(looking, wanted, found, ours, wanted.most - share)
        hits += await _lines(looking, wanted, found, others, wanted.most - len(hits))
        return MatchingLines(found.named, sum(counts.values()), len(counts), tuple(hits), cut)


async def _counts(
    looking: ProjectSearch, wanted: LineQuery, found: SearchFolder
) -> tuple[dict[str, int], str]:
    expect_pattern(wanted.matching.pattern)
    walking = ripgrep.FileWalk(found.target, names=wanted.names)
    finished = await run_program(looking.searcher.counts(wanted.matching, walking), found.handle, SECONDS)
    _expect_answer(finished)
    counts = await asyncio.to_thread(ripgrep.read_counts, finished.output)
    if finished.cut and not counts:
        raise ToolError("TIMEOUT", finished.cut, hint="Search a smaller folder")
    return counts, finished.cut


def _expect_answer(finished: ProgramOutput) -> None:
    if finished.code < 2 or finished.cut or finished.output:
        return
    if trouble := ripgrep.pattern_error(finished.errors):
        raise ToolError("INVALID_PARAM", f"this is no valid regular expression: {trouble}")


async def _lines(
    looking: ProjectSearch, wanted: LineQuery, found: SearchFolder, counts: dict[str, int], most: int
) -> list[MatchingLine]:
    """The lines of these files, at most so many, in the order in which the files matter."""
    if not counts or most < 1:
        return []
    asked = FileChoice(wanted.matching, "relevance", most)
    chosen = await asyncio.to_thread(choose_files, counts, found.descriptor, asked)
    picking = ripgrep.LineRequest(chosen.shown, chosen.cap)
    picked = await run_program(looking.searcher.positions(wanted.matching, picking), found.handle, SECONDS)
    return await asyncio.to_thread(_read, looking.workspace, found, picking, picked)


def _read(
    workspace: Workspace, found: SearchFolder, picking: ripgrep.LineRequest, picked: ProgramOutput
) -> list[MatchingLine]:
    by_file: dict[str, list[ripgrep.MatchPosition]] = {name: [] for name in picking.files}
    for position in ripgrep.read_positions(picked.output):
        by_file.get(position.path, []).append(position)
    return [
        MatchingLine(line["file"], line["line"], line["text"])
        for positions in by_file.values()
        if positions
        for line in read_lines(workspace, found.place.path, positions) or ()
    ]


# search_in_project: lines of the project that hold a text, those of changed files first.
#
# Rule: the search is Grep's; what is different is the order. A line of a changed file that is not the one under
# review is said to be so.

NAME = "search_in_project"


class SearchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="One line of text to look for.")]
    path: Annotated[str, Meta(description="Folder or file; the project's root if left out.")] = "."
    is_regex: Annotated[bool, Meta(description="Take the query as a regular expression.")] = False
    limit: Annotated[int, Meta(ge=1, le=500, description="Most lines to show; totals are true.")] = 50


def search_in_project_tool(shelf: ReviewFiles, searcher: Ripgrep) -> Tool:
    work = partial(search_in_project, shelf=shelf, searcher=searcher)
    return TypedTool(NAME, SearchArguments, prompt_beside(__file__), work, is_read_only=True)


async def search_in_project(
    arguments: SearchArguments, workspace: Workspace, *, shelf: ReviewFiles, searcher: Ripgrep
) -> ToolResult:
    looking = ProjectSearch(workspace, searcher, shelf.changed)
    matching = SearchPattern(arguments.query, literal=not arguments.is_regex)
    found = await find_lines(looking, LineQuery(matching, arguments.limit, arguments.path))
    notes = await asyncio.to_thread(lambda: list(about_files(found.hits, shelf)))
    return _result(arguments, found, notes)


def about_files(hits: Iterable[MatchingLine], shelf: ReviewFiles) -> Iterable[str]:
    """Which of the files with hits the change touches, and which of these are others on the disk."""
    files = dict.fromkeys(hit.file for hit in hits if hit.file in shelf.changed)
    if files:
        yield f"changed by this diff: {', '.join(f'`{file}`' for file in files)}"
    ours = (hit for hit in hits if hit.file in files)
    other = dict.fromkeys(hit.file for hit in ours if not shelf.holds(hit.file, hit.line, hit.text))
    if other:
        named = ", ".join(f"`{file}`" for file in other)
        yield f"on the disk these are not the versions under review: {named}; read them with `read_file_hunk`"


def _result(arguments: SearchArguments, found: MatchingLines, notes: list[str]) -> ToolResult:
    lines, files = count_noun(found.total_lines, "matching line"), count_noun(found.total_files, "file")
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
    return build_result(envelope, f"{lines} in {files}")
