import pytest

from inventory.money import Money
from inventory.stock import Ledger, Shortage


def test_on_hand_follows_the_movements(ledger):
    ledger.ship("HAMMER", 12)
    ledger.adjust("HAMMER", -1, "count of 2026-02-16")
    assert ledger.on_hand("HAMMER") == 37
    assert [movement.kind for movement in ledger.movements[-2:]] == ["ship", "adjust"]


@pytest.mark.parametrize("quantity", [51, 100])
def test_nothing_leaves_that_is_not_there(ledger, quantity):
    with pytest.raises(Shortage):
        ledger.ship("HAMMER", quantity)
    assert ledger.on_hand("HAMMER") == 50


@pytest.mark.parametrize("quantity", [0, -3])
def test_quantities_are_positive(ledger, quantity):
    for act in (ledger.ship, ledger.reserve, ledger.release):
        with pytest.raises(ValueError):
            act("HAMMER", quantity)


def test_reserved_pieces_are_not_available(ledger):
    ledger.reserve("GUIDE", 4)
    assert (ledger.on_hand("GUIDE"), ledger.reserved("GUIDE"), ledger.available("GUIDE")) == (
        6,
        4,
        2,
    )
    with pytest.raises(Shortage, match="GUIDE: 3 wanted, 2 available"):
        ledger.reserve("GUIDE", 3)


@pytest.mark.parametrize(
    ("shipped", "value"),
    [(0, "448.80"), (10, "360.00"), (30, "182.40"), (31, "173.28"), (49, "9.12"), (50, "0.00")],
)
def test_the_oldest_pieces_leave_first(ledger, shipped, value):
    if shipped:
        ledger.ship("HAMMER", shipped)
    assert ledger.value("HAMMER") == Money.of(value)


def test_found_pieces_cost_what_the_last_ones_did():
    ledger = Ledger()
    ledger.receive("TEA", 2, Money.of("5.00"))
    ledger.adjust("TEA", 1, "found")
    assert ledger.value("TEA") == Money.of("15.00")
