"""Write made-up orders, the same every time: `python scripts/make_orders.py data/orders`."""

import json
import sys
from pathlib import Path

SKUS = [
    *(f"BK-010{n}" for n in range(1, 5)),
    *(f"FD-020{n}" for n in range(1, 4)),
    *(f"PA-030{n}" for n in range(1, 5)),
    *(f"TL-040{n}" for n in range(1, 10)),
]
REGIONS = ("DE", "DE", "FR", "NL", "AT", "CH", "BE", "GB")
ORDERS = 140


def order(number: int) -> dict[str, object]:
    count = 1 + number * 7 % 5
    lines = [
        {
            "sku": SKUS[(number * 11 + 3 * index) % len(SKUS)],
            "quantity": 1 + (number * 13 + index * 5) % 60,
            "shipped": 0,
        }
        for index in range(count)
    ]
    return {
        "id": f"ORD-{number:04d}",
        "customer": f"customer {1 + number * 17 % 41}",
        "region": REGIONS[number % len(REGIONS)],
        "placed_on": f"2026-02-{1 + number % 28:02d}",
        "state": "confirmed",
        "lines": lines,
    }


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, ORDERS + 1):
        made = order(number)
        path = folder / f"{made['id']}.json"
        path.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(f"{ORDERS} orders written to {folder}")


if __name__ == "__main__":
    main()
