"""Tax rates by region, category and day, and tax on an amount."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from inventory.money import Money

REDUCED = frozenset({"books", "food"})
ALWAYS = date.min

RATES: dict[str, list[tuple[date, Decimal, Decimal]]] = {
    "AT": [(ALWAYS, Decimal("0.20"), Decimal("0.10"))],
    "BE": [(ALWAYS, Decimal("0.21"), Decimal("0.06"))],
    "CH": [
        (ALWAYS, Decimal("0.077"), Decimal("0.025")),
        (date(2024, 1, 1), Decimal("0.081"), Decimal("0.026")),
    ],
    "DE": [
        (ALWAYS, Decimal("0.19"), Decimal("0.07")),
        (date(2020, 7, 1), Decimal("0.16"), Decimal("0.05")),
        (date(2021, 1, 1), Decimal("0.19"), Decimal("0.07")),
    ],
    "FR": [(ALWAYS, Decimal("0.20"), Decimal("0.055"))],
    "NL": [(ALWAYS, Decimal("0.21"), Decimal("0.09"))],
}
"""From which day on which standard and which reduced rate; regions not named here are exports."""


def rate_for(region: str, category: str, on: date) -> Decimal:
    """The rate on a day; zero for an export."""
    current = Decimal(0)
    for since, standard, reduced in RATES.get(region, ()):
        if since <= on:
            current = reduced if category in REDUCED else standard
    return current


def tax_on(net: Money, rate: Decimal) -> Money:
    return net.times(rate)


def net_of(gross: Money, rate: Decimal) -> Money:
    """The net amount inside a gross one."""
    return gross.times(1 / (1 + rate))
