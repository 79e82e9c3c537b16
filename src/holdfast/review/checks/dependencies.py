"""What a manifest asks for, and which lock file answers it.

Rule: read, never resolved; a manifest that cannot be read asks for nothing.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from holdfast.review.checks.check_input import CheckInput, FindingPlace, ReviewRule, changed_lines
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.finding import Finding, Severity, Side

Requirements = dict[str, str]
"""By name, what is asked for: a version, a range, a place; as it is written."""

LOCKS: Mapping[str, tuple[str, ...]] = {
    "pyproject.toml": ("uv.lock", "poetry.lock", "pdm.lock"),
    "Pipfile": ("Pipfile.lock",),
    "package.json": ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"),
    "go.mod": ("go.sum",),
    "Cargo.toml": ("Cargo.lock",),
    "Gemfile": ("Gemfile.lock",),
    "composer.json": ("composer.lock",),
}
"""A project uses one of them."""

_REQUIREMENTS = re.compile(
    r"(?:^|[-_.])requirements(?:[-_.][\w-]+)?\.(?:txt|in)$|^requirements/[\w-]+\.(?:txt|in)$"
)
_PEP508 = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<rest>[^;#]*)")
_GO = re.compile(r"\s*(?:require\s+)?(?P<name>[\w.-]+\.[\w-]+(?:/[\w.~-]+)*)\s+(?P<version>v\S+)(?P<rest>.*)")
_REPLACE = re.compile(r"\s*(?:replace\s+)?(?P<name>\S+)(?:\s+v\S+)?\s+=>\s+(?P<to>\S+.*)")
_GEM = re.compile(r"\s*gem\s+['\"](?P<name>[\w.-]+)['\"](?P<rest>.*)")


def is_manifest(path: str) -> bool:
    name = PurePosixPath(path).name
    return name in LOCKS or _REQUIREMENTS.search(name) is not None


def parse_manifest(path: str, text: str | None) -> Requirements:
    name = PurePosixPath(path).name
    if text is None:
        return {}
    read = _READERS.get(name, _read_requirements if _REQUIREMENTS.search(name) else None)
    if read is None:
        return {}
    try:
        return dict(read(text))
    except (ValueError, TypeError, AttributeError):  # not the shape it should have
        return {}


def lock_file_paths(path: str) -> Iterator[str]:
    """Where the lock file may lie: beside the manifest, or in a folder above it (a workspace)."""
    pure = PurePosixPath(path)
    for folder in pure.parents:
        for name in LOCKS.get(pure.name, ()):
            yield str(folder / name)


def _read_pyproject(text: str) -> Iterator[tuple[str, str]]:
    data = tomllib.loads(text)
    project = data.get("project", {})
    groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    groups += data.get("dependency-groups", {}).values()
    for requirement in (one for group in groups for one in group if isinstance(one, str)):
        yield from _requirement(requirement)
    poetry = data.get("tool", {}).get("poetry", {})
    tables = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {})]
    tables += [group.get("dependencies", {}) for group in poetry.get("group", {}).values()]
    tables.append(data.get("tool", {}).get("uv", {}).get("sources", {}))
    for name, spec in (pair for table in tables for pair in table.items() if pair[0] != "python"):
        yield name, _spec(spec)


def _read_cargo(text: str) -> Iterator[tuple[str, str]]:
    data = tomllib.loads(text)
    roots = [data, data.get("workspace", {}), *data.get("target", {}).values()]
    for root in roots:
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, spec in root.get(kind, {}).items():
                if not (isinstance(spec, dict) and ("path" in spec or spec.get("workspace"))):
                    yield name, _spec(spec)


def _read_pipfile(text: str) -> Iterator[tuple[str, str]]:
    data = tomllib.loads(text)
    for kind in ("packages", "dev-packages"):
        for name, spec in data.get(kind, {}).items():
            yield name, _spec(spec)


def _read_npm(text: str) -> Iterator[tuple[str, str]]:
    data = json.loads(text)
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions"):
        for name, spec in data.get(kind, {}).items():
            yield name, _spec(spec)


def _read_composer(text: str) -> Iterator[tuple[str, str]]:
    data = json.loads(text)
    for kind in ("require", "require-dev"):
        for name, spec in data.get(kind, {}).items():
            if "/" in name:  # else PHP itself, or a part of it
                yield name, _spec(spec)


def _read_go(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        line = line.partition("//")[0]  # noqa: PLW2901 - without its comment
        if found := _REPLACE.fullmatch(line.rstrip()):
            yield "=> " + found["name"], found["to"]
        elif found := _GO.fullmatch(line.rstrip()):
            yield found["name"], found["version"]


def _read_gems(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        if found := _GEM.match(line):
            yield found["name"], found["rest"].partition("#")[0].strip(" ,")


def _read_requirements(text: str) -> Iterator[tuple[str, str]]:
    for line in text.replace("\\\n", " ").split("\n"):
        line = line.strip()  # noqa: PLW2901
        if line.startswith(("#", "-")) or not line:
            if line.startswith(("-e ", "--editable ")) and "://" in line:
                yield line.split("#egg=")[-1], line.split(None, 1)[1]
        elif "://" in line.split("@", 1)[0].split(";")[0]:
            yield line.split("#egg=")[-1], line
        else:
            yield from _requirement(line)


def _requirement(text: str) -> Iterator[tuple[str, str]]:
    if found := _PEP508.match(text):
        yield re.sub(r"[-_.]+", "-", found["name"]).lower(), found["rest"].split(" --")[0].strip()


def _spec(spec: object) -> str:
    return spec if isinstance(spec, str) else json.dumps(spec, sort_keys=True)


_READERS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "pyproject.toml": _read_pyproject,
    "Pipfile": _read_pipfile,
    "package.json": _read_npm,
    "go.mod": _read_go,
    "Cargo.toml": _read_cargo,
    "Gemfile": _read_gems,
    "composer.json": _read_composer,
}


# Manifests and lock files that do not go together, and dependencies that can change under one's feet.
#
# Rule: a lock file is missed only where the project has one, and only when what the manifest asks for has changed.

LOCK_BEHIND = ReviewRule(
    "lock-not-updated",
    "A manifest asks for something else, and its lock file stays",
    "What is installed is what the lock file says, or the next build fails because the two do not agree.",
    "medium",
    "dependencies",
)
LOCK_ALONE = ReviewRule(
    "lock-without-manifest",
    "A lock file has a new package that no manifest asks for",
    "It may be what another one needs now. It may also be one that nobody asked for: look who it is.",
    "low",
    "dependencies",
)
UNPINNED = ReviewRule(
    "moving-dependency",
    "A dependency is added that can change under one's feet",
    "Without a version or a commit, tomorrow's build is not today's.",
    "low",
    "dependencies",
)
RULES = (LOCK_BEHIND, LOCK_ALONE, UNPINNED)

_NEW_IN_LOCK: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for names, pattern in (
        ("uv.lock poetry.lock pdm.lock Cargo.lock", r"name = \"(?P<name>[^\"]+)\"\s*"),
        ("package-lock.json npm-shrinkwrap.json", r"\s*\"node_modules/(?P<name>(?:@[^/\"]+/)?[^/\"]+)\": \{"),
        ("yarn.lock", r"\"?(?P<name>@?[^@\"\s]+)@[^:]*:\s*"),
        ("pnpm-lock.yaml", r"  ['/]?(?P<name>@?[^@'\s:]+)@[^:]+:\s*"),
        ("go.sum", r"(?P<name>\S+) v\S+ h1:\S+"),
        ("Gemfile.lock", r"    (?P<name>[\w.-]+) \([^)]*\)\s*"),
    )
    for name in names.split()
}
_PLACE = re.compile(
    r"(?:git\+|git:|git@|hg\+|svn\+|https?:|ssh:|github:|gitlab:|bitbucket:|\"git\"|:git|:github|\bgit:|\bgithub:)"
)
_COMMIT = re.compile(r"[0-9a-f]{40}|\"(?:rev|tag)\"|\btag:|\bref:|sha256=")
_TAGGED = re.compile(
    r"@v?\d+(?:\.\d+)+|#semver:|/v?\d+(?:\.\d+)+[./]|[-_]v?\d+\.\d+[\w.]*\.(?:tar\.gz|tgz|zip|whl)"
)
_ANY = frozenset(("*", "latest", "x", ">=0", ">= 0"))
_MOST = 5


def check(scene: CheckInput) -> Iterator[Finding]:
    paths = {file.path for file in scene.diff.files}
    for file in scene.files():
        if file.change == "deleted" or scene.has_tag(file.path, "tests", "docs"):
            continue
        if is_manifest(file.path) and file.change != "renamed":
            yield from _in_manifest(scene, file, paths)
        elif pattern := _NEW_IN_LOCK.get(PurePosixPath(file.path).name):
            yield from _in_lock(scene, file, pattern, paths)


def _in_manifest(scene: CheckInput, file: FileChange, paths: set[str]) -> Iterator[Finding]:
    after, before = scene.new(file.path), scene.old(file.old_path) if file.change != "added" else ""
    if after is None or before is None:
        return
    old, new = parse_manifest(file.path, before), parse_manifest(file.path, after)
    if old == new:
        return
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    lock = next((place for place in lock_file_paths(file.path) if scene.new(place) is not None), None)
    if lock is not None and lock not in paths and file.change == "modified":
        lines = tuple(_lines_about(file, differ))
        side: Side = "old" if lines and lines[0].kind == "-" else "new"
        shown_lines = tuple(line for line in lines if line.kind == lines[0].kind)[:_MOST]
        shown = FindingPlace(file.path, shown_lines, side)
        claim = f"What is asked for changes ({', '.join(differ[:_MOST])}), and `{lock}` is not in the change."
        yield scene.finding(LOCK_BEHIND, shown, claim, "Update the lock file in the same change.")
    yield from _moving(scene, file, old, new)


def _lines_about(file: FileChange, names: list[str]) -> Iterator[DiffLine]:
    """Changed lines that name one of them: added ones if there are any."""
    wanted = re.compile(
        "|".join(re.escape(name.removeprefix("=> ")).replace("\\-", "[-_.]") for name in names), re.IGNORECASE
    )
    for kind in ("+", "-"):
        yield from (line for line in changed_lines(file, kind) if wanted.search(line.text))


def _moving(scene: CheckInput, file: FileChange, old: Requirements, new: Requirements) -> Iterator[Finding]:
    for name, spec in new.items():
        trouble = _trouble(file.path, name, spec, new)
        if old.get(name) == spec or trouble is None:
            continue
        severity, says = trouble
        lines = tuple(_lines_about(file, [name]))[:1]
        if lines and lines[0].kind == "+":
            shown = name.removeprefix("=> ")
            yield scene.finding(
                UNPINNED, FindingPlace(file.path, lines), f"`{shown}` {says}.", severity=severity
            )


def _trouble(path: str, name: str, spec: str, all_asked: Requirements) -> tuple[Severity, str] | None:
    if name.startswith("=> "):
        is_local = spec.startswith((".", "/"))
        return ("medium", "is replaced by a folder on this machine") if is_local else None
    if "http://" in spec and "localhost" not in spec:
        return "high", "is fetched over plain HTTP"
    if _PLACE.search(spec) and "workspace" not in spec:
        if _COMMIT.search(spec) or _TAGGED.search(spec):
            return None
        return "medium", "is fetched from a place without a commit"
    if spec.strip() in _ANY:
        return "low", "is taken in whatever version there is"
    if not spec and path.endswith(".txt") and _are_pinned(all_asked):
        return "low", "has no version, in a file where the others have one"
    return None


def _are_pinned(all_asked: Requirements) -> bool:
    pinned = sum("==" in spec for spec in all_asked.values())
    return pinned >= 2 and pinned >= len(all_asked) - 2


def _in_lock(
    scene: CheckInput, file: FileChange, pattern: re.Pattern[str], paths: set[str]
) -> Iterator[Finding]:
    """New names in a lock file, where no manifest of its kind is in the change."""
    name = PurePosixPath(file.path).name
    kinds = {manifest for manifest, locks in LOCKS.items() if name in locks}
    if file.change == "added" or any(PurePosixPath(path).name in kinds for path in paths):
        return
    old = {found["name"] for line in changed_lines(file, "-") if (found := pattern.fullmatch(line.text))}
    known = _known(scene.old(file.old_path), pattern)
    fresh = [
        line
        for line in changed_lines(file, "+")
        if (found := pattern.fullmatch(line.text)) and found["name"] not in old and found["name"] not in known
    ]
    if fresh:
        names = list(dict.fromkeys(pattern.fullmatch(line.text)["name"] for line in fresh))  # type: ignore[index]
        claim = (
            f"The lock file has new packages, and no manifest is in the change: {', '.join(names[:_MOST])}."
        )
        yield scene.finding(LOCK_ALONE, FindingPlace(file.path, tuple(fresh[:_MOST])), claim)


def _known(text: str | None, pattern: re.Pattern[str]) -> set[str]:
    lines = (text or "").split("\n")
    return {found["name"] for line in lines if (found := pattern.fullmatch(line))}
