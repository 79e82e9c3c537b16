"""Manifests and lock files that disagree, and dependencies that are not pinned.

Rule: a missing update of the lock file is reported only if the project has a lock file and the requirements
changed. Manifests are read, never resolved; a manifest that cannot be read requires nothing.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.finding import Finding, Severity, Side

Requirements = dict[str, str]
"""By name, what is required as it is written: a version, a range, a URL."""

_LOCKS: Mapping[str, tuple[str, ...]] = {
    "pyproject.toml": ("uv.lock", "poetry.lock", "pdm.lock"),
    "Pipfile": ("Pipfile.lock",),
    "package.json": ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"),
    "go.mod": ("go.sum",),
    "Cargo.toml": ("Cargo.lock",),
    "Gemfile": ("Gemfile.lock",),
    "composer.json": ("composer.lock",),
}
"""The lock files of each manifest; a project uses one of them."""

_REQUIREMENTS = re.compile(
    r"(?:^|[-_.])requirements(?:[-_.][\w-]+)?\.(?:txt|in)$|^requirements/[\w-]+\.(?:txt|in)$"
)
_PEP508 = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<rest>[^;#]*)")
_GO = re.compile(r"\s*(?:require\s+)?(?P<name>[\w.-]+\.[\w-]+(?:/[\w.~-]+)*)\s+(?P<version>v\S+)(?P<rest>.*)")
_REPLACE = re.compile(r"\s*(?:replace\s+)?(?P<name>\S+)(?:\s+v\S+)?\s+=>\s+(?P<to>\S+.*)")
_GEM = re.compile(r"\s*gem\s+['\"](?P<name>[\w.-]+)['\"](?P<rest>.*)")

LOCK_BEHIND = ReviewRule(
    "lock-not-updated",
    "A manifest changes, but its lock file does not",
    "The old versions are installed, or the next build fails because the two do not match.",
    "medium",
    "dependencies",
)
LOCK_ALONE = ReviewRule(
    "lock-without-manifest",
    "A lock file has a new package, but no manifest changes",
    "Another package may need it now: check what it is.",
    "low",
    "dependencies",
)
UNPINNED = ReviewRule(
    "moving-dependency",
    "A dependency is added without a fixed version",
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
_URL = re.compile(
    r"(?:git\+|git:|git@|hg\+|svn\+|https?:|ssh:|github:|gitlab:|bitbucket:|\"git\"|:git|:github|\bgit:|\bgithub:)"
)
_COMMIT = re.compile(r"[0-9a-f]{40}|\"(?:rev|tag)\"|\btag:|\bref:|sha256=")
_TAGGED = re.compile(
    r"@v?\d+(?:\.\d+)+|#semver:|/v?\d+(?:\.\d+)+[./]|[-_]v?\d+\.\d+[\w.]*\.(?:tar\.gz|tgz|zip|whl)"
)
_ANY = frozenset(("*", "latest", "x", ">=0", ">= 0"))
_MAX_SHOWN = 5


def check(change: CheckInput) -> Iterator[Finding]:
    paths = {file.path for file in change.diff.files}
    for file in change.files():
        if file.change == "deleted" or change.has_tag(file.path, "tests", "docs"):
            continue
        name = PurePosixPath(file.path).name
        if (name in _LOCKS or _REQUIREMENTS.search(name)) and file.change != "renamed":
            yield from _in_manifest(change, file, paths)
        elif pattern := _NEW_IN_LOCK.get(name):
            yield from _in_lock(change, file, pattern, paths)


def _in_manifest(change: CheckInput, file: FileChange, paths: set[str]) -> Iterator[Finding]:
    after, before = change.new(file.path), change.old(file.old_path) if file.change != "added" else ""
    if after is None or before is None:
        return
    old, new = _parse_manifest(file.path, before), _parse_manifest(file.path, after)
    if old == new:
        return
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    lock = next((path for path in _lock_file_paths(file.path) if change.new(path) is not None), None)
    is_missed = lock is not None and lock not in paths and file.change == "modified"
    if lock is not None and is_missed and not _is_locked(change, file.path, lock, differ, new):
        lines = list(_lines_about(file, differ))
        side: Side = "old" if lines and lines[0].kind == "-" else "new"
        evidence = [line for line in lines if line.kind == lines[0].kind][:_MAX_SHOWN]
        claim = f"The requirements change ({', '.join(differ[:_MAX_SHOWN])}), but `{lock}` does not."
        suggestion = "Update the lock file in the same change."
        yield change.finding(LOCK_BEHIND, file, evidence, claim, suggestion, side=side)
    yield from _unpinned(change, file, old, new)


def _is_locked(change: CheckInput, path: str, lock: str, differ: list[str], new: Requirements) -> bool:
    """Does the lock file need no change: is the manifest of no member of its workspace, or has it every version?"""
    text, name = change.new(lock) or "", PurePosixPath(lock).name
    folder = PurePosixPath(path).parent.relative_to(PurePosixPath(lock).parent)
    if name in ("pnpm-lock.yaml", "package-lock.json") and folder.name and str(folder) not in text:
        return True
    if name == "go.sum":
        return all(
            one not in new
            or (new[one].startswith((".", "/")) if "=>" in one else f"{one} {new[one]}" in text)
            for one in differ
        )
    return False


def _lines_about(file: FileChange, names: list[str]) -> Iterator[DiffLine]:
    """Changed lines with one of these names, the added ones first."""
    wanted = re.compile(
        "|".join(re.escape(name.removeprefix("=> ")).replace("\\-", "[-_.]") for name in names), re.IGNORECASE
    )
    for line in (*file.lines("+"), *file.lines("-")):
        if wanted.search(line.text):
            yield line


def _unpinned(
    change: CheckInput, file: FileChange, old: Requirements, new: Requirements
) -> Iterator[Finding]:
    for name, spec in new.items():
        problem = _pin_problem(file.path, name, spec, new)
        if old.get(name) == spec or problem is None:
            continue
        severity, text = problem
        line = next(_lines_about(file, [name]), None)
        if line is not None and line.kind == "+":
            claim = f"`{name.removeprefix('=> ')}` {text}."
            yield change.finding(UNPINNED, file, [line], claim, severity=severity)


def _pin_problem(path: str, name: str, spec: str, requirements: Requirements) -> tuple[Severity, str] | None:
    if name.startswith("=> "):
        is_local = spec.startswith((".", "/"))
        return ("medium", "is replaced by a local folder") if is_local else None
    if "http://" in spec and "localhost" not in spec:
        return "high", "is fetched over plain HTTP"
    if _URL.search(spec) and "workspace" not in spec:
        is_fixed = _COMMIT.search(spec) or _TAGGED.search(spec)
        return None if is_fixed else ("medium", "is fetched from a URL without a commit")
    if spec.strip() in _ANY:
        return "low", "is not limited to any version"
    pinned = sum("==" in spec for spec in requirements.values())
    if not spec and path.endswith(".txt") and pinned >= max(2, len(requirements) - 2):
        return "low", "has no version, in a file where the others have one"
    return None


def _in_lock(
    change: CheckInput, file: FileChange, pattern: re.Pattern[str], paths: set[str]
) -> Iterator[Finding]:
    """New names in a lock file, if no manifest of its kind is in the change."""
    name = PurePosixPath(file.path).name
    kinds = {manifest for manifest, locks in _LOCKS.items() if name in locks}
    if file.change == "added" or any(PurePosixPath(path).name in kinds for path in paths):
        return
    old = {found["name"] for line in file.lines("-") if (found := pattern.fullmatch(line.text))}
    before = (change.old(file.old_path) or "").split("\n")
    old |= {found["name"] for line in before if (found := pattern.fullmatch(line))}
    matches = [(line, pattern.fullmatch(line.text)) for line in file.lines("+")]
    new = [(line, found["name"]) for line, found in matches if found and found["name"] not in old]
    if new:
        names = list(dict.fromkeys(name for _, name in new))
        claim = f"The lock file has new packages, but no manifest changes: {', '.join(names[:_MAX_SHOWN])}."
        yield change.finding(LOCK_ALONE, file, [line for line, _ in new[:_MAX_SHOWN]], claim)


def _parse_manifest(path: str, text: str) -> Requirements:
    try:
        found = _READERS.get(PurePosixPath(path).name, _read_requirements)(text)
        return {
            name: spec if isinstance(spec, str) else json.dumps(spec, sort_keys=True) for name, spec in found
        }
    except (ValueError, TypeError, AttributeError):  # not the shape it should have
        return {}


def _lock_file_paths(path: str) -> Iterator[str]:
    """Where the lock file may be: beside the manifest, or in a folder above it (a workspace)."""
    pure = PurePosixPath(path)
    for folder in pure.parents:
        for name in _LOCKS.get(pure.name, ()):
            yield str(folder / name)


def _read_pyproject(text: str) -> Iterator[tuple[str, object]]:
    data = tomllib.loads(text)
    project = data.get("project", {})
    groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    groups += data.get("dependency-groups", {}).values()
    for requirement in (one for group in groups for one in group if isinstance(one, str)):
        yield from _requirement(requirement)
    poetry = data.get("tool", {}).get("poetry", {})
    found = [*_tables(poetry, "dependencies dev-dependencies")]
    found += [one for group in poetry.get("group", {}).values() for one in _tables(group, "dependencies")]
    found += _tables(data.get("tool", {}).get("uv", {}), "sources")
    yield from (one for one in found if one[0] != "python")


def _read_cargo(text: str) -> Iterator[tuple[str, object]]:
    data = tomllib.loads(text)
    for root in (data, data.get("workspace", {}), *data.get("target", {}).values()):
        for name, spec in _tables(root, "dependencies dev-dependencies build-dependencies"):
            if not (isinstance(spec, dict) and ("path" in spec or spec.get("workspace"))):
                yield name, spec


def _read_npm(text: str) -> Iterator[tuple[str, object]]:
    kinds = "dependencies devDependencies optionalDependencies overrides resolutions"
    return _tables(json.loads(text), kinds)


def _read_composer(text: str) -> Iterator[tuple[str, object]]:
    # Without a slash it is PHP itself, or a part of it.
    return (one for one in _tables(json.loads(text), "require require-dev") if "/" in one[0])


def _tables(data: dict[str, Any], kinds: str) -> Iterator[tuple[str, object]]:
    return (pair for kind in kinds.split() for pair in data.get(kind, {}).items())


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


_READERS: dict[str, Callable[[str], Iterable[tuple[str, object]]]] = {
    "pyproject.toml": _read_pyproject,
    "Pipfile": lambda text: _tables(tomllib.loads(text), "packages dev-packages"),
    "package.json": _read_npm,
    "go.mod": _read_go,
    "Cargo.toml": _read_cargo,
    "Gemfile": _read_gems,
    "composer.json": _read_composer,
}
