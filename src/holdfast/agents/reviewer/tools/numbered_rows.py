"""Lines with their numbers, as many as one answer may hold.

Rule: a row is the line itself behind its number and a tab, as Read shows it; a line of a change has its sign in
front of the number. What was left out is said, with the call that shows it.
"""

import re
from collections.abc import Iterable

from holdfast.agents.reviewer.tools.review_files import FileVersion
from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.files.text_encoding import escape_bytes

MOST_ROWS = 400
MOST_CHARACTERS = 32_000
WIDEST = 1_000
GAP = "   ..."

_ROW = re.compile(r"[+\- ]?[ ]{0,5}\d{1,9}\t")


class NumberedRows:
    """Rows up to what fits; the rest is counted."""

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
    said = escape_bytes(text)[0]
    if len(said) > WIDEST:
        said = f"{said[:WIDEST]}… [{len(said) - WIDEST} characters are left out]"
    return f"{sign}{number:>6}\t{said}"


def strip_line_number(quoted: str) -> str:
    """A row that was quoted whole, as the line that it shows."""
    return "\n".join(_ROW.sub("", line, count=1) for line in quoted.split("\n"))


def select_lines(sheet: FileVersion, first: int, last: int, context: int = 0) -> tuple[int, int]:
    """The lines that are meant, those around them included; all where none are named."""
    if last and last < first:
        raise ToolError("INVALID_PARAM", f"`last` ({last}) lies before `first` ({first})")
    if first > max(sheet.last, 1):
        raise ToolError(
            "INVALID_PARAM",
            f"line {first} lies past the end of `{sheet.shown}`, which has {sheet.last} lines",
        )
    if not first and not last:
        return 1, sheet.last
    return max(first - context, 1), min(last + context, sheet.last) if last else sheet.last


def lines_result(sheet: FileVersion, span: tuple[int, int], call: str) -> ToolResult:
    """These lines of a side; `call` is the tool that shows the rest, with its arguments but for the lines."""
    rows = NumberedRows()
    wanted = [number for number in sheet.lines if span[0] <= number <= span[1]]
    for number in wanted:
        if rows.shown and number > rows.shown[-1] + 1:
            rows.gap()
        rows.add(number, sheet.lines[number])
    notes = [*_told(sheet, rows, wanted, call), *sheet.said_notes]
    is_cut = bool(rows.left_out) or not sheet.is_whole
    data: dict[str, Json] = {
        "path": sheet.shown,
        "version": sheet.side,
        "first": rows.shown[0] if rows.shown else 0,
        "last": rows.shown[-1] if rows.shown else 0,
        "total_lines": sheet.last,
        "truncated": is_cut,
    }
    envelope = Envelope(
        status="partial" if is_cut else "success",
        text="\n".join([*rows.rows, f"({'; '.join(notes)})"]),
        data=data,
        context={"path": sheet.shown},
    )
    return build_result(envelope, f"{len(rows.shown)} of {sheet.last} lines")


def _told(sheet: FileVersion, rows: NumberedRows, wanted: list[int], call: str) -> Iterable[str]:
    side = "the old version of " if sheet.side == "old" else ""
    if not sheet.lines:
        yield f"{side}`{sheet.shown}` is empty"
        return
    if not rows.shown:
        yield f"none of these lines of {side}`{sheet.shown}` are known"
        return
    yield f"lines {rows.shown[0]}-{rows.shown[-1]} of {sheet.last} in {side}`{sheet.shown}`"
    if rows.left_out:
        after = next(number for number in wanted if number > rows.shown[-1])
        yield f"{rows.left_out} more lines: {call}, first {after}, last {wanted[-1]}"
