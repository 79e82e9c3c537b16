"""list_project_files: which files the project has, and which of them the change touches. get_dependencies: what a
file imports, and which files of the project import it.

Rule: the files are those that Glob finds; sizes and marks are added, nothing is left out. Imports are read from the
text alone, nothing is loaded or run: those of the version under review; files that import it are searched on disk,
in no more files than can be read in a moment.
"""

import asyncio
import contextlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.agents.reviewer.tools.imports import (
    Import,
    ProjectFiles,
    go_import_path,
    import_family,
    parse_imports,
    resolve_import,
)
from holdfast.agents.reviewer.tools.project_search import SECONDS, ProjectSearch
from holdfast.agents.reviewer.tools.review_files import (
    DiskVersions,
    FileVersion,
    ReviewFiles,
    listing_result,
)
from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.review.file_types import detect_language
from holdfast.review.outline import Outliner
from holdfast.tools.envelope import ToolError, ToolResult, build_result
from holdfast.tools.search import ripgrep
from holdfast.tools.search.glob import GlobArguments, glob
from holdfast.tools.search.search_folder import filter_paths, open_search_folder
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

MOST_DELETED = 20


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Folder to list; the project's root if left out.")] = "."
    pattern: Annotated[str, Meta(description="Only files that match, such as `*.py` or `src/**/*.ts`.")] = ""
    limit: Annotated[int, Meta(ge=1, le=1000, description="Most files to list; the total is true.")] = 200


async def list_project_files(
    arguments: ListArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    asked = GlobArguments(
        arguments.pattern or "**/*", path=arguments.path, sort="path", max_results=arguments.limit
    )
    found = await glob(asked, workspace, searcher=files.program, seconds=SECONDS)
    return await asyncio.to_thread(_with_sizes, found, arguments, workspace, files)


def _with_sizes(
    found: ToolResult, arguments: ListArguments, workspace: Workspace, files: ReviewFiles
) -> ToolResult:
    data = found.envelope.data
    listed: list[dict[str, Json]] = [
        {"path": name, "size": _size(workspace, name), "changed": name in files.changed}
        for name in data["files"]
    ]
    # No name that is shown contains a line break.
    head, *lines = found.envelope.text.split("\n")
    notes = lines[len(listed) :]
    deleted = _deleted(arguments, workspace, files)
    if deleted:
        more = f" and {len(deleted) - MOST_DELETED} more" if len(deleted) > MOST_DELETED else ""
        notes.append(f"(deleted by the change: {', '.join(deleted[:MOST_DELETED])}{more})")
    envelope = replace(
        found.envelope,
        text="\n".join([head, *map(_row, listed), *notes]),
        data={**data, "total_entries": data["total_matches"], "files": listed, "deleted": deleted},
    )
    return build_result(envelope, found.shown)


def _row(file: dict[str, Json]) -> str:
    size = f" ({file['size']} bytes)" if file["size"] >= 0 else ""
    return f"{file['path']}{size}{' (changed)' if file['changed'] else ''}"


def _size(workspace: Workspace, name: str) -> int:
    """-1 for a name that was escaped, or a file that no longer exists."""
    with contextlib.suppress(ToolError):
        return workspace.status(name).st_size
    return -1


def _deleted(arguments: ListArguments, workspace: Workspace, files: ReviewFiles) -> list[str]:
    """The files below the folder that the change deletes, if the pattern would list them."""
    place = workspace.locate(arguments.path)
    lead = f"{place.inner}/" if place.inner else ""
    deleted = [file.path for file in files.review.diff.files if file.change == "deleted"]
    below = [path[len(lead) :] for path in deleted if path.startswith(lead)]
    pattern = arguments.pattern.removeprefix(place.path.rstrip("/") + "/") or "**/*"
    return sorted(printable_path(lead + path) for path in filter_paths(below, pattern))


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
    skipped: int = 0
    cut: str = ""


async def get_dependencies(
    arguments: DependenciesArguments, workspace: Workspace, *, files: ReviewFiles
) -> ToolResult:
    version = await asyncio.to_thread(files.version, arguments.path, "new", workspace)
    text = "\n".join(version.lines.values())
    language = detect_language(version.path, text)
    family = import_family(language)
    if not family:
        raise ToolError(
            "INVALID_PARAM", f"the imports of `{version.shown}` cannot be determined: its language is unknown"
        )
    project = await _project_files(workspace, files)

    def resolved_imports() -> list[tuple[Import, list[str]]]:
        with Outliner() as outliner:
            outline = outliner.outline(text, language)
        imports = parse_imports(text, family, outline.comments if outline else ())
        return [(one, resolve_import(project, version.path, family, one)) for one in imports]

    resolved = await asyncio.to_thread(resolved_imports)
    pattern = _import_pattern(project, version.path, family)
    if not pattern:
        return _dependencies_result(version, resolved, Importers([]))
    search = ProjectSearch(workspace, files, ripgrep.SearchPattern(pattern), names=_NAMES[family])
    return _dependencies_result(version, resolved, await _importers(search, project, version.path))


async def _project_files(workspace: Workspace, files: ReviewFiles) -> ProjectFiles:
    """The files on disk that are not ignored, and those of the change."""

    def read(path: str) -> str:
        try:
            return DiskVersions(workspace).new(path) or ""
        except ToolError:
            return ""

    with open_search_folder(workspace, ".") as folder:
        walk = files.program.files(ripgrep.FileWalk())
        output = await ripgrep.run_program(walk, folder.handle, SECONDS)
    paths = await asyncio.to_thread(ripgrep.read_paths, output.output)
    return ProjectFiles(frozenset(paths) | files.changed, read)


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


def _dependencies_result(
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
    data: dict[str, Json] = {
        "path": version.shown,
        "imports": [{"line": one.line, "target": one.target, "files": files} for one, files in shown],
        "total_imports": len(resolved),
        "imported_by": [{"file": file, "line": line} for file, line in users],
        "total_imported_by": len(importers.found),
    }
    line = f"imports {len(resolved)}, imported by {len(importers.found)}"
    is_whole = len(notes) == len(version.notes)
    return listing_result(rows, notes, data, is_whole=is_whole, path=version.shown, shown=line)


def _written(one: Import) -> str:
    taken = ", ".join(one.names[:8]) + (", …" if len(one.names) > 8 else "")
    return f"{one.target} ({taken})" if taken else one.target
