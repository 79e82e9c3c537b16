import pytest

from inventory.orders import Order, WrongState
from inventory.stock import Shortage


@pytest.fixture
def order(day):
    order = Order("ORD-0001", "customer 7", "DE", day)
    order.add("HAMMER", 20)
    order.add("GUIDE", 4)
    return order


def test_confirming_reserves(order, ledger):
    order.confirm(ledger)
    assert (ledger.available("HAMMER"), ledger.available("GUIDE")) == (30, 2)
    assert order.state == "confirmed"


def test_confirming_is_all_or_nothing(order, ledger):
    order.add("TAPE", 6)
    with pytest.raises(Shortage):
        order.confirm(ledger)
    assert (ledger.reserved("HAMMER"), ledger.reserved("GUIDE")) == (0, 0)
    assert order.state == "draft"


def test_shipping_everything_ends_the_order(order, ledger):
    order.confirm(ledger)
    order.ship(ledger, "HAMMER", 15)
    order.ship(ledger, "HAMMER", 5)
    assert order.state == "confirmed"
    order.ship(ledger, "GUIDE", 4)
    assert order.state == "shipped"
    assert (ledger.on_hand("HAMMER"), ledger.reserved("HAMMER")) == (30, 0)


@pytest.mark.parametrize(("sku", "quantity"), [("HAMMER", 21), ("GUIDE", 5)])
def test_no_more_than_was_ordered(order, ledger, sku, quantity):
    order.confirm(ledger)
    with pytest.raises(WrongState):
        order.ship(ledger, sku, quantity)


def test_a_draft_cannot_be_shipped(order, ledger):
    with pytest.raises(WrongState):
        order.ship(ledger, "HAMMER", 1)


def test_cancelling_gives_everything_back(order, ledger):
    order.confirm(ledger)
    order.cancel(ledger)
    assert (ledger.available("HAMMER"), ledger.available("GUIDE")) == (50, 6)


def test_a_shipped_order_stays_shipped(order, ledger):
    order.confirm(ledger)
    order.ship(ledger, "HAMMER", 20)
    order.ship(ledger, "GUIDE", 4)
    with pytest.raises(WrongState):
        order.cancel(ledger)
