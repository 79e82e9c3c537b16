import pytest

from inventory.catalog import Catalog, CatalogError, Product
from inventory.money import Money

HEADER = "sku,name,category,price,reorder_at\n"


def test_reads_a_file(tmp_path):
    path = tmp_path / "catalog.csv"
    path.write_text(
        HEADER + "B,乌龙茶,food,9.99 EUR,10\nA,Hammer,tools,17.99 EUR,\n", encoding="utf-8"
    )
    catalog = Catalog.from_csv(path)
    assert [product.sku for product in catalog] == ["A", "B"]
    assert catalog.get("B") == Product("B", "乌龙茶", "food", Money.of("9.99"), 10)
    assert catalog.get("A").reorder_at == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (",Hammer,tools,17.99 EUR,1", "needs a sku"),
        ("A,Hammer,tools,17.99,1", "needs a currency"),
        ("A,Hammer,tools,17.99 XYZ,1", "unknown currency"),
        ("A,Hammer,tools,17.99 EUR,many", "invalid literal"),
        ("Z,Twice,tools,1.00 EUR,1", "already"),
    ],
)
def test_names_the_line_that_is_wrong(tmp_path, line, message):
    path = tmp_path / "catalog.csv"
    path.write_text(f"{HEADER}Z,Saw,tools,13.13 EUR,9\n{line}\n", encoding="utf-8")
    with pytest.raises(CatalogError, match=rf"catalog.csv:3: .*{message}"):
        Catalog.from_csv(path)


def test_names_a_missing_column(tmp_path):
    path = tmp_path / "catalog.csv"
    path.write_text("sku,name,price\nA,Hammer,17.99 EUR\n", encoding="utf-8")
    with pytest.raises(CatalogError, match="no column category, reorder_at"):
        Catalog.from_csv(path)


def test_categories(catalog):
    assert [product.sku for product in catalog.in_category("tools")] == ["HAMMER", "TAPE"]
    assert catalog.in_category("toys") == []
