"""Small readings of foreign JSON: the value if it has the shape, else an empty one.

Rule: a field of the wrong type never raises here; a file is refused as a whole or read as far as it goes.
"""

from datetime import UTC, datetime

from holdfast.messages import Json

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
