"""An order's life: draft, confirmed, shipped, cancelled."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from inventory.stock import Ledger, Shortage

NEXT = {
    "draft": {"confirmed", "cancelled"},
    "confirmed": {"confirmed", "shipped", "cancelled"},
    "shipped": set(),
    "cancelled": {"cancelled"},
}


class WrongState(Exception):
    """The order's state does not allow what was asked for."""


@dataclass
class OrderLine:
    sku: str
    quantity: int
    shipped: int = 0

    @property
    def open(self) -> int:
        return self.quantity - self.shipped


@dataclass
class Order:
    id: str
    customer: str
    region: str
    placed_on: date
    lines: list[OrderLine] = field(default_factory=list)
    state: str = "draft"

    def add(self, sku: str, quantity: int) -> None:
        if self.state != "draft":
            raise WrongState(f"{self.id} is {self.state}: no lines can be added")
        if quantity <= 0:
            raise ValueError(f"a quantity must be positive, not {quantity}")
        self.lines.append(OrderLine(sku, quantity))

    def confirm(self, ledger: Ledger) -> None:
        """Reserve everything, or nothing at all."""
        self._move_to("confirmed")
        done: list[OrderLine] = []
        try:
            for line in self.lines:
                ledger.reserve(line.sku, line.quantity)
                done.append(line)
        except Shortage:
            for line in done:
                ledger.release(line.sku, line.quantity)
            self.state = "draft"
            raise

    def ship(self, ledger: Ledger, sku: str, quantity: int) -> None:
        """Send some pieces of a line; the order is shipped when nothing is open."""
        line = self._line(sku)
        if self.state != "confirmed" or quantity > line.open:
            raise WrongState(f"{self.id}: cannot ship {quantity} of {sku}, {line.open} open")
        ledger.release(sku, quantity)
        ledger.ship(sku, quantity, reference=self.id)
        line.shipped += quantity
        if not any(each.open for each in self.lines):
            self._move_to("shipped")

    def cancel(self, ledger: Ledger) -> None:
        """Give back what was reserved; pieces that left stay with the customer."""
        was = self.state
        self._move_to("cancelled")
        if was == "draft":
            return
        for line in self.lines:
            ledger.release(line.sku, line.quantity)

    def _line(self, sku: str) -> OrderLine:
        for line in self.lines:
            if line.sku == sku:
                return line
        raise KeyError(f"{self.id} has no line for {sku}")

    def _move_to(self, state: str) -> None:
        if state not in NEXT[self.state]:
            raise WrongState(f"{self.id} is {self.state}, it cannot become {state}")
        self.state = state
