"""Choosing lines: the best that some room holds, over everything that was folded.

Rule: a line is worth what it will be quoted for, and what the names in it will be used for that stand nowhere else
on view; each name pays once, so that lines which say the same do not crowd out the rest.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Protocol

from msgspec import Struct

from holdfast.packing.lines.facts import line_key, names_on
from holdfast.packing.lines.passages import Place, Source
from holdfast.packing.lines.sightings import Sighted, Sightings
from holdfast.packing.lines.worth import Worths

LEAST_ROOM = 8
MOST_MISSES = 200
"""Lines in a row that the room left is too small for, after which nothing shorter is looked for."""


class OnView(Struct, frozen=True):
    """Lines, by their keys, and names that the pack shows besides."""

    keys: set[str]
    names: set[str]


class Prices(Protocol):
    """What it takes to show a line, and to say which call lines came from, in tokens."""

    def line(self, source: Source, text: str) -> int: ...

    def heading(self, source: Source) -> int: ...


def seen_in(texts: Iterable[str]) -> OnView:
    keys: set[str] = set()
    names: set[str] = set()
    for text in texts:
        lines = text.split("\n")
        keys.update(map(line_key, lines))
        names |= names_on(lines)
    return OnView(keys, names)


class Chooser:
    """Takes the best lines of folded passages, as much as some room holds, and more where there is more room."""

    def __init__(
        self, sightings: Sightings, folded: Callable[[Source], bool], view: OnView, prices: Prices
    ) -> None:
        self._found = candidates(sightings, folded, view)
        self._worths = Worths(sightings, self._found, view.names)
        self._prices = prices
        self._heap = [(-self._worths.of(at), at) for at in range(len(self._found))]
        heapify(self._heap)
        self._taken: list[int] = []
        self._headings: dict[int, int] = {}
        """What the heading of a passage costs that has none yet, by the identity of its source; else nothing."""

    def take(self, room: int) -> None:
        """The best lines not yet taken that `room` tokens hold; one that is too long for it is passed over."""
        misses = 0
        while self._heap and room > LEAST_ROOM and misses < MOST_MISSES:
            value, at = heappop(self._heap)
            now = self._worths.of(at)
            if now < -value * (1 - 1e-9):
                # Names in it were covered since it was ranked.
                heappush(self._heap, (-now, at))
                continue
            line = self._found[at]
            cost = self._prices.line(line.source, line.text) + self._heading(line.source)
            misses += 1
            if cost <= room:
                misses = 0
                room -= cost
                self._headings[id(line.source)] = 0
                self._worths.cover(line)
                self._taken.append(at)

    def _heading(self, source: Source) -> int:
        known = self._headings.get(id(source))
        if known is None:
            known = self._headings[id(source)] = self._prices.heading(source)
        return known

    @property
    def taken(self) -> list[Sighted]:
        """In the order of the log."""
        # Candidates were found newest first.
        return [self._found[at] for at in sorted(self._taken, reverse=True)]


def candidates(sightings: Sightings, folded: Callable[[Source], bool], view: OnView) -> list[Sighted]:
    """Every line once, where it stands newest."""
    seen = set(view.keys)
    found: list[Sighted] = []
    source: Source | None = None
    wanted = False
    for line in reversed(sightings.lines):
        if line.source is not source:
            source = line.source
            wanted = folded(source)
        if wanted and line.key not in seen:
            seen.add(line.key)
            found.append(line)
    return found


def in_passages(lines: Sequence[Sighted]) -> dict[Place, list[int]]:
    """Numbers of lines by the place of their passage, in order."""
    found: dict[Place, list[int]] = {}
    source: Source | None = None
    numbers: list[int] = []
    for line in lines:
        if line.source is not source:
            source = line.source
            numbers = found.setdefault(source.place, [])
        numbers.append(line.number)
    return {place: sorted(numbers) for place, numbers in found.items()}
