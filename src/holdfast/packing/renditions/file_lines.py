"""Lines of a file that a text shows: what a read returned, or what a write was given.

Rule: when in doubt, none. A line that is taken for shown and is not would let somebody say "unchanged" of a text
that nobody has; one that is taken for missing costs one more read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from holdfast.messages import Json
from holdfast.packing.renditions.digests import is_trouble
from holdfast.tool_use import FROM_END, ToolUse

FEWEST = 4
"""An unnumbered text of fewer lines may as well be a message about the file; to read it again is cheap."""

LONGEST = 2_000
"""Characters from which a line may have been cut inside by the tool."""

EDGE = 40
"""Lines at either end of a result among which its first and its last line number stand."""

CONTENT_KEYS = ("content", "contents", "file_text", "text")

_NUMBER = re.compile(r"[ \t]*(\d{1,9})([→\t|:])")
_CUT = re.compile(
    r"(?i)[ \t]*[\[(<{*.…-].*(?:truncat|omitted|clipped|left out|not shown|\bmore lines?\b|\bshowing\b)"
    r"|.*…\s?\d+[^\n]{0,20}truncated"
)
_FAILED = re.compile(
    r"(?i)\W*(?:tool_use_)?error\b|traceback \(|(?:[^\n]*\n){0,5}[^\n]{0,200}"
    r"(?:no such file or directory|\bdoes not exist\b|exit(?:ed)? (?:with )?(?:code|status) [1-9])"
)
_DONE = re.compile(r"(?i)\b(?:success\w*|wrote|written|created|updated|saved|overwritten|done|ok)\b")
_NOT = re.compile(r"(?i)\bnot?\b|n't\b|\breject|\bdeclin|\bcancel|error")
_ELSEWHERE = re.compile(r"\s*cd\s")

Span = tuple[int, int]
"""First and last line, counted from 1."""


class FileLines(Struct, frozen=True, gc=False):
    """Lines of a file by number, each as it stands in the text, a number before it included.

    `known_by` says how the numbers are known: they stand before the lines, the lines were counted from where the
    call says they begin, or the text is the file. `is_open` means that the lines go on to where a read without an
    end would; `end` is the file's last line, 0 where that is not known.
    """

    lines: dict[int, str]
    known_by: Literal["number", "count", "file"] = "count"
    is_open: bool = False
    end: int = 0

    @property
    def spans(self) -> tuple[Span, ...]:
        return merged((n, n) for n in self.lines)

    def still_in(self, shown: str) -> "FileLines":
        """Of a text that was shortened, the lines that are left. Only numbers tell a line from another like it."""
        if self.known_by != "number":
            return FileLines({})
        rows = set(shown.split("\n"))
        left = {number: row for number, row in self.lines.items() if row in rows}
        return FileLines(left, "number", self.is_open and max(self.lines) in left, self.end)

    def words(self) -> dict[int, str]:
        """The lines without their numbers and white space at the ends; none where the numbers are only counted,
        since a head that a tool puts above the lines would shift them all."""
        if self.known_by == "count":
            return {}
        if self.known_by == "file":
            return {number: row.strip() for number, row in self.lines.items()}
        return {number: _NUMBER.sub("", row, count=1).strip() for number, row in self.lines.items()}


NO_LINES = FileLines({})


def lines_read(use: ToolUse, text: str) -> FileLines:
    """The lines that a read returned."""
    if not shows_file(use, text) or _ELSEWHERE.match(use.command):
        return NO_LINES
    rows = text.split("\n")
    numbered = _numbered(use, rows)
    if not numbered:
        return _counted(use, rows)
    is_cut = any(_CUT.match(row) for row in rows if not _NUMBER.match(row))
    last = max(numbered)
    end = last if use.last > last and not is_cut else 0
    lines = _uncut(numbered)
    return FileLines(lines, "number", not use.last and not is_cut and last in lines, end)


def lines_written(content: str) -> FileLines:
    """The lines of a text that a write left as a file."""
    rows = content.removesuffix("\n").split("\n") if content else []
    return FileLines(dict(enumerate(rows, 1)), "file", True, len(rows))


def written(arguments: Mapping[str, Json]) -> str | None:
    """The text that a write leaves as its file; None where the call does not tell it, or only adds to the file."""
    mode = arguments.get("mode")
    if arguments.get("append") or (isinstance(mode, str) and mode.startswith("a")):
        return None
    return next((v for key in CONTENT_KEYS if isinstance(v := arguments.get(key), str)), None)


def shows_file(use: ToolUse, text: str) -> bool:
    """Whether a read returned what stands in the file, not a message about it: few tools say that they failed."""
    rows = text.rstrip().split("\n", FEWEST)
    if not use.command and (found := _NUMBER.match(rows[0])) and found[2] != ":":
        return True
    return (len(rows) >= FEWEST or rows[0].lstrip()[:1] == "{") and not _FAILED.match(text)


def has_written(use: ToolUse, text: str) -> bool:
    """Whether a result says that a write was made; a call that a person refused is seldom flagged as an error."""
    line = text.split("\n", 1)[0][:400].replace(use.path, "")
    return bool(_DONE.search(line)) and not _NOT.search(line) and not is_trouble(line)


def range_of(use: ToolUse, text: str) -> Span:
    """First and last line of a read, by the numbers in its result or else by the call; 0 where neither tells."""
    rows = text.split("\n")
    if not use.command:
        first = next((int(m[1]) for row in rows[:EDGE] if (m := _NUMBER.match(row))), 0)
        last = next((int(m[1]) for row in reversed(rows[-EDGE:]) if (m := _NUMBER.match(row))), 0)
        if 0 < first <= last < first + len(rows) and (last - first + 1) * 2 >= len(rows):
            return first, last
    if use.first == FROM_END:
        return 0, 0
    return use.first or int(use.last > 0), use.last


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same lines in as few spans as there can be, in order."""
    out: list[Span] = []
    for first, last in sorted(spans):
        if out and first <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(out[-1][1], last)
        else:
            out.append((first, last))
    return tuple(out)


