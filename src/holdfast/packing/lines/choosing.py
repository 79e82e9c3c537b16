"""Choosing lines: the best that some room holds, over everything that was folded.

Rule: a line is worth what it will be quoted for, and what the names in it will be used for that stand nowhere else
on view; each name pays once, so that lines which say the same do not crowd out the rest.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import exp
from typing import Protocol

from msgspec import Struct

from holdfast.packing.lines.facts import is_crowd, line_key, names_in
from holdfast.packing.lines.passages import Passage, Place
from holdfast.packing.lines.sightings import Sighted, Sightings

LENGTH_POWER = 0.8
"""How much a line's length counts against its worth: less than in full, since room is cut into odd ends."""
FIXED_TOKENS = 3
WEAK_SHARE = 0.1
"""What a name is worth where nothing says what it is: alone in its line, or in a crowd of names."""
SHORTEST_QUOTE = 16
"""Characters from which a line is quoted as a whole."""
SHORTEST_NAME = 6
LEAST_ROOM = 8


class OnView(Struct, frozen=True):
    """Lines, by their keys, and names that the pack shows besides."""

    keys: set[str]
    names: set[str]


class Prices(Protocol):
    """What it takes to show a line, and to say which call the lines of a passage came from, in tokens."""

    def line(self, passage: Passage, number: int) -> int: ...

    def heading(self, passage: Passage) -> int: ...


def seen_in(texts: Iterable[str]) -> OnView:
    keys: set[str] = set()
    names: set[str] = set()
    for text in texts:
        for line in text.split("\n"):
            keys.add(line_key(line))
            found = names_in(line)
            if not is_crowd(line, found):
                names.update(found)
    return OnView(keys, names)


class Chooser:
    """Takes the best lines of folded passages, as much as some room holds, and more where there is more room."""

    def __init__(
        self, sightings: Sightings, folded: Callable[[Passage], bool], view: OnView, prices: Prices
    ) -> None:
        self._found = candidates(sightings, folded, view)
        self._values = _Values(sightings, view, self._found)
        self._prices = prices
        self._heap = [(-self._values.of(at), at) for at in range(len(self._found))]
        heapify(self._heap)
        self._taken: list[int] = []
        self._opened: set[Place] = set()

    def take(self, room: int) -> None:
        """The best lines not yet taken that `room` tokens hold; one that is too long for it is passed over."""
        while self._heap and room > LEAST_ROOM:
            value, at = heappop(self._heap)
            now = self._values.of(at)
            if now < -value * (1 - 1e-9):
                # Names in it were covered since it was ranked.
                heappush(self._heap, (-now, at))
                continue
            cost = self._cost(self._found[at])
            if cost <= room:
                room -= cost
                self._opened.add(self._found[at].passage.place)
                self._values.cover(self._found[at])
                self._taken.append(at)

    def _cost(self, line: Sighted) -> int:
        cost = self._prices.line(line.passage, line.number)
        if line.passage.place not in self._opened:
            cost += self._prices.heading(line.passage)
        return cost

    @property
    def taken(self) -> list[Sighted]:
        """In the order of the log."""
        # Candidates were found newest first.
        return [self._found[at] for at in sorted(self._taken, reverse=True)]


def candidates(sightings: Sightings, folded: Callable[[Passage], bool], view: OnView) -> list[Sighted]:
    """Every line once, where it stands newest."""
    seen = set(view.keys)
    found: list[Sighted] = []
    passage: Passage | None = None
    wanted = False
    for line in reversed(sightings.lines):
        if line.passage is not passage:
            passage = line.passage
            wanted = folded(passage)
        if wanted and line.key not in seen:
            seen.add(line.key)
            found.append(line)
    return found


class _Values:
    """What lines are worth a token, given what is on view and what was chosen already."""

    def __init__(self, sightings: Sightings, view: OnView, lines: Sequence[Sighted]) -> None:
        self._sightings = sightings
        self._lines = lines
        self._names: dict[str, float] = dict.fromkeys(view.names, 0.0)
        self._quotes = [self._quote(line) for line in lines]
        """What each line is worth as a whole, and a token of it."""

    def of(self, at: int) -> float:
        line = self._lines[at]
        quote, share = self._quotes[at]
        names = sum(map(self._name, line.names))
        return (quote + (names * WEAK_SHARE if line.is_weak else names)) * share

    def _quote(self, line: Sighted) -> tuple[float, float]:
        quote = exp(self._sightings.line_score(line)) if len(line.key) >= SHORTEST_QUOTE else 0.0
        return quote, (line.size + FIXED_TOKENS) ** -LENGTH_POWER

    def cover(self, line: Sighted) -> None:
        if not line.is_weak:
            self._names.update(dict.fromkeys(line.names, 0.0))

    def _name(self, text: str) -> float:
        value = self._names.get(text)
        if value is None:
            name = self._sightings.names[text]
            value = exp(self._sightings.name_score(text, name)) if len(text) >= SHORTEST_NAME else 0.0
            self._names[text] = value
        return value


def in_passages(lines: Sequence[Sighted]) -> dict[Place, list[int]]:
    """Numbers of lines by the place of their passage, in order."""
    found: dict[Place, list[int]] = {}
    for line in lines:
        found.setdefault(line.passage.place, []).append(line.number)
    return {place: sorted(numbers) for place, numbers in found.items()}
