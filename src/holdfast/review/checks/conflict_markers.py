"""Merge conflict markers left in a file.

Rule: only complete sets of markers, in order and in the first column; a `=======` underline is none, nor is a
string or a fenced block that shows them.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.file_types import language_family
from holdfast.review.finding import Finding

CONFLICT = ReviewRule(
    "conflict-marker",
    "A conflict marker is left",
    "A merge was not finished: the file contains both sides and the lines between them.",
    "critical",
    "bug",
)
RULES = (CONFLICT,)

_START = re.compile(r"<{7}(?: \S.*)?\r?")
_MIDDLE = re.compile(r"={7}\r?")
_END = re.compile(r">{7}(?: \S.*)?\r?")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def check(change: CheckInput) -> Iterator[Finding]:
    for file in change.files():
        if file.change == "deleted":
            continue
        markers = [line for line in file.lines("+") if line.text[:1] in ("<", "=", ">")]
        if any(map(_is_edge, markers)) and not _is_quoted(change, file):
            for block in _blocks(markers):
                yield change.finding(CONFLICT, file.path, block, "Merge conflict markers are left here.")


def _is_edge(line: DiffLine) -> bool:
    return bool(_START.fullmatch(line.text) or _END.fullmatch(line.text))


def _blocks(lines: list[DiffLine]) -> Iterator[tuple[DiffLine, ...]]:
    """Start, middle and end; a start without its end does not count."""
    block: list[DiffLine] = []
    for line in lines:
        if _START.fullmatch(line.text):
            block = [line]
        elif (len(block) == 1 and _MIDDLE.fullmatch(line.text)) or (
            len(block) == 2 and _END.fullmatch(line.text)
        ):
            block.append(line)
        if len(block) == 3:
            yield tuple(block)
            block = []


def _is_quoted(change: CheckInput, file: FileChange) -> bool:
    """A Python file that parses has them in a string; a document may have them in a fenced block."""
    text = change.new(file.path)
    if language_family(file.path) == "python":
        return change.tree(file.path) is not None
    if language_family(file.path) != "markup" or text is None:
        return False
    is_fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            is_fenced = not is_fenced
        elif _START.fullmatch(line) and not is_fenced:
            return False
    return True
