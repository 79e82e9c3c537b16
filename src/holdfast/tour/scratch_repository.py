"""The repository of the tour: a small shop with a wrong price, real files that real tools work on.

Rule: the same bytes every time, in a folder of its own; it goes when the tour is over.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

LAW = """\
# Repository Guidelines

- The shop is in `shop/`, its tests in `tests/`; run them with `python3 -m unittest`.
- Amounts of money are `Decimal`, never `float`.
- What was decided stands in `docs/decisions.md`; keep to it.
"""
PRICES = '''\
"""What things cost."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def rounded(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def discounted(amount: Decimal, percent: int) -> Decimal:
    """The amount less a discount."""
    return rounded(amount * (100 - percent) / 100)
'''
CART = '''\
"""What is in a cart, and what it comes to."""

from decimal import Decimal

from shop.prices import discounted


class Cart:
    def __init__(self, percent: int = 0) -> None:
        self.percent = percent
        self.lines: list[tuple[str, int, Decimal]] = []

    def add(self, name: str, count: int, price: Decimal) -> None:
        self.lines.append((name, count, price))

    def total(self) -> Decimal:
        return sum((discounted(count * price, self.percent) for _, count, price in self.lines), Decimal(0))
'''
TESTS = """\
import unittest
from decimal import Decimal

from shop.cart import Cart


class TotalTest(unittest.TestCase):
    def test_half_a_cent_is_rounded_as_decided(self):
        cart = Cart(percent=50)
        cart.add("pencil", 1, Decimal("0.25"))
        cart.add("rubber", 1, Decimal("0.45"))
        self.assertEqual(cart.total(), Decimal("0.34"))

    def test_nothing_costs_nothing(self):
        self.assertEqual(Cart().total(), Decimal(0))
"""
ROUNDING = (
    "Decision 17: half a cent goes to the even neighbour (ROUND_HALF_EVEN), as our bookkeeper wants it."
)
_MATTERS = (
    "the wording of receipts",
    "the colour of the banner",
    "the order of the menu",
    "returns after thirty days",
    "names of the warehouse's shelves",
    "the letter that goes with a parcel",
    "opening hours on holidays",
    "how long a cart is kept",
)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder with the repository in it, as `shop`; removed at the end."""
    with TemporaryDirectory(prefix="holdfast-tour-", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / "shop"
        for path, text in FILES.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        # Without git it is a folder like any other, and the tour works as well.
        if git := shutil.which("git"):
            subprocess.run([git, "init", "--quiet", str(root)], check=True, capture_output=True)  # noqa: S603
        yield root


def _decision(number: int) -> str:
    matter = _MATTERS[number % len(_MATTERS)]
    plain = f"Decision {number}: {matter} stays as it is; it was talked about in week {number + 9} again."
    return ROUNDING if number == 17 else plain


def _orders(kind: str) -> str:
    rows = (
        f"2026-03-{1 + n % 28:02} {8 + n % 10:02}:{n * 7 % 60:02} {kind} {4000 + n * 13} "
        f"items={1 + n % 5} total={n * 377 % 9000 / 100:.2f} state={'sent' if n % 9 else 'waiting'}"
        for n in range(150)
    )
    return "\n".join(rows) + "\n"


FILES = {
    "code_law.md": LAW,
    "shop/__init__.py": "",
    "shop/prices.py": PRICES,
    "shop/cart.py": CART,
    "tests/__init__.py": "",
    "tests/test_cart.py": TESTS,
    "docs/decisions.md": "\n\n".join(["# Decisions", *map(_decision, range(1, 41))]) + "\n",
    "logs/orders.log": _orders("order"),
    "logs/parcels.log": _orders("parcel"),
}
