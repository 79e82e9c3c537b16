"""JSON that other programs wrote: read without raising, and what could not be kept is counted.

Rule: a field of the wrong type never raises here: it reads as an empty value. Nothing is lost in silence.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from holdfast.messages import Json

MILLISECONDS = 1e11
"""Epoch numbers above this are milliseconds: as seconds they would be after the year 5138."""
DEPTH = 200
"""No agent nests deeper, and it would overflow the stack of functions that walk the value later."""
DECODER = msgspec.json.Decoder()
COUNTED = re.compile(r"(.+) \((\d+)\)", re.DOTALL)
"""A sentence of `Losses`, with its count apart."""
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)


class Losses:
    """What could not be carried over as it was: counts by what was done (`left out`, `kept as reminders`) and to
    what, in the order first seen."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], str] = {}
        self.where = ""
        """What is being read, such as `message 3`, for sentences that say where something was first lost."""

    def add(self, what: str, things: str, count: int = 1) -> None:
        if count:
            key = (what, things)
            self._counts[key] = self._counts.get(key, 0) + count
            self._first.setdefault(key, self.where)

    def sentences(self) -> tuple[str, ...]:
        first = {key: f", first in {where}" if where else "" for key, where in self._first.items()}
        counts = self._counts.items()
        return tuple(f"{key[0]}: {key[1]} ({count}){first[key]}" for key, count in counts)


def merge_sentences(said: Iterable[str]) -> tuple[str, ...]:
    """Sentences of several `Losses`, each thing once with the sum of its counts; any other sentence as it is."""
    counts: dict[str, int] = {}
    for sentence in said:
        counted = COUNTED.fullmatch(sentence)
        loss = counted[1] if counted else sentence
        counts[loss] = counts.get(loss, 0) + (int(counted[2]) if counted else 0)
    return tuple(f"{loss} ({count})" if count else loss for loss, count in counts.items())


def decode_or_none(data: Json) -> Json:
    """The value of a text; None for what is no JSON, or nests too deep."""
    try:
        value = DECODER.decode(data) if isinstance(data, str | bytes) else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if is_too_deep(value) else value


def obj(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def count(value: Json) -> int:
    """A number of tokens: whole, not negative, and small enough for any store."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53:
        return int(value)
    return 0


def seconds(value: Json) -> float | None:
    """Unix seconds from an ISO timestamp or an epoch number; None for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15:
        return value / 1000 if value > MILLISECONDS else float(value)
    return None


def small(values: dict[str, Json], limit: int = 300) -> dict[str, Json]:
    """The entries that are short enough for the head of a log."""
    return {key: value for key, value in values.items() if value is not None and _size(value) <= limit}


def _size(value: Json) -> int:
    if isinstance(value, dict):
        return sum(len(key) + _size(item) for key, item in value.items())
    if isinstance(value, list):
        return sum(_size(item) + 1 for item in value)
    return len(value) if isinstance(value, str) else 8


def decode_text(text: str, losses: Losses) -> Json:
    """The value of JSON inside a JSON string, such as a call's arguments. Raises `ValueError` if it is not JSON."""
    raw = text.encode("utf-8", "replace")
    try:
        value = DECODER.decode(raw)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except msgspec.DecodeError:
        value = DECODER.decode(replace_lone_surrogates(raw, losses))
    if is_too_deep(value):
        raise ValueError("nested too deep")
    return value


def replace_lone_surrogates(raw: bytes, losses: Losses) -> bytes:
    """The same JSON with U+FFFD for each lone surrogate, which UTF-8 cannot hold."""
    lone = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal lone
        if match["lone"] is None:
            return match[0]
        lone += 1
        return b"\\ufffd"

    result = ESCAPES.sub(replace, raw)
    losses.add("replaced by U+FFFD", "lone surrogates", lone)
    return result


def is_too_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(DEPTH):
        containers = [v for v in level if isinstance(v, dict | list)]
        if not containers:
            return False
        level = [child for v in containers for child in (v.values() if isinstance(v, dict) else v)]
    return True
