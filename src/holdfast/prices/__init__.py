"""Prices of tokens as data: multiples of the price of one uncached input token.

Rule: a table is a TOML file, ours beside this module and a user's anywhere; none is read before it is needed.
"""

import datetime
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from math import isfinite
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.errors import InputError, describe_value, suggest
from holdfast.messages import Json

__all__ = ["BUILT_IN", "DEFAULT", "NUMBERS", "PriceTable", "format_dollars", "load_prices", "read_prices"]

DEFAULT = "standard"
NAMES = (DEFAULT, "deep-discount", "free-write", "uncached")
NUMBERS = ("read", "write", "output", "life_seconds", "minimum_tokens")
WORDS = ("name", "about", "date")
SUFFIX = ".toml"


class PriceTable(Struct, frozen=True):
    """`about` says whose figures these are, what is fact and what is assumed; `date` is when they were looked up.

    `read`, `write` and `output` are the prices of a token read from the cache, written to it, and generated.
    `life_seconds` is how long a cache entry lives after its last use; 0 means there is no cache.
    A prefix shorter than `minimum_tokens` is not cached.
    """

    name: str
    read: float
    write: float
    output: float
    life_seconds: float
    minimum_tokens: int
    about: str = ""
    date: datetime.date | None = None


class PriceTables(Mapping[str, PriceTable]):
    """The tables that come with Holdfast, each read when first used."""

    def __getitem__(self, name: str) -> PriceTable:
        if name not in NAMES:
            raise KeyError(name)
        return _built_in(name)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


BUILT_IN = PriceTables()


def load_prices(name_or_path: str) -> PriceTable:
    """A table by its name, or from a TOML file; the name of a built-in table comes before a file of that name."""
    if name_or_path in NAMES:
        return BUILT_IN[name_or_path]
    path = Path(name_or_path).expanduser()
    if path.suffix != SUFFIX and path.name == name_or_path and not path.is_file():
        hint = suggest(name_or_path.lower(), NAMES, lists=True, more="or give a TOML file")
        raise InputError(f"there is no price table `{name_or_path}`", hint=hint)
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"the price table {path} cannot be read: {error.strerror}",
            hint=f"give a TOML file or one of {', '.join(f'`{name}`' for name in NAMES)}",
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"the price table {path} is not text in UTF-8", hint="save it as UTF-8") from error
    return read_prices(text, str(path), path.stem)


def read_prices(text: str, where: str, name: str) -> PriceTable:
    """The table in a TOML text; `name` is its name unless the text gives one."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"{where} is not valid TOML: {error}", hint=f"a price table has {_sample()}"
        ) from error
    for key in table:
        if key not in NUMBERS + WORDS:
            raise InputError(f"{where}: unknown key `{key}`", hint=suggest(key.lower(), NUMBERS + WORDS))
    for key in NUMBERS:
        if key not in table:
            raise InputError(f"{where}: the key `{key}` is missing", hint=f"a price table has {_sample()}")
        _check_number(key, table[key], where)
    _check_words(table, where)
    return msgspec.convert({"name": name, **table}, PriceTable)


def format_dollars(dollars: float) -> str:
    """In cents; a part of a cent is shown where it matters, so that a small amount does not look like nothing."""
    if dollars >= 1 or dollars == round(dollars, 2):
        return f"${dollars:.2f}"
    return f"${dollars:.6f}".rstrip("0").removesuffix(".")


@cache
def _built_in(name: str) -> PriceTable:
    file = name + SUFFIX
    return read_prices(files(__name__).joinpath(file).read_text("utf-8"), file, name)


def _check_number(key: str, value: Json, where: str) -> None:
    whole = key == "minimum_tokens"
    kinds = (int,) if whole else (int, float)
    # `true` is an int in Python, and TOML has `nan` and `inf`.
    if isinstance(value, bool) or not isinstance(value, kinds) or not isfinite(value) or value < 0:
        raise InputError(
            f"{where}: `{key}` should be a {'whole ' * whole}number of at least 0, found {describe_value(value)}",
            hint=f"such as `{key} = {getattr(BUILT_IN[DEFAULT], key)}`",
        )


def _check_words(table: dict[str, Json], where: str) -> None:
    for key in ("name", "about"):
        if not isinstance(table.get(key, ""), str) or table.get(key) == "":
            raise InputError(
                f"{where}: `{key}` should be text, found {describe_value(table[key])}",
                hint=f'such as `{key} = "mine"`',
            )
    if "date" in table:
        try:
            msgspec.convert(table["date"], datetime.date)
        except msgspec.ValidationError as error:
            raise InputError(
                f"{where}: `date` should be a day, found {describe_value(table['date'])}",
                hint="such as `date = 2026-11-15`",
            ) from error


def _sample() -> str:
    return ", ".join(f"`{key} = {getattr(BUILT_IN[DEFAULT], key)}`" for key in NUMBERS)
