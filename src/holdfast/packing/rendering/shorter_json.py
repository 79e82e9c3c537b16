"""Shorter JSON: a document in fewer tokens with nothing missing, or a smaller one with the same shape.

Rule: what comes out is valid JSON. The tight form is lossless: a list of objects with the same keys in the same
order becomes `{"columns": […], "rows": [[…], …]}`, an object within such an object has its keys joined with a dot,
and what could not be undone is left as it is. In a clipped document every scalar is one of the original's, or a
mark that begins with or holds `…` and says how much is missing.
"""

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain

import msgspec

from holdfast.line_ranges import written_ranges
from holdfast.messages import Json
from holdfast.packing.counting.tokens import TokenCounter, compact_json
from holdfast.packing.rendering.outliers import outlier_rows

COLUMNS, ROWS = "columns", "rows"
FEWEST_TABLE_ROWS = 3
"""Rows from which a table may be shorter than its objects."""
FRAME = len('{"columns":[],"rows":}')
FEWEST_LINES = 2
"""Lines with a document each that make a text JSON lines."""
DEEPEST_TIGHT = 40
"""Levels of the deepest document that is looked into: far fewer than a stack holds, so that how far it is filled
already never changes what comes out."""


def decode_json(text: str) -> Json:
    """The JSON object or list that a text is, strictly as the standard has it, else None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def decode_rows(text: str) -> list[Json] | None:
    """The rows of JSON lines, an object or list on each line, else None."""
    rows = [row for row in text.split("\n") if row.strip()]
    if len(rows) < FEWEST_LINES or decode_json(rows[0]) is None or decode_json(rows[-1]) is None:
        return None
    values = [decode_json(row) for row in rows]
    return None if any(value is None for value in values) else values


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
    for _ in range(DEEPEST_TIGHT):
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
    """Rows as a table; None if they are not objects of one shape, or would not get shorter."""
    if len(rows) < FEWEST_TABLE_ROWS or not isinstance(rows[0], dict):
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
    """Whether columns take fewer characters than the keys of this many rows; cells take the same in both."""
    paths = [column.split(".") for column in columns]
    keys = {tuple(path[:end]) for path in paths for end in range(1, len(path) + 1)}
    once = FRAME + sum(len(compact_json(column)) + 1 for column in columns)
    return once < count * sum(len(compact_json(key[-1])) + 1 for key in keys)


MARK = "…"
SHORTEST_STRING = 24
"""Characters that are always left of a string."""
LONG_STRING = 300
"""Characters of a string that count as much as those of rows and fields."""
TAIL_SHARE = 0.3
"""What the end of a shortened string gets: of a log or a trace, the end is the point."""
ROW = 160
"""Characters up to which a row of a list is rather kept whole than shortened to make room for another."""
FIRST_ROWS = 2
DEEPEST = 12
"""Levels below which a value is named and not shown: sizes are measured again at every level."""
BETWEEN = 2
"""Characters between two rows, or a key and its value."""
MARK_ROOM = 32
"""Characters that a mark takes, about."""
TRIES, FULL, NEARLY = 10, 0.9, 0.97
"""How often the size is tried, the share of the cap that is full enough, and what a next try aims at."""
LEAST_STEP, MOST_STEP = 0.3, 3.0
_TELLING_KEYS = (
    "error errors status state code message reason failed id name title key path file filename url type kind "
    "version line number total count"
)
"""Keys whose values say what an object is and how it fared, the most telling first."""
_RANK = {key: at for at, key in enumerate(_TELLING_KEYS.split())}
_TROUBLE = re.compile(rb"(?i)error|fail|fatal|exception|denied|refused|invalid|missing|timeout")
_NO_TROUBLE = re.compile(rb'(?i)"[^"]{0,40}(?:error|fail|exception)[^"]{0,40}":(?:null|false|0|""|\[\]|\{\})')
LOOKED_AT = 4_000
"""Bytes of a row in which trouble is looked for."""
MOST_RANGES = 6
MOST_COLUMNS = 20


def clip_json(text: str, cap: int, counter: TokenCounter) -> str | None:
    """A document of at most `cap` tokens with the shape of the text, which is one document or one on each line.

    None where the text is no JSON, or where not even its outermost shape fits. JSON lines become the list of their
    rows.
    """
    value = decode_json(text)
    if value is None:
        value = decode_rows(text)
    if value is None:
        return None
    size = counter.text(text)
    if size <= cap:
        return text
    try:
        # How many characters a token takes is known of the whole; what is left of it may take others.
        return _fitted(value, cap, max(int(len(text) * cap / size), 1), counter)
    except RecursionError:
        return None


def _fitted(value: Json, cap: int, room: int, counter: TokenCounter) -> str | None:
    """The fullest document within the cap that a few tries find, the first at `room` characters."""
    best: str | None = None
    for _ in range(TRIES):
        shrunk = _shrunk(value, room, 0)
        if isinstance(shrunk, str):
            break
        clipped = _written(shrunk)
        tokens = counter.text(clipped)
        if tokens <= cap:
            best = clipped if best is None or len(clipped) > len(best) else best
            if tokens >= cap * FULL or len(clipped) < room * FULL:
                break
        room = int(room * min(max(NEARLY * cap / max(tokens, 1), LEAST_STEP), MOST_STEP))
    return best


def _written(value: Json) -> str:
    """JSON with each row or field of the outermost level on a line of its own, so that it can be read."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(compact_json, value)) + "\n]"
    assert isinstance(value, dict)
    fields = (f"{compact_json(key)}:{compact_json(field)}" for key, field in value.items())
    return "{\n" + ",\n".join(fields) + "\n}"


