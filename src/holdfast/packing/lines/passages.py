"""Passages: the texts of a step, and of a user message, as lines that can be kept one by one.

Rule: a passage is found again in the log by its entry, call and part, so that an event can name lines of it.
"""

from collections.abc import Iterator

from msgspec import Struct

from holdfast.ids import text_id
from holdfast.messages import Message, SystemMessage, Text, ToolCall, joined_text
from holdfast.packing.lines.facts import Origin
from holdfast.packing.lines.records import WHOLE, records_of
from holdfast.packing.renditions import source_id
from holdfast.packing.structure import Structure, structure_of
from holdfast.tool_use import Kind, ToolUse, values_in
from holdfast.views.transcript import Step, User

CALL, RESULT, SAID, USER = "call", "result", "said", "user"

SHORTEST_PHRASE = 16
"""Characters of an argument that stands for itself; a shorter one, or a single word, is shown with its key."""


Place = tuple[str, str, str]
"""Entry, call and part."""


class Passage(Struct, frozen=True, gc=False):
    """A text of a folded item. `number` is the step's, counted from 1; `id` brings the whole text back."""

    entry: str
    call: str
    part: str
    origin: Origin
    number: int
    kind: Kind | None
    path: str
    lines: list[str]
    id: str = ""
    use: ToolUse | None = None
    has_records: bool = False
    """Whether the lines are records of a JSON document, and no lines of the text itself."""

    def structure(self) -> Structure | None:
        """What the lines of a result are to each other."""
        return structure_of(self.lines, self.use) if self.origin == "result" and self.use else None

    @property
    def place(self) -> Place:
        return self.entry, self.call, self.part


def passages_of(step: Step) -> Iterator[Passage]:
    """What was said, then each call with the texts written in it and its result."""
    number = step.number + 1
    if said := step.message.text.strip():
        yield Passage(step.entry, "", SAID, "said", number, None, "", said.split("\n"))
    for call_id, use in step.uses.items():
        if use.kind in ("todo", "recall"):
            continue
        call = step.calls[call_id]
        kind, path = use.kind, use.path
        keys, texts = arguments_of(call)
        yield Passage(step.entry, call_id, CALL, "call", number, kind, path, keys or [call.name])
        for part, text in enumerate(texts):
            yield Passage(
                step.entry,
                call_id,
                str(part),
                "argument",
                number,
                kind,
                path,
                text.split("\n"),
                text_id(text),
            )
        if call_id in step.results:
            yield _result(step, call_id, use)


def _result(step: Step, call_id: str, use: ToolUse) -> Passage:
    text = joined_text(step.results[call_id].parts)
    # What is short enough to be quoted from a file stays as it is: an edit may be made from it.
    is_exact = use.kind == "read" and len(text) <= WHOLE
    records = None if is_exact else records_of(text)
    has_records = records is not None and records != [text.strip()]
    return Passage(
        step.entry,
        call_id,
        RESULT,
        "result",
        step.number + 1,
        use.kind,
        use.path,
        records if records and has_records else text.split("\n"),
        source_id(use, text),
        use,
        has_records,
    )


def said_by(user: User, number: int = 0) -> Iterator[Passage]:
    """What a user said after so many steps."""
    text = joined_text(user.message.parts)
    yield Passage(user.entry, "", USER, "user", number, None, "", text.split("\n"), text_id(text))


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


def shown_texts(message: Message) -> Iterator[str]:
    """Every text of a message, those in its calls included."""
    for part in message.parts if not isinstance(message, SystemMessage) else ():
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolCall):
            keys, texts = arguments_of(part)
            yield from (*keys, *texts)
