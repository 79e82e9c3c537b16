import json

import pytest

from inventory.money import Money
from inventory.orders import Order
from inventory.storage import DamagedFile, load_order, load_orders, load_stock, save_order


def test_an_order_comes_back(tmp_path, day, ledger):
    order = Order("ORD-0001", "客户七", "DE", day)
    order.add("HAMMER", 3)
    order.confirm(ledger)
    order.ship(ledger, "HAMMER", 1)
    assert load_order(save_order(order, tmp_path)) == order
    assert [path.name for path in tmp_path.iterdir()] == ["ORD-0001.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"id": "ORD-1"}', "null"])
def test_a_damaged_file_is_named(tmp_path, text):
    path = tmp_path / "ORD-0009.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DamagedFile, match="ORD-0009.json"):
        load_order(path)


def test_orders_are_read_in_order(tmp_path, day):
    for number in (3, 1, 2):
        save_order(Order(f"ORD-000{number}", "c", "DE", day), tmp_path)
    assert [order.id for order in load_orders(tmp_path)] == ["ORD-0001", "ORD-0002", "ORD-0003"]


def test_text_stays_readable(tmp_path, day):
    path = save_order(Order("ORD-0001", "客户七", "DE", day), tmp_path)
    assert "客户七" in path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["state"] == "draft"


def test_stock_is_received(tmp_path):
    path = tmp_path / "stock.csv"
    path.write_text("sku,quantity,unit_cost,reference\nTEA,10,5.45 EUR,PO-1\n", encoding="utf-8")
    assert load_stock(path).value("TEA") == Money.of("54.50")
