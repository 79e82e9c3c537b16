from datetime import date

from inventory.invoices import bill
from inventory.money import Money
from inventory.orders import Order
from inventory.pricing import PriceList
from inventory.reports import reorder_report, sales_by_month, stock_report


def test_stock(ledger, catalog):
    ledger.reserve("GUIDE", 4)
    lines = stock_report(ledger, catalog).splitlines()
    assert lines[0].split() == ["sku", "name", "on", "hand", "reserved", "available", "value"]
    assert lines[2].split() == [
        "GUIDE",
        "Wood",
        "joints",
        "illustrated",
        "6",
        "4",
        "2",
        "118.80",
        "EUR",
    ]
    assert lines[-1].split() == ["total", "579.60", "EUR"]


def test_an_unknown_product_is_shown_all_the_same(ledger, catalog):
    ledger.receive("MYSTERY", 1, Money.of("1.00"))
    assert "MYSTERY     ?" in stock_report(ledger, catalog)


def test_reorder_lists_the_emptiest_first(ledger, catalog):
    ledger.ship("GUIDE", 3)
    rows = [line.split()[0] for line in reorder_report(ledger, catalog).splitlines()[1:]]
    assert rows == ["LABELS", "GUIDE", "TAPE"]


def test_sales(catalog):
    sold = []
    for month, quantity in ((3, 1), (2, 2), (3, 3)):
        order = Order(f"ORD-000{quantity}", "customer 1", "DE", date(2026, month, 5))
        order.add("HAMMER", quantity)
        sold.append((order.placed_on, bill(order, catalog, PriceList())))
    assert sales_by_month(sold) == {"2026-02": Money.of("35.98"), "2026-03": Money.of("71.96")}
