"""The result of a Read: numbered lines, then remarks in brackets, then facts for the log.

Rule: packing must know the lines for what they are (`packing/presence.py`): numbered rows come first
and make up at least half of the text, and a remark that lines are missing says so in words it knows ("more lines",
"left out").
"""

from collections.abc import Iterator

from msgspec import Struct

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolResult, build_result
from holdfast.tools.files.changes import OutsideChange
from holdfast.tools.files.looking import ReadFile
from holdfast.tools.files.rows import MOST_BYTES, LineSelection, ReadPassage

MOST_ROWS = 10
"""Rows of somebody else's diff that a Read shows beside the lines that were asked for."""


class ReadReport(Struct, frozen=True):
    """`is_open` means that no end was asked for; `lines_before` is how many lines the file had when last seen."""

    look: ReadFile
    asked: LineSelection
    passage: ReadPassage
    is_open: bool
    asked_encoding: str
    step: int
    outside: OutsideChange | None
    lines_before: int

    @property
    def last(self) -> int:
        return self.passage.rows[-1].number if self.passage.rows else 0

    @property
    def is_cut(self) -> bool:
        """Whether something is missing of what was asked for."""
        is_short = self.passage.is_capped or (self.is_open and self.last < self.look.lines)
        return is_short or any(row.end < row.length for row in self.passage.rows)


def reading_result(reading: ReadReport) -> ToolResult:
    look = reading.look
    said = [row.said() for row in reading.passage.rows]
    rows = [row for row, _ in said]
    told = "; ".join(_notes(reading, sum(odd for _, odd in said)))
    # One row, so that of a file of one line still half the rows are numbered.
    notes = [f"({told})"] if told else []
    notes += _outside_rows(reading, len(rows) - len(notes))
    head = []
    if reading.asked.column > 1:
        head = [f"(lines from character {reading.asked.column} on; what stands before it is left out)"]
    data: dict[str, Json] = {
        **look.facts(),
        "first": reading.asked.first if rows else 0,
        "last": reading.last,
        "column": reading.asked.column,
        "truncated": reading.is_cut,
        "unchanged": False,
        "modified_externally": reading.outside is not None,
        "asked_encoding": reading.asked_encoding,
        "step": reading.step,
    }
    envelope = Envelope(
        status="partial" if reading.is_cut else "success",
        text="\n".join([*head, *rows, *notes]),
        data=data,
        context={"path": look.place.shown},
    )
    return build_result(envelope, f"{len(rows)} of {look.lines} lines" if look.lines else "empty")


def unchanged_result(look: ReadFile, asked: LineSelection, step: int) -> ToolResult:
    """Instead of lines that stand in the window already."""
    last = asked.first + asked.count - 1
    shown = look.place.shown
    data: dict[str, Json] = {
        **look.facts(),
        "first": asked.first,
        "last": last,
        "truncated": False,
        "unchanged": True,
        "modified_externally": False,
        "step": step,
    }
    text = f"(unchanged since step {step}: lines {asked.first}-{last} of `{shown}` are on view there)"
    return build_result(
        Envelope(status="success", text=text, data=data, context={"path": shown}), "unchanged"
    )


def _notes(reading: ReadReport, odd: int) -> Iterator[str]:
    look, passage, last = reading.look, reading.passage, reading.last
    name, total = f"`{look.place.shown}`", look.lines
    if not total:
        yield f"{name} is empty"
        return
    if not look.encoding.is_plain:
        yield f"encoding: {look.encoding.said}"
    if passage.crlf:
        whole = passage.crlf >= len(passage.rows) - (last == total)
        amount = "lines" if whole else f"{passage.crlf} of the {len(passage.rows)} lines above"
        yield f"{amount} end in CRLF, which edits keep: write plain line breaks"
    if odd:
        yield f"{odd} bytes or characters that are no text are spelled `\\xNN`"
    if last < total:
        if passage.is_capped:
            yield f"stopped after {MOST_BYTES} bytes"
        more = f"{total - last} more {'line' if total - last == 1 else 'lines'}"
        yield f"lines {reading.asked.first}-{last} of {total} in {name}"
        yield f"{more}: Read with offset {last + 1}"
        return
    if not look.index.has_last_feed:
        yield "the file does not end with a line break"
    if reading.asked.first > 1:
        yield f"lines {reading.asked.first}-{last} of {total}: the end of {name}"


def _outside_rows(reading: ReadReport, room: int) -> list[str]:
    """Somebody else's change, as far as the lines that were asked for stay more than half of the text."""
    outside = reading.outside
    if outside is None:
        return []
    name = f"`{reading.look.place.shown}`"
    counts = f"it had {reading.lines_before} lines and has {reading.look.lines}"
    told = f"(modified_externally: {name} was changed since you saw it, not by your edits; {counts}"
    rows = [f"| {row}" for row in outside.diff(MOST_ROWS)]
    if outside.before is not None and not outside.changes:
        return [f"{told}, and no line differs)"]
    if not rows or len(rows) + 3 > room:
        where = f"; changed: {outside.lines}" if outside.changes else ""
        return [f"{told}{where})"]
    return [f"{told}; unchanged parts left out:)", *rows]
