from datetime import date
from decimal import Decimal

import pytest

from inventory.money import Money
from inventory.tax import RATES, net_of, rate_for, tax_on

STANDARD = {"AT": "0.20", "BE": "0.21", "CH": "0.081", "DE": "0.19", "FR": "0.20", "NL": "0.21"}
LOWERED = {"AT": "0.10", "BE": "0.06", "CH": "0.026", "DE": "0.07", "FR": "0.055", "NL": "0.09"}


@pytest.mark.parametrize("category", ["tools", "paper", "books", "food"])
@pytest.mark.parametrize("region", sorted(RATES))
def test_rates_of_today(region, category):
    rates = LOWERED if category in ("books", "food") else STANDARD
    assert rate_for(region, category, date(2026, 2, 16)) == Decimal(rates[region])


@pytest.mark.parametrize(
    ("on", "rate"),
    [
        (date(2020, 6, 30), "0.19"),
        (date(2020, 7, 1), "0.16"),
        (date(2020, 12, 31), "0.16"),
        (date(2021, 1, 1), "0.19"),
    ],
)
def test_rates_change_on_their_day(on, rate):
    assert rate_for("DE", "tools", on) == Decimal(rate)


@pytest.mark.parametrize("region", ["GB", "US", "CN", ""])
def test_exports_are_free_of_tax(region):
    assert rate_for(region, "tools", date(2026, 2, 16)) == 0


@pytest.mark.parametrize("minor", [1, 99, 100, 1799, 12345, 999999])
@pytest.mark.parametrize("rate", ["0", "0.055", "0.07", "0.19", "0.21"])
def test_net_and_tax_make_gross(minor, rate):
    net = Money(minor)
    gross = net + tax_on(net, Decimal(rate))
    assert net_of(gross, Decimal(rate)) == net
