"""A diff as values: files that changed, their hunks, and the lines of these.

Rule: pure and whole. What a diff says of a file (moved, its mode, binary, a submodule) is kept beside its
lines, and a file without lines is still there.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

ChangeKind = Literal["added", "modified", "deleted", "renamed", "copied"]
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
    change: ChangeKind
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


# What can be done with hunks: apply them, take them back, look whether they fit.
#
# Rule: exact. A hunk fits where it says it stands or nowhere; line breaks count.


def apply_hunks(old: str, hunks: Sequence[Hunk]) -> str | None:
    """The newer text; None where a hunk does not fit the older one."""
    return _replace_hunks(old, hunks, "-", "+")


def revert_hunks(new: str, hunks: Sequence[Hunk]) -> str | None:
    """The older text; None where a hunk does not fit the newer one."""
    return _replace_hunks(new, hunks, "+", "-")


def side_text(lines: Sequence[DiffLine], kind: str) -> str:
    """What lines of a diff are on one side, `-` or `+`."""
    return "".join(line.text + line.end for line in lines if line.kind in (" ", kind))


def text_of_added_or_deleted(file: FileChange) -> str | None:
    """The text of a file that was added or deleted, out of its only hunk."""
    if file.is_binary or len(file.hunks) != 1:
        return None if file.hunks or file.is_binary else ""
    return side_text(file.hunks[0].lines, "+" if file.change == "added" else "-")


def slice_hunk(hunk: Hunk, first: int, end: int) -> Hunk:
    """A run of a hunk's lines (by their place in it) as a hunk by itself."""
    if first == 0 and end == len(hunk.lines):
        return hunk
    before, lines = hunk.lines[:first], hunk.lines[first:end]
    old_before = sum(line.kind != "+" for line in before)
    new_before = sum(line.kind != "-" for line in before)
    old_count = sum(line.kind != "+" for line in lines)
    new_count = sum(line.kind != "-" for line in lines)
    return Hunk(
        _start(hunk.old_start, hunk.old_count, old_before, old_count),
        old_count,
        _start(hunk.new_start, hunk.new_count, new_before, new_count),
        new_count,
        hunk.heading,
        lines,
    )


def _start(start: int, count: int, before: int, own: int) -> int:
    """Where there are no lines on a side, a hunk names the line before it."""
    first = start + before if count else start + 1
    return first if own else first - 1


def _replace_hunks(text: str, hunks: Sequence[Hunk], gone: str, come: str) -> str | None:
    lines = text.split("\n")
    parts: list[str] = []
    at = 0
    for hunk in hunks:
        start, count = (hunk.old_start, hunk.old_count) if gone == "-" else (hunk.new_start, hunk.new_count)
        first = start - 1 if count else start
        if first < at or first > len(lines):
            return None
        parts.append(_join_lines(lines, at, first))
        at = first + count
        before = side_text(hunk.lines, gone)
        if _join_lines(lines, first, at) != before:
            return None
        parts.append(side_text(hunk.lines, come))
    parts.append(_join_lines(lines, at, len(lines)))
    return "".join(parts)


def _join_lines(lines: Sequence[str], first: int, end: int) -> str:
    """Lines with their breaks; the last of a text has none."""
    return "".join(
        line + ("\n" if i < len(lines) - 1 else "") for i, line in enumerate(lines[first:end], start=first)
    )
