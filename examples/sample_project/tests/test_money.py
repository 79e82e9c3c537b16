from decimal import Decimal

import pytest

from inventory.money import EXPONENTS, CurrencyMismatch, Money, total


@pytest.mark.parametrize(
    ("text", "minor", "currency"),
    [
        ("12.34 EUR", 1234, "EUR"),
        ("0.01 EUR", 1, "EUR"),
        ("-3.50 USD", -350, "USD"),
        ("1'234.50 CHF", 123450, "CHF"),
        ("100 JPY", 100, "JPY"),
        ("1.234 KWD", 1234, "KWD"),
        ("7 GBP", 700, "GBP"),
        (" 9.99 CNY ", 999, "CNY"),
        ("0.005 EUR", 1, "EUR"),
        ("0.004 EUR", 0, "EUR"),
    ],
)
def test_parse(text, minor, currency):
    assert Money.parse(text) == Money(minor, currency)


@pytest.mark.parametrize("text", ["", "12.34", "EUR", "12,34 EUR", "12.34 XXX", "x EUR"])
def test_parse_refuses(text):
    with pytest.raises(ValueError):
        Money.parse(text)


@pytest.mark.parametrize("currency", sorted(EXPONENTS))
def test_text_and_back(currency):
    for minor in (-1, 0, 1, 99, 100, 123456):
        assert Money.parse(str(Money(minor, currency))) == Money(minor, currency)


@pytest.mark.parametrize("minor", [0, 1, 2, 5, 99, 100, 101, 997, 1000, 12345])
@pytest.mark.parametrize(
    "weights", [(1,), (1, 1), (1, 1, 1), (1, 2, 3), (5, 0, 5), (7, 11, 13, 17)]
)
def test_allocated_parts_add_up(minor, weights):
    parts = Money(minor).allocate(weights)
    assert len(parts) == len(weights)
    assert total(parts) == Money(minor)
    assert all(part >= Money(0) for part in parts)


def test_allocation_prefers_the_largest_remainder():
    assert [part.minor for part in Money(100).allocate((1, 1, 1))] == [34, 33, 33]
    assert [part.minor for part in Money(10).allocate((2, 5))] == [3, 7]


def test_currencies_do_not_mix():
    with pytest.raises(CurrencyMismatch):
        Money(1, "EUR") + Money(1, "USD")
    with pytest.raises(CurrencyMismatch):
        _ = Money(1, "EUR") < Money(1, "USD")


@pytest.mark.parametrize(
    ("minor", "factor", "expected"),
    [(100, "0.19", 19), (50, "0.19", 10), (150, "0.07", 11), (-50, "0.19", -10), (333, "3", 999)],
)
def test_times_rounds_half_up(minor, factor, expected):
    assert Money(minor).times(Decimal(factor)) == Money(expected)


def test_the_sum_of_nothing_is_zero():
    assert total([], "JPY") == Money(0, "JPY")
