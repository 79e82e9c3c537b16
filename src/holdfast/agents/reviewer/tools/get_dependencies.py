"""get_dependencies: what a file imports, and which files of the project import it.

Rule: told from the text alone, nothing is loaded or run. The imports are those of the version under review; who
imports it is looked for on the disk, and in no more files than can be read in a moment.
"""

import asyncio
import posixpath
import re
from collections.abc import Iterable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.imports import (
    Import,
    ProjectFiles,
    go_import_path,
    import_family,
    parse_imports,
    resolve_import,
)
from holdfast.agents.reviewer.tools.review_files import DiskVersions, FileVersion, ReviewFiles
from holdfast.agents.reviewer.tools.search_in_project import (
    SECONDS,
    LineQuery,
    ProjectSearch,
    count_lines,
)
from holdfast.messages import Json
from holdfast.review.file_types import detect_language
from holdfast.review.outliner import Outliner
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.search import ripgrep
from holdfast.tools.search.ripgrep import Ripgrep, run_program
from holdfast.tools.search.search_folder import count_noun, open_search_folder
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "get_dependencies"
MOST_IMPORTS = 150
MOST_READ = 400
MOST_IMPORTERS = 100

_NAMES = {
    "python": "*.{py,pyi}",
    "script": "*.{ts,tsx,mts,cts,js,jsx,mjs,cjs,vue,svelte}",
    "go": "*.go",
    "c": "*.{c,h,cc,cpp,cxx,hh,hpp,hxx,inl,ipp}",
    "java": "*.{java,kt,scala}",
    "rust": "*.rs",
    "ruby": "*.{rb,rake}",
}
_WHOLE = ("__init__", "index", "mod")
"""Files that are imported by the name of their folder."""


class DependenciesArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="A file of the project.")]


class Importers(Struct, frozen=True):
    """File and line of each; `skipped` files may be others, and were not read."""

    found: list[tuple[str, int]]
    skipped: int
    cut: str


def get_dependencies_tool(shelf: ReviewFiles, searcher: Ripgrep) -> Tool:
    work = partial(get_dependencies, shelf=shelf, searcher=searcher)
    return TypedTool(NAME, DependenciesArguments, prompt_beside(__file__), work, is_read_only=True)


async def get_dependencies(
    arguments: DependenciesArguments, workspace: Workspace, *, shelf: ReviewFiles, searcher: Ripgrep
) -> ToolResult:
    sheet = await asyncio.to_thread(shelf.sheet, arguments.path, "new", workspace)
    text = "\n".join(sheet.lines.values())
    language = detect_language(sheet.path, text)
    family = import_family(language)
    if not family:
        raise ToolError(
            "INVALID_PARAM", f"imports of `{sheet.shown}` cannot be told: its language is not known"
        )
    looking = ProjectSearch(workspace, searcher, shelf.changed)
    project = await _project(looking, shelf)
    imports = await asyncio.to_thread(_imports, text, language, family)
    resolved = await asyncio.to_thread(_resolved, project, sheet.path, family, imports)
    importers = await _importers(looking, project, sheet, family)
    return _result(sheet, resolved, importers)


def _resolved(
    project: ProjectFiles, path: str, family: str, imports: Iterable[Import]
) -> list[tuple[Import, list[str]]]:
    return [(one, resolve_import(project, path, family, one)) for one in imports]


async def _project(looking: ProjectSearch, shelf: ReviewFiles) -> ProjectFiles:
    """The files on the disk that are not ignored, and those of the change."""
    with open_search_folder(looking.workspace, ".") as found:
        walked = await run_program(looking.searcher.files(ripgrep.FileWalk()), found.handle, SECONDS)
    files = await asyncio.to_thread(ripgrep.read_paths, walked.output)
    return ProjectFiles(frozenset(files) | shelf.changed, partial(_text, looking.workspace))


def _text(workspace: Workspace, path: str) -> str | None:
    try:
        return DiskVersions(workspace).new(path)
    except ToolError:
        return None


