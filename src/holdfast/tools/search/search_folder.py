"""The folder that a search runs in, held by its descriptor; which files with matches are shown, and their lines.

Rule: ripgrep is started inside the folder that the guard opened and looks at `./` only. Every text that is shown is
read through the guard. A long line is cut around its match, and no more than the cut is ever in memory. The choice
depends on the files alone, so that the same search in the same tree shows the same lines.
"""

import asyncio
import contextlib
import heapq
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.search.path_patterns import BadGlob, glob_pattern
from holdfast.tools.search.ripgrep import MatchPosition, Ripgrep, SearchPattern, read_positions, run_program
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import OpenDirectory, OpenFile, printable_path

FileOrder = Literal["relevance", "mtime", "path"]

WIDEST = 400
"""Characters of a line that are shown."""

MOST_FILES = 200
"""Files whose lines are shown in one answer."""

MOST_BY_TIME = 20_000
"""Files that are sorted by time; asking the system about more would take longer than the search."""

_CANDIDATES = 2_000
"""Files whose size is looked up; they are chosen by their number of matches."""

_SMALL = 2_000
"""Bytes below which the size of a file says nothing about its relevance."""

_WORD = re.compile(r"\w{3,}")
_ALL = ("*", "**", "**/*")
_HEAD = 8192
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_MARK = b"\xef\xbb\xbf"

_BEFORE = 120
"""Characters that are shown before the match of a cut line."""

_MOST_DECODED = 32 * 1024 * 1024
"""Bytes of a UTF-16 file that are decoded to find lines in it."""


class SearchFolder:
    """The folder of a search. `target` is `./`, or `./name` for a single file; `named` is what was asked for."""

    def __init__(self, workspace: Workspace, directory: OpenDirectory, target: str, named: str) -> None:
        self._workspace = workspace
        self._place = directory.place
        self.descriptor = directory.descriptor
        self.handle = directory.handle
        self.target = target
        self.named = named

    def shown(self, path: str) -> str:
        """A found path, as the tool shows it."""
        name = printable_path(path)
        return name if self._place.shown == "." else f"{self._place.shown}/{name}"

    def _whole(self, path: str) -> str:
        return os.path.join(self._place.path, path)  # noqa: PTH118

    def recheck(self, paths: Iterable[str], most: int) -> list[str]:
        """The first paths that the guard finds too: ripgrep may have followed a link that was swapped in."""
        kept: list[str] = []
        for path in paths:
            with contextlib.suppress(ToolError):
                if stat.S_ISREG(self._workspace.status(self._whole(path)).st_mode):
                    kept.append(path)
            # Here and not above: asking for one more may sort all of them.
            if len(kept) == most:
                break
        return kept

    def newest_first(self, paths: Iterable[str]) -> list[str]:
        """Files of the same time stay in the order of their names."""
        times = {path: self._size_and_time(path)[1] for path in sorted(paths)}
        return sorted(times, key=times.__getitem__, reverse=True)

    def _size_and_time(self, path: str) -> tuple[int, int]:
        """Bytes, and nanoseconds of the last change; zeros for a file that is gone."""
        try:
            status = os.stat(path, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return 0, 0
        return status.st_size, status.st_mtime_ns

    def order_files(self, counts: dict[str, int], pattern: str, order: FileOrder) -> list[str]:
        """The first files with matches; `counts` has their matches."""
        if order == "path":
            return sorted(counts)
        if order == "mtime" and len(counts) <= MOST_BY_TIME:
            return self.newest_first(counts)
        named = _named_so(counts, [word.lower() for word in _WORD.findall(pattern)])
        first = sorted(named, key=lambda path: (-counts[path], path))
        weighed = [*first, *_with_most_matches(counts)][:_CANDIDATES]
        weights = {path: counts[path] / max(self._size_and_time(path)[0], _SMALL) for path in weighed}
        return sorted(weights, key=lambda path: (path not in named, -weights[path], path))

    async def find_lines(
        self,
        searcher: Ripgrep,
        pattern: SearchPattern,
        counts: dict[str, int],
        ordered: list[str],
        most: int,
        seconds: float,
        context: int = 0,
    ) -> tuple[list[dict[str, Json]], int]:
        """Matching lines, those of the first files, and how many files that are."""
        files = ordered[: min(most, MOST_FILES)]
        if not files:
            return [], 0
        cap = _share([counts[path] for path in files], most)
        found = await run_program(searcher.positions(pattern, files, cap, context), self.handle, seconds)
        return await asyncio.to_thread(self._read_lines, files, found.output), len(files)

    def _read_lines(self, files: list[str], output: bytes) -> list[dict[str, Json]]:
        by_file: dict[str, list[MatchPosition]] = {name: [] for name in files}
        for position in read_positions(output):
            by_file.get(position.path, []).append(position)
        lines: list[dict[str, Json]] = []
        for path, positions in by_file.items():
            # A file that the guard does not open any more is left out.
            with contextlib.suppress(ToolError), self._workspace.open_file(self._whole(path)) as opened:
                matched = MatchedLines(opened)
                lines += [
                    {
                        "file": opened.place.shown,
                        "line": position.line,
                        "text": matched.text(position),
                        "is_match": position.column > 0,
                    }
                    for position in sorted(positions, key=lambda p: p.line)
                ]
        return lines


def _with_most_matches(counts: dict[str, int]) -> list[str]:
    """The files with the most matches, equal ones by name. Not all are sorted: with a hundred thousand that would
    take a fifth of the time of the search."""
    left = _CANDIDATES
    least = 0
    for number, files in sorted(Counter(counts.values()).items(), reverse=True):
        least = number
        if files >= left:
            break
        left -= files
    more = sorted((path for path, number in counts.items() if number > least), key=lambda p: (-counts[p], p))
    return more + heapq.nsmallest(left, (path for path, number in counts.items() if number == least))


def _named_so(paths: Iterable[str], words: list[str]) -> set[str]:
    """The files whose name contains a word of the pattern."""
    named: set[str] = set()
    # Most words occur in no name: one search through all names together is much cheaper than one for each.
    together = "\0".join(paths).lower()
    for word in (word for word in words if word in together):
        named.update(path for path in paths if word in path[path.rfind("/") + 1 :].lower())
    return named


def _share(lines: list[int], most: int) -> int:
    """The most lines per file with which all files together stay within `most`; at least one."""
    caps = range(most, 1, -1)
    return next((cap for cap in caps if sum(min(count, cap) for count in lines) <= most), 1)


@contextlib.contextmanager
def open_search_folder(workspace: Workspace, path: str) -> Iterator[SearchFolder]:
    """The folder that `path` is or lies in, open during the search."""
    place = workspace.locate(path)
    is_directory = not place.inner or stat.S_ISDIR(workspace.status(path).st_mode)
    folder = place.path if is_directory else os.path.dirname(place.path)  # noqa: PTH120
    target = "./" if is_directory else f"./{place.parts[-1]}"
    with workspace.open_directory(folder) as directory:
        yield SearchFolder(workspace, directory, target, place.shown)


def expect_text(workspace: Workspace, path: str) -> None:
    """BINARY_FILE for a single file that is not text; in a folder such files are skipped and counted."""
    with workspace.open_file(path) as opened:
        head = opened.file.read(_HEAD)
        if b"\0" in head and head[:2] not in _UTF16:
            raise ToolError("BINARY_FILE", f"`{opened.place.shown}` is binary and cannot be searched")


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
