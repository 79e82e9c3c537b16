"""Tight JSON undone: what `holdfast.packing.rendering.shorter_json` wrote, as it was."""

from holdfast.messages import Json


def loosened(value: Json) -> Json:
    """A document with its tables as lists of objects again."""
    if isinstance(value, list):
        return [loosened(row) for row in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"columns", "rows"}:
        return [_row(value["columns"], cells) for cells in value["rows"]]
    return {key: loosened(field) for key, field in value.items()}


def _row(columns: list[str], cells: list[Json]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for column, cell in zip(columns, cells, strict=True):
        *above, last = column.split(".")
        inner = out
        for key in above:
            inner = inner.setdefault(key, {})
        inner[last] = loosened(cell)
    return out


def has_own_table(value: Json) -> bool:
    """Whether a document has an object that reads like a table before anything is written as one."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_one = isinstance(value, dict) and value.keys() == {"columns", "rows"}
    return is_one or any(map(has_own_table, inside))