def _shrunk(value: Json, room: int, depth: int) -> Json:
    """A value in about `room` characters; a list or an object that cannot be made that small is named."""
    if isinstance(value, str):
        return _shortened(value, room)
    if not isinstance(value, list | dict) or not value:
        return value
    if depth and _size(value) <= room:
        return value
    shrunk: Json = None
    if depth < DEEPEST:
        shrunk = (
            _fewer_rows(value, room, depth) if isinstance(value, list) else _fewer_keys(value, room, depth)
        )
    return shrunk or _named(value)


def _shortened(text: str, room: int) -> str:
    """The head and the tail of a string, with its length between them."""
    mark = f"{MARK} [{len(text)} characters] {MARK}"
    kept = max(room - len(mark), SHORTEST_STRING)
    if len(text) <= max(room, kept + len(mark)):
        return text
    tail = int(kept * TAIL_SHARE)
    return f"{text[: kept - tail]}{mark}{text[len(text) - tail :]}"


def _named(value: Json) -> str:
    if isinstance(value, list):
        return f"{MARK} list of {len(value)}"
    assert isinstance(value, dict)
    return f"{MARK} object with {len(value)} keys"


def _fewer_keys(value: dict[str, Json], room: int, depth: int) -> dict[str, Json] | None:
    """The keys that tell most, as far as there is room to name them, in their own order."""
    keys, fields = [*value], [*value.values()]
    names = [len(compact_json(key)) + BETWEEN for key in keys]
    sizes = [_size(field) for field in fields]
    least = [name + _least(field, size) for name, field, size in zip(names, fields, sizes, strict=True)]
    order = sorted(range(len(keys)), key=[*map(_key_rank, keys, fields)].__getitem__)
    kept = _fitting(order, least, room - MARK_ROOM if sum(least) > room else room)
    if not kept:
        return None
    left = room - sum(names[at] for at in kept)
    rooms = _rooms([fields[at] for at in kept], [sizes[at] for at in kept], left)
    out = {keys[at]: _shrunk(fields[at], share, depth + 1) for at, share in zip(kept, rooms, strict=True)}
    if len(kept) < len(keys):
        more = MARK
        while more in out:
            more += MARK
        out[more] = f"{len(keys) - len(kept)} more of {len(keys)} keys {MARK}"
    return out


