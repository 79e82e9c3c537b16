from decimal import Decimal

import pytest

from inventory.invoices import bill, render
from inventory.money import Money, total
from inventory.orders import Order
from inventory.pricing import PriceList


@pytest.fixture
def make_invoice(catalog, day):
    def make(region, *lines):
        order = Order("ORD-0042", "customer 7", region, day)
        for sku, quantity in lines:
            order.add(sku, quantity)
        return bill(order, catalog, PriceList())

    return make


def test_an_invoice_is_numbered_like_its_order(make_invoice):
    assert make_invoice("DE", ("HAMMER", 1)).number == "INV-0042"


@pytest.mark.parametrize(
    ("region", "tax"), [("DE", "9.05"), ("FR", "8.93"), ("CH", "3.73"), ("GB", "0.00")]
)
def test_totals(make_invoice, region, tax):
    invoice = make_invoice(region, ("HAMMER", 2), ("GUIDE", 1))
    assert invoice.net == Money.of("67.48")
    assert invoice.tax == Money.of(tax)
    assert invoice.gross == Money.of("67.48") + Money.of(tax)


def test_tax_is_rounded_once_per_rate(make_invoice):
    invoice = make_invoice("DE", ("LABELS", 1), ("LABELS", 1), ("LABELS", 1))
    assert invoice.tax_by_rate == {Decimal("0.19"): Money.of("4.43")}


def test_an_export_has_no_tax(make_invoice):
    invoice = make_invoice("GB", ("HAMMER", 3))
    assert invoice.gross == invoice.net == total(line.net for line in invoice.lines)


def test_the_text(make_invoice):
    assert render(make_invoice("DE", ("HAMMER", 2), ("GUIDE", 1))) == (
        "Invoice INV-0042\n"
        "Customer: customer 7\n"
        "\n"
        "article                         qty           net         tax         gross\n"
        "----------------------------  -----  ------------  ----------  ------------\n"
        "Claw hammer                       2         35.98    6.84 EUR     42.82 EUR\n"
        "Wood joints illustrated           1         31.50    2.21 EUR     33.71 EUR\n"
        "----------------------------  -----  ------------  ----------  ------------\n"
        "tax 7.0 %                                            2.21 EUR\n"
        "tax 19.0 %                                           6.84 EUR\n"
        "total                                       67.48    9.05 EUR     76.53 EUR\n"
    )
