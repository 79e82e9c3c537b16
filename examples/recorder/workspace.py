"""The folder in which the script is played: a fresh copy of the sample project with a git history.

Rule: commands see an environment made here from nothing, so that no setting of a machine shows in a result.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from recorder.normalise import leaks, normalised
from recorder.script import HOME

SAMPLE = Path(__file__).parents[1] / "sample_project"
TIMEOUT_SECONDS = 120

HISTORY = (
    ("2026-01-12T10:02:00+00:00", "Money, tax and catalog", (
        ".gitignore", "README.md", "pyproject.toml", "fixtures", "src/inventory/__init__.py",
        "src/inventory/money.py", "src/inventory/tax.py", "src/inventory/catalog.py", "tests/conftest.py",
        "tests/test_money.py", "tests/test_tax.py", "tests/test_catalog.py",
    )),
    ("2026-01-20T15:31:00+00:00", "Stock ledger and orders", (
        "src/inventory/stock.py", "src/inventory/orders.py", "tests/test_stock.py", "tests/test_orders.py",
    )),
    ("2026-02-03T09:12:00+00:00", "Invoices, reports, storage and a command line", (
        "src/inventory/invoices.py", "src/inventory/reports.py", "src/inventory/storage.py",
        "src/inventory/cli.py", "tests/test_invoices.py", "tests/test_reports.py", "tests/test_storage.py",
        "scripts",
    )),
    ("2026-03-01T17:48:00+00:00", "Quantity breaks and promotions", (
        "src/inventory/pricing.py", "tests/test_pricing.py",
    )),
)  # fmt: skip
"""What the project's history looks like when the agent comes: day, subject, files."""


@dataclass(frozen=True)
class Ran:
    code: int
    output: str


class Workspace:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "inventory"
        self._bin = folder / "bin"
        self.places = {self.root: HOME, folder / "tmp": "/tmp", folder: "/home/dev"}  # noqa: S108

    def path(self, recorded: str) -> Path:
        """The real place of a path as the recording has it."""
        inside = Path(recorded).relative_to(HOME)
        return self.root / inside

    def run(self, command: str, at: datetime) -> Ran:
        """Run a shell command in the project; stdout and stderr come as one text, as in a terminal."""
        done = subprocess.run(  # noqa: S603 - the commands are the script's own
            [shutil.which("bash") or "bash", "-c", command],
            cwd=self.root,
            env=self._environment(at),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return Ran(done.returncode, self.clean(done.stdout.decode("utf-8").rstrip("\n")))

    def clean(self, text: str) -> str:
        text = normalised(text, self.places)
        assert not (found := leaks(text, self.places)), f"a result names a place of this machine: {found}"
        return text

    def set_up(self) -> None:
        for folder in (self._bin, self.root.parent / "tmp"):
            folder.mkdir()
        launcher = self._bin / "python"
        launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)
        self.root.mkdir()
        self._commit_history()

    def _commit_history(self) -> None:
        for number, (day, subject, names) in enumerate(HISTORY):
            for name in names:
                _copy(SAMPLE / name, self.root / name)
            start = "git init -q && " if number == 0 else ""
            ran = self.run(f"{start}git add -A && git commit -q -m '{subject}'", datetime.fromisoformat(day))
            assert ran.code == 0, ran.output

    def _environment(self, at: datetime) -> dict[str, str]:
        git = {
            "core.abbrev": "7",
            "core.autocrlf": "false",
            "core.fileMode": "false",
            "init.defaultBranch": "main",
        }
        settings = {"GIT_CONFIG_COUNT": str(len(git))}
        for index, (key, value) in enumerate(git.items()):
            settings |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
        for who in ("AUTHOR", "COMMITTER"):
            settings |= {
                f"GIT_{who}_NAME": "dev",
                f"GIT_{who}_EMAIL": "dev@example.com",
                f"GIT_{who}_DATE": at.isoformat(),
            }
        return settings | {
            "PATH": os.pathsep.join([str(self._bin), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.root.parent),
            "TMPDIR": str(self.root.parent / "tmp"),
            "USER": "dev",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONNODEBUGRANGES": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }


@contextmanager
def fresh_workspace() -> Iterator[Workspace]:
    with TemporaryDirectory(prefix="recording-") as folder:
        workspace = Workspace(Path(folder))
        workspace.set_up()
        yield workspace


def _copy(source: Path, target: Path) -> None:
    """Files as they are in the repository; caches that a linter or a test run left there are no part of it."""
    if source.is_dir():
        for inside in sorted(source.iterdir()):
            _copy(inside, target / inside.name)
    elif source.suffix != ".pyc":
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
