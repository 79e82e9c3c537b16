"""A message indexed for evidence: its lines, the names in them, and what is around a lone name.

Rule: a message is indexed the same way in a recording and in a pack, so that what is kept verbatim is found
again. A name has a shape that prose does not have: a digit, an underscore, a dot, a slash, a hyphen or an inner
capital.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec
from msgspec import Struct

from holdfast.lab.scored_message import ScoredMessage
from holdfast.tool_use import values_in

SHORTEST = 5
"""Characters of the shortest name that is looked for at all; `Measure.name_length` decides what counts."""
LONGEST = 300
"""Longer runs are encoded data, not names."""

_TOKEN = re.compile(r"https?://[^\s\"'<>`)\]}|]+|[A-Za-z0-9_][A-Za-z0-9_./@~+\-]{4,}")
_SHAPE = re.compile(r"[0-9_./\-]|(?<=[A-Za-z])[A-Z]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_EDGE = "./@~+-"
# A line as a listing shows it: `  12→code`, `12. code`, `L12: code`, `path/file.go:12:code`, `+code` of a diff.
_LISTED = re.compile(r"\s*(?:(?!\d++:)[^\s:]++:|Line |L)?\d+(?:\s?[→:|\t\-]|\.(?=\s))|[+\- ]\s?(?=\S)")


def names_in(text: str) -> set[str]:
    """Every name of a text: paths with their last part, dotted names with their parts."""
    found: set[str] = set()
    for token in _TOKEN.findall(text):
        token = token.rstrip(_EDGE)  # noqa: PLW2901 - a sentence's full stop is no part of a name
        if not SHORTEST <= len(token) <= LONGEST or not _SHAPE.search(token):
            continue
        found.add(token)
        if "/" in token:
            found |= _shaped(token.rsplit("/", 1)[1:])
        elif "." in token:
            found |= _shaped(token.split("."))
    return found


def _shaped(parts: list[str]) -> set[str]:
    return {part for part in parts if len(part) >= SHORTEST and _SHAPE.search(part)}


def words_in(text: str) -> set[str]:
    """Words of letters only, in any script; names are made of some of them too."""
    return set(_WORD.findall(text))


def line_keys(line: str) -> tuple[str, ...]:
    """What a line is known by: itself without surrounding space, and without what a listing put before it."""
    bare = line.strip()
    listed = _LISTED.match(line)
    if not listed:
        return (bare,)
    rest = line[listed.end() :].strip()
    return (bare, rest) if rest and rest != bare else (bare,)


def has_letters(line: str) -> bool:
    return _LETTER.search(line) is not None


LONGEST_LINE = 20_000
"""Of a longer line the rest is a line of its own: one line of 200 kB would otherwise support all of itself."""
LONGEST_LABEL = 40
"""Characters of a tool's name, and of an argument's key, that go with a value."""
FARTHEST_HEADING = 200
"""Lines between a name alone in its line and what the list of such names is headed by."""
MAX_NAMES = 24
"""A line with more names, or more words, than this is not a neighbour: it would be next to everything."""


class LineContext(Struct, frozen=True, gc=False):
    """What is in a line: its names, and the ordinary words between them."""

    names: frozenset[str]
    words: frozenset[str]


class IndexedMessage:
    """Lines are numbered through a message: its text first, then the values of its calls' arguments."""

    def __init__(self, scored: ScoredMessage) -> None:
        self.lines = _lines(scored.text) if scored.text else []
        self.scored = scored
        self.arguments_from = len(self.lines)
        self.calls_end: list[int] = []
        """Where the lines of each call's arguments end."""
        self._labels: dict[int, int] = {}
        """Length of what comes before the first line of a value."""
        for call in scored.calls:
            for key, value in argument_values(call.arguments):
                # Tool and key go with a value, as they do in a request: they are what says what it is.
                label = f"{call.name[:LONGEST_LABEL]} {key[:LONGEST_LABEL]} = "
                first, *rest = _lines(value)
                self._labels[len(self.lines)] = len(label)
                self.lines += [label + first, *rest]
            self.calls_end.append(len(self.lines))
        self._contexts: dict[int, LineContext] = {}

    @cached_property
    def names(self) -> dict[str, list[int]]:
        """Line numbers by name."""
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines):
            if len(line) >= SHORTEST:
                for name in names_in(line):
                    found.setdefault(name, []).append(number)
        return found

    @cached_property
    def keys(self) -> dict[str, int]:
        """The last number of every line, by each of its keys."""
        return {key: n for n, line in enumerate(self.lines) for key in self.keys_of(n, line)}

    def keys_of(self, number: int, line: str) -> tuple[str, ...]:
        if number < self.arguments_from:
            return line_keys(line)
        return (line[self._labels.get(number, 0) :].strip(),)

    def call_of(self, number: int) -> str:
        """The id of the call in whose arguments a line is, "" for a line of text."""
        if number < self.arguments_from:
            return ""
        return self.scored.calls[bisect_right(self.calls_end, number)].id

    def context(self, number: int) -> LineContext:
        found = self._contexts.get(number)
        if found is None:
            line = self.lines[number]
            names = names_in(line)
            # Without its names, the longest first: what is left are ordinary words.
            for name in sorted(names, key=lambda name: (-len(name), name)):
                line = line.replace(name, " ")
            found = LineContext(frozenset(names), frozenset(words_in(line)))
            self._contexts[number] = found
        return found

    def neighbours(self, number: int) -> frozenset[str]:
        """Names, or words where there is no name, of the nearest lines before and after that are not empty."""
        found: set[str] = set()
        for step in (-1, 1):
            at = number + step
            while 0 <= at < len(self.lines) and not self.lines[at].strip():
                at += step
            if 0 <= at < len(self.lines):
                beside = names_in(self.lines[at]) or words_in(self.lines[at])
                found |= beside if len(beside) <= MAX_NAMES else set()
        return frozenset(found)

    def heading(self, number: int) -> frozenset[str]:
        """Words of the line itself, or of the nearest above it that has any; of one that is no crowd."""
        for at in range(number, max(number - FARTHEST_HEADING, -1), -1):
            words = self.context(at).words
            if words:
                return words if len(words) <= MAX_NAMES else frozenset()
        return frozenset()


def argument_values(arguments: str) -> Iterator[tuple[str, str]]:
    """Key and value of every string and number in a call's arguments, however deep."""
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        value = arguments
    yield from values_in(value)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if len(text) <= LONGEST_LINE:
        return lines
    return [
        line[at : at + LONGEST_LINE] for line in lines for at in range(0, max(len(line), 1), LONGEST_LINE)
    ]


class PackIndex:
    """Messages of packs, each distinct one indexed once; those of the recording are known from the start.

    When it grows to more than the recording itself, what the pack no longer shows is forgotten.
    """

    def __init__(self, recorded: Sequence[IndexedMessage]) -> None:
        self._recorded = {message.scored: message for message in recorded}
        self._made: dict[ScoredMessage, IndexedMessage] = {}
        self._room = 2 * len(recorded) + 100

    def of(self, pack: Sequence[ScoredMessage]) -> list[IndexedMessage]:
        if len(self._made) > self._room:
            kept = set(pack)
            self._made = {scored: message for scored, message in self._made.items() if scored in kept}
        for scored in pack:
            if scored not in self._recorded and scored not in self._made:
                self._made[scored] = IndexedMessage(scored)
        return [self._recorded.get(scored) or self._made[scored] for scored in pack]
