"""A diff as values: files that changed, their hunks, and the lines of these.

Rule: pure and whole. What a diff says of a file (moved, its mode, binary, a submodule) is kept beside its
lines, and a file without lines is still there.
"""

from typing import Literal, Protocol

from msgspec import Struct

Change = Literal["added", "modified", "deleted", "renamed", "copied"]
LineKind = Literal[" ", "+", "-"]
LineEnd = Literal["\n", "\r\n", ""]


class DiffLine(Struct, frozen=True, gc=False):
    """A line without its sign and without its line break. `old` and `new` are its numbers, from 1; 0 where it
    does not stand on that side. `text + end` is what the file holds; `end` is empty where the file ends without
    a line break."""

    kind: LineKind
    old: int
    new: int
    text: str
    end: LineEnd = "\n"


class Hunk(Struct, frozen=True):
    """`heading` is what git says after the second `@@`."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: str
    lines: tuple[DiffLine, ...]

    @property
    def added(self) -> int:
        return sum(line.kind == "+" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "-" for line in self.lines)


class FileChange(Struct, frozen=True, kw_only=True):
    """`old_path` differs from `path` where the file was moved or copied; modes are as git writes them
    (`100644`), or empty where the diff does not say. `note` says why a file has no lines where nothing else
    here does: not merged yet, too large, cannot be read."""

    path: str
    old_path: str
    change: Change
    old_mode: str = ""
    new_mode: str = ""
    is_binary: bool = False
    is_submodule: bool = False
    hunks: tuple[Hunk, ...] = ()
    note: str = ""


class Diff(Struct, frozen=True):
    """`title` says what is compared, for people: `working`, `main...HEAD`, a file's name."""

    title: str
    files: tuple[FileChange, ...]


class Versions(Protocol):
    """Both sides of a diff. None where there is no such file on that side, it is not text, or it cannot be had
    (a diff out of a file names no repository)."""

    def old(self, path: str) -> str | None: ...

    def new(self, path: str) -> str | None: ...
