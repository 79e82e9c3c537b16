"""search_in_project: lines of the project that match, those of changed files first. callers_of: the places that use
a name, each with the function around it.

Rule: the search is Grep's; only the order differs. Totals are true however few lines are returned, and files that
the change does not touch always get a share. A line of a changed file that differs from the version under review
is reported as such. A matching word is an occurrence of a name, not proof of a call; what is known about it (a
definition, an import, a comment) is reported.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from holdfast.agents.reviewer.tools.review_files import DiskVersions, ReviewFiles, listing_result
from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.review.file_types import detect_language
from holdfast.review.outline import Outline, Outliner, innermost_symbol
from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.search import ripgrep
from holdfast.tools.search.ripgrep import SearchPattern, run_program
from holdfast.tools.search.search_folder import (
    SearchFolder,
    expect_pattern,
    expect_text,
    open_search_folder,
)
from holdfast.tools.workspace import Workspace

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
            raise ToolError("INVALID_PARAM", f"this is not a valid regular expression: {problem}")
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


async def search_in_project(
    arguments: SearchArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    pattern = SearchPattern(arguments.query, literal=not arguments.is_regex)
    found = await ProjectSearch(workspace, files, pattern, arguments.path).find(arguments.limit)
    notes = await asyncio.to_thread(_file_notes, found.lines, files)
    if not found.is_whole:
        few = f"{len(found.lines)} of {found.total_lines} matching lines are shown"
        notes.append(f"{few}; narrow the search with `path` or a longer `query`")
    if found.cut:
        notes.append(f"{found.cut}: there may be more, and the totals are at least")
    total = f"{count_noun(found.total_lines, 'matching line')} in {count_noun(found.total_files, 'file')}"
    head = f"Found {total} for `{arguments.query}` in `{found.named}`."
    data: dict[str, Json] = {
        "query": arguments.query,
        "path": found.named,
        "total_matches": found.total_lines,
        "total_files": found.total_files,
        "matches": [asdict(one) for one in found.lines],
    }
    rows = [head, *(f"{one.file}:{one.line}: {one.text}" for one in found.lines)]
    return listing_result(rows, notes, data, is_whole=found.is_whole, path=found.named, shown=total)


def _file_notes(lines: Sequence[MatchingLine], files: ReviewFiles) -> list[str]:
    """Which of the files the change touches, and which of these differ on disk from the version under review."""
    changed = [line for line in lines if line.file in files.changed]
    differ = [line for line in changed if not files.has_line(line.file, line.line, line.text)]
    notes = []
    if changed:
        notes.append(f"changed by this diff: {_names(changed)}")
    if differ:
        said = f"these files differ on disk from the versions under review: {_names(differ)}"
        notes.append(f"{said}; read them with `read_file_hunk`")
    return notes


def _names(lines: Sequence[MatchingLine]) -> str:
    return ", ".join(f"`{file}`" for file in dict.fromkeys(line.file for line in lines))


MOST_READ = 300
MOST_SHOWN = 80
_SCOPES = re.compile(r"\.|::|->|#(?=\w)")

OccurrenceKind = Literal["use", "definition", "import", "comment"]


class CallersArguments(Struct, frozen=True, forbid_unknown_fields=True):
    symbol: Annotated[
        str, Meta(min_length=1, max_length=200, description="A name, such as `parse` or `Loader.load`.")
    ]
    path: Annotated[str, Meta(description="Folder or file to look in; the whole project if left out.")] = ""


class Occurrence(MatchingLine, frozen=True):
    """A line with the name; `inside` is the function or class around it, empty if unknown."""

    kind: OccurrenceKind
    inside: str = ""


async def callers_of(arguments: CallersArguments, workspace: Workspace, *, files: ReviewFiles) -> ToolResult:
    name = _SCOPES.split(arguments.symbol.strip().removesuffix("()"))[-1]
    if not name or "\n" in name:
        raise ToolError("INVALID_PARAM", f"`{arguments.symbol}` is not a name that can be searched for")
    # The name as a whole word.
    word = rf"\b{name}\b" if re.fullmatch(r"\w+", name) else rf"(?<!\w){re.escape(name)}(?!\w)"
    search = ProjectSearch(workspace, files, SearchPattern(word), arguments.path or ".")
    found = await search.find(MOST_READ)
    occurrences = await asyncio.to_thread(_classify, found.lines, name, workspace)
    notes = await asyncio.to_thread(_file_notes, found.lines, files)
    return _callers_result(name, found, occurrences, notes)


def _classify(lines: Sequence[MatchingLine], name: str, workspace: Workspace) -> list[Occurrence]:
    with Outliner() as outliner:
        return [
            occurrence
            for file, group in groupby(lines, key=lambda line: line.file)
            for occurrence in _kinds(list(group), name, _outline(outliner, file, workspace))
        ]


def _outline(outliner: Outliner, file: str, workspace: Workspace) -> Outline:
    try:
        text = DiskVersions(workspace).new(file)
    except ToolError:
        return Outline()
    return outliner.outline(text, detect_language(file, text)) or Outline()


def _kinds(lines: Sequence[MatchingLine], name: str, outline: Outline) -> Iterator[Occurrence]:
    defined = _definitions(lines, name, outline)
    for one in lines:
        symbol = innermost_symbol(outline.symbols, one.line, one.line)
        kind: OccurrenceKind = "use"
        if one.line in outline.comments:
            kind = "comment"
        elif one.line in defined:
            kind = "definition"
        elif one.line in outline.imports:
            kind = "import"
        yield Occurrence(one.file, one.line, one.text, kind, symbol.name if symbol else "")


def _definitions(lines: Sequence[MatchingLine], name: str, outline: Outline) -> set[int]:
    """For each symbol of this name, its first line with the name: only comments and decorators are above."""
    numbers = [
        one.line
        for one in lines
        if one.line not in outline.comments and not one.text.lstrip().startswith("@")
    ]
    spans = [symbol.span for symbol in outline.symbols if _SCOPES.split(symbol.name)[-1] == name]
    firsts = (next((n for n in numbers if span.first <= n <= span.last), 0) for span in spans)
    return {number for number in firsts if number}


def _callers_result(
    name: str, found: MatchingLines, occurrences: Sequence[Occurrence], notes: list[str]
) -> ToolResult:
    using = [one for one in occurrences if one.kind in ("use", "import")]
    definitions = [one for one in occurrences if one.kind == "definition"]
    comments = sum(one.kind == "comment" for one in occurrences)
    shown = using[:MOST_SHOWN]
    if comments:
        notes.append(f"{count_noun(comments, 'line')} of comments with the name left out")
    if len(shown) < len(using):
        notes.append(f"{len(shown)} of {len(using)} places are shown; narrow the search with `path`")
    if not found.is_whole:
        few = f"{len(found.lines)} of {found.total_lines} lines were looked at"
        notes.append(f"{few}; narrow the search with `path`" + (f" ({found.cut})" if found.cut else ""))
    files = count_noun(len({one.file for one in using}), "file")
    total = f"{'' if found.is_whole else 'at least '}{count_noun(len(using), 'place')} in {files}"
    lines = f"{count_noun(found.total_lines, 'line')} of {count_noun(found.total_files, 'file')}"
    rows = [f"`{name}` is used in {total}; the word occurs in {lines}."]
    rows += [f"defined: {one.file}:{one.line}: {one.text}" for one in definitions[:MOST_SHOWN]]
    for one in shown:
        inside = f"in {one.inside}: " if one.inside else ""
        rows.append(f"{one.file}:{one.line}: {'imported: ' if one.kind == 'import' else inside}{one.text}")
    data: dict[str, Json] = {
        "symbol": name,
        "total_matches": found.total_lines,
        "total_files": found.total_files,
        "total_uses": len(using),
        "definitions": [asdict(one) for one in definitions],
        "uses": [asdict(one) for one in shown],
        "comments": comments,
    }
    is_whole = found.is_whole and len(shown) == len(using)
    return listing_result(rows, notes, data, is_whole=is_whole, path=found.named, shown=total)
