"""Records: a JSON document on one line, as lines that can be kept one by one.

Rule: each line is valid JSON: a value of the document below the keys that lead to it, so that it says what it is.
No value is missing. A document that is written over several lines has lines of its own.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby

from msgspec import Struct

from holdfast.messages import Json
from holdfast.packing.counting.tokens import compact_json
from holdfast.packing.renditions.json_tight import shallow_json, written_tight

WHOLE = 1500
"""Characters up to which a value is kept as one line: its names say together what it is."""
SHORTEST = 80
"""Characters below which a document is a line like any other, and a field or row is kept with its neighbours."""
PIECE = 400
"""Characters of a string from which its own lines are kept one by one, about so many in a record."""
REMEMBERED = 64
"""Documents whose records are remembered: while a fold is drafted, lines of the same ones are shown repeatedly."""


@lru_cache(REMEMBERED)
def records_of(text: str) -> list[str] | None:
    """The records of a text that is one JSON document on one line, else None."""
    line = text.strip()
    if len(line) < SHORTEST or "\n" in line:
        return None
    document = shallow_json(line)
    return None if document is None else [*_records(document, _Place("", 0))]


class _Place(Struct, frozen=True, gc=False):
    """The keys that lead to a value, as they are written before it, and how many they are."""

    opening: str
    depth: int

    @property
    def room(self) -> int:
        """What is left for a value."""
        return WHOLE - len(self.opening) - self.depth

    def below(self, key: str) -> "_Place":
        return _Place(f"{self.opening}{{{compact_json(key)}:", self.depth + 1)

    def record(self, written: str) -> str:
        return f"{self.opening}{written}{'}' * self.depth}"


def _records(value: Json, place: _Place) -> Iterator[str]:
    if isinstance(value, list) and value:
        yield from _of_rows(value, place)
    elif isinstance(value, str) and len(value) > PIECE and "\n" in value:
        yield from (place.record(compact_json(piece)) for piece in _pieces(value))
    elif (whole := _within(value, place.room)) is not None:
        yield place.record(whole)
    elif isinstance(value, dict):
        yield from _of_fields(value, place)
    else:
        yield place.record(compact_json(value))


def _of_fields(value: dict[str, Json], place: _Place) -> Iterator[str]:
    """The fields of an object that is too long for one line: short ones together, and before the others, since they
    say whose these are."""
    short: dict[str, str] = {}
    for key, field in value.items():
        most = SHORTEST if isinstance(field, list | dict) else PIECE
        if (written := _within(field, most)) is not None:
            short[key] = f"{compact_json(key)}:{written}"
    for group in _groups(short.values(), place.room):
        yield place.record(f"{{{group}}}")
    for key, field in value.items():
        if key not in short:
            yield from _records(field, place.below(key))


def _of_rows(rows: list[Json], place: _Place) -> Iterator[str]:
    """An object is a record of its own; what has no keys to tell it from the next stands with its neighbours."""
    for is_bare, run in groupby(rows, _is_bare):
        if is_bare:
            for group in _groups(map(compact_json, run), SHORTEST):
                yield place.record(f"[{group}]")
            continue
        for row in run:
            whole = _within(row, place.room) if _is_plain(row) else None
            yield from [place.record(whole)] if whole is not None else _records(row, place)


def _is_bare(row: Json) -> bool:
    return not isinstance(row, dict) and _within(row, SHORTEST) is not None


def _is_plain(row: Json) -> bool:
    """Whether a row is one of a table without keys, which says more than its cells do."""
    return isinstance(row, list) and not any(isinstance(cell, dict) for cell in row)


def _groups(written: Iterable[str], room: int) -> Iterator[str]:
    """Written values with commas between, as many together as some room holds with brackets around them."""
    group: list[str] = []
    left = room - 2
    for one in written:
        if group and len(one) > left:
            yield ",".join(group)
            group, left = [], room - 2
        group.append(one)
        left -= len(one) + 1
    if group:
        yield ",".join(group)


def _pieces(text: str) -> Iterator[str]:
    """The lines of a string, some together."""
    piece: list[str] = []
    size = 0
    for line in text.split("\n"):
        if piece and size + len(line) > PIECE:
            yield "\n".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line) + 1
    yield "\n".join(piece)


def _within(value: Json, room: int) -> str | None:
    """A value as it is written, None where that is longer than so many characters."""
    if _is_large(value, room):
        return None
    written = written_tight(value)
    return written if len(written) <= room else None


def _is_large(value: Json, room: int) -> bool:
    """Whether a value is longer than so many characters even without its keys; no more of it is looked at."""
    unseen = [value]
    while unseen and room >= 0:
        one = unseen.pop()
        room -= len(one) if isinstance(one, str | list | dict) else 1
        if room >= 0 and isinstance(one, list | dict):
            unseen += one.values() if isinstance(one, dict) else one
    return room < 0
