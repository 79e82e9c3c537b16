"""Orders and stock on disk: one JSON file an order, one CSV line a receipt."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path

from inventory.money import Money
from inventory.orders import Order, OrderLine
from inventory.stock import Ledger


class DamagedFile(ValueError):
    """A file that cannot be read as what it should be; names the file."""


def save_order(order: Order, folder: Path) -> Path:
    """Write beside, then rename: a reader never sees half an order."""
    path = folder / f"{order.id}.json"
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(_to_json(order), ensure_ascii=False, indent=2), encoding="utf-8")
    beside.replace(path)
    return path


def load_order(path: Path) -> Order:
    try:
        return _from_json(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(f"{path.name}: {error}") from error


def load_orders(folder: Path) -> list[Order]:
    return [load_order(path) for path in sorted(folder.glob("*.json"))]


def load_stock(path: Path) -> Ledger:
    ledger = Ledger()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cost = Money.parse(row["unit_cost"])
            ledger.receive(row["sku"], int(row["quantity"]), cost, row["reference"])
    return ledger


def _to_json(order: Order) -> dict[str, object]:
    return {
        "id": order.id,
        "customer": order.customer,
        "region": order.region,
        "placed_on": order.placed_on.isoformat(),
        "state": order.state,
        "lines": [
            {"sku": line.sku, "quantity": line.quantity, "shipped": line.shipped}
            for line in order.lines
        ],
    }


def _from_json(data: dict) -> Order:
    return Order(
        id=data["id"],
        customer=data["customer"],
        region=data["region"],
        placed_on=date.fromisoformat(data["placed_on"]),
        lines=[OrderLine(**line) for line in data["lines"]],
        state=data["state"],
    )
