from datetime import date

import pytest

from inventory.catalog import Catalog, Product
from inventory.money import Money
from inventory.stock import Ledger


@pytest.fixture
def catalog():
    return Catalog(
        [
            Product("HAMMER", "Claw hammer", "tools", Money.of("17.99"), reorder_at=10),
            Product("TAPE", "不锈钢卷尺", "tools", Money.of("6.33"), reorder_at=5),
            Product("GUIDE", "Wood joints illustrated", "books", Money.of("31.50"), reorder_at=4),
            Product("TEA", "乌龙茶", "food", Money.of("9.99")),
            Product("LABELS", "Labels 70 x 36 mm", "paper", Money.of("7.77"), reorder_at=30),
        ]
    )


@pytest.fixture
def ledger():
    ledger = Ledger()
    ledger.receive("HAMMER", 30, Money.of("8.88"), "PO-1")
    ledger.receive("HAMMER", 20, Money.of("9.12"), "PO-2")
    ledger.receive("GUIDE", 6, Money.of("19.80"), "PO-1")
    ledger.receive("TAPE", 5, Money.of("2.40"), "PO-2")
    return ledger


@pytest.fixture
def day():
    return date(2026, 2, 16)
