"""A unit as a reviewer reads it: its change with signs, in as much of the file as its level asks for.

Rule: lines that changed come before all others. Where not all can be shown, those nearest to the change are.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.agents.reviewing.tools.rows import MOST_ROWS, Rows
from holdfast.agents.reviewing.tools.shelf import Sheet
from holdfast.review.places import Lines
from holdfast.review.unit import Level, Span, Unit

NO_LINES: Lines = {}


class Window(Struct, frozen=True):
    """What is shown of a unit, and how many lines more its level asks for."""

    rows: Rows
    left_out: int


class _Signs(Struct, frozen=True):
    """Of a file's change: lines of the newer side that came, and those of the older that went, by the number of the
    line they stood before."""

    came: frozenset[int]
    went: dict[int, list[int]]


def unit_window(
    unit: Unit, others: Sequence[Unit], sheet: Sheet, old: Lines, level: Level, context: int
) -> Window:
    """`others` are all units of the file, whose changes have signs too; `old` are the lines that went."""
    own = _signs([unit])
    signs = _signs(others)
    touched = sorted({*own.came, *own.went}) or [max(unit.new.first, 1)]
    wanted = _wanted(unit, sheet.lines, touched, level, context)
    # Every line that went takes a row too.
    room = max(MOST_ROWS - sum(map(len, own.went.values())), 1)
    near = _nearest(wanted, touched, room)
    rows = Rows()
    before = 0
    for number in sorted({*near, *own.went}):
        if before and number > before + 1:
            rows.gap()
        before = number
        for gone in signs.went.get(number, ()):
            rows.add(gone, old.get(gone, ""), "-")
        if number in near:
            rows.add(number, sheet.lines[number], "+" if number in signs.came else " ")
    return Window(rows, rows.left_out + len(wanted) - len(near))


def _signs(units: Iterable[Unit]) -> _Signs:
    came: set[int] = set()
    went: dict[int, list[int]] = {}
    for hunk in (hunk for unit in units for hunk in unit.hunks):
        # Of a hunk without newer lines git gives the number of the line before it.
        at = hunk.new_start + (hunk.new_count == 0)
        for line in hunk.lines:
            if line.kind == "-":
                went.setdefault(at, []).append(line.old)
                continue
            if line.kind == "+":
                came.add(line.new)
            at = line.new + 1
    return _Signs(frozenset(came), went)


def _wanted(unit: Unit, lines: Lines, touched: Sequence[int], level: Level, context: int) -> list[int]:
    """Numbers of the lines that a level asks for."""
    if level == "full_file":
        return list(lines)
    spans = [Span(number - context, number + context) for number in touched]
    # The symbol's lines are those of the older side where all of it went.
    if unit.symbol is not None and unit.new.first and level in ("function", "file_context"):
        more = context if level == "file_context" else 0
        spans = [Span(number, number) for number in touched]
        spans.append(Span(unit.symbol.span.first - more, unit.symbol.span.last + more))
    elif unit.new.first:
        spans.append(unit.new)
    reach = {number for span in spans for number in range(max(span.first, 1), span.last + 1)}
    return [number for number in lines if number in reach]


def _nearest(wanted: Sequence[int], touched: Sequence[int], most: int) -> set[int]:
    if len(wanted) <= most:
        return set(wanted)
    first, last = touched[0], touched[-1]
    changed = set(touched)

    def distance(number: int) -> tuple[bool, int, int]:
        return number not in changed, max(first - number, number - last, 0), number

    return set(sorted(wanted, key=distance)[:most])
