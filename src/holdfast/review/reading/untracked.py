"""Files that git does not track yet, as added files of a diff.

Rule: none is left out; what is not read (large, a picture, no permission, a repository of its own) is there
without lines.
"""

import os
import stat
from pathlib import Path

from holdfast.review.diff import FileChange, Hunk
from holdfast.review.reading.decoding import decoded, is_binary
from holdfast.review.reading.parsing import line_of
from holdfast.review.reading.repository import Repository
from holdfast.review.reading.versions import read_inside

MOST_BYTES = 1024 * 1024
"""Of one file. Larger ones are data more often than code, and nobody reads them line by line."""


def untracked_files(repository: Repository) -> tuple[FileChange, ...]:
    """In the order of their names."""
    out = repository.ask("ls-files", "--others", "--exclude-standard", "-z")
    names = sorted(decoded(name) for name in out.split(b"\0") if name)
    return tuple(added_file(repository.working_tree, name) for name in names)


def added_file(top: Path, name: str) -> FileChange:
    if name.endswith("/"):
        name = name.removesuffix("/")
        return FileChange(path=name, old_path=name, change="added", new_mode="160000", is_submodule=True)
    try:
        status = (top / name).lstat()
    except OSError as error:
        return _without_lines(name, "", f"cannot be read ({error.strerror})")
    mode = _mode(status.st_mode)
    if status.st_size > MOST_BYTES:
        return _without_lines(name, mode, f"too large to be read ({status.st_size // 1024} KiB)")
    raw = read_inside(top, name, MOST_BYTES)
    if raw is None:
        return _without_lines(name, mode, "cannot be read")
    if is_binary(raw):
        return FileChange(path=name, old_path=name, change="added", new_mode=mode, is_binary=True)
    hunks = (hunk_of(decoded(raw)),) if raw else ()
    return FileChange(path=name, old_path=name, change="added", new_mode=mode, hunks=hunks)


def hunk_of(text: str) -> Hunk:
    """A whole text as added lines, as git would show it."""
    rows = text.split("\n")
    is_ended = rows[-1] == ""
    if is_ended:
        rows.pop()
    lines = [line_of("+", 0, i, row) for i, row in enumerate(rows, start=1)]
    if not is_ended:
        lines[-1] = line_of("+", 0, len(rows), rows[-1], is_last=True)
    return Hunk(0, 0, 1, len(lines), "", tuple(lines))


def _without_lines(name: str, mode: str, note: str) -> FileChange:
    return FileChange(path=name, old_path=name, change="added", new_mode=mode, note=note)


def _mode(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "120000"
    return "100755" if mode & os.X_OK << 6 else "100644"
