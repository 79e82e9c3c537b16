"""search_in_project: lines of the project that match, those of changed files first.

Rule: the search is Grep's; only the order differs. Totals are true however few lines are returned, and files that
the change does not touch always get a share. A line of a changed file that differs from the version under review
is reported as such.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.search import ripgrep
from holdfast.tools.search.ripgrep import SearchPattern, run_program
from holdfast.tools.search.search_folder import SearchFolder, expect_pattern, expect_text, open_search_folder
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "search_in_project"
SECONDS = 30.0


class SearchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="One line of text to look for.")]
    path: Annotated[str, Meta(description="Folder or file; the project's root if left out.")] = "."
    is_regex: Annotated[bool, Meta(description="Take the query as a regular expression.")] = False
    limit: Annotated[int, Meta(ge=1, le=500, description="Most lines to show; totals are true.")] = 50


class MatchingLine(Struct, frozen=True):
    file: str
    line: int
    text: str


class MatchingLines(Struct, frozen=True):
    """`named` is the folder or file that was searched; `cut` says why there may be more than the totals."""

    named: str
    total_lines: int
    total_files: int
    lines: tuple[MatchingLine, ...]
    cut: str = ""

    @property
    def is_whole(self) -> bool:
        return len(self.lines) == self.total_lines and not self.cut


class ProjectSearch(Struct, frozen=True):
    """A search for a pattern below `path`, in files whose name matches the glob `names`, if there is one."""

    workspace: Workspace
    files: ReviewFiles
    pattern: SearchPattern
    path: str = "."
    names: str = ""

    async def count(self) -> tuple[dict[str, int], str]:
        """How many lines match in each file, by the name that tools use; and why there may be more."""
        with open_search_folder(self.workspace, self.path) as folder:
            counts, cut = await self._counts(folder)
            return {folder.shown(path): number for path, number in counts.items()}, cut

    async def find(self, most: int) -> MatchingLines:
        """The matching lines, at most so many."""
        with open_search_folder(self.workspace, self.path) as folder:
            if folder.target != "./":
                expect_text(self.workspace, self.path)
            counts, cut = await self._counts(folder)
            changed = {path: n for path, n in counts.items() if folder.shown(path) in self.files.changed}
            others = {path: n for path, n in counts.items() if path not in changed}
            share = min(sum(others.values()), most // 3)
            lines = await self._lines(folder, changed, most - share)
            lines += await self._lines(folder, others, most - len(lines))
            return MatchingLines(folder.named, sum(counts.values()), len(counts), tuple(lines), cut)

    async def _counts(self, folder: SearchFolder) -> tuple[dict[str, int], str]:
        expect_pattern(self.pattern.pattern)
        walk = ripgrep.FileWalk(folder.target, names=self.names)
        output = await run_program(self.files.program.counts(self.pattern, walk), folder.handle, SECONDS)
        has_failed = output.code >= 2 and not output.cut and not output.output
        if has_failed and (problem := ripgrep.pattern_error(output.errors)):
            raise ToolError("INVALID_PARAM", f"this is no valid regular expression: {problem}")
        counts = await asyncio.to_thread(ripgrep.read_counts, output.output)
        if output.cut and not counts:
            raise ToolError("TIMEOUT", output.cut, hint="Search a smaller folder")
        return counts, output.cut

    async def _lines(self, folder: SearchFolder, counts: dict[str, int], most: int) -> list[MatchingLine]:
        """The lines of these files, at most so many, the most relevant files first."""
        if not counts or most < 1:
            return []
        ordered = await asyncio.to_thread(folder.order_files, counts, self.pattern.pattern, "relevance")
        lines, _ = await folder.find_lines(self.files.program, self.pattern, counts, ordered, most, SECONDS)
        return [MatchingLine(line["file"], line["line"], line["text"]) for line in lines]


def search_in_project_tool(files: ReviewFiles) -> Tool:
    work = partial(search_in_project, files=files)
    return TypedTool(NAME, SearchArguments, prompt_beside(__file__), work, is_read_only=True)


async def search_in_project(
    arguments: SearchArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    pattern = SearchPattern(arguments.query, literal=not arguments.is_regex)
    found = await ProjectSearch(workspace, files, pattern, arguments.path).find(arguments.limit)
    notes = await asyncio.to_thread(lambda: list(file_notes(found.lines, files)))
    return _result(arguments, found, notes)


def file_notes(lines: Iterable[MatchingLine], files: ReviewFiles) -> Iterable[str]:
    """Which of the files the change touches, and which of these differ on disk from the version under review."""
    changed = dict.fromkeys(line.file for line in lines if line.file in files.changed)
    if changed:
        yield f"changed by this diff: {', '.join(f'`{file}`' for file in changed)}"
    in_changed = (line for line in lines if line.file in changed)
    others = dict.fromkeys(one.file for one in in_changed if not files.has_line(one.file, one.line, one.text))
    if others:
        named = ", ".join(f"`{file}`" for file in others)
        yield f"on the disk these are not the versions under review: {named}; read them with `read_file_hunk`"


def _result(arguments: SearchArguments, found: MatchingLines, notes: list[str]) -> ToolResult:
    lines, files = count_noun(found.total_lines, "matching line"), count_noun(found.total_files, "file")
    if not found.is_whole:
        few = f"{len(found.lines)} of {found.total_lines} matching lines are shown"
        notes.append(f"{few}; narrow the search with `path` or a longer `query`")
    if found.cut:
        notes.append(f"{found.cut}: there may be more, and the totals are at least")
    head = f"Found {lines} in {files} for `{arguments.query}` in `{found.named}`."
    rows = [f"{one.file}:{one.line}: {one.text}" for one in found.lines]
    data: dict[str, Json] = {
        "query": arguments.query,
        "path": found.named,
        "total_matches": found.total_lines,
        "total_files": found.total_files,
        "truncated": not found.is_whole,
        "matches": [{"file": one.file, "line": one.line, "text": one.text} for one in found.lines],
    }
    text, context = "\n".join([head, *rows, *(f"({note})" for note in notes)]), {"path": found.named}
    return tool_result(text, f"{lines} in {files}", data=data, context=context, is_partial=not found.is_whole)
