"""The command line: bill a folder of orders, print reports."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from inventory.catalog import Catalog
from inventory.invoices import DoesNotAddUp, bill, render
from inventory.pricing import standard_prices
from inventory.reports import reorder_report, sales_by_month, stock_report
from inventory.storage import load_order, load_orders, load_stock

FIXTURES = Path("fixtures")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="inventory")
    commands = parser.add_subparsers(dest="command", required=True)
    billing = commands.add_parser("bill", help="bill every order in a folder")
    billing.add_argument("folder", type=Path)
    showing = commands.add_parser("invoice", help="show the invoice of one order file")
    showing.add_argument("file", type=Path)
    reporting = commands.add_parser("report", help="print a table")
    reporting.add_argument("name", choices=["stock", "reorder", "sales"])
    reporting.add_argument("--orders", type=Path, default=Path("data/orders"))
    arguments = parser.parse_args(argv)
    catalog = Catalog.from_csv(FIXTURES / "catalog.csv")
    if arguments.command == "bill":
        return bill_folder(arguments.folder, catalog)
    if arguments.command == "invoice":
        print(render(bill(load_order(arguments.file), catalog, standard_prices())), end="")
        return 0
    print(_report(arguments.name, catalog, arguments.orders), end="")
    return 0


def bill_folder(folder: Path, catalog: Catalog) -> int:
    """One line an order, as the nightly job logs it; 1 if any invoice was held back."""
    held = 0
    orders = load_orders(folder)
    for order in orders:
        invoice = bill(order, catalog, standard_prices())
        try:
            invoice.check()
        except DoesNotAddUp as error:
            held += 1
            print(f"ERROR billing {order.id}: held back, {error}")
        else:
            print(f"INFO  billing {order.id}: {invoice.number} gross {invoice.gross}")
    print(f"INFO  billing done: {len(orders) - held} billed, {held} held back")
    return 1 if held else 0


def _report(name: str, catalog: Catalog, orders: Path) -> str:
    ledger = load_stock(FIXTURES / "stock.csv")
    if name == "stock":
        return stock_report(ledger, catalog)
    if name == "reorder":
        return reorder_report(ledger, catalog)
    prices = standard_prices()
    sold = [(order.placed_on, bill(order, catalog, prices)) for order in load_orders(orders)]
    return "".join(f"{month}  {net}\n" for month, net in sales_by_month(sold).items())


if __name__ == "__main__":
    sys.exit(main())
