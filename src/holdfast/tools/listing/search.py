"""What is to be found, and where it stood: the same values whichever program looks.

Rule: a program that searches gives names, counts and positions. Every text that is shown is read by the guard.
"""

import re

from msgspec import Struct

_POSITION = re.compile(rb"(?:--\n)?(\./[^\0]*)\0(\d+)(?::(\d+):(\d+):|-(\d+)-)[^\n]*\n", re.DOTALL)
_BINARY = re.compile(r"ignoring (\./.*): found binary data at offset \d+")
_UNREADABLE = re.compile(r"^(?:rg: )?\./.*: .*\(os error \d+\)", re.MULTILINE)


class Matching(Struct, frozen=True):
    """A line that is looked for."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False


class Walking(Struct, frozen=True):
    """The files that are looked at. `names` is a glob over file names; empty means all."""

    target: str = "./"
    include_ignored: bool = False
    names: str = ""


class Picking(Struct, frozen=True):
    """Files whose lines are wanted: at most `most` matching lines of each, with lines around."""

    files: tuple[str, ...]
    most: int
    context: int = 0


class Position(Struct, frozen=True):
    """Where a line begins, in bytes. `column` is that of its first match, 0 for a line around one."""

    path: str
    line: int
    offset: int
    column: int


def read_paths(output: bytes) -> list[str]:
    """Paths from the folder that was searched; an unfinished one at the end is none."""
    # Cut with the prefix of the next: no name holds a NUL, and a hundred thousand small strings take their time.
    whole = _decoded(output[: output.rfind(b"\0") + 1])
    return whole[2:-1].split("\0./") if whole else []


def read_counts(output: bytes) -> dict[str, int]:
    """The number of matching lines in each file that has any, in no order."""
    if output.count(b"\n") == output.count(b"\0") and output.endswith(b"\n"):
        # No name holds a line break, as nearly always: all are cut at once, without a step for each.
        cells = _decoded(output)[2:-1].replace("\n./", "\0").split("\0")
        return dict(zip(cells[::2], map(int, cells[1::2]), strict=True))
    # `./a`, `3\n./b`, …, `1\n`: behind each NUL a number, and the next path. Cut in a number, it is none.
    pieces = _decoded(output).split("\0")
    tails = [piece.partition("\n") for piece in pieces[1:]]
    if tails and not tails[-1][1]:
        tails.pop()
    paths = [pieces[0], *(path for _, _, path in tails)]
    return {path[2:]: int(lines) for path, (lines, _, _) in zip(paths, tails, strict=False)}


def read_positions(output: bytes) -> list[Position]:
    return [
        Position(_path(m[1]), int(m[2]), int(m[4] or m[5]), int(m[3] or 0))
        for m in _POSITION.finditer(output)
    ]


def read_binaries(errors: bytes) -> list[str]:
    """Files that were skipped because they hold a NUL byte."""
    return [name.removeprefix("./") for name in _BINARY.findall(_decoded(errors))]


def count_unreadable(errors: bytes) -> int:
    return len(_UNREADABLE.findall(_decoded(errors)))


def pattern_trouble(errors: bytes) -> str:
    """What a program said of the pattern, in its own sentence; empty if it said nothing."""
    said = errors.decode("utf-8", "replace")
    lines = [line for line in said.split("\n") if "|" not in line[:12]]
    for line in lines:
        if line.startswith("error: "):
            return line.removeprefix("error: ").rstrip(".")
    for line in lines:
        if line.startswith("rg: ") and not _UNREADABLE.match(line):
            return line.removeprefix("rg: ").rstrip(".")
    return ""


def _path(raw: bytes) -> str:
    return _decoded(raw).removeprefix("./")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
