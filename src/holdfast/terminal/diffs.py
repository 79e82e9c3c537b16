"""Diffs on the screen: numbered, signed and coloured.

Rule: the sign tells added from removed; colour only repeats it.
"""

import re
from collections.abc import Iterator

from msgspec import Struct
from textual.content import Content

from holdfast.terminal.plain import counted, neutral

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_STYLES = {"+": "$success", "-": "$error", "@": "dim", " ": ""}


class Row(Struct, frozen=True):
    """A line of a diff. `number` is its place in the file (the old one for what is removed), 0 for none."""

    sign: str
    text: str
    number: int = 0


def is_diff(text: str) -> bool:
    return text.startswith("--- ") and "\n+++ " in text


def rows(diff: str) -> Iterator[Row]:
    """The lines of a unified diff, without the names of the file."""
    old = new = 0
    for line in diff.split("\n"):
        if hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[2])
            yield Row("@", line)
        elif not (old or new):
            if not line.startswith(("--- ", "+++ ")) and line:
                yield Row(" ", line)
        elif line.startswith("+"):
            yield Row("+", line[1:], new)
            new += 1
        elif line.startswith("-"):
            yield Row("-", line[1:], old)
            old += 1
        elif line.startswith(" ") or not line:
            yield Row(" ", line[1:], new)
            old, new = old + 1, new + 1
        else:
            yield Row("@", line)


def diff_content(diff: str, most: int = 0) -> Content:
    """A diff for the screen; with `most`, its first lines and how many follow."""
    found = list(rows(diff.rstrip("\n")))
    if len([row for row in found if row.sign == "@"]) == 1:
        found = [row for row in found if row.sign != "@"]
    width = len(str(max((row.number for row in found), default=0)))
    shown = found[:most] if most else found
    lines = [_line(row, width) for row in shown]
    if left := len(found) - len(shown):
        lines.append(Content.styled(f"{' ' * width} … {counted(left, 'more line')}", "dim"))
    return Content("\n").join(lines)


def totals(diff: str) -> str:
    """How much a diff adds and removes."""
    signs = [row.sign for row in rows(diff)]
    return f"+{signs.count('+')} -{signs.count('-')}"


def _line(row: Row, width: int) -> Content:
    if row.sign == "@":
        return Content.styled(f"{' ' * width} {neutral(row.text)}", _STYLES["@"])
    number = f"{row.number or '':>{width}} "
    return Content.assemble((number, "dim"), (f"{row.sign} {neutral(row.text)}", _STYLES[row.sign]))
