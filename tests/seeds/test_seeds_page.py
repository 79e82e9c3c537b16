"""The page on the design documents: every row says how it is and names a test, and every audited row is there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "seeds.md"
COLUMNS = ["rule", "where", "state", "test"]
AUDITED = """
    000-05 000-06 000-13 000-16 000-17 000-25 000-29 000-31 000-38 000-40 000-41 000-47 000-50 000-51 000-53 000-54
    000-56 000-66 000-67 000-70 000-74 000-79
    001-04 001-08 001-09 001-10 001-11 001-13 001-16 001-19 001-20 001-22 001-24 001-25 001-29 001-41 001-48 001-49
    001-53 001-54 001-55 001-59 001-60 001-62
    002-02 002-18 002-26
    003-01 003-03 003-08 003-09 003-12 003-16 003-37 003-38
    004-01 004-05 004-06 004-11 004-12 004-15 004-24
""".split()
STATE = re.compile(r"as written|not yet|differs: [A-Z`\"](?:(?! differs:).)*\.")
TEST = re.compile(r"`(?P<path>tests/[\w/]+\.py)::(?P<name>test_\w+)`")


def tables():
    """Rows of the page's tables, as lists of cells."""
    found = re.findall(r"(?:^\|.*\|\n)+", PAGE.read_text("utf-8"), re.MULTILINE)
    return [[line.strip("|").split("|") for line in table.splitlines()] for table in found]


def rows():
    return [[cell.strip() for cell in row] for table in tables() for row in table[2:]]


def row_id(row):
    return re.sub(r"\W+", "-", row[0])[:40]


def test_every_table_has_the_four_columns():
    assert len(tables()) > 20
    for heading, line, *body in tables():
        assert [cell.strip() for cell in heading] == COLUMNS
        assert set("".join(line)) <= set("- ")
        assert body


@pytest.mark.parametrize("row", rows(), ids=row_id)
def test_a_row_is_filled_says_how_it_is_and_names_a_test_that_exists(row):
    assert len(row) == len(COLUMNS)
    assert all(row)
    _, _, state, test = row
    assert STATE.fullmatch(state), state
    named = TEST.fullmatch(test)
    assert named, test
    assert named["name"] in functions_of(ROOT / named["path"]), test


@cache
def functions_of(file):
    """Names of the functions of a file, none if there is no such file."""
    body = ast.parse(file.read_text("utf-8")).body if file.is_file() else []
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def audited_in(row):
    return re.findall(r"\b00\d-\d\d\b", row[0])


def test_every_audited_row_is_there_once_and_no_other():
    assert len(AUDITED) == 62
    found = [number for row in rows() for number in audited_in(row)]
    assert sorted(found) == sorted(AUDITED)


def test_an_audited_row_is_in_the_section_of_its_document():
    sections = re.split(r"^## Seed (\d{3}) ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    for number, section in zip(sections[::2], sections[1::2], strict=True):
        listed = re.findall(r"^\| ([^|]*) \|", section, re.MULTILINE)
        found = [audited for rule in listed for audited in audited_in([rule])]
        assert {audited[:3] for audited in found} == {number}


@pytest.mark.parametrize(
    ("state", "is_one"),
    [
        ("as written", True),
        ("not yet", True),
        ("differs: It is counted.", True),
        ("differs: `any()` passes. So it is not taken.", True),
        ("differs", False),
        ("differs:", False),
        ("differs: it has no reason", False),
        ("as written, nearly", False),
        ("now", False),
        ("in part: some of it.", False),
        ("", False),
    ],
)
def test_a_state_has_one_of_three_forms(state, is_one):
    assert bool(STATE.fullmatch(state)) is is_one
