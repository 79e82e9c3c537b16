"""Counting tokens of texts, messages and tools, with every count remembered.

Rule: a count is a whole number that depends on nothing but tokenizer, family and text. The tokenizer is
handed in; this module loads nothing.
"""

import re
from collections.abc import Iterable, Iterator
from json import JSONEncoder
from typing import Protocol, assert_never
from zlib import crc32

from msgspec import Struct

from holdfast.messages import (
    AssistantPart,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    UserPart,
)
from holdfast.packing.counting.families import FAMILIES, Family, content_class, family_for_model, image_tokens

__all__ = [
    "FAMILIES",
    "CharEstimate",
    "Family",
    "TokenCounter",
    "Tokenizer",
    "call_texts",
    "compact_json",
    "content_class",
    "family_for_model",
    "pieces",
]

LONGEST_PIECE = 8192
SHORTEST_PIECE = 1024
LONGEST_KEY = 256
MEMORY = 4_000_000
"""Bytes, about, that one generation of remembered counts may take; twice this is the most that is kept."""

ENTRY_COST = 100
"""What an entry of the memory costs beside its characters, about."""

# A line end where every vocabulary we use begins a new piece of its own: no blank line follows (a run of
# line ends is one token) and no slash (o200k takes it together with the line end).
_LINE_END = re.compile(r"\n(?=[^\s/]|[^\S\r\n]+\S)")
_SPACE = re.compile(r"(?<=\S)(?= \S)")
_encoded = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Key = str | tuple[int, int]


class Tokenizer(Protocol):
    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int:
        """Tokens of a text, markers such as `<|endoftext|>` counted as the plain text they are."""
        ...


