import pytest
from inventory.tables import fit, header, row, rule, width

COLUMNS = (("name", 8, "<"), ("qty", 5, ">"))


@pytest.mark.parametrize(
    ("text", "columns"), [("", 0), ("saw", 3), ("手锯", 4), ("5 米", 4), ("（", 2)]
)
def test_width(text, columns):
    assert width(text) == columns


@pytest.mark.parametrize("size", range(4, 12))
@pytest.mark.parametrize("text", ["a", "abcdefghijkl", "折叠手锯", "a折b叠c手d锯"])
def test_fitted_text_fits(text, size):
    assert width(fit(text, size)) <= size
    if width(text) <= size:
        assert fit(text, size) == text


def test_lines():
    assert header(COLUMNS) == "name        qty"
    assert rule(COLUMNS) == "--------  -----"
    assert row(COLUMNS, "手锯", "12") == "手锯         12"
    assert row(COLUMNS, "cordless drill", "1") == "cordl...      1"
    assert row(COLUMNS, "saw", "1234567") == "saw       1234567"


def test_a_row_has_a_cell_for_each_column():
    with pytest.raises(ValueError):
        row(COLUMNS, "saw")
