"""A diff as values: changed files, their hunks and the lines of these; and operations on hunks.

Rule: pure and complete. What a diff says about a file (moved, mode, binary, submodule) is kept beside its lines,
and a file without lines is kept too. A hunk applies exactly where it says, or not at all; line breaks count.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

from msgspec import Struct

ChangeKind = Literal["added", "modified", "deleted", "renamed", "copied"]
LineKind = Literal[" ", "+", "-"]
LineEnd = Literal["\n", "\r\n", ""]


class DiffLine(Struct, frozen=True, gc=False):
    """A line without its sign and its line break. `old` and `new` are its numbers, from 1; 0 on the side that does
    not have it. `text + end` is what the file contains; `end` is empty if the file ends without a line break."""

    kind: LineKind
    old: int
    new: int
    text: str
    end: LineEnd = "\n"


class Hunk(Struct, frozen=True):
    """`heading` is what git writes after the second `@@`."""

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
    """`old_path` differs from `path` if the file was moved or copied. Modes are as git writes them (`100644`), or
    empty if the diff does not say. `note` says why a file has no lines if nothing else here does: not merged yet,
    too large, unreadable."""

    path: str
    old_path: str
    change: ChangeKind
    old_mode: str = ""
    new_mode: str = ""
    is_binary: bool = False
    is_submodule: bool = False
    hunks: tuple[Hunk, ...] = ()
    note: str = ""

    def lines(self, kind: LineKind) -> Iterator[DiffLine]:
        """The added (`+`), removed (`-`) or unchanged (` `) lines."""
        return (line for hunk in self.hunks for line in hunk.lines if line.kind == kind)

    @property
    def mode_change(self) -> tuple[str, str] | None:
        """The old and the new mode, if they differ."""
        is_changed = self.old_mode and self.new_mode and self.old_mode != self.new_mode
        return (self.old_mode, self.new_mode) if is_changed else None


class Diff(Struct, frozen=True):
    """`title` says what is compared, for people: `working`, `main...HEAD`, the name of a file."""

    title: str
    files: tuple[FileChange, ...]


class Versions(Protocol):
    """The text of files on both sides of a diff. None if that side has no such file, it is not text, or it cannot
    be read (a diff in a file names no repository)."""

    def old(self, path: str) -> str | None: ...

    def new(self, path: str) -> str | None: ...


def apply_hunks(old: str, hunks: Sequence[Hunk]) -> str | None:
    """The new text; None if a hunk does not match the old one."""
    return _replace_hunks(old, hunks, "-", "+")


def revert_hunks(new: str, hunks: Sequence[Hunk]) -> str | None:
    """The old text; None if a hunk does not match the new one."""
    return _replace_hunks(new, hunks, "+", "-")


def text_of_added_or_deleted(file: FileChange) -> str | None:
    """The text of a file that was added or deleted, taken from its only hunk."""
    if file.is_binary or len(file.hunks) != 1:
        return None if file.hunks or file.is_binary else ""
    return _side_text(file.hunks[0], "+" if file.change == "added" else "-")


def slice_hunk(hunk: Hunk, first: int, end: int) -> Hunk:
    """A range of a hunk's lines, by index, as a hunk of its own."""
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
    """A hunk without lines on a side names the line before it."""
    first = start + before if count else start + 1
    return first if own else first - 1


def _side_text(hunk: Hunk, kind: str) -> str:
    return "".join(line.text + line.end for line in hunk.lines if line.kind in (" ", kind))


def diff_lines(text: str) -> list[str]:
    """Lines with their line breaks, as git counts them: only `\\n` ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _replace_hunks(text: str, hunks: Sequence[Hunk], removed: str, added: str) -> str | None:
    lines = diff_lines(text)
    parts: list[str] = []
    at = 0
    for hunk in hunks:
        is_forward = removed == "-"
        start, count = (hunk.old_start, hunk.old_count) if is_forward else (hunk.new_start, hunk.new_count)
        first = start - 1 if count else start
        if not at <= first <= len(lines) or "".join(lines[first : first + count]) != _side_text(
            hunk, removed
        ):
            return None
        parts += [*lines[at:first], _side_text(hunk, added)]
        at = first + count
    return "".join((*parts, *lines[at:]))
