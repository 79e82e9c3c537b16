"""What could not be carried over as it was, counted.

Rule: nothing is lost in silence; every kind of change becomes one sentence with its number.
"""

import json
import re
from datetime import UTC, datetime
from typing import NoReturn

import msgspec

from holdfast.errors import InputError
from holdfast.messages import Json


class Losses:
    """Counts by what was done (`left out`, `kept as reminders`) and to what, in the order first seen."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, what: str, things: str, count: int = 1) -> None:
        if count:
            key = (what, things)
            self._counts[key] = self._counts.get(key, 0) + count

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{what}: {things} ({count})" for (what, things), count in self._counts.items())


# Small readings of foreign JSON: the value if it has the shape, else an empty one.
#
# Rule: a field of the wrong type never raises here; a file is refused as a whole or read as far as it goes.

MILLISECONDS = 1e11
"""Epoch numbers above this are milliseconds: as seconds it would be the year 5138."""


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
    """Unix seconds from an ISO timestamp or an epoch number; None where there is no clock."""
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
    """The entries short enough to stand in the head of a log."""
    return {key: value for key, value in values.items() if value is not None and _size(value) <= limit}


def _size(value: Json) -> int:
    if isinstance(value, dict):
        return sum(len(key) + _size(item) for key, item in value.items())
    if isinstance(value, list):
        return sum(_size(item) + 1 for item in value)
    return len(value) if isinstance(value, str) else 8


# JSON bytes into values, with the reasons why not.
#
# Rule: bytes either become values or raise an `InputError` that names file, line and reason; what had to be
# mended on the way is tallied.

DEPTH = 200
"""Deeper nesting is no agent's work, and would overflow the stack of whoever walks the value later."""

DECODER = msgspec.json.Decoder()
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)
OFFSET = re.compile(r" ?\(byte (\d+)\)")


def decode_line(raw: bytes, name: str, line: int, tally: Losses) -> list[Json]:
    """The values on one line: nearly always one, several where a newline was lost."""
    try:
        values = [DECODER.decode(raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        values = _second_look(raw, name, line, tally, error)
    for value in values:
        if is_too_deep(value):
            _refuse_depth(name, line)
    return values


def decode_text(text: str, tally: Losses) -> Json:
    """The value of JSON inside a JSON string, such as a call's arguments. Raises `ValueError` if it is none."""
    raw = text.encode("utf-8", "replace")
    try:
        value = DECODER.decode(raw)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except msgspec.DecodeError:
        value = DECODER.decode(replace_lone_surrogates(raw, tally))
    if is_too_deep(value):
        raise ValueError("nested too deep")
    return value


def whole_prefix(raw: bytes) -> int:
    """How many bytes at the start of `raw` are whole JSON values."""
    text = raw.decode("utf-8", "surrogateescape")
    end = 0
    for _start, stop in _spans(text):
        end = stop
    return len(text[:end].encode("utf-8", "surrogateescape"))


def replace_lone_surrogates(raw: bytes, tally: Losses) -> bytes:
    """The same JSON with U+FFFD for each lone surrogate: no UTF-8 file could ever hold one."""
    lone = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal lone
        if match["lone"] is None:
            return match[0]
        lone += 1
        return b"\\ufffd"

    result = ESCAPES.sub(replace, raw)
    tally.add("replaced by U+FFFD", "lone surrogates", lone)
    return result


def is_too_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(DEPTH):
        containers = [v for v in level if isinstance(v, dict | list)]
        if not containers:
            return False
        level = [child for v in containers for child in (v.values() if isinstance(v, dict) else v)]
    return True


def _second_look(raw: bytes, name: str, line: int, tally: Losses, error: Exception) -> list[Json]:
    if isinstance(error, RecursionError):
        _refuse_depth(name, line)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        _refuse(raw, bad.start, name, line, "is not valid UTF-8")
    if (nul := raw.find(b"\0")) >= 0:
        _refuse(raw, nul, name, line, "is a NUL")
    if SURROGATE.search(raw) and (better := replace_lone_surrogates(raw, tally)) != raw:
        return decode_line(better, name, line, tally)
    spans = _spans(text)
    if len(spans) > 1 and not text[spans[-1][1] :].strip():
        tally.add("read apart", f"values that share line {line} (a lost newline)", len(spans))
        return [DECODER.decode(text[start:stop].encode()) for start, stop in spans]
    found = OFFSET.search(str(error))
    at = int(found[1]) if found else len(raw)
    reason = OFFSET.sub("", str(error)).removeprefix("JSON is malformed: ")
    raise InputError(
        f"{name} line {_line_at(raw, at, line)} is not valid JSON: {reason[:1].lower()}{reason[1:]}.",
        hint="only a torn last line is forgiven; restore the file, or delete that line to go on without it.",
    ) from error


def _spans(text: str) -> list[tuple[int, int]]:
    """Where whole values begin and end, up to the first thing that is not one."""
    scan = json.JSONDecoder().raw_decode
    spans: list[tuple[int, int]] = []
    start = _skip_space(text, 0)
    while start < len(text):
        try:
            _, stop = scan(text, start)
        except (ValueError, RecursionError):
            break
        spans.append((start, stop))
        start = _skip_space(text, stop)
    return spans


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _line_at(raw: bytes, at: int, first: int) -> int:
    return first + raw.count(b"\n", 0, at)


def _refuse(raw: bytes, at: int, name: str, line: int, what: str) -> NoReturn:
    start = raw.rfind(b"\n", 0, at) + 1
    raise InputError(
        f"{name} line {_line_at(raw, at, line)} is damaged: byte {at - start} of the line {what}.",
        hint="restore the file from a copy; a recording is UTF-8 text without NUL bytes.",
    )


def _refuse_depth(name: str, line: int) -> NoReturn:
    raise InputError(
        f"{name} line {line} nests JSON more than {DEPTH} levels deep.",
        hint="no agent writes this; check that the file is a recording.",
    )
