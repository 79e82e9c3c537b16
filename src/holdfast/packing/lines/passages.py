"""Passages: the texts of a step, and of a user message, as lines that can be kept one by one.

Rule: a passage is found again in the log by its entry, call and part, so that an event can name lines of it. The
lines of a JSON document on one line are its records. Each record is valid JSON: a value of the document below the
keys that lead to it, so that it says what it is; no value is missing.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import Json, Message, SystemMessage, Text, ToolCall, ToolMessage, joined_text
from holdfast.packing.counting.tokens import compact_json
from holdfast.packing.lines.features import LineOrigin
from holdfast.packing.rendering.shorter_json import shallow_json, written_tight
from holdfast.tool_use import ToolKind, values_in
from holdfast.tool_use.output import output_rows
from holdfast.views.transcript import Item, Step, User

WHOLE = 1500
"""Characters up to which a value is kept as one line: its names say together what it is."""
SHORTEST = 80
"""Characters below which a document is a line like any other, and a field or row is kept with its neighbours."""
PIECE = 400
"""Characters of a string from which its own lines are kept one by one, about this many in a record."""
REMEMBERED = 64
"""Documents whose records are remembered: while a fold is drafted, lines of the same ones are shown repeatedly."""


@lru_cache(REMEMBERED)
def json_records(text: str) -> list[str] | None:
    """The records of a text that is one JSON document on one line, else None."""
    line = text.strip()
    if len(line) < SHORTEST or "\n" in line:
        return None
    document = shallow_json(line)
    return None if document is None else [*_records(document, _KeyPath("", 0))]


class _KeyPath(Struct, frozen=True, gc=False):
    """The keys that lead to a value, as they are written before it, and how many they are."""

    opening: str
    depth: int

    @property
    def room(self) -> int:
        """What is left for a value."""
        return WHOLE - len(self.opening) - self.depth

    def below(self, key: str) -> "_KeyPath":
        return _KeyPath(f"{self.opening}{{{compact_json(key)}:", self.depth + 1)

    def record(self, written: str) -> str:
        return f"{self.opening}{written}{'}' * self.depth}"


def _records(value: Json, place: _KeyPath) -> Iterator[str]:
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


def _of_fields(value: dict[str, Json], place: _KeyPath) -> Iterator[str]:
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


def _of_rows(rows: list[Json], place: _KeyPath) -> Iterator[str]:
    """An object is a record of its own; what has no keys to tell it from the next goes with its neighbours."""
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
    """A value as it is written, None if it does not fit into `room` characters."""
    if _is_large(value, room):
        return None
    written = written_tight(value)
    return written if len(written) <= room else None


def _is_large(value: Json, room: int) -> bool:
    """Whether a value has more than `room` characters even without its keys; no more of it is looked at."""
    unseen = [value]
    while unseen and room >= 0:
        one = unseen.pop()
        room -= len(one) if isinstance(one, str | list | dict) else 1
        if room >= 0 and isinstance(one, list | dict):
            unseen += one.values() if isinstance(one, dict) else one
    return room < 0


CALL, RESULT, SAID, USER = "call", "result", "said", "user"

SHORTEST_PHRASE = 16
"""Characters of an argument that needs no key; a shorter one, or a single word, is shown with its key."""


PassageKey = tuple[str, str, str]
"""Entry, call and part."""


class PassageSource(Struct, frozen=True, gc=False, kw_only=True):
    """Where lines come from, without the lines. `number` is the step's, counted from 1. `rows` is how many lines
    there are that can be kept, from `first_row` on: those of a wrapper around a tool's output cannot."""

    entry: str
    call: str = ""
    part: str
    origin: LineOrigin
    number: int
    kind: ToolKind | None = None
    path: str = ""
    first_row: int = 0
    rows: int = 0
    has_records: bool = False
    """Whether the lines are records of a JSON document, and no lines of the text itself."""

    @property
    def place(self) -> PassageKey:
        return self.entry, self.call, self.part


class Passage(Struct, frozen=True, gc=False):
    """A text of a folded item."""

    source: PassageSource
    lines: list[str]


def step_passages(step: Step) -> Iterator[Passage]:
    """What was said, then each call with the texts written in it and its result."""
    bare = PassageSource(entry=step.entry, part=SAID, origin="said", number=step.number + 1)
    if said := step.message.text.strip():
        yield _passage(bare, said.split("\n"))
    for call_id, use in step.uses.items():
        # A list that is written whole repeats itself, and the recap shows it; a single task is said nowhere else.
        if use.kind == "recall" or (use.kind == "todo" and not use.title):
            continue
        call = step.calls[call_id]
        source = replace(bare, call=call_id, part=CALL, origin="call", kind=use.kind, path=use.path)
        keys, texts = arguments_of(call)
        yield _passage(source, keys or [call.name])
        for part, text in enumerate(texts):
            yield _passage(replace(source, part=str(part), origin="argument"), text.split("\n"))
        if call_id in step.results:
            yield _result(replace(source, part=RESULT, origin="result"), step.results[call_id])


def _passage(source: PassageSource, lines: list[str], rows: range | None = None) -> Passage:
    rows = range(len(lines)) if rows is None else rows
    return Passage(replace(source, first_row=rows.start, rows=len(rows)), lines)


def _result(source: PassageSource, result: ToolMessage) -> Passage:
    text = joined_text(result.parts)
    # What is short enough to be quoted from a file stays as it is: an edit may be made from it.
    is_exact = source.kind == "read" and len(text) <= WHOLE
    records = None if is_exact else json_records(text)
    has_records = records is not None and records != [text.strip()]
    lines = records if records and has_records else text.split("\n")
    rows = None if has_records else output_rows(lines)
    return _passage(replace(source, has_records=has_records), lines, rows)


def user_passages(user: User, number: int = 0) -> Iterator[Passage]:
    """What a user said after a number of steps."""
    source = PassageSource(entry=user.entry, part=USER, origin="user", number=number)
    yield _passage(source, joined_text(user.message.parts).split("\n"))


def arguments_of(call: ToolCall) -> tuple[list[str], list[str]]:
    """What identifies a call, a line for each argument, and the texts of several lines written in it."""
    keys: list[str] = []
    texts: list[str] = []
    for key, value in values_in(call.arguments):
        if "\n" in value:
            texts.append(value)
        elif len(value) >= SHORTEST_PHRASE and len(value.split(None, 1)) > 1:
            keys.append(value)
        else:
            keys.append(f"{call.name} {key} = {value}")
    return keys, texts


def passages_of(item: Item) -> dict[PassageKey, Passage]:
    """The passages of an item by their places."""
    found = step_passages(item) if isinstance(item, Step) else user_passages(item)
    return {passage.source.place: passage for passage in found}


def shown_texts(message: Message) -> Iterator[str]:
    """Every text of a message, those in its calls included."""
    for part in message.parts if not isinstance(message, SystemMessage) else ():
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolCall):
            keys, texts = arguments_of(part)
            yield from (*keys, *texts)