def _key_rank(key: str, field: Json) -> tuple[int, bool]:
    """Errors, states and names first, then scalars, then what holds more."""
    return _RANK.get(key.lower(), len(_RANK)), isinstance(field, list | dict)


def _fewer_rows(value: list[Json], room: int, depth: int) -> list[Json] | None:
    """The first rows and those that stand out, as far as there is room, in their own order."""
    rows = [msgspec.json.encode(row) for row in value]
    sizes = [len(row) + BETWEEN for row in rows]
    first = range(min(FIRST_ROWS, len(value)))
    order = dict.fromkeys((*first, *_telling(value, rows), *range(len(value))))
    # Whole rows of moderate size rather than shreds of more.
    least = [
        min(n, ROW) if isinstance(v, str | list | dict) else n for v, n in zip(value, sizes, strict=True)
    ]
    kept = _fitting(order, least, room - MARK_ROOM if sum(sizes) > room else room)
    if not kept and room > MARK_ROOM:
        kept = [0]
    if not kept:
        return None
    left = room - (MARK_ROOM if len(kept) < len(value) else 0)
    rooms = _rooms([value[at] for at in kept], [sizes[at] for at in kept], left)
    out = [_shrunk(value[at], share - BETWEEN, depth + 1) for at, share in zip(kept, rooms, strict=True)]
    if len(kept) < len(value):
        out.append(f"{MARK} {len(value) - len(kept)} more of {len(value)}{_which(kept)}")
    return out


def _telling(value: Sequence[Json], rows: Sequence[bytes]) -> list[int]:
    """The rows with trouble in them, unless most have some, and those that differ from what the others have."""
    trouble = [at for at, row in enumerate(rows) if _TROUBLE.search(_NO_TROUBLE.sub(b"", row[:LOOKED_AT]))]
    if len(trouble) > len(rows) / 2:
        trouble = []
    head = value[0]
    if not isinstance(head, dict):
        return trouble
    columns = [key for key, field in head.items() if not isinstance(field, list | dict)][:MOST_COLUMNS]
    cells = [[str(row.get(key)) if isinstance(row, dict) else "" for key in columns] for row in value]
    return [*trouble, *sorted(outlier_rows(cells))]


def _which(kept: Sequence[int]) -> str:
    """Which rows are shown, from 1, where it is not just the first ones."""
    if kept[-1] == len(kept) - 1:
        return ""
    ranges = written_ranges(number + 1 for number in kept)
    return f", shown: {', '.join(ranges)}" if len(ranges) <= MOST_RANGES else ""


def _fitting(order: Iterable[int], least: Sequence[int], room: int) -> list[int]:
    """Those that have room one after the other, each at its least, in the order of their numbers."""
    kept: list[int] = []
    for at in order:
        if least[at] <= room:
            room -= least[at]
            kept.append(at)
    return sorted(kept)


def _rooms(values: Sequence[Json], sizes: Sequence[int], room: int) -> list[int]:
    """The room for each of some values. A long string has what is left when all others have theirs."""
    wanted = [min(n, LONG_STRING) if isinstance(v, str) else n for v, n in zip(values, sizes, strict=True)]
    rooms = _shares(wanted, room)
    more = _shares([n - given for n, given in zip(sizes, rooms, strict=True)], room - sum(rooms))
    return [given + extra for given, extra in zip(rooms, more, strict=True)]


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """The room divided so that the small have what they need and the large the same of the rest."""
    shares = [0] * len(sizes)
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, at in enumerate(order):
        shares[at] = max(min(sizes[at], room // (len(sizes) - done)), 0)
        room -= shares[at]
    return shares


def _least(value: Json, size: int) -> int:
    """What a value takes at least: a string is cut, a list or an object named."""
    return min(size, SHORTEST_STRING + MARK_ROOM) if isinstance(value, str | list | dict) else size


def _size(value: Json) -> int:
    return len(msgspec.json.encode(value))
