"""Conflict markers that were left in a file.

Rule: only markers that belong together, in order and in their column; an underline of `=======` is none, nor is a
string or a quoted block that shows them.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, FindingPlace, ReviewRule, changed_lines
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.file_types import language_family
from holdfast.review.finding import Finding

CONFLICT = ReviewRule(
    "conflict-marker",
    "A conflict marker was left",
    "A merge was not finished: the file holds both sides and the lines between them.",
    "critical",
    "bug",
)
RULES = (CONFLICT,)

_START = re.compile(r"<{7}(?: \S.*)?\r?")
_MIDDLE = re.compile(r"={7}\r?")
_END = re.compile(r">{7}(?: \S.*)?\r?")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def check(scene: CheckInput) -> Iterator[Finding]:
    for file in scene.files():
        if file.change == "deleted":
            continue
        lines = [line for line in changed_lines(file, "+") if line.text[:1] in ("<", "=", ">")]
        if any(map(_is_edge, lines)) and not _is_shown(scene, file):
            for block in _blocks(lines):
                yield scene.finding(
                    CONFLICT, FindingPlace(file.path, block), "Conflict markers of a merge are left here."
                )


def _is_edge(line: DiffLine) -> bool:
    return bool(_START.fullmatch(line.text) or _END.fullmatch(line.text))


def _blocks(lines: list[DiffLine]) -> Iterator[tuple[DiffLine, ...]]:
    """Start, middle and end; a start without its end is none."""
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


def _is_shown(scene: CheckInput, file: FileChange) -> bool:
    """A Python file that parses has them in a string; a page of text may have them between fences."""
    text = scene.new(file.path)
    if language_family(file.path) == "python":
        return scene.tree(file.path) is not None
    if language_family(file.path) != "markup" or text is None:
        return False
    inside = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            inside = not inside
        elif _START.fullmatch(line) and not inside:
            return False
    return True
