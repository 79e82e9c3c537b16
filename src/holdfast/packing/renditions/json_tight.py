"""JSON in fewer tokens and with nothing missing: no spaces, and the keys of a table written once.

Rule: lossless. A list of objects with the same keys in the same order becomes `{"columns": […], "rows": [[…], …]}`,
and an object within such an object has its keys joined with a dot. What could not be undone so is left as it is.
"""

import json
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain

from holdfast.messages import Json
from holdfast.packing.counting.tokens import compact_json
from holdfast.packing.structure.json_text import decode_json

COLUMNS, ROWS = "columns", "rows"
FEWEST_ROWS = 3
"""Rows from which a table may be shorter than its objects."""
FRAME = len('{"columns":[],"rows":}')
DEEPEST = 40
"""Levels of the deepest document that is looked into: far fewer than a stack holds, so that how far it is filled
already never changes what comes out."""


def tight_json(text: str) -> str | None:
    """The JSON document that a text is, on one line and in fewer tokens; None where it is none, or could not be had
    back from that."""
    value = shallow_json(text)
    if value is None or _has_table(value) or not _is_exact(text):
        return None
    return written_tight(value)


def written_tight(value: Json) -> str:
    """A value that is not deep, on one line; its tables as tables unless it has others that read like them."""
    plain = compact_json(value)
    if "[{" not in plain or _has_table(value):
        return plain
    return compact_json(_tight(value))


def shallow_json(text: str) -> Json:
    """The JSON object or list that a text is, else None; None too where it is nested deeper than anybody reads."""
    value = decode_json(text)
    level: Sequence[Json] = [value]
    for _ in range(DEEPEST):
        level = [*chain.from_iterable(map(_inside, level))]
        if not level:
            return value
    return None


def _inside(value: Json) -> Sequence[Json]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else ()


def _has_table(value: Json) -> bool:
    """Whether there is an object that reads like one of our tables, though it is none."""
    if isinstance(value, dict) and value.keys() == {COLUMNS, ROWS}:
        return True
    return any(map(_has_table, _inside(value)))


def _is_exact(text: str) -> bool:
    """Whether a document that is valid is all in its values: no key said twice, no number of more digits than a
    float holds."""
    try:
        json.loads(text, object_pairs_hook=_once, parse_float=_held)
    except (ValueError, ArithmeticError):
        return False
    return True


def _once(pairs: list[tuple[str, Json]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key said twice")


def _held(number: str) -> None:
    if Decimal(number) != Decimal(repr(float(number))):
        raise ValueError("more digits than a float holds")


def _tight(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _tight(field) for key, field in value.items()}
    if isinstance(value, list):
        return _table(value) or [_tight(row) for row in value]
    return value


def _table(rows: Sequence[Json]) -> Json:
    """Rows as a table, None where they are no objects of one shape or would not be shorter so."""
    if len(rows) < FEWEST_ROWS or not isinstance(rows[0], dict):
        return None
    columns = [*_flat(rows[0])]
    if not columns or not _is_shorter(columns, len(rows)):
        return None
    # All shapes before any cell: a list in a list in a list would else be gone through twice, four, eight times.
    flat = [_flat(row) if isinstance(row, dict) else {} for row in rows]
    if any([*row] != columns for row in flat):
        return None
    return {COLUMNS: columns, ROWS: [[_tight(cell) for cell in row.values()] for row in flat]}


def _flat(row: dict[str, Json]) -> dict[str, Json]:
    """A row without objects in it, as far as their keys can be joined; an empty one where its own cannot."""
    out: dict[str, Json] = {}
    for key, field in row.items():
        if "." in key:
            return {}
        if isinstance(field, dict) and (inner := _flat(field)):
            out.update((f"{key}.{name}", cell) for name, cell in inner.items())
        else:
            out[key] = field
    return out


def _is_shorter(columns: Sequence[str], count: int) -> bool:
    """Whether columns take fewer characters than the keys of so many rows; cells take the same in both."""
    paths = [column.split(".") for column in columns]
    keys = {tuple(path[:end]) for path in paths for end in range(1, len(path) + 1)}
    once = FRAME + sum(len(compact_json(column)) + 1 for column in columns)
    return once < count * sum(len(compact_json(key[-1])) + 1 for key in keys)
