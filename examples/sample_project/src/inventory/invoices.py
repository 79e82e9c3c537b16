"""From an order to an invoice, and the invoice as text."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from inventory.catalog import Catalog
from inventory.money import Money, total
from inventory.orders import Order
from inventory.pricing import PriceList
from inventory.tax import rate_for, tax_on


class DoesNotAddUp(Exception):
    """The lines of an invoice and its total differ."""


@dataclass(frozen=True)
class InvoiceLine:
    sku: str
    name: str
    quantity: int
    net: Money
    rate: Decimal
    tax: Money

    @property
    def gross(self) -> Money:
        return self.net + self.tax


@dataclass(frozen=True)
class Invoice:
    number: str
    customer: str
    lines: tuple[InvoiceLine, ...]
    tax_by_rate: dict[Decimal, Money]

    @property
    def net(self) -> Money:
        return total(line.net for line in self.lines)

    @property
    def tax(self) -> Money:
        return total(self.tax_by_rate.values())

    @property
    def gross(self) -> Money:
        return self.net + self.tax

    def check(self) -> None:
        lines = total(line.gross for line in self.lines)
        if lines != self.gross:
            raise DoesNotAddUp(f"{self.number}: lines {lines}, total {self.gross}")


def bill(order: Order, catalog: Catalog, prices: PriceList) -> Invoice:
    lines = []
    net_by_rate: dict[Decimal, Money] = defaultdict(lambda: Money(0))
    for line in order.lines:
        product = catalog.get(line.sku)
        net = prices.line_net(product, line.quantity, order.placed_on)
        rate = rate_for(order.region, product.category, order.placed_on)
        net_by_rate[rate] += net
        lines.append(
            InvoiceLine(line.sku, product.name, line.quantity, net, rate, tax_on(net, rate))
        )
    taxes = {rate: tax_on(net, rate) for rate, net in sorted(net_by_rate.items())}
    return Invoice(order.id.replace("ORD", "INV"), order.customer, tuple(lines), taxes)


def render(invoice: Invoice) -> str:
    """The invoice as a customer sees it."""
    out = [f"Invoice {invoice.number}", f"Customer: {invoice.customer}", ""]
    out.append(_row("article", "qty", "net", "tax", "gross"))
    out.append(_row("-" * 28, "-" * 5, "-" * 12, "-" * 10, "-" * 12))
    for line in invoice.lines:
        name = line.name if len(line.name) <= 28 else line.name[:25] + "..."
        out.append(
            _row(name, str(line.quantity), str(line.net.amount), str(line.tax), str(line.gross))
        )
    out.append(_row("-" * 28, "-" * 5, "-" * 12, "-" * 10, "-" * 12))
    for rate, amount in invoice.tax_by_rate.items():
        out.append(_row(f"tax {rate * 100:.1f} %", "", "", str(amount), ""))
    out.append(_row("total", "", str(invoice.net.amount), str(invoice.tax), str(invoice.gross)))
    return "\n".join(out) + "\n"


def _row(name: str, quantity: str, net: str, tax: str, gross: str) -> str:
    return f"{name:<28}  {quantity:>5}  {net:>12}  {tax:>10}  {gross:>12}".rstrip()
