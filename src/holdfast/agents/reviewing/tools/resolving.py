"""Which files of the project an import statement means.

Rule: a guess by names, as the languages' own rules have it without any settings; only files that are there are
named, and a statement that could mean none of them is said to lead outside.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from functools import cached_property

from msgspec import Struct

from holdfast.agents.reviewing.tools.importing import Import

_SCRIPT_ENDS = ("ts", "tsx", "d.ts", "mts", "cts", "js", "jsx", "mjs", "cjs", "json", "vue", "svelte", "css")
_COMPILED = {"js": ("ts", "tsx"), "jsx": ("tsx",), "mjs": ("mts",), "cjs": ("cts",)}
_ROOTS = ("", "src", "lib", "app")
_MODULE = re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
MOST_FILES = 20
"""That one statement can mean: a Go package is a folder."""


class Project:
    """The files there are, from the root; `read` gives the text of one."""

    def __init__(self, files: frozenset[str], read: Callable[[str], str | None]) -> None:
        self.files = files
        self._read = read

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.files):
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    @cached_property
    def go_modules(self) -> list[tuple[str, str]]:
        """Folder and name of each module, the deepest first."""
        files = sorted(self.by_name.get("go.mod", ()), key=len, reverse=True)
        named = ((posixpath.dirname(path), _MODULE.search(self._read(path) or "")) for path in files)
        return [(folder, found[1]) for folder, found in named if found]

    @cached_property
    def go_folders(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.files):
            if path.endswith(".go") and not path.endswith("_test.go"):
                found.setdefault(posixpath.dirname(path), []).append(path)
        return found

    def ending_in(self, tail: str) -> list[str]:
        same = self.by_name.get(tail.rpartition("/")[2], ())
        return [path for path in same if path == tail or path.endswith(f"/{tail}")]


class _Said(Struct, frozen=True):
    """A statement, in which file of which project."""

    project: Project
    path: str
    one: Import

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)

    @property
    def target(self) -> str:
        return self.one.target


def resolve(project: Project, path: str, family: str, one: Import) -> list[str]:
    """The files that a statement in `path` means; none where it leads out of the project."""
    resolvers: dict[str, Callable[[_Said], Iterator[str]]] = {
        "python": _python,
        "script": _script,
        "go": _go,
        "c": _include,
        "java": _java,
        "rust": _rust,
        "ruby": _ruby,
    }
    found = resolvers[family](_Said(project, path, one))
    there = (name for name in found if name in project.files and name != path)
    return list(dict.fromkeys(there))[:MOST_FILES]


def go_path(project: Project, folder: str) -> str:
    """What other packages write to import a folder; empty outside of a module."""
    for top, name in project.go_modules:
        if folder == top or folder.startswith(f"{top}/" if top else ""):
            inner = folder[len(top) :].strip("/")
            return f"{name}/{inner}" if inner else name
    return ""


def _python(said: _Said) -> Iterator[str]:
    folder, project = said.folder, said.project
    rest = said.target.lstrip(".")
    dots = len(said.target) - len(rest)
    inner = rest.replace(".", "/")
    for base in [_above(folder, dots - 1)] if dots else _python_roots(project, folder):
        module = posixpath.normpath(posixpath.join(base, inner)) if base or inner else ""
        below = [posixpath.join(module, name.replace(".", "/")) for name in said.one.names]
        found = [place for name in below for place in _modules(name) if place in project.files]
        taken_out = len(found) < max(len(said.one.names), 1)
        found += [place for place in _modules(module) if place in project.files and taken_out]
        if found:
            yield from found
            return


def _modules(module: str) -> tuple[str, ...]:
    inside = tuple(posixpath.join(module, f"__init__.{end}") for end in ("py", "pyi"))
    return (f"{module}.py", f"{module}.pyi", *inside) if module else inside


def _python_roots(project: Project, folder: str) -> list[str]:
    """The folder that the file's own package lies in, and those that projects keep packages in."""
    own = folder
    while own and f"{own}/__init__.py" in project.files:
        own = posixpath.dirname(own)
    return list(dict.fromkeys((own, *_ROOTS)))


def _above(folder: str, times: int) -> str:
    for _ in range(times):
        folder = posixpath.dirname(folder)
    return folder


def _script(said: _Said) -> Iterator[str]:
    target = said.target.partition("?")[0]
    if target.startswith("."):
        bases = [posixpath.join(said.folder, target)]
    else:
        bare = target[2:] if target.startswith(("@/", "~/")) else target
        bases = [posixpath.join(root, bare.lstrip("/")) for root in ("src", "", "app", "lib")]
    for base in map(posixpath.normpath, bases):
        yield base
        stem, _, end = base.rpartition(".")
        yield from (f"{stem}.{other}" for other in _COMPILED.get(end, ()))
        yield from (f"{base}.{end}" for end in _SCRIPT_ENDS)
        yield from (f"{base}/index.{end}" for end in _SCRIPT_ENDS)


def _go(said: _Said) -> Iterator[str]:
    for top, name in said.project.go_modules:
        if said.target == name or said.target.startswith(f"{name}/"):
            inner = said.target[len(name) :].strip("/")
            yield from said.project.go_folders.get(posixpath.join(top, inner) if inner else top, ())
            return


def _include(said: _Said) -> Iterator[str]:
    yield posixpath.normpath(posixpath.join(said.folder, said.target))
    yield from said.project.ending_in(posixpath.normpath(said.target))[:3]


def _java(said: _Said) -> Iterator[str]:
    inner = said.target.rstrip(".").replace(".", "/")
    for name in (inner, posixpath.dirname(inner)):
        for end in ("java", "kt", "scala"):
            yield from said.project.ending_in(f"{name}.{end}")


def _rust(said: _Said) -> Iterator[str]:
    stem = posixpath.basename(said.path).removesuffix(".rs")
    own = said.folder if stem in ("mod", "lib", "main") else posixpath.join(said.folder, stem)
    parts = [part for part in said.target.split("::") if part]
    base = own
    while parts and parts[0] in ("crate", "self", "super"):
        word = parts.pop(0)
        base = _crate(said.path) if word == "crate" else _above(base, 1) if word == "super" else base
    for end in range(len(parts), 0, -1):
        name = posixpath.join(base, *parts[:end])
        yield from (f"{name}.rs", f"{name}/mod.rs")


def _crate(path: str) -> str:
    parts = posixpath.dirname(path).split("/")
    return "/".join(parts[: parts.index("src") + 1]) if "src" in parts else posixpath.dirname(path)


def _ruby(said: _Said) -> Iterator[str]:
    word, _, target = said.target.replace("'", '"').partition('"')
    name = f"{target.removesuffix('.rb')}.rb"
    if word.strip(" (") == "require_relative":
        yield posixpath.normpath(posixpath.join(said.folder, name))
    else:
        yield from (f"lib/{name}", name, f"app/{name}")
