"""Tables for people: stock, reorder list, sales by month."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from inventory.catalog import Catalog
from inventory.invoices import Invoice
from inventory.money import Money, total
from inventory.stock import Ledger


@dataclass(frozen=True)
class Column:
    title: str
    width: int
    right: bool = False


class TextTable:
    """Lines of text whose columns line up on a terminal, wide characters included."""

    def __init__(self, *columns: Column) -> None:
        self._columns = columns
        self._lines: list[str] = []

    def header(self) -> None:
        self.row(*(column.title for column in self._columns))

    def rule(self) -> None:
        self.row(*("-" * column.width for column in self._columns))

    def row(self, *cells: str) -> None:
        shown = [_cell(cell, column) for cell, column in zip(cells, self._columns, strict=True)]
        self._lines.append("  ".join(shown).rstrip())

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


def stock_report(ledger: Ledger, catalog: Catalog) -> str:
    """What is there, what is promised, what it is worth."""
    table = TextTable(
        Column("sku", 10),
        Column("name", 24),
        Column("on hand", 8, right=True),
        Column("reserved", 8, right=True),
        Column("available", 9, right=True),
        Column("value", 14, right=True),
    )
    table.header()
    table.rule()
    for sku in ledger.skus():
        table.row(
            sku,
            catalog.get(sku).name if sku in catalog else "?",
            str(ledger.on_hand(sku)),
            str(ledger.reserved(sku)),
            str(ledger.available(sku)),
            str(ledger.value(sku)),
        )
    table.rule()
    table.row("total", "", "", "", "", str(total(ledger.value(sku) for sku in ledger.skus())))
    return table.text()


def reorder_report(ledger: Ledger, catalog: Catalog) -> str:
    """Products at or below their reorder point, the emptiest first."""
    short = [p for p in catalog if p.reorder_at and ledger.available(p.sku) <= p.reorder_at]
    short.sort(key=lambda product: (ledger.available(product.sku), product.sku))
    table = TextTable(
        Column("sku", 10),
        Column("name", 24),
        Column("available", 9, right=True),
        Column("reorder at", 10, right=True),
    )
    table.header()
    for product in short:
        free = ledger.available(product.sku)
        table.row(product.sku, product.name, str(free), str(product.reorder_at))
    return table.text()


def sales_by_month(invoices: Iterable[tuple[date, Invoice]]) -> dict[str, Money]:
    """Net sales, month by month, as `2026-03`."""
    sums: dict[str, Money] = defaultdict(lambda: Money(0))
    for day, invoice in invoices:
        sums[f"{day:%Y-%m}"] += invoice.net
    return dict(sorted(sums.items()))


def _cell(text: str, column: Column) -> str:
    fitted = _fit(text, column.width)
    space = " " * (column.width - _width(fitted))
    return space + fitted if column.right else fitted + space


def _width(text: str) -> int:
    """Columns a text takes up in a terminal: wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _fit(text: str, width: int) -> str:
    """The text, or as much of it as leaves room for three dots."""
    if _width(text) <= width:
        return text
    kept = ""
    for char in text:
        if _width(kept + char) > width - 3:
            break
        kept += char
    return kept + "..."
