"""Products and where they come from: a CSV file with one product a line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from inventory.money import Money

COLUMNS = ("sku", "name", "category", "price", "reorder_at")


class CatalogError(ValueError):
    """A line of a catalog file that cannot be read; names the file and the line."""


@dataclass(frozen=True)
class Product:
    sku: str
    name: str
    category: str
    price: Money
    reorder_at: int = 0


class Catalog:
    def __init__(self, products: Iterable[Product] = ()) -> None:
        self._products: dict[str, Product] = {}
        for product in products:
            self.add(product)

    def __len__(self) -> int:
        return len(self._products)

    def __repr__(self) -> str:
        return f"<Catalog of {len(self)} products>"

    def __iter__(self) -> Iterator[Product]:
        return iter(sorted(self._products.values(), key=lambda product: product.sku))

    def __contains__(self, sku: str) -> bool:
        return sku in self._products

    def add(self, product: Product) -> None:
        if product.sku in self._products:
            raise CatalogError(f"{product.sku} is in the catalog already")
        self._products[product.sku] = product

    def get(self, sku: str) -> Product:
        if sku not in self._products:
            raise KeyError(f"no product {sku}")
        return self._products[sku]

    def in_category(self, category: str) -> list[Product]:
        return [product for product in self if product.category == category]

    @classmethod
    def from_csv(cls, path: Path) -> Catalog:
        catalog = cls()
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
            if missing:
                raise CatalogError(f"{path.name}: no column {', '.join(missing)}")
            for row in rows:
                try:
                    catalog.add(_product(row))
                except ValueError as error:
                    raise CatalogError(f"{path.name}:{rows.line_num}: {error}") from error
        return catalog


def _product(row: dict[str, str]) -> Product:
    if not row["sku"].strip():
        raise ValueError("a product needs a sku")
    return Product(
        sku=row["sku"].strip(),
        name=row["name"].strip(),
        category=row["category"].strip(),
        price=Money.parse(row["price"]),
        reorder_at=int(row["reorder_at"] or 0),
    )
