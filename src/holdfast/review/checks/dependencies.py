"""Manifests and lock files that do not go together, and dependencies that can change under one's feet.

Rule: a lock file is missed only where the project has one, and only when what the manifest asks for has changed.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from holdfast.review.checks.manifests import LOCKS, Asked, asked, is_manifest, lock_places
from holdfast.review.checks.scene import Place, Rule, Scene, changed
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.finding import Finding, Severity

LOCK_BEHIND = Rule(
    "lock-not-updated",
    "A manifest asks for something else, and its lock file stays",
    "What is installed is what the lock file says, or the next build fails because the two do not agree.",
    "medium",
    "dependencies",
)
LOCK_ALONE = Rule(
    "lock-without-manifest",
    "A lock file has a new package that no manifest asks for",
    "It may be what another one needs now. It may also be one that nobody asked for: look who it is.",
    "low",
    "dependencies",
)
UNPINNED = Rule(
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


def check(scene: Scene) -> Iterator[Finding]:
    paths = {file.path for file in scene.diff.files}
    for file in scene.files():
        if file.change == "deleted" or scene.has_tag(file.path, "tests", "docs"):
            continue
        if is_manifest(file.path) and file.change != "renamed":
            yield from _in_manifest(scene, file, paths)
        elif pattern := _NEW_IN_LOCK.get(PurePosixPath(file.path).name):
            yield from _in_lock(scene, file, pattern, paths)


def _in_manifest(scene: Scene, file: FileChange, paths: set[str]) -> Iterator[Finding]:
    after, before = scene.new(file.path), scene.old(file.old_path) if file.change != "added" else ""
    if after is None or before is None:
        return
    old, new = asked(file.path, before), asked(file.path, after)
    if old == new:
        return
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    lock = next((place for place in lock_places(file.path) if scene.new(place) is not None), None)
    if lock is not None and lock not in paths and file.change == "modified":
        lines = tuple(_lines_about(file, differ))
        side = "old" if lines and lines[0].kind == "-" else "new"
        shown = Place(file.path, tuple(line for line in lines if line.kind == lines[0].kind)[:_MOST], side)  # type: ignore[arg-type]
        claim = f"What is asked for changes ({', '.join(differ[:_MOST])}), and `{lock}` is not in the change."
        yield scene.finding(LOCK_BEHIND, shown, claim, "Update the lock file in the same change.")
    yield from _moving(scene, file, old, new)


def _lines_about(file: FileChange, names: list[str]) -> Iterator[DiffLine]:
    """Changed lines that name one of them: added ones if there are any."""
    wanted = re.compile(
        "|".join(re.escape(name.removeprefix("=> ")).replace("\\-", "[-_.]") for name in names), re.IGNORECASE
    )
    for kind in ("+", "-"):
        yield from (line for line in changed(file, kind) if wanted.search(line.text))


def _moving(scene: Scene, file: FileChange, old: Asked, new: Asked) -> Iterator[Finding]:
    for name, spec in new.items():
        trouble = _trouble(file.path, name, spec, new)
        if old.get(name) == spec or trouble is None:
            continue
        severity, says = trouble
        lines = tuple(_lines_about(file, [name]))[:1]
        if lines and lines[0].kind == "+":
            shown = name.removeprefix("=> ")
            yield scene.finding(UNPINNED, Place(file.path, lines), f"`{shown}` {says}.", severity=severity)


def _trouble(path: str, name: str, spec: str, all_asked: Asked) -> tuple[Severity, str] | None:
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


def _are_pinned(all_asked: Asked) -> bool:
    pinned = sum("==" in spec for spec in all_asked.values())
    return pinned >= 2 and pinned >= len(all_asked) - 2


def _in_lock(scene: Scene, file: FileChange, pattern: re.Pattern[str], paths: set[str]) -> Iterator[Finding]:
    """New names in a lock file, where no manifest of its kind is in the change."""
    name = PurePosixPath(file.path).name
    kinds = {manifest for manifest, locks in LOCKS.items() if name in locks}
    if file.change == "added" or any(PurePosixPath(path).name in kinds for path in paths):
        return
    old = {found["name"] for line in changed(file, "-") if (found := pattern.fullmatch(line.text))}
    known = _known(scene.old(file.old_path), pattern)
    fresh = [
        line
        for line in changed(file, "+")
        if (found := pattern.fullmatch(line.text)) and found["name"] not in old and found["name"] not in known
    ]
    if fresh:
        names = list(dict.fromkeys(pattern.fullmatch(line.text)["name"] for line in fresh))  # type: ignore[index]
        claim = (
            f"The lock file has new packages, and no manifest is in the change: {', '.join(names[:_MOST])}."
        )
        yield scene.finding(LOCK_ALONE, Place(file.path, tuple(fresh[:_MOST])), claim)


def _known(text: str | None, pattern: re.Pattern[str]) -> set[str]:
    lines = (text or "").split("\n")
    return {found["name"] for line in lines if (found := pattern.fullmatch(line))}
