"""get_dependencies: what a file imports, and which files of the project import it.

Rule: from the text alone, nothing is loaded or run. Imports are those of the version under review; files that
import it are searched on disk, in no more files than can be read in a moment.
"""

import asyncio
import posixpath
import re
from collections.abc import Iterable, Iterator
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
from holdfast.agents.reviewer.tools.search_in_project import SECONDS, ProjectSearch
from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.review.file_types import detect_language
from holdfast.review.outline import Outliner
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.search import ripgrep
from holdfast.tools.search.ripgrep import run_program
from holdfast.tools.search.search_folder import open_search_folder
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
_FOLDER_FILES = ("__init__", "index", "mod")
"""Files that are imported by the name of their folder."""


class DependenciesArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="A file of the project.")]


class Importers(Struct, frozen=True):
    """File and line of each; `skipped` is how many more files may import it and were not read."""

    found: list[tuple[str, int]]
    skipped: int
    cut: str


def get_dependencies_tool(files: ReviewFiles) -> Tool:
    work = partial(get_dependencies, files=files)
    return TypedTool(NAME, DependenciesArguments, prompt_beside(__file__), work, is_read_only=True)


async def get_dependencies(
    arguments: DependenciesArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    version = await asyncio.to_thread(files.version, arguments.path, "new", workspace)
    text = "\n".join(version.lines.values())
    language = detect_language(version.path, text)
    family = import_family(language)
    if not family:
        raise ToolError(
            "INVALID_PARAM", f"imports of `{version.shown}` cannot be told: its language is not known"
        )
    project = await _project_files(workspace, files)
    imports = await asyncio.to_thread(_imports, text, language, family)
    resolved = await asyncio.to_thread(
        lambda: [(one, resolve_import(project, version.path, family, one)) for one in imports]
    )
    pattern = _import_pattern(project, version.path, family)
    importers = Importers([], 0, "")
    if pattern:
        search = ProjectSearch(workspace, files, ripgrep.SearchPattern(pattern), names=_NAMES[family])
        importers = await _importers(search, project, version.path)
    return _result(version, resolved, importers)


async def _project_files(workspace: Workspace, files: ReviewFiles) -> ProjectFiles:
    """The files on disk that are not ignored, and those of the change."""

    def read(path: str) -> str:
        try:
            return DiskVersions(workspace).new(path) or ""
        except ToolError:
            return ""

    with open_search_folder(workspace, ".") as folder:
        output = await run_program(files.program.files(ripgrep.FileWalk()), folder.handle, SECONDS)
    paths = await asyncio.to_thread(ripgrep.read_paths, output.output)
    return ProjectFiles(frozenset(paths) | files.changed, read)


def _imports(text: str, language: str, family: str) -> list[Import]:
    with Outliner() as outliner:
        outline = outliner.outline(text, language)
    return parse_imports(text, family, outline.comments if outline else ())


def _import_pattern(project: ProjectFiles, path: str, family: str) -> str:
    """A pattern for lines that may import a file: what importers must write."""
    folder, name = posixpath.split(path)
    if family == "go":
        written = go_import_path(project, folder)
        return f'"{re.escape(written)}"' if written else ""
    stem = name.partition(".")[0]
    word = posixpath.basename(folder) if stem in _FOLDER_FILES else stem
    # A package's own files may write `from . import` and nothing more.
    relative = r"|from\s+\.+\s+import|[\"']\.{1,2}/?[\"']" if stem in _FOLDER_FILES else ""
    return rf"\b{re.escape(word)}\b{relative}" if word else relative.removeprefix("|")


async def _importers(search: ProjectSearch, project: ProjectFiles, path: str) -> Importers:
    """Read the files that contain the name, one by one."""
    counts, cut = await search.count()
    others = (other for other in counts if other != path)
    candidates = sorted(others, key=lambda other: (other not in search.files.changed, other))
    found = await asyncio.to_thread(lambda: list(_that_import(project, path, candidates[:MOST_READ])))
    return Importers(found, len(candidates[MOST_READ:]), cut)


def _that_import(project: ProjectFiles, path: str, candidates: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Each file that imports `path`, with the line of its first import."""
    for candidate in candidates:
        text = project.read(candidate)
        family = import_family(detect_language(candidate, text))
        imports = parse_imports(text, family) if family else ()
        lines = (one.line for one in imports if path in resolve_import(project, candidate, family, one))
        if line := next(lines, 0):
            yield candidate, line


def _result(
    version: FileVersion, resolved: list[tuple[Import, list[str]]], importers: Importers
) -> ToolResult:
    shown, users = resolved[:MOST_IMPORTS], importers.found[:MOST_IMPORTERS]
    inside = sum(bool(files) for _, files in resolved)
    rows = [f"`{version.shown}` has {count_noun(len(resolved), 'import')}, {inside} of them of this project:"]
    rows += [
        f"{one.line}: {_written(one)}{' -> ' + ', '.join(files) if files else ''}" for one, files in shown
    ]
    rows.append(f"{count_noun(len(importers.found), 'file')} of the project import it:")
    rows += [f"{file}:{line}" for file, line in users]
    notes = list(version.all_notes)
    if len(shown) < len(resolved):
        notes.append(f"{len(resolved) - len(shown)} more imports are left out")
    if len(users) < len(importers.found):
        notes.append(f"{len(importers.found) - len(users)} more files that import it are left out")
    if importers.skipped:
        notes.append(f"{importers.skipped} files that hold its name were not read: more may import it")
    if importers.cut:
        notes.append(importers.cut)
    is_whole = len(notes) == len(version.notes)
    data: dict[str, Json] = {
        "path": version.shown,
        "imports": [{"line": one.line, "target": one.target, "files": files} for one, files in shown],
        "total_imports": len(resolved),
        "imported_by": [{"file": file, "line": line} for file, line in users],
        "total_imported_by": len(importers.found),
        "truncated": not is_whole,
    }
    text = "\n".join([*rows, *(f"({note})" for note in notes)])
    amount = f"imports {len(resolved)}, imported by {len(importers.found)}"
    return tool_result(text, amount, data=data, context={"path": version.shown}, is_partial=not is_whole)


def _written(one: Import) -> str:
    taken = ", ".join(one.names[:8]) + (", …" if len(one.names) > 8 else "")
    return f"{one.target} ({taken})" if taken else one.target
