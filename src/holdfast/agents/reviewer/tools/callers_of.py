"""callers_of: the places that use a name, each with the function around it.

Rule: a matching word is an occurrence of the name, not proof of a call; what is known about it (a definition, an
import, a comment) is reported, and totals count all occurrences.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from holdfast.agents.reviewer.tools.review_files import DiskVersions, ReviewFiles
from holdfast.agents.reviewer.tools.search_in_project import (
    MatchingLine,
    MatchingLines,
    ProjectSearch,
    file_notes,
)
from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.review.file_types import detect_language
from holdfast.review.outline import Outline, Outliner, innermost_symbol
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.search.ripgrep import SearchPattern
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "callers_of"
MOST_READ = 300
MOST_SHOWN = 80
_SCOPES = re.compile(r"\.|::|->|#(?=\w)")

Kind = Literal["use", "definition", "import", "comment"]


class CallersArguments(Struct, frozen=True, forbid_unknown_fields=True):
    symbol: Annotated[
        str, Meta(min_length=1, max_length=200, description="A name, such as `parse` or `Loader.load`.")
    ]
    path: Annotated[str, Meta(description="Folder or file to look in; the whole project if left out.")] = ""


class Occurrence(Struct, frozen=True):
    """A line with the name; `inside` is the function or class around it, empty if unknown."""

    file: str
    line: int
    text: str
    kind: Kind
    inside: str = ""

    @property
    def row(self) -> str:
        inside = f"in {self.inside}: " if self.inside else ""
        return f"{self.file}:{self.line}: {'imported: ' if self.kind == 'import' else inside}{self.text}"


def callers_of_tool(files: ReviewFiles) -> Tool:
    work = partial(callers_of, files=files)
    return TypedTool(NAME, CallersArguments, prompt_beside(__file__), work, is_read_only=True)


async def callers_of(arguments: CallersArguments, workspace: Workspace, *, files: ReviewFiles) -> ToolResult:
    name = _SCOPES.split(arguments.symbol.strip().removesuffix("()"))[-1]
    if not name or "\n" in name:
        raise ToolError("INVALID_PARAM", f"`{arguments.symbol}` names nothing that could be looked for")
    search = ProjectSearch(workspace, files, SearchPattern(_word(name)), arguments.path or ".")
    found = await search.find(MOST_READ)
    occurrences = await asyncio.to_thread(_classify, found.lines, name, workspace)
    notes = await asyncio.to_thread(lambda: list(file_notes(found.lines, files)))
    return _result(name, found, occurrences, notes)


def _word(name: str) -> str:
    """A pattern for the name as a whole word."""
    if re.fullmatch(r"\w+", name):
        return rf"\b{name}\b"
    return rf"(?<!\w){re.escape(name)}(?!\w)"


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
        kind: Kind = "use"
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


def _result(
    name: str, found: MatchingLines, occurrences: Sequence[Occurrence], notes: list[str]
) -> ToolResult:
    using = [one for one in occurrences if one.kind in ("use", "import")]
    definitions = [one for one in occurrences if one.kind == "definition"]
    comments = sum(one.kind == "comment" for one in occurrences)
    shown = using[:MOST_SHOWN]
    is_whole = found.is_whole and len(shown) == len(using)
    if comments:
        notes.append(f"{count_noun(comments, 'line')} of comments with the name left out")
    if len(shown) < len(using):
        notes.append(f"{len(shown)} of {len(using)} places are shown; narrow the search with `path`")
    if not found.is_whole:
        few = f"{len(found.lines)} of {found.total_lines} lines were looked at"
        notes.append(f"{few}; narrow the search with `path`" + (f" ({found.cut})" if found.cut else ""))
    places = count_noun(len(using), "place")
    total = places if found.is_whole else f"at least {places}"
    files = count_noun(len({one.file for one in using}), "file")
    lines = f"{count_noun(found.total_lines, 'line')} of {count_noun(found.total_files, 'file')}"
    head = f"`{name}` is used in {total} in {files}; the word stands in {lines}."
    rows = [f"defined: {one.file}:{one.line}: {one.text}" for one in definitions[:MOST_SHOWN]]
    rows += [one.row for one in shown]
    data: dict[str, Json] = {
        "symbol": name,
        "total_matches": found.total_lines,
        "total_files": found.total_files,
        "total_uses": len(using),
        "truncated": not is_whole,
        "definitions": [asdict(one) for one in definitions],
        "uses": [asdict(one) for one in shown],
        "comments": comments,
    }
    text, context = "\n".join([head, *rows, *(f"({note})" for note in notes)]), {"path": found.named}
    return tool_result(text, f"{total} in {files}", data=data, context=context, is_partial=not is_whole)
