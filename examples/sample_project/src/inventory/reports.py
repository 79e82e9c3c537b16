"""Tables for people: stock, reorder list, sales by month."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from inventory.catalog import Catalog
from inventory.invoices import Invoice
from inventory.money import Money, total
from inventory.stock import Ledger


def stock_report(ledger: Ledger, catalog: Catalog) -> str:
    """What is there, what is promised, what it is worth."""
    out = [_row("sku", "name", "on hand", "reserved", "available", "value")]
    out.append(_row("-" * 10, "-" * 24, "-" * 8, "-" * 8, "-" * 9, "-" * 14))
    for sku in ledger.skus():
        name = catalog.get(sku).name if sku in catalog else "?"
        name = name if len(name) <= 24 else name[:21] + "..."
        out.append(
            _row(
                sku,
                name,
                str(ledger.on_hand(sku)),
                str(ledger.reserved(sku)),
                str(ledger.available(sku)),
                str(ledger.value(sku)),
            )
        )
    whole = total(ledger.value(sku) for sku in ledger.skus())
    out.append(_row("-" * 10, "-" * 24, "-" * 8, "-" * 8, "-" * 9, "-" * 14))
    out.append(_row("total", "", "", "", "", str(whole)))
    return "\n".join(out) + "\n"


def reorder_report(ledger: Ledger, catalog: Catalog) -> str:
    """Products at or below their reorder point, the emptiest first."""
    short = [p for p in catalog if p.reorder_at and ledger.available(p.sku) <= p.reorder_at]
    short.sort(key=lambda product: (ledger.available(product.sku), product.sku))
    out = [f"{'sku':<10}  {'name':<24}  {'available':>9}  {'reorder at':>10}"]
    for product in short:
        name = product.name if len(product.name) <= 24 else product.name[:21] + "..."
        free = ledger.available(product.sku)
        out.append(f"{product.sku:<10}  {name:<24}  {free:>9}  {product.reorder_at:>10}")
    return "\n".join(out) + "\n"


def sales_by_month(invoices: Iterable[tuple[date, Invoice]]) -> dict[str, Money]:
    """Net sales, month by month, as `2026-03`."""
    sums: dict[str, Money] = defaultdict(lambda: Money(0))
    for day, invoice in invoices:
        sums[f"{day:%Y-%m}"] += invoice.net
    return dict(sorted(sums.items()))


def _row(sku: str, name: str, on_hand: str, reserved: str, available: str, value: str) -> str:
    return (
        f"{sku:<10}  {name:<24}  {on_hand:>8}  {reserved:>8}  {available:>9}  {value:>14}".rstrip()
    )