def _imports(text: str, language: str, family: str) -> list[Import]:
    with Outliner() as outliner:
        outline = outliner.outline(text, language)
    return parse_imports(text, family, outline.comments if outline else ())


async def _importers(
    looking: ProjectSearch, project: ProjectFiles, sheet: FileVersion, family: str
) -> Importers:
    """Files that hold the name, read one by one."""
    pattern = _named(project, sheet.path, family)
    if not pattern:
        return Importers([], 0, "")
    wanted = LineQuery(ripgrep.SearchPattern(pattern), 1, names=_NAMES[family])
    counts, cut = await count_lines(looking, wanted)
    others = (path for path in counts if path != sheet.path)
    candidates = sorted(others, key=lambda path: (path not in looking.changed, path))
    found = await asyncio.to_thread(_that_import, looking, project, sheet.path, candidates[:MOST_READ])
    return Importers(found, len(candidates[MOST_READ:]), cut)


def _named(project: ProjectFiles, path: str, family: str) -> str:
    """A pattern for lines that may import a file: what importers must write of it."""
    folder, name = posixpath.split(path)
    if family == "go":
        written = go_import_path(project, folder)
        return f'"{re.escape(written)}"' if written else ""
    stem = name.partition(".")[0]
    word = posixpath.basename(folder) if stem in _WHOLE else stem
    # A package's own files may write `from . import` and nothing more.
    relative = r"|from\s+\.+\s+import|[\"']\.{1,2}/?[\"']" if stem in _WHOLE else ""
    return rf"\b{re.escape(word)}\b{relative}" if word else relative.removeprefix("|")


def _that_import(
    looking: ProjectSearch, project: ProjectFiles, path: str, candidates: Iterable[str]
) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for candidate in candidates:
        text = _text(looking.workspace, candidate) or ""
        family = import_family(detect_language(candidate, text))
        for one in parse_imports(text, family) if family else ():
            if path in resolve_import(project, candidate, family, one):
                found.append((candidate, one.line))
                break
    return found


def _result(sheet: FileVersion, resolved: list[tuple[Import, list[str]]], importers: Importers) -> ToolResult:
    shown, users = resolved[:MOST_IMPORTS], importers.found[:MOST_IMPORTERS]
    inside = sum(bool(files) for _, files in resolved)
    rows = [f"`{sheet.shown}` has {count_noun(len(resolved), 'import')}, {inside} of them of this project:"]
    rows += [
        f"{one.line}: {_written(one)}{' -> ' + ', '.join(files) if files else ''}" for one, files in shown
    ]
    rows.append(f"{count_noun(len(importers.found), 'file')} of the project import it:")
    rows += [f"{file}:{line}" for file, line in users]
    notes = list(sheet.said_notes)
    if len(shown) < len(resolved):
        notes.append(f"{len(resolved) - len(shown)} more imports are left out")
    if len(users) < len(importers.found):
        notes.append(f"{len(importers.found) - len(users)} more files that import it are left out")
    if importers.skipped:
        notes.append(f"{importers.skipped} files that hold its name were not read: more may import it")
    if importers.cut:
        notes.append(importers.cut)
    is_whole = len(notes) == len(sheet.notes)
    data: dict[str, Json] = {
        "path": sheet.shown,
        "imports": [{"line": one.line, "target": one.target, "files": files} for one, files in shown],
        "total_imports": len(resolved),
        "imported_by": [{"file": file, "line": line} for file, line in users],
        "total_imported_by": len(importers.found),
        "truncated": not is_whole,
    }
    envelope = Envelope(
        status="success" if is_whole else "partial",
        text="\n".join([*rows, *(f"({note})" for note in notes)]),
        data=data,
        context={"path": sheet.shown},
    )
    return build_result(envelope, f"imports {len(resolved)}, imported by {len(importers.found)}")


def _written(one: Import) -> str:
    taken = ", ".join(one.names[:8]) + (", …" if len(one.names) > 8 else "")
    return f"{one.target} ({taken})" if taken else one.target
