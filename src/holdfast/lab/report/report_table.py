"""A table of the report: only cells and columns, for a terminal, a document or a page to draw."""

from typing import Literal

from msgspec import Struct

TableColumn = tuple[str, Literal["wrapped", "number"]]
"""A policy's name goes on in the next line where eighty columns are not enough; numbers are never cut."""
Cells = list[str | int]


class ReportTable(Struct, frozen=True):
    title: str
    columns: tuple[TableColumn, ...]
    rows: list[Cells]

    @property
    def heading(self) -> str:
        """The title as a sentence begins."""
        return f"{self.title[0].upper()}{self.title[1:]}"


def number_columns(first: str, *numbers: str) -> tuple[TableColumn, ...]:
    return ((first, "wrapped"), *((name, "number") for name in numbers))
