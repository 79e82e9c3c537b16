"""Changes made for a test: two commits in a real repository, or a value by hand."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from holdfast.review.checks import MODULES, run_checks
from holdfast.review.diff import Diff, Hunk, Versions
from holdfast.review.finding import Finding
from holdfast.review.findings import ReviewFindings, Sides
from holdfast.review.git_changes import read_diff
from holdfast.review.unit import LevelSuggestion, Metrics, Span, Unit

Files = Mapping[str, str | bytes]


class Texts:
    """Both sides, by path."""

    def __init__(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        self._old, self._new = old, new

    def old(self, path: str) -> str | None:
        return self._old.get(path)

    def new(self, path: str) -> str | None:
        return self._new.get(path)


NOTHING = Texts({}, {})
"""The versions of a diff that came as a file, far from its repository."""


def git(folder: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env=environment,
    )


def commit(folder: Path, files: Files, executable: tuple[str, ...] = ()) -> None:
    """These files and no others."""
    for old in [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]:
        old.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o755 if name in executable else 0o644)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


def change(
    folder: Path, before: Files, after: Files, executable: tuple[str, ...] = ()
) -> tuple[Diff, list[Unit], Versions]:
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    commit(folder, before)
    commit(folder, after, executable)
    diff, versions = read_diff(folder, "HEAD~1..HEAD")
    return diff, units_of(diff), versions


def check(
    folder: Path, before: Files, after: Files, *only: str, executable: tuple[str, ...] = ()
) -> ReviewFindings:
    """What the checks find, all of them or those of the modules named."""
    diff, units, versions = change(folder, before, after, executable)
    found = run_checks(diff, Sides(units, versions))
    if not only:
        return found
    modules = [module for module in MODULES if module.__name__.rpartition(".")[2] in only]
    assert len(modules) == len(only)
    wanted = {rule.name for module in modules for rule in module.RULES}
    return replace(found, kept=tuple(finding for finding in found.kept if finding.rule in wanted))


def units_of(diff: Diff) -> list[Unit]:
    """One for each hunk, or for a file without hunks."""
    return [
        unit(f"u-{number:06x}{at:06x}", file.path, hunk, old_path=file.old_path, change=file.change)
        for number, file in enumerate(diff.files)
        for at, hunk in enumerate(file.hunks or (None,))
    ]


def unit(name: str, path: str, hunk: Hunk | None = None, **more: object) -> Unit:
    fields: dict[str, object] = {
        "id": name,
        "path": path,
        "old_path": path,
        "language": "",
        "change": "modified",
        "old": Span(hunk.old_start, hunk.old_start + max(0, hunk.old_count - 1)) if hunk else Span(0, 0),
        "new": Span(hunk.new_start, hunk.new_start + max(0, hunk.new_count - 1)) if hunk else Span(0, 0),
        "symbol": None,
        "hunks": (hunk,) if hunk else (),
        "tags": (),
        "metrics": Metrics(hunk.added, hunk.removed, 1) if hunk else Metrics(0, 0, 0),
        "suggestion": LevelSuggestion("diff", 0.5, "a rule"),
        "risk": "low",
    }
    return Unit(**fields | more)  # type: ignore[arg-type]


def finding(**more: object) -> Finding:
    fields: dict[str, object] = {
        "id": "",
        "unit": "",
        "path": "a.py",
        "line": 1,
        "last_line": 1,
        "severity": "medium",
        "category": "bug",
        "claim": "The loop runs one time too many.",
    }
    return Finding(**fields | more)  # type: ignore[arg-type]
