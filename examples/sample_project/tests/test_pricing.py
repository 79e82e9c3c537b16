from datetime import date, timedelta
from decimal import Decimal

import pytest

from inventory.money import Money
from inventory.pricing import PriceList, Promotion, QuantityBreak, standard_prices

BEFORE_SPRING = date(2026, 2, 16)


def expected_break(quantity):
    if quantity >= 200:
        return Decimal("12.5")
    if quantity >= 50:
        return Decimal(8)
    return Decimal(5) if quantity >= 10 else Decimal(0)


@pytest.mark.parametrize("quantity", [1, 2, 5, 9, 10, 11, 25, 49, 50, 51, 99, 199, 200, 201, 1000])
def test_a_break_applies_from_its_minimum_on(catalog, quantity):
    off = standard_prices().percent_off(catalog.get("HAMMER"), quantity, BEFORE_SPRING)
    assert off == expected_break(quantity)


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
)
def test_breaks_may_stand_in_any_order(catalog, order):
    steps = [
        QuantityBreak(10, Decimal(5)),
        QuantityBreak(50, Decimal(8)),
        QuantityBreak(200, Decimal(20)),
    ]
    prices = PriceList({"tools": [steps[index] for index in order]})
    for quantity, off in ((60, 8), (300, 20), (11, 5), (9, 0)):
        assert prices.percent_off(catalog.get("HAMMER"), quantity, BEFORE_SPRING) == off


@pytest.mark.parametrize("offset", range(-2, 34))
def test_spring_holds_on_every_day_of_march(catalog, offset):
    on = date(2026, 3, 1) + timedelta(days=offset)
    off = standard_prices().percent_off(catalog.get("LABELS"), 1, on)
    assert off == (10 if on.month == 3 else 0)


@pytest.mark.parametrize(
    ("sku", "quantity", "on", "off"),
    [
        ("GUIDE", 1, date(2026, 3, 8), "10"),
        ("GUIDE", 1, date(2026, 3, 9), "15"),
        ("GUIDE", 1, date(2026, 3, 14), "15"),
        ("GUIDE", 1, date(2026, 3, 15), "10"),
        ("HAMMER", 60, date(2026, 3, 12), "10"),
        ("HAMMER", 250, date(2026, 3, 12), "12.5"),
        ("TEA", 500, date(2026, 2, 12), "0"),
    ],
)
def test_the_better_of_break_and_promotion(catalog, sku, quantity, on, off):
    assert standard_prices().percent_off(catalog.get(sku), quantity, on) == Decimal(off)


@pytest.mark.parametrize(
    ("sku", "quantity", "net"),
    [
        ("HAMMER", 1, "17.99"),
        ("HAMMER", 10, "170.90"),
        ("HAMMER", 50, "827.50"),
        ("LABELS", 99, "769.23"),
        ("LABELS", 100, "754.00"),
        ("LABELS", 500, "3650.00"),
    ],
)
def test_the_piece_is_rounded_and_then_multiplied(catalog, sku, quantity, net):
    line = standard_prices().line_net(catalog.get(sku), quantity, BEFORE_SPRING)
    assert line == Money.of(net)


def test_a_promotion_for_a_category_leaves_others_alone(catalog):
    books = Promotion("B", Decimal(30), date(2026, 1, 1), date(2026, 1, 31), frozenset({"books"}))
    assert books.applies(catalog.get("GUIDE"), date(2026, 1, 5))
    assert not books.applies(catalog.get("HAMMER"), date(2026, 1, 5))
