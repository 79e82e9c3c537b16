"""The folder that a search runs in, held by its descriptor, and the lines that it found there.

Rule: ripgrep is started inside the folder that the guard opened and looks at `./` only. Every text that is shown is
read through the guard. A long line is cut around its match, and no more than the cut is ever in memory.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.search.path_patterns import BadGlob, glob_pattern
from holdfast.tools.search.ripgrep import MatchPosition
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import OpenDirectory, OpenFile, WorkspacePath, printable_path

_ALL = ("*", "**", "**/*")
_HEAD = 8192
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class SearchFolder:
    """The folder of a search. `target` is `./`, or `./name` for a single file; `named` is what was asked for."""

    def __init__(self, directory: OpenDirectory, target: str, named: str) -> None:
        self.place: WorkspacePath = directory.place
        self.descriptor = directory.descriptor
        self.handle = directory.handle
        self.target = target
        self.named = named

    def shown(self, path: str) -> str:
        """A found path, as the tool shows it."""
        name = printable_path(path)
        return name if self.place.shown == "." else f"{self.place.shown}/{name}"


@contextlib.contextmanager
def open_search_folder(workspace: Workspace, path: str) -> Iterator[SearchFolder]:
    """The folder that `path` is or lies in, open during the search."""
    place = workspace.locate(path)
    is_directory = not place.inner or stat.S_ISDIR(workspace.status(path).st_mode)
    folder = place.path if is_directory else os.path.dirname(place.path)  # noqa: PTH120
    target = "./" if is_directory else f"./{place.parts[-1]}"
    with workspace.open_directory(folder) as directory:
        yield SearchFolder(directory, target, place.shown)


def expect_text(workspace: Workspace, path: str) -> None:
    """BINARY_FILE for a single file that is not text; in a folder such files are skipped and counted."""
    with workspace.open_file(path) as opened:
        head = opened.file.read(_HEAD)
        if b"\0" in head and head[:2] not in _UTF16_MARKS:
            raise ToolError("BINARY_FILE", f"`{opened.place.shown}` is binary and cannot be searched")


def recheck_paths(workspace: Workspace, found: SearchFolder, paths: Iterable[str], most: int) -> list[str]:
    """The first paths that the guard finds too: ripgrep may have followed a link that was swapped in."""
    kept: list[str] = []
    for path in paths:
        with contextlib.suppress(ToolError):
            status = workspace.status(os.path.join(found.place.path, path))  # noqa: PTH118
            if stat.S_ISREG(status.st_mode):
                kept.append(path)
        # Here and not above: asking for one more may sort all of them.
        if len(kept) == most:
            break
    return kept


def expect_pattern(pattern: str) -> None:
    """INVALID_PARAM for a pattern that cannot be passed to a program."""
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise ToolError("INVALID_PARAM", "`pattern` must be one line of text, without NUL bytes")
    if any("\ud800" <= char <= "\udfff" for char in pattern):
        raise ToolError("INVALID_PARAM", "`pattern` contains half a character")


def expect_glob(glob: str) -> None:
    expect_pattern(glob)
    try:
        glob_pattern(glob)
    except BadGlob as error:
        raise ToolError("INVALID_PARAM", f"the pattern `{glob}` is wrong: {error}") from None


def filter_paths(paths: Iterable[str], glob: str) -> list[str]:
    """The paths that a pattern matches, in order; `expect_glob` has checked the pattern."""
    if glob in _ALL:
        return list(paths)
    matches = glob_pattern(glob).fullmatch
    return [path for path in paths if matches(path)]


def count_noun(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


WIDEST = 400
"""Characters of a line that are shown."""

_BEFORE = 120
"""Characters that are shown before the match of a cut line."""

_MOST_DECODED = 32 * 1024 * 1024
"""Bytes of a UTF-16 file that are decoded to find lines in it."""

_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_MARK = b"\xef\xbb\xbf"


class MatchedLines:
    """The bytes of an open file as ripgrep counts them: without a byte order mark, and UTF-16 as UTF-8."""

    def __init__(self, opened: OpenFile) -> None:
        self._descriptor = opened.file.fileno()
        head = os.pread(self._descriptor, 3, 0)
        self._shift = 3 if head == _UTF8_MARK else 0
        self._decoded: bytes | None = None
        if encoding := _UTF16.get(head[:2]):
            raw = os.pread(self._descriptor, _MOST_DECODED, 2)
            self._decoded = raw.decode(encoding, "replace").encode("utf-8", "replace")

    def _bytes(self, offset: int, count: int) -> bytes:
        if self._decoded is not None:
            return self._decoded[offset : offset + count]
        return os.pread(self._descriptor, count, offset + self._shift)

    def text(self, position: MatchPosition) -> str:
        """The line at a position, cut around its match if it is long."""
        skipped = max(position.column - 1 - _BEFORE, 0)
        raw = self._bytes(position.offset, 4 * WIDEST + 1)
        if skipped and (b"\n" not in raw or raw.index(b"\n") > WIDEST):
            raw = self._bytes(position.offset + skipped, 4 * WIDEST + 1)
            # The cut may fall inside a character, whose remaining bytes are not text.
            raw = raw.lstrip(bytes(range(0x80, 0xC0)))
        else:
            skipped = 0
        line, ended, _ = raw.partition(b"\n")
        text = line.decode("utf-8", "replace").removesuffix("\r")
        more = not ended and len(raw) > 4 * WIDEST
        if len(text) > WIDEST or more:
            text = f"{text[:WIDEST]}… [line cut]"
        return f"…{text}" if skipped else text


def read_lines(
    workspace: Workspace, folder: str, positions: list[MatchPosition]
) -> list[dict[str, Json]] | None:
    """Lines of one file, in order; None if the guard does not open it any more."""
    try:
        with workspace.open_file(os.path.join(folder, positions[0].path)) as opened:  # noqa: PTH118
            lines = MatchedLines(opened)
            return [
                {
                    "file": opened.place.shown,
                    "line": position.line,
                    "text": lines.text(position),
                    "is_match": position.column > 0,
                }
                for position in sorted(positions, key=lambda p: p.line)
            ]
    except ToolError:
        return None
