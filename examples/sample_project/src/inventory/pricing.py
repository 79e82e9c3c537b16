"""What a customer pays for a piece: list price, quantity breaks, promotions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from inventory.catalog import Product
from inventory.money import Money

NOTHING_OFF = Decimal(0)


@dataclass(frozen=True)
class QuantityBreak:
    """`percent_off` for orders of `minimum` pieces of one product."""

    minimum: int
    percent_off: Decimal


@dataclass(frozen=True)
class Promotion:
    """A price cut for some days; without categories it holds for everything."""

    code: str
    percent_off: Decimal
    first_day: date
    last_day: date
    categories: frozenset[str] = frozenset()

    def applies(self, product: Product, on: date) -> bool:
        in_time = self.first_day <= on < self.last_day
        return in_time and (not self.categories or product.category in self.categories)


class PriceList:
    def __init__(
        self,
        breaks: Mapping[str, Sequence[QuantityBreak]] | None = None,
        promotions: Sequence[Promotion] = (),
    ) -> None:
        self._breaks = dict(breaks or {})
        self._promotions = tuple(promotions)

    def percent_off(self, product: Product, quantity: int, on: date) -> Decimal:
        """The better of break and promotion; the two never add up."""
        return max(self._break_for(product, quantity), self._promotion_for(product, on))

    def unit_price(self, product: Product, quantity: int, on: date) -> Money:
        off = self.percent_off(product, quantity, on)
        return product.price.times((Decimal(100) - off) / Decimal(100))

    def line_net(self, product: Product, quantity: int, on: date) -> Money:
        return self.unit_price(product, quantity, on).times(quantity)

    def _break_for(self, product: Product, quantity: int) -> Decimal:
        best = NOTHING_OFF
        for step in self._breaks.get(product.category, ()):
            if quantity > step.minimum:
                best = step.percent_off
        return best

    def _promotion_for(self, product: Product, on: date) -> Decimal:
        offers = [p.percent_off for p in self._promotions if p.applies(product, on)]
        return max(offers, default=NOTHING_OFF)


def standard_prices() -> PriceList:
    """The house's price list for the current season."""
    return PriceList(
        breaks={
            "tools": [
                QuantityBreak(200, Decimal("12.5")),
                QuantityBreak(10, Decimal(5)),
                QuantityBreak(50, Decimal(8)),
            ],
            "paper": [QuantityBreak(100, Decimal(3)), QuantityBreak(500, Decimal(6))],
        },
        promotions=[
            Promotion("SPRING", Decimal(10), date(2026, 3, 1), date(2026, 3, 31)),
            Promotion(
                "BOOKS", Decimal(15), date(2026, 3, 9), date(2026, 3, 14), frozenset({"books"})
            ),
        ],
    )
