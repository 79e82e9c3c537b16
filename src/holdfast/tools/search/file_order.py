"""Which files with matches are shown, in which order, and how many lines of each.

Rule: the choice depends on the files alone, so that the same search in the same tree shows the same lines.
"""

import heapq
import os
import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from holdfast.tools.search.ripgrep import SearchPattern

FileOrder = Literal["relevance", "mtime", "path"]

MOST_FILES = 200
"""Files whose lines are shown in one answer."""

MOST_BY_TIME = 20_000
"""Files that are sorted by time; asking the system about more would take longer than the search."""

_CANDIDATES = 2_000
"""Files whose size is looked up; they are chosen by their number of matches."""

_SMALL = 2_000
"""Bytes below which the size of a file says nothing about its relevance."""

_WORD = re.compile(r"\w{3,}")


class FileChoice(Struct, frozen=True):
    matching: SearchPattern
    order: FileOrder
    most: int


class ChosenFiles(Struct, frozen=True):
    """The first files with matches in order, those whose lines are shown, and the most lines of each."""

    order: list[str]
    shown: tuple[str, ...]
    cap: int


def choose_files(counts: dict[str, int], folder: int, asked: FileChoice) -> ChosenFiles:
    """`folder` is the descriptor that paths are relative to."""
    ordered = _ordered(counts, folder, asked)
    shown = ordered[: min(asked.most, MOST_FILES)]
    return ChosenFiles(ordered, tuple(shown), _share([counts[path] for path in shown], asked.most))


def _ordered(counts: dict[str, int], folder: int, asked: FileChoice) -> list[str]:
    if asked.order == "path":
        return sorted(counts)
    if asked.order == "mtime" and len(counts) <= MOST_BY_TIME:
        return newest_first(sorted(counts), folder)
    words = [word.lower() for word in _WORD.findall(asked.matching.pattern)]
    named = _named_so(counts, words)
    first = sorted(named, key=lambda path: (-counts[path], path))
    weighed = [*first, *_with_most_matches(counts)][:_CANDIDATES]
    weights = {path: counts[path] / max(_size_and_time(path, folder)[0], _SMALL) for path in weighed}
    return sorted(weights, key=lambda path: (path not in named, -weights[path], path))


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


def newest_first(paths: list[str], folder: int) -> list[str]:
    """`paths` come sorted by name, and stay so among files of the same time."""
    times = {path: _size_and_time(path, folder)[1] for path in paths}
    return sorted(paths, key=times.__getitem__, reverse=True)


def _size_and_time(path: str, folder: int) -> tuple[int, int]:
    """Bytes, and nanoseconds of the last change; zeros for a file that is gone."""
    try:
        status = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _share(lines: list[int], most: int) -> int:
    """The most lines per file with which all files together stay within `most`; at least one."""
    low, high = 1, max(most, 1)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(count, middle) for count in lines) <= most:
            low = middle
        else:
            high = middle - 1
    return low
