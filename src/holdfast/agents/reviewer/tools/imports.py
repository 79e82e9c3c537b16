"""Import statements of a file, and the files of the project that they mean.

Rule: one pass over the lines, whatever they contain: the text under review is untrusted. What is not a statement
may be taken for one. Names are resolved by the languages' default rules; only files that exist are named, and a
statement that means none of them leads outside.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from msgspec import Struct

MOST_LINES = 20_000
LONGEST_LINE = 2_000

_PYTHON_FROM = re.compile(r"\s*+from\s++(\.*+[\w.]*+)\s*+import\b(.*)")
_PYTHON_IMPORT = re.compile(r"\s*+import\s++(.*)")
_SCRIPT = re.compile(r"""\b(?:from|import|require)\s*+\(?\s*+["']([^"']{1,300})["']""")
_GO = re.compile(r"""\s*+(?:import\s++)?(?:[\w.]++\s++)?["`]([^"`]{1,300})["`]\s*+(?://.*)?;?\s*$""")
_OTHERS = {
    "c": re.compile(r"""\s*+#\s*+include\s*+[<"]([^>"]{1,300})[>"]"""),
    "java": re.compile(r"\s*+import\s++(?:static\s++)?([\w.]++)"),
    "rust": re.compile(r"\s*+(?:pub(?:\([^)]{0,40}\))?\s++)?(?:use|mod)\s++([\w:]++)"),
    "ruby": re.compile(r"""\s*+(require(?:_relative)?\s*+\(?\s*+["'][^"']{1,300})["']"""),
}

_FAMILIES = {
    **{family: family for family in ("python", "go", "c", "java", "rust", "ruby")},
    **dict.fromkeys(("typescript", "tsx", "javascript", "vue", "svelte"), "script"),
    **dict.fromkeys(("kotlin", "scala"), "java"),
    "cpp": "c",
}


class Import(Struct, frozen=True):
    """`target` is what the statement names; `names` what it imports from there, in Python perhaps modules."""

    line: int
    target: str
    names: tuple[str, ...] = ()


def import_family(language: str) -> str:
    """One name for languages that import each other's files; empty if their imports are unknown."""
    return _FAMILIES.get(language, "")


def parse_imports(text: str, family: str, comments: Collection[int] = ()) -> list[Import]:
    """In order, without those on comment lines."""
    lines = [line[:LONGEST_LINE] for line in text.split("\n", MOST_LINES)[:MOST_LINES]]
    if family in _OTHERS:
        found = _other(lines, _OTHERS[family])
    else:
        found = {"python": _python, "script": _script, "go": _go}[family](lines)
    return [one for one in found if one.line not in comments]


def _python(lines: list[str]) -> Iterator[Import]:
    numbered = iter(enumerate(lines, start=1))
    for number, line in numbered:
        if found := _PYTHON_FROM.match(line):
            taken = found[2]
            if "(" in taken:
                while ")" not in taken:
                    _, more = next(numbered, (0, ")"))
                    taken += " " + more.partition("#")[0]
            elif taken.rstrip().endswith("\\"):
                taken = taken.rstrip()[:-1] + next(numbered, (0, ""))[1]
            if found[1]:
                yield Import(number, found[1], _names(taken.strip(" ()")))
        elif found := _PYTHON_IMPORT.match(line):
            for name in _names(found[1]):
                yield Import(number, name)


def _names(taken: str) -> tuple[str, ...]:
    """`a as b, c` as `a` and `c`."""
    parts = (part.strip(" ()\t\r") for part in taken.partition("#")[0].partition(";")[0].split(","))
    firsts = (part.split()[0] for part in parts if part)
    return tuple(name for name in firsts if re.fullmatch(r"[\w.]+", name))


def _script(lines: list[str]) -> Iterator[Import]:
    for number, line in enumerate(lines, start=1):
        if not line.lstrip().startswith(("//", "*")):
            yield from (Import(number, target) for target in _SCRIPT.findall(line))


def _go(lines: list[str]) -> Iterator[Import]:
    is_inside = False
    for number, line in enumerate(lines, start=1):
        word = line.strip()
        if re.match(r"import\s*\(", word):
            is_inside = ")" not in word
        elif is_inside and word.startswith(")"):
            is_inside = False
        elif (is_inside or word.startswith("import")) and (found := _GO.match(line)):
            yield Import(number, found[1])
        elif word.startswith(("func ", "type ")):
            return  # imports come before everything else


def _other(lines: list[str], pattern: re.Pattern[str]) -> Iterator[Import]:
    for number, line in enumerate(lines, start=1):
        if found := pattern.match(line):
            yield Import(number, found[1])


_SCRIPT_ENDS = ("ts", "tsx", "d.ts", "mts", "cts", "js", "jsx", "mjs", "cjs", "json", "vue", "svelte", "css")
_COMPILED = {"js": ("ts", "tsx"), "jsx": ("tsx",), "mjs": ("mts",), "cjs": ("cts",)}
_ROOTS = ("", "src", "lib", "app")
_MODULE = re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
MOST_FILES = 20
"""That one statement can mean: a Go package is a folder."""


class ProjectFiles:
    """The files of the project, relative to its root; `read` gives the text of one, empty if there is none."""

    def __init__(self, files: frozenset[str], read: Callable[[str], str]) -> None:
        self.files = files
        self.read = read

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
        named = ((posixpath.dirname(path), _MODULE.search(self.read(path))) for path in files)
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


def resolve_import(project: ProjectFiles, path: str, family: str, one: Import) -> list[str]:
    """The files that a statement in `path` means; none if it leads out of the project."""
    resolvers: dict[str, Callable[[ProjectFiles, str, Import], Iterator[str]]] = {
        "python": _resolve_python,
        "script": _resolve_script,
        "go": _resolve_go,
        "c": _resolve_include,
        "java": _resolve_java,
        "rust": _resolve_rust,
        "ruby": _resolve_ruby,
    }
    found = resolvers[family](project, path, one)
    existing = (name for name in found if name in project.files and name != path)
    return list(dict.fromkeys(existing))[:MOST_FILES]


def go_import_path(project: ProjectFiles, folder: str) -> str:
    """What other packages write to import a folder; empty outside a module."""
    for top, name in project.go_modules:
        if folder == top or folder.startswith(f"{top}/" if top else ""):
            inner = folder[len(top) :].strip("/")
            return f"{name}/{inner}" if inner else name
    return ""


def _resolve_python(project: ProjectFiles, path: str, one: Import) -> Iterator[str]:
    folder = posixpath.dirname(path)
    rest = one.target.lstrip(".")
    dots = len(one.target) - len(rest)
    inner = rest.replace(".", "/")
    for base in [_above(folder, dots - 1)] if dots else _python_roots(project, folder):
        module = posixpath.normpath(posixpath.join(base, inner)) if base or inner else ""
        below = [posixpath.join(module, name.replace(".", "/")) for name in one.names]
        found = [place for name in below for place in _modules(name) if place in project.files]
        taken_out = len(found) < max(len(one.names), 1)
        found += [place for place in _modules(module) if place in project.files and taken_out]
        if found:
            yield from found
            return


def _modules(module: str) -> tuple[str, ...]:
    inside = tuple(posixpath.join(module, f"__init__.{end}") for end in ("py", "pyi"))
    return (f"{module}.py", f"{module}.pyi", *inside) if module else inside


def _python_roots(project: ProjectFiles, folder: str) -> list[str]:
    """The folder of the file's own package, and the usual folders for packages."""
    own = folder
    while own and f"{own}/__init__.py" in project.files:
        own = posixpath.dirname(own)
    return list(dict.fromkeys((own, *_ROOTS)))


def _above(folder: str, times: int) -> str:
    for _ in range(times):
        folder = posixpath.dirname(folder)
    return folder


def _resolve_script(_project: ProjectFiles, path: str, one: Import) -> Iterator[str]:
    target = one.target.partition("?")[0]
    if target.startswith("."):
        bases = [posixpath.join(posixpath.dirname(path), target)]
    else:
        bare = target[2:] if target.startswith(("@/", "~/")) else target
        bases = [posixpath.join(root, bare.lstrip("/")) for root in ("src", "", "app", "lib")]
    for base in map(posixpath.normpath, bases):
        yield base
        stem, _, end = base.rpartition(".")
        yield from (f"{stem}.{other}" for other in _COMPILED.get(end, ()))
        yield from (f"{base}.{end}" for end in _SCRIPT_ENDS)
        yield from (f"{base}/index.{end}" for end in _SCRIPT_ENDS)


def _resolve_go(project: ProjectFiles, _path: str, one: Import) -> Iterator[str]:
    for top, name in project.go_modules:
        if one.target == name or one.target.startswith(f"{name}/"):
            inner = one.target[len(name) :].strip("/")
            yield from project.go_folders.get(posixpath.join(top, inner) if inner else top, ())
            return


def _resolve_include(project: ProjectFiles, path: str, one: Import) -> Iterator[str]:
    yield posixpath.normpath(posixpath.join(posixpath.dirname(path), one.target))
    yield from project.ending_in(posixpath.normpath(one.target))[:3]


def _resolve_java(project: ProjectFiles, _path: str, one: Import) -> Iterator[str]:
    inner = one.target.rstrip(".").replace(".", "/")
    for name in (inner, posixpath.dirname(inner)):
        for end in ("java", "kt", "scala"):
            yield from project.ending_in(f"{name}.{end}")


def _resolve_rust(_project: ProjectFiles, path: str, one: Import) -> Iterator[str]:
    base, _, stem = path.removesuffix(".rs").rpartition("/")
    if stem not in ("mod", "lib", "main"):
        base = posixpath.join(base, stem)
    parts = [part for part in one.target.split("::") if part]
    while parts and parts[0] in ("crate", "self", "super"):
        word = parts.pop(0)
        base = _crate(path) if word == "crate" else _above(base, 1) if word == "super" else base
    for end in range(len(parts), 0, -1):
        name = posixpath.join(base, *parts[:end])
        yield from (f"{name}.rs", f"{name}/mod.rs")


def _crate(path: str) -> str:
    parts = posixpath.dirname(path).split("/")
    return "/".join(parts[: parts.index("src") + 1]) if "src" in parts else posixpath.dirname(path)


def _resolve_ruby(_project: ProjectFiles, path: str, one: Import) -> Iterator[str]:
    word, _, target = one.target.replace("'", '"').partition('"')
    name = f"{target.removesuffix('.rb')}.rb"
    if word.strip(" (") == "require_relative":
        yield posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    else:
        yield from (f"lib/{name}", name, f"app/{name}")
