"""A message read for evidence: its lines, the names in them, and what stands around a lone name.

Rule: a message reads the same in a recording and in a pack, so that whatever is kept verbatim is found again.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

import msgspec
from msgspec import Struct

from holdfast.replay.evidence.names import SHORTEST, line_keys, names_in, words_in
from holdfast.replay.request import Said
from holdfast.tool_use import values_in

LONGEST_LINE = 20_000
"""Of a longer line the rest is a line of its own: one line of 200 kB would otherwise support all of itself."""
LONGEST_LABEL = 40
"""Characters of a tool's name, and of an argument's key, that stand with a value."""
FARTHEST_HEADING = 200
"""Lines between a name alone in its line and what the list of such names is headed by."""
CROWD = 24
"""A line with more names, or more words, than this is no neighbour: it would stand next to everything."""


class Context(Struct, frozen=True, gc=False):
    """What stands in a line: its names, and the ordinary words between them."""

    names: frozenset[str]
    words: frozenset[str]


class Reading:
    """Lines are numbered through a message: its text first, then the values of its calls' arguments."""

    def __init__(self, said: Said) -> None:
        self.lines = _lines(said.text) if said.text else []
        self.said = said
        self.arguments_from = len(self.lines)
        self.calls_end: list[int] = []
        """Where the lines of each call's arguments end."""
        self._labels: dict[int, int] = {}
        """Length of what stands before the first line of a value."""
        for call in said.calls:
            for key, value in argument_values(call.arguments):
                # Tool and key stand with a value, as they do in a request: they are what says what it is.
                label = f"{call.name[:LONGEST_LABEL]} {key[:LONGEST_LABEL]} = "
                first, *rest = _lines(value)
                self._labels[len(self.lines)] = len(label)
                self.lines += [label + first, *rest]
            self.calls_end.append(len(self.lines))
        self._contexts: dict[int, Context] = {}

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
        """The id of the call in whose arguments a line stands, "" for a line of text."""
        if number < self.arguments_from:
            return ""
        return self.said.calls[bisect_right(self.calls_end, number)].id

    def context(self, number: int) -> Context:
        found = self._contexts.get(number)
        if found is None:
            line = self.lines[number]
            names = names_in(line)
            found = Context(frozenset(names), frozenset(words_in(_without(line, names))))
            self._contexts[number] = found
        return found

    def neighbours(self, number: int) -> frozenset[str]:
        """Names, or words where there is no name, of the nearest lines before and behind that are not empty."""
        found: set[str] = set()
        for step in (-1, 1):
            at = number + step
            while 0 <= at < len(self.lines) and not self.lines[at].strip():
                at += step
            if 0 <= at < len(self.lines):
                beside = names_in(self.lines[at]) or words_in(self.lines[at])
                found |= beside if len(beside) <= CROWD else set()
        return frozenset(found)

    def heading(self, number: int) -> frozenset[str]:
        """Words of the line itself, or of the nearest above it that has any; of one that is no crowd."""
        for at in range(number, max(number - FARTHEST_HEADING, -1), -1):
            words = self.context(at).words
            if words:
                return words if len(words) <= CROWD else frozenset()
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
    return lines if len(text) <= LONGEST_LINE else [part for line in lines for part in _parts(line)]


def _parts(line: str) -> list[str]:
    return [line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE)] or [""]


def _without(line: str, names: set[str]) -> str:
    """The line without its names, the longest first: what is left are ordinary words."""
    for name in sorted(names, key=lambda name: (-len(name), name)):
        line = line.replace(name, " ")
    return line
