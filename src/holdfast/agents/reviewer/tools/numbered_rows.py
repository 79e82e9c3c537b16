"""Numbered lines, as many as fit in one result.

Rule: a row is a line after its number and a tab, as Read shows it; a changed line has its sign before the number.
What is left out is said, with the call that shows it.
"""

import re
from collections.abc import Iterable

from holdfast.agents.reviewer.tools.review_files import FileVersion
from holdfast.messages import Json
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.files.text_encoding import escape_bytes

MOST_ROWS = 400
MOST_CHARACTERS = 32_000
WIDEST = 1_000
GAP = "   ..."

_ROW = re.compile(r"[+\- ]?[ ]{0,5}\d{1,9}\t")


class NumberedRows:
    """Rows as long as they fit; the rest is counted."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.shown: list[int] = []
        self.left_out = 0
        self._used = 0

    def add(self, number: int, text: str, sign: str = "") -> None:
        row = format_line(number, text, sign)
        if (
            self.left_out
            or len(self.shown) >= MOST_ROWS
            or (self.rows and self._used + len(row) > MOST_CHARACTERS)
        ):
            self.left_out += 1
            return
        self._used += len(row) + 1
        self.rows.append(row)
        self.shown.append(number)

    def gap(self) -> None:
        if self.rows and not self.left_out:
            self.rows.append(GAP)


def format_line(number: int, text: str, sign: str = "") -> str:
    shown = escape_bytes(text)[0]
    if len(shown) > WIDEST:
        shown = f"{shown[:WIDEST]}… [{len(shown) - WIDEST} characters are left out]"
    return f"{sign}{number:>6}\t{shown}"


def strip_line_number(quoted: str) -> str:
    """The line of a row that was quoted as a whole."""
    return "\n".join(_ROW.sub("", line, count=1) for line in quoted.split("\n"))


def select_lines(version: FileVersion, first: int, last: int, context: int = 0) -> tuple[int, int]:
    """First and last of the lines that are meant, with the context around them; all if none are named."""
    if last and last < first:
        raise ToolError("INVALID_PARAM", f"`last` ({last}) lies before `first` ({first})")
    if first > max(version.last, 1):
        raise ToolError(
            "INVALID_PARAM",
            f"line {first} lies past the end of `{version.shown}`, which has {version.last} lines",
        )
    if not first and not last:
        return 1, version.last
    return max(first - context, 1), min(last + context, version.last) if last else version.last


def lines_result(version: FileVersion, span: tuple[int, int], call: str) -> ToolResult:
    """These lines of a version; `call` is the tool that shows the rest, with its arguments except the lines."""
    rows = NumberedRows()
    wanted = [number for number in version.lines if span[0] <= number <= span[1]]
    for number in wanted:
        if rows.shown and number > rows.shown[-1] + 1:
            rows.gap()
        rows.add(number, version.lines[number])
    notes = [*_notes(version, rows, wanted, call), *version.all_notes]
    is_cut = bool(rows.left_out) or not version.is_whole
    data: dict[str, Json] = {
        "path": version.shown,
        "version": version.side,
        "first": rows.shown[0] if rows.shown else 0,
        "last": rows.shown[-1] if rows.shown else 0,
        "total_lines": version.last,
        "truncated": is_cut,
    }
    text, amount = (
        "\n".join([*rows.rows, f"({'; '.join(notes)})"]),
        f"{len(rows.shown)} of {version.last} lines",
    )
    return tool_result(text, amount, data=data, context={"path": version.shown}, is_partial=is_cut)


def _notes(version: FileVersion, rows: NumberedRows, wanted: list[int], call: str) -> Iterable[str]:
    side = "the old version of " if version.side == "old" else ""
    if not version.lines:
        yield f"{side}`{version.shown}` is empty"
        return
    if not rows.shown:
        yield f"none of these lines of {side}`{version.shown}` are known"
        return
    yield f"lines {rows.shown[0]}-{rows.shown[-1]} of {version.last} in {side}`{version.shown}`"
    if rows.left_out:
        after = next(number for number in wanted if number > rows.shown[-1])
        yield f"{rows.left_out} more lines: {call}, first {after}, last {wanted[-1]}"
