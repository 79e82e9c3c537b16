"""callers_of: the places that use a name, with the function each stands in.

Rule: a word that matches is a place where the name stands, not proof of a call; what could be told of it (a
definition, an import, a comment) is said, and totals are those of all places.
"""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Annotated, Literal

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.review_files import DiskVersions, ReviewFiles
from holdfast.agents.reviewer.tools.search_in_project import (
    LineQuery,
    MatchingLine,
    MatchingLines,
    ProjectSearch,
    about_files,
    find_lines,
)
from holdfast.messages import Json
from holdfast.review.file_types import detect_language
from holdfast.review.outline import Outline, innermost_symbol
from holdfast.review.outliner import Outliner
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.search.ripgrep import Ripgrep, SearchPattern
from holdfast.tools.search.search_folder import count_noun
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "callers_of"
MOST_LOOKED_AT = 300
MOST_SHOWN = 80
_SCOPES = re.compile(r"\.|::|->|#(?=\w)")

Kind = Literal["use", "definition", "import", "comment"]


class CallersArguments(Struct, frozen=True, forbid_unknown_fields=True):
    symbol: Annotated[
        str, Meta(min_length=1, max_length=200, description="A name, such as `parse` or `Loader.load`.")
    ]
    path: Annotated[str, Meta(description="Folder or file to look in; the whole project if left out.")] = ""


class Occurrence(Struct, frozen=True):
    """Where the name stands; `inside` is the function or class around it, empty where that is not known."""

    hit: MatchingLine
    kind: Kind
    inside: str = ""


def callers_of_tool(shelf: ReviewFiles, searcher: Ripgrep) -> Tool:
    work = partial(callers_of, shelf=shelf, searcher=searcher)
    return TypedTool(NAME, CallersArguments, prompt_beside(__file__), work, is_read_only=True)


async def callers_of(
    arguments: CallersArguments, workspace: Workspace, *, shelf: ReviewFiles, searcher: Ripgrep
) -> ToolResult:
    name = _SCOPES.split(arguments.symbol.strip().removesuffix("()"))[-1]
    if not name or "\n" in name:
        raise ToolError("INVALID_PARAM", f"`{arguments.symbol}` names nothing that could be looked for")
    looking = ProjectSearch(workspace, searcher, shelf.changed)
    wanted = LineQuery(SearchPattern(_word(name)), MOST_LOOKED_AT, arguments.path or ".")
    found = await find_lines(looking, wanted)
    places = await asyncio.to_thread(_told_apart, found.hits, name, workspace)
    notes = await asyncio.to_thread(lambda: list(about_files(found.hits, shelf)))
    return _result(name, found, places, notes)


def _word(name: str) -> str:
    """A pattern for the name where no letter stands beside it."""
    if re.fullmatch(r"\w+", name):
        return rf"\b{name}\b"
    return rf"(?<!\w){re.escape(name)}(?!\w)"


def _told_apart(hits: Sequence[MatchingLine], name: str, workspace: Workspace) -> list[Occurrence]:
    places: list[Occurrence] = []
    with Outliner() as outliner:
        for file, group in groupby(hits, key=lambda hit: hit.file):
            own = list(group)
            outline = _outline(outliner, file, workspace)
            places += _kinds(own, name, outline) if outline else [Occurrence(hit, "use") for hit in own]
    return places


def _outline(outliner: Outliner, file: str, workspace: Workspace) -> Outline | None:
    try:
        text = DiskVersions(workspace).new(file)
    except ToolError:
        return None
    return outliner.outline(text, detect_language(file, text))


def _kinds(hits: Sequence[MatchingLine], name: str, outline: Outline) -> list[Occurrence]:
    defined = _definitions(hits, name, outline)
    places: list[Occurrence] = []
    for hit in hits:
        symbol = innermost_symbol(outline.symbols, hit.line, hit.line)
        kind: Kind = "use"
        if hit.line in outline.comments:
            kind = "comment"
        elif hit.line in defined:
            kind = "definition"
        elif hit.line in outline.imports:
            kind = "import"
        places.append(Occurrence(hit, kind, symbol.name if symbol else ""))
    return places


def _definitions(hits: Sequence[MatchingLine], name: str, outline: Outline) -> set[int]:
    """Of each symbol of the name, the first line that has it: above are only its comment and its decorators."""
    lines = [
        hit.line for hit in hits if hit.line not in outline.comments and not hit.text.lstrip().startswith("@")
    ]
    own = [symbol.span for symbol in outline.symbols if _SCOPES.split(symbol.name)[-1] == name]
    firsts = (next((line for line in lines if span.first <= line <= span.last), 0) for span in own)
    return {line for line in firsts if line}


def _result(name: str, found: MatchingLines, places: Sequence[Occurrence], notes: list[str]) -> ToolResult:
    by_kind = {
        kind: [p for p in places if p.kind == kind] for kind in ("use", "import", "definition", "comment")
    }
    using = [p for p in places if p.kind in ("use", "import")]
    shown = using[:MOST_SHOWN]
    is_whole = found.is_whole and len(shown) == len(using)
    if by_kind["comment"]:
        notes.append(f"{count_noun(len(by_kind['comment']), 'line')} of comments with the name left out")
    if len(shown) < len(using):
        notes.append(f"{len(shown)} of {len(using)} places are shown; narrow the search with `path`")
    if not found.is_whole:
        few = f"{len(found.hits)} of {found.total_lines} lines were looked at"
        notes.append(f"{few}; narrow the search with `path`" + (f" ({found.cut})" if found.cut else ""))
    total = (
        count_noun(len(using), "place") if found.is_whole else f"at least {count_noun(len(using), 'place')}"
    )
    files = count_noun(len({p.hit.file for p in using}), "file")
    stands = f"{count_noun(found.total_lines, 'line')} of {count_noun(found.total_files, 'file')}"
    head = f"`{name}` is used in {total} in {files}; the word stands in {stands}."
    rows = [f"defined: {p.hit.file}:{p.hit.line}: {p.hit.text}" for p in by_kind["definition"][:MOST_SHOWN]]
    rows += [_row(place) for place in shown]
    data: dict[str, Json] = {
        "symbol": name,
        "total_matches": found.total_lines,
        "total_files": found.total_files,
        "total_uses": len(using),
        "truncated": not is_whole,
        "definitions": [_plain(place) for place in by_kind["definition"]],
        "uses": [_plain(place) for place in shown],
        "comments": len(by_kind["comment"]),
    }
    envelope = Envelope(
        status="success" if is_whole else "partial",
        text="\n".join([head, *rows, *(f"({note})" for note in notes)]),
        data=data,
        context={"path": found.named},
    )
    return build_result(envelope, f"{total} in {files}")


def _row(place: Occurrence) -> str:
    hit = place.hit
    inside = f"in {place.inside}: " if place.inside else ""
    return f"{hit.file}:{hit.line}: {'imported: ' if place.kind == 'import' else inside}{hit.text}"


def _plain(place: Occurrence) -> dict[str, Json]:
    return {
        "file": place.hit.file,
        "line": place.hit.line,
        "text": place.hit.text,
        "kind": place.kind,
        "inside": place.inside,
    }