def covers(spans: Sequence[Span], first: int, last: int) -> bool:
    """Whether one span holds every line from `first` to `last`; of merged spans, whether all do."""
    return first <= last and any(a <= first and last <= b for a, b in spans)


def _numbered(use: ToolUse, rows: Sequence[str]) -> dict[int, str]:
    """Rows by the numbers they begin with; none unless half of the rows are numbered, without a gap."""
    if use.command:
        # What a shell prints of a file has no numbers, and a file may hold some of its own.
        return {}
    found = [(int(m[1]), m[2], row) for row in rows if (m := _NUMBER.match(row))]
    in_order = all(b[0] == a[0] + 1 for a, b in pairwise(found))
    # A few lines such as `404: not found` are no listing.
    sure = len(found) >= FEWEST or all(separator != ":" for _, separator, _ in found)
    is_listing = in_order and sure and len(found) * 2 >= len(rows)
    return {number: row for number, _, row in found} if is_listing else {}


def _counted(use: ToolUse, rows: Sequence[str]) -> FileLines:
    """Rows without numbers, counted from where the call says that they begin."""
    if use.first == FROM_END or (rows[0].lstrip()[:1] == "{" and not use.path.endswith(".json")):
        return NO_LINES
    rows, is_cut = _without_tail(rows)
    if len(rows) < FEWEST or any(_CUT.match(row) for row in rows):
        return NO_LINES
    first = use.first or 1
    asked = use.last - first + 1 if use.last else len(rows)
    end = first + len(rows) - 1 if len(rows) < asked and not is_cut else 0
    lines = _uncut(dict(enumerate(rows[:asked], first)))
    reaches = not use.last and not is_cut and first + len(rows) - 1 in lines
    return FileLines(lines, "count", reaches, end)


def _without_tail(rows: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The rows without a last one that says how many more there are, and whether there was such a row."""
    if rows and not rows[-1]:
        rows = rows[:-1]
    if rows and _CUT.match(rows[-1]):
        rows = rows[:-1]
        return (rows[:-1] if rows and not rows[-1].strip() else rows), True
    return rows, False


def _uncut(lines: Mapping[int, str]) -> dict[int, str]:
    return {number: row for number, row in lines.items() if len(row) < LONGEST}
