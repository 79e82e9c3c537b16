"""How often names stand in a project: one search for all of them.

Rule: one process, however many names. ripgrep looks for all at once; where there is none, nothing is counted.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

MOST = 999
"""A name that stands in more places says nothing of the one that changed."""
MOST_OUTPUT = 32 * 1024 * 1024
SECONDS = 20.0

_COUNTED = re.compile(r"[^\W\d]\w{2,}")
_COMMON = {
    "get",
    "set",
    "run",
    "main",
    "init",
    "new",
    "test",
    "setup",
    "close",
    "open",
    "read",
    "write",
    "name",
}


def uses_below(top: Path) -> Callable[[Sequence[str]], Mapping[str, int]]:
    """Counts names in the files below a folder that are not ignored."""
    return lambda names: count_uses(top, names)


def count_uses(top: Path, names: Sequence[str]) -> dict[str, int]:
    """The first place of each name is taken for its definition. Names that are short, common or no words (an
    operator) are not counted."""
    counted = [name for name in names if _COUNTED.fullmatch(name) and name not in _COMMON]
    program = _program()
    if not counted or not program:
        return {}
    found = Counter(_search(program, top, counted).split("\n"))
    return {name: min(max(found[name] - 1, 0), MOST) for name in counted}


def _program() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("rg") or ""
    return found if Path(found).is_absolute() else ""


def _search(program: str, top: Path, names: Sequence[str]) -> str:
    command = [program, "--no-config", "--no-messages", "--no-heading", "--no-filename", "--no-line-number"]
    command += [
        "--color=never",
        "--hidden",
        "--glob=!.git",
        "--max-filesize=2M",
        "--word-regexp",
        "--fixed-strings",
    ]
    command += ["--only-matching", "--case-sensitive", "--file=-", "--", "."]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write("\n".join(names).encode("utf-8"))
        given.seek(0)
        try:
            subprocess.run(  # noqa: S603 -- names go in as data
                command,
                cwd=top,
                stdin=given,
                stdout=out,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        out.seek(0)
        return out.read(MOST_OUTPUT).decode("utf-8", "replace")
