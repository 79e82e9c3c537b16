"""Tables for people.

Rule: a table is as wide as the terminal at most. Running text is cut; a name that is too long goes on in the next
line; a number and the id of a log are always whole.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import StringIO
from textwrap import wrap
from typing import Literal, TextIO

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.streams import printable, say, uses_colour, write
from holdfast.numbers import grouped

Cell = str | int
PADDING = 2
LEAST_TEXT = 12
LEAST_NAME = 16
EIGHTY = 80


class Column(Struct, frozen=True):
    title: str
    kind: Literal["id", "name", "number", "text", "wrapped"]


identifier = partial(Column, kind="id")
name, number = partial(Column, kind="name"), partial(Column, kind="number")
text, wrapped = partial(Column, kind="text"), partial(Column, kind="wrapped")
"""Running text on one line, cut where the room ends; and running text that goes on in the next line."""


def print_table(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str = "", totals: int = 0
) -> None:
    """A table that is the data a person asked for. The last `totals` rows stand out."""
    if title:
        print_heading(title)
    write(_drawn(columns, rows, totals, sys.stdout))


def say_table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, totals: int = 0) -> None:
    """A table beside the data, on stderr."""
    sys.stderr.write(_drawn(columns, rows, totals, sys.stderr))
    sys.stderr.flush()


def say_truncated(line: str) -> None:
    """A line on stderr that is cut where a terminal ends."""
    say(truncate(line, width_of(sys.stderr)) if sys.stderr.isatty() else line)


def truncate(line: str, width: int) -> str:
    cut = Text(printable(line))
    cut.truncate(max(width, 1), overflow="ellipsis")
    return cut.plain


def say_wrapped(sentence: str) -> None:
    """A sentence on stderr, on as many lines as it needs."""
    for line in wrap(printable(sentence), width_of(sys.stderr)):
        say(line)


def format_date(at: float | None) -> str:
    """In the reader's own time zone; JSON has the number. A recording may claim a year that no calendar has."""
    with suppress(ValueError, OverflowError, OSError):
        if at is not None:
            return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    return ""


def print_heading(words: str) -> None:
    bold, plain = ("\x1b[1m", "\x1b[0m") if uses_colour(sys.stdout.isatty()) else ("", "")
    write(f"\n{bold}{printable(words)}{plain}\n")


def _drawn(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], totals: int, stream: TextIO) -> str:
    cells = [[grouped(cell) if isinstance(cell, int) else printable(cell) for cell in row] for row in rows]
    if not cells:
        return ""
    widths = _widths(columns, cells, width_of(stream))
    table = Table(box=None, pad_edge=False, padding=(0, PADDING, 0, 0), header_style="bold")
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            column.title,
            justify="right" if column.kind == "number" else "left",
            width=width,
            no_wrap=column.kind in ("id", "number", "text"),
            overflow="ellipsis" if column.kind == "text" else "fold",
        )
    for at, row in enumerate(cells):
        table.add_row(*map(Text, row), style="bold" if at >= len(cells) - totals else None)
    return draw([table], stream, sum(widths) + PADDING * len(widths))


def draw(parts: Iterable[RenderableType], stream: TextIO, width: int) -> str:
    """What rich would print, for us to write: rich would end the program itself at a closed pipe."""
    colours: Literal["standard"] | None = "standard" if uses_colour(stream.isatty()) else None
    drawing = StringIO()
    console = Console(file=drawing, force_terminal=colours is not None, color_system=colours, width=width)
    for part in parts:
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in drawing.getvalue().split("\n")[:-1])


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """Numbers and names get what they need; running text shares the rest, the shortest first."""
    widths = [
        max(cell_len(row[at]) for row in ([c.title for c in columns], *cells)) for at in range(len(columns))
    ]
    flexible = [at for at, column in enumerate(columns) if column.kind in ("text", "wrapped")]
    left = room - PADDING * (len(columns) - 1) - sum(w for at, w in enumerate(widths) if at not in flexible)
    flexible.sort(key=lambda at: widths[at])
    for taken, at in enumerate(flexible):
        widths[at] = min(widths[at], max(left // (len(flexible) - taken), LEAST_TEXT))
        left -= widths[at]
    names = [at for at, column in enumerate(columns) if column.kind == "name"]
    for at in sorted(names, key=lambda at: -widths[at]):
        spare = max(0, min(-left, widths[at] - LEAST_NAME))
        widths[at] -= spare
        left += spare
    return widths


def width_of(stream: TextIO) -> int:
    """What `COLUMNS` says, else the terminal, else eighty."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or EIGHTY
    except (OSError, ValueError):
        return EIGHTY
