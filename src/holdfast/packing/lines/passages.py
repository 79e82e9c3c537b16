"""Passages: the texts of a step, and of a user message, as lines that can be kept one by one.

Rule: a passage is found again in the log by its entry, call and part, so that an event can name lines of it.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import Message, SystemMessage, Text, ToolCall, joined_text
from holdfast.packing.lines.facts import Origin
from holdfast.packing.lines.records import WHOLE, records_of
from holdfast.packing.structure import Structure, structure_of
from holdfast.tool_use import Kind, ToolUse, values_in
from holdfast.views.transcript import Item, Step, User

CALL, RESULT, SAID, USER = "call", "result", "said", "user"

SHORTEST_PHRASE = 16
"""Characters of an argument that stands for itself; a shorter one, or a single word, is shown with its key."""


Place = tuple[str, str, str]
"""Entry, call and part."""


class Source(Struct, frozen=True, gc=False, kw_only=True):
    """Where lines come from, without the lines. `number` is the step's, counted from 1; `rows` is how many lines
    there are."""

    entry: str
    call: str = ""
    part: str
    origin: Origin
    number: int
    kind: Kind | None = None
    path: str = ""
    rows: int
    use: ToolUse | None = None
    has_records: bool = False
    """Whether the lines are records of a JSON document, and no lines of the text itself."""

    @property
    def place(self) -> Place:
        return self.entry, self.call, self.part


class Passage(Struct, frozen=True, gc=False):
    """A text of a folded item."""

    source: Source
    lines: list[str]

    def structure(self) -> Structure | None:
        """What the lines of a result are to each other."""
        source = self.source
        return structure_of(self.lines, source.use) if source.origin == "result" and source.use else None


def passages_of(step: Step) -> Iterator[Passage]:
    """What was said, then each call with the texts written in it and its result."""
    entry, number = step.entry, step.number + 1
    if said := step.message.text.strip():
        lines = said.split("\n")
        yield Passage(Source(entry=entry, part=SAID, origin="said", number=number, rows=len(lines)), lines)
    for call_id, use in step.uses.items():
        if use.kind not in ("todo", "recall"):
            yield from _written(step, call_id, use)
            if call_id in step.results:
                yield _result(step, call_id, use)


def _written(step: Step, call_id: str, use: ToolUse) -> Iterator[Passage]:
    """The call itself, and each text of several lines in it."""
    call = step.calls[call_id]
    keys, texts = arguments_of(call)
    lines = keys or [call.name]
    bare = Source(
        entry=step.entry,
        call=call_id,
        part=CALL,
        origin="call",
        number=step.number + 1,
        kind=use.kind,
        path=use.path,
        rows=len(lines),
    )
    yield Passage(bare, lines)
    for part, text in enumerate(texts):
        lines = text.split("\n")
        source = replace(bare, part=str(part), origin="argument", rows=len(lines))
        yield Passage(source, lines)


def _result(step: Step, call_id: str, use: ToolUse) -> Passage:
    text = joined_text(step.results[call_id].parts)
    # What is short enough to be quoted from a file stays as it is: an edit may be made from it.
    is_exact = use.kind == "read" and len(text) <= WHOLE
    records = None if is_exact else records_of(text)
    has_records = records is not None and records != [text.strip()]
    lines = records if records and has_records else text.split("\n")
    source = Source(
        entry=step.entry,
        call=call_id,
        part=RESULT,
        origin="result",
        number=step.number + 1,
        kind=use.kind,
        path=use.path,
        rows=len(lines),
        use=use,
        has_records=has_records,
    )
    return Passage(source, lines)


def said_by(user: User, number: int = 0) -> Iterator[Passage]:
    """What a user said after so many steps."""
    text = joined_text(user.message.parts)
    lines = text.split("\n")
    source = Source(entry=user.entry, part=USER, origin="user", number=number, rows=len(lines))
    yield Passage(source, lines)


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


class PassageBook:
    """The passages of items by their places, read once until it is cleared: a fold looks at them several times."""

    def __init__(self) -> None:
        self._known: dict[str, dict[Place, Passage]] = {}

    def of(self, item: Item) -> Mapping[Place, Passage]:
        known = self._known.get(item.entry)
        if known is None:
            found = passages_of(item) if isinstance(item, Step) else said_by(item)
            known = {passage.source.place: passage for passage in found}
            if not isinstance(item, Step) or not item.waiting:
                self._known[item.entry] = known
        return known

    def clear(self) -> None:
        self._known.clear()


def shown_texts(message: Message) -> Iterator[str]:
    """Every text of a message, those in its calls included."""
    for part in message.parts if not isinstance(message, SystemMessage) else ():
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolCall):
            keys, texts = arguments_of(part)
            yield from (*keys, *texts)
