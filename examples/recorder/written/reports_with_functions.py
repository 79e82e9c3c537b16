"""Tables for people: stock, reorder list, sales by month."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from inventory.tables import header, row, rule

from inventory.catalog import Catalog
from inventory.invoices import Invoice
from inventory.money import Money, total
from inventory.stock import Ledger

STOCK = (
    ("sku", 10, "<"),
    ("name", 24, "<"),
    ("on hand", 8, ">"),
    ("reserved", 8, ">"),
    ("available", 9, ">"),
    ("value", 14, ">"),
)
REORDER = (("sku", 10, "<"), ("name", 24, "<"), ("available", 9, ">"), ("reorder at", 10, ">"))


def stock_report(ledger: Ledger, catalog: Catalog) -> str:
    """What is there, what is promised, what it is worth."""
    lines = [header(STOCK), rule(STOCK)]
    for sku in ledger.skus():
        name = catalog.get(sku).name if sku in catalog else "?"
        counts = ledger.on_hand(sku), ledger.reserved(sku), ledger.available(sku)
        lines.append(row(STOCK, sku, name, *map(str, counts), str(ledger.value(sku))))
    whole = total(ledger.value(sku) for sku in ledger.skus())
    lines += [rule(STOCK), row(STOCK, "total", "", "", "", "", str(whole))]
    return "\n".join(lines) + "\n"


def reorder_report(ledger: Ledger, catalog: Catalog) -> str:
    """Products at or below their reorder point, the emptiest first."""
    short = [p for p in catalog if p.reorder_at and ledger.available(p.sku) <= p.reorder_at]
    short.sort(key=lambda product: (ledger.available(product.sku), product.sku))
    lines = [header(REORDER)]
    for product in short:
        free = ledger.available(product.sku)
        lines.append(row(REORDER, product.sku, product.name, str(free), str(product.reorder_at)))
    return "\n".join(lines) + "\n"


def sales_by_month(invoices: Iterable[tuple[date, Invoice]]) -> dict[str, Money]:
    """Net sales, month by month, as `2026-03`."""
    sums: dict[str, Money] = defaultdict(lambda: Money(0))
    for day, invoice in invoices:
        sums[f"{day:%Y-%m}"] += invoice.net
    return dict(sorted(sums.items()))
