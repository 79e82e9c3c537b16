"""Money: whole minor units and a currency, never a float.

Public: finance scripts import `Money`, `CurrencyMismatch`, `EXPONENTS` and `total` from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

EXPONENTS = {"CHF": 2, "CNY": 2, "EUR": 2, "GBP": 2, "JPY": 0, "KWD": 3, "USD": 2}


class CurrencyMismatch(ValueError):
    """Two amounts of different currencies met in one sum or comparison."""


@dataclass(frozen=True)
class Money:
    minor: int
    currency: str = "EUR"

    def __post_init__(self) -> None:
        if self.currency not in EXPONENTS:
            raise ValueError(f"unknown currency {self.currency!r}")

    @classmethod
    def of(cls, amount: Decimal | int | str, currency: str = "EUR") -> Money:
        """From an amount in major units, rounded half up to the currency's smallest unit."""
        if currency not in EXPONENTS:
            raise ValueError(f"unknown currency {currency!r}")
        try:
            scaled = Decimal(amount).scaleb(EXPONENTS[currency])
        except InvalidOperation:
            raise ValueError(f"not an amount: {amount!r}") from None
        return cls(int(scaled.to_integral_value(rounding=ROUND_HALF_UP)), currency)

    @classmethod
    def parse(cls, text: str) -> Money:
        """From text such as `12.34 EUR`; thousands may be grouped with an apostrophe."""
        amount, _, currency = text.strip().rpartition(" ")
        if not amount:
            raise ValueError(f"an amount needs a currency: {text!r}")
        return cls.of(amount.replace("'", "").strip(), currency)

    @property
    def amount(self) -> Decimal:
        return Decimal(self.minor).scaleb(-EXPONENTS[self.currency])

    def __add__(self, other: Money) -> Money:
        return Money(self.minor + self._same(other).minor, self.currency)

    def __sub__(self, other: Money) -> Money:
        return Money(self.minor - self._same(other).minor, self.currency)

    def __neg__(self) -> Money:
        return Money(-self.minor, self.currency)

    def __lt__(self, other: Money) -> bool:
        return self.minor < self._same(other).minor

    def __le__(self, other: Money) -> bool:
        return self.minor <= self._same(other).minor

    def __str__(self) -> str:
        return f"{self.amount:.{EXPONENTS[self.currency]}f} {self.currency}"

    def times(self, factor: Decimal | int) -> Money:
        product = (Decimal(self.minor) * factor).to_integral_value(rounding=ROUND_HALF_UP)
        return Money(int(product), self.currency)

    def allocate(self, weights: Sequence[int | Decimal]) -> list[Money]:
        """Split by weights; the parts add up, what is left goes to the largest remainders."""
        whole = sum(Decimal(weight) for weight in weights)
        if not weights or whole <= 0:
            raise ValueError("weights must add up to more than zero")
        exact = [Decimal(self.minor) * Decimal(weight) / whole for weight in weights]
        parts = [int(share // 1) for share in exact]
        order = sorted(range(len(exact)), key=lambda i: (parts[i] - exact[i], i))
        for index in order[: self.minor - sum(parts)]:
            parts[index] += 1
        return [Money(part, self.currency) for part in parts]

    def _same(self, other: Money) -> Money:
        if self.currency != other.currency:
            raise CurrencyMismatch(f"{self.currency} and {other.currency}")
        return other


def total(amounts: Iterable[Money], currency: str = "EUR") -> Money:
    """The sum; zero of `currency` where there is nothing to add."""
    result = None
    for amount in amounts:
        result = amount if result is None else result + amount
    return Money(0, currency) if result is None else result
