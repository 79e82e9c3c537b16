"""The stock ledger: what came in, what went out, what is promised.

Quantities are whole pieces. Movements are only ever appended; every figure is derived from them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from inventory.money import Money, total

Kind = Literal["receive", "ship", "adjust"]


class Shortage(Exception):
    """Somebody asked for more pieces than there are."""

    def __init__(self, sku: str, wanted: int, there: int) -> None:
        super().__init__(f"{sku}: {wanted} wanted, {there} available")
        self.sku, self.wanted, self.there = sku, wanted, there


@dataclass(frozen=True)
class Movement:
    kind: Kind
    sku: str
    quantity: int
    unit_cost: Money | None = None
    reference: str = ""


@dataclass
class Layer:
    """Pieces that came in together, at one price."""

    quantity: int
    unit_cost: Money


class Ledger:
    def __init__(self) -> None:
        self.movements: list[Movement] = []
        self._on_hand: dict[str, int] = defaultdict(int)
        self._reserved: dict[str, int] = defaultdict(int)

    def __repr__(self) -> str:
        return f"<Ledger of {len(self.movements)} movements>"

    def receive(self, sku: str, quantity: int, unit_cost: Money, reference: str = "") -> None:
        _require_positive(quantity)
        self._append(Movement("receive", sku, quantity, unit_cost, reference))

    def ship(self, sku: str, quantity: int, reference: str = "") -> None:
        """Pieces leave the house; whatever was reserved for them is used up by `release`."""
        _require_positive(quantity)
        if quantity > self.on_hand(sku):
            raise Shortage(sku, quantity, self.on_hand(sku))
        self._append(Movement("ship", sku, -quantity, reference=reference))

    def adjust(self, sku: str, difference: int, reason: str) -> None:
        """After a count: the shelf is right, the ledger follows."""
        if self.on_hand(sku) + difference < 0:
            raise Shortage(sku, -difference, self.on_hand(sku))
        self._append(Movement("adjust", sku, difference, reference=reason))

    def reserve(self, sku: str, quantity: int) -> None:
        _require_positive(quantity)
        if quantity > self.available(sku):
            raise Shortage(sku, quantity, self.available(sku))
        self._reserved[sku] += quantity

    def release(self, sku: str, quantity: int) -> None:
        _require_positive(quantity)
        self._reserved[sku] -= quantity

    def on_hand(self, sku: str) -> int:
        return self._on_hand[sku]

    def reserved(self, sku: str) -> int:
        return self._reserved[sku]

    def available(self, sku: str) -> int:
        return self.on_hand(sku) - self.reserved(sku)

    def skus(self) -> list[str]:
        return sorted({movement.sku for movement in self.movements})

    def layers(self, sku: str) -> list[Layer]:
        """What is on hand by purchase price, oldest first: what left was always the oldest."""
        layers: list[Layer] = []
        for movement in self.movements:
            if movement.sku != sku:
                continue
            if movement.quantity > 0:
                cost = movement.unit_cost or (layers[-1].unit_cost if layers else Money(0))
                layers.append(Layer(movement.quantity, cost))
            else:
                _consume(layers, -movement.quantity)
        return layers

    def value(self, sku: str) -> Money:
        return total(layer.unit_cost.times(layer.quantity) for layer in self.layers(sku))

    def _append(self, movement: Movement) -> None:
        self.movements.append(movement)
        self._on_hand[movement.sku] += movement.quantity


def _consume(layers: list[Layer], quantity: int) -> None:
    while quantity and layers:
        taken = min(quantity, layers[0].quantity)
        layers[0].quantity -= taken
        quantity -= taken
        if not layers[0].quantity:
            layers.pop(0)


def _require_positive(quantity: int) -> None:
    if quantity <= 0:
        raise ValueError(f"a quantity must be positive, not {quantity}")
