"""JSON as a text: whether a text is JSON, and what its values are.

Rule: strict, as the standard has it; a text that is nearly JSON is none.
"""

import msgspec

from holdfast.messages import Json
from holdfast.packing.structure.findings import BareText

TELLING_KEYS = tuple(
    "error errors status state code message reason failed id name title key path file filename url type kind "
    "version line number total count".split()
)
"""Keys whose values say what an object is and how it fared, the most telling first."""

FEWEST_ROWS = 2


def decode_json(text: str) -> Json:
    """The JSON object or list that a text is, else None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def decode_rows(text: str) -> list[Json] | None:
    """The rows of JSON lines, an object or list on each line, else None."""
    rows = [row for row in text.split("\n") if row.strip()]
    if len(rows) < FEWEST_ROWS or decode_json(rows[0]) is None or decode_json(rows[-1]) is None:
        return None
    values = [decode_json(row) for row in rows]
    return None if any(value is None for value in values) else values


def is_json(bare_text: BareText) -> bool:
    """Whether a text is one JSON document, or one on each line. Nothing is built: this is asked of every text."""
    if next((line.lstrip()[:1] for line in bare_text.lines if line.strip()), "") not in ("{", "["):
        return False
    rows = [line for line in bare_text.lines if line.strip()]
    return _is_valid(bare_text.text) or (len(rows) >= FEWEST_ROWS and all(map(_is_valid, rows)))


def _is_valid(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return True