class CharEstimate(Struct, frozen=True):
    """The last fallback: a fixed number of characters per token. `reason` says why nothing better was at hand."""

    chars_per_token: int = 4
    reason: str = ""

    @property
    def name(self) -> str:
        return f"chars/{self.chars_per_token}"

    def count(self, text: str) -> int:
        return -(-len(text) // self.chars_per_token)


class _Memory:
    """Counts by text in two generations: when the younger is full it becomes the older, and that one goes."""

    def __init__(self, room: int) -> None:
        self.young: dict[Key, int] = {}
        self._old: dict[Key, int] = {}
        self._room = self._left = room

    def find(self, key: Key) -> int | None:
        count = self.young.get(key)
        if count is None and (count := self._old.get(key)) is not None:
            self.keep(key, count)
        return count

    def keep(self, key: Key, count: int) -> None:
        self._left -= ENTRY_COST + (len(key) if isinstance(key, str) else 0)
        if self._left < 0:
            self._old, self.young, self._left = self.young, {}, self._room
        self.young[key] = count


class TokenCounter:
    """Counts for one family. A text seen before costs a dictionary look-up; a long text that changed a little
    costs its changed pieces."""

    def __init__(self, tokenizer: Tokenizer, family: Family, *, memory: int = MEMORY) -> None:
        self.tokenizer = tokenizer
        self.family = family
        self._plain = family.factor.smallest == family.factor.largest == 1000
        self._texts = _Memory(memory)
        self._pieces = _Memory(memory)
        self._lines = _Memory(memory)

    def text(self, text: str) -> int:
        key = _key(text)
        count = self._texts.young.get(key)
        return self._new_text(key, text) if count is None else count

    def lines(self, text: str) -> list[int]:
        """Tokens of each of `text.split("\\n")` with its line end; their sum is close to that of the text."""
        rows = text.split("\n")
        last = rows.pop()
        known = self._lines.young.get
        counts = [self._new_line(row) if (n := known(row)) is None else n for row in rows]
        counts.append(self._count(last) if len(last) > LONGEST_PIECE else self._piece(last))
        return counts if self._plain else _spread(counts, self.family.factor.of(content_class(text)))

    def line(self, row: str) -> int:
        """Tokens that a line with its line end takes at most, whatever text it is put into."""
        count = self._lines.young.get(row)
        count = self._new_line(row) if count is None else count
        return count if self._plain else _scaled(count, self.family.factor.largest)

    def message(self, message: Message) -> int:
        if isinstance(message, SystemMessage):
            return self.family.per_message + self.text(message.text)
        # Several texts may be sent as one, joined by line feeds.
        seams = max(sum(isinstance(part, Text) for part in message.parts) - 1, 0)
        return self.family.per_message + sum(map(self.part, message.parts)) + seams

    def messages(self, messages: Iterable[Message]) -> int:
        return sum(map(self.message, messages))

    def part(self, part: UserPart | AssistantPart) -> int:
        match part:
            case Text():
                return self.text(part.text)
            case Image():
                return image_tokens(part, self.family.image)
            case Thinking():
                return self.text(part.text) + self.text(part.signature) + self.text(part.redacted)
            case ToolCall():
                frame = self.family.per_call + self.family.per_argument * len(part.arguments)
                return frame + sum(map(self.text, call_texts(part, self.family)))
        assert_never(part)

    def tools(self, tools: tuple[ToolDefinition, ...]) -> int:
        """Tools as they come before the conversation: each as a call's frame with description and schema."""
        return sum(map(self._tool, tools), self.family.per_tools) if tools else 0

    def _tool(self, tool: ToolDefinition) -> int:
        schema = self.text(compact_json(tool.schema))
        return self.family.per_call + self.text(tool.name) + self.text(tool.description) + schema

    def _new_text(self, key: Key, text: str) -> int:
        count = self._texts.find(key)
        if count is None:
            count = self._count(text)
            if not self._plain:
                count = _scaled(count, self.family.factor.of(content_class(text)))
            self._texts.keep(key, count)
        return count

    def _new_line(self, row: str) -> int:
        key = _key(row)
        count = self._lines.find(key)
        if count is None:
            count = self._count(row + "\n")
            self._lines.keep(key, count)
        return count

    def _count(self, text: str) -> int:
        if len(text) <= LONGEST_PIECE:
            return self.tokenizer.count(text)
        return sum(map(self._piece, pieces(text)))

    def _piece(self, piece: str) -> int:
        key = _key(piece)
        count = self._pieces.find(key)
        if count is None:
            count = self.tokenizer.count(piece)
            self._pieces.keep(key, count)
        return count


def call_texts(call: ToolCall, family: Family) -> list[str]:
    """The texts of a call as its family reads them."""
    if call.raw or family.arguments == "json":
        return [call.name, call.raw or compact_json(call.arguments)]
    values = (v if isinstance(v, str) else compact_json(v) for v in call.arguments.values())
    return [call.name, *call.arguments, *values]


def compact_json(value: Json) -> str:
    """JSON as it is counted: no spaces, letters of all scripts as themselves."""
    return _encoded(value)


def pieces(text: str) -> Iterator[str]:
    """The text in pieces whose counts add up to that of the whole, cut by what is at the cut: a change
    in one place moves the cuts near it and no others."""
    start = 0
    while len(text) - start > LONGEST_PIECE:
        end = _cut(text, start + SHORTEST_PIECE, start + LONGEST_PIECE)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _cut(text: str, low: int, high: int) -> int:
    end = 0
    for found in _LINE_END.finditer(text, low, high):
        end = found.end()
        if crc32(text[end : end + 32].encode("utf-8", "surrogatepass")) & 15 == 0:
            return end
    if end:
        return end
    space = _SPACE.search(text, high - SHORTEST_PIECE, high)
    return space.start() if space else high


def _key(text: str) -> Key:
    """A short text is its own key. A long one is known by its length and hash, so that the memory never
    keeps it alive; the interpreter keeps a string's hash, which makes a second look-up free of its length."""
    return text if len(text) <= LONGEST_KEY else (len(text), hash(text))


def _scaled(count: int, factor: int) -> int:
    return -(-count * factor // 1000)


def _spread(counts: list[int], factor: int) -> list[int]:
    """Each count scaled, their sum the scaled sum: rounding every line up would add half a token a line."""
    out: list[int] = []
    total = done = 0
    for count in counts:
        total += count
        upto = _scaled(total, factor)
        out.append(upto - done)
        done = upto
    return out
