"""Price tables: ours are what the evidence is defined on, and a user's is read in full or refused with a reason."""

import datetime
import subprocess
import sys

import pytest

from holdfast.errors import InputError
from holdfast.prices import BUILT_IN, DEFAULT, PriceTable, load_prices, read_prices

MINE = """
read = 0.2
write = 1
output = 4.5
life_seconds = 3600
minimum_tokens = 512
"""


def test_the_tables_that_the_measure_is_defined_on():
    figures = {name: (t.read, t.write, t.life_seconds, t.minimum_tokens) for name, t in BUILT_IN.items()}
    assert figures == {
        "standard": (0.1, 1.25, 300, 1024),
        "deep-discount": (0.05, 1.25, 300, 1024),
        "free-write": (0.1, 1.0, 600, 1024),
        "uncached": (1.0, 1.0, 0, 0),
    }
    assert DEFAULT in BUILT_IN
    assert "nonsense" not in BUILT_IN


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_a_built_in_table_says_where_its_figures_come_from(name):
    table = load_prices(name)
    assert table is BUILT_IN[name]
    assert table.name == name
    assert table.date == datetime.date(2026, 11, 15)
    assert "model" in table.about.lower()
    assert "\n" not in table.about
    assert table.output > 1


def test_no_table_is_read_before_it_is_asked_for():
    code = "import holdfast.prices as p; print(p._built_in.cache_info().misses, len(p.BUILT_IN))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "4"]


def test_a_table_of_the_user(tmp_path):
    file = tmp_path / "ours.toml"
    file.write_text(MINE, "utf-8")
    assert load_prices(str(file)) == PriceTable("ours", 0.2, 1.0, 4.5, 3600.0, 512)


def test_a_table_may_name_describe_and_date_itself(tmp_path):
    file = tmp_path / "x"
    file.write_text('name = "böhm"\nabout = "by contract"\ndate = 2026-01-31\n' + MINE, "utf-8-sig")
    table = load_prices(str(file))
    assert (table.name, table.about, table.date) == ("böhm", "by contract", datetime.date(2026, 1, 31))
    assert read_prices(MINE + 'date = "2026-01-31"', "here", "x").date == datetime.date(2026, 1, 31)


def test_a_file_called_like_a_built_in_table_is_reached_by_its_path(tmp_path, monkeypatch):
    (tmp_path / "standard").write_text(MINE, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_prices("standard").read == 0.1
    assert load_prices("./standard").read == 0.2


@pytest.mark.parametrize(("name", "near"), [("standart", "standard"), ("Free_Write", "free-write")])
def test_an_unknown_name_hints_at_the_nearest(name, near):
    with pytest.raises(InputError) as caught:
        load_prices(name)
    assert caught.value.message == f"there is no price table `{name}`"
    assert f"did you mean `{near}`?" in caught.value.hint
    assert all(known in caught.value.hint for known in BUILT_IN)


@pytest.mark.parametrize("name", ["absent.toml", "no/such/table", "."])
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load_prices(name)
    assert name in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_no_text(tmp_path):
    file = tmp_path / "table.toml"
    file.write_bytes(b"read = \xff")
    with pytest.raises(InputError, match=r"table\.toml is not text in UTF-8"):
        load_prices(str(file))


WRONG = {
    "no TOML": ("read = ", "is not valid TOML"),
    "empty": ("", "`read` is missing"),
    "missing": (MINE.replace("output = 4.5", ""), "`output` is missing"),
    "unknown": (MINE + "writes = 1", "unknown key `writes`"),
    "nested": ("[prices]\n" + MINE, "unknown key `prices`"),
    "negative": (
        MINE.replace("0.2", "-0.2"),
        "`read` should be a number of at least 0, found the number -0.2",
    ),
    "text": (MINE.replace("0.2", '"0.2"'), "`read` should be a number of at least 0, found the text `0.2`"),
    "true": (MINE.replace("4.5", "true"), "`output` should be a number of at least 0, found true"),
    "nan": (MINE.replace("4.5", "nan"), "`output` should be"),
    "infinite": (MINE.replace("3600", "inf"), "`life_seconds` should be"),
    "half a token": (MINE.replace("512", "512.5"), "`minimum_tokens` should be a whole number"),
    "list": (
        MINE.replace("512", "[512]"),
        "`minimum_tokens` should be a whole number of at least 0, found a list",
    ),
    "name": (MINE + "name = 3", "`name` should be text, found the number 3"),
    "empty name": (MINE + 'name = ""', "`name` should be text, found an empty text"),
    "date": (MINE + 'date = "soon"', "`date` should be a day, found the text `soon`"),
    "year": (MINE + "date = 2026", "`date` should be a day, found the number 2026"),
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
def test_a_bad_table_is_refused_by_file_and_key(tmp_path, text, sentence):
    file = tmp_path / "bad.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        load_prices(str(file))
    assert str(file) in caught.value.message
    assert sentence in caught.value.message
    assert caught.value.hint


def test_the_hint_for_an_unknown_key_names_the_nearest():
    with pytest.raises(InputError) as caught:
        read_prices(MINE + "lifetime_seconds = 5", "here", "x")
    assert caught.value.hint == "did you mean `life_seconds`?"
