"""Scoring: which lines of all that was folded are worth their tokens, and which are evicted from the index.

Rule: a line is worth what it will be quoted for, and what the names in it will be used for that are shown nowhere
else. Each name pays once, so that lines which say the same do not crowd out the rest. Eviction is pure and by worth
too, and happens with a fold: a log that is read again evicts the same lines.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from msgspec import Struct

from holdfast.events import KeptLines
from holdfast.packing.lines.excerpts import ExcerptPrices, parse_ranges
from holdfast.packing.lines.features import is_crowd, line_key, uncrowded_names
from holdfast.packing.lines.line_index import LONGEST_LINE, IndexedLine, LogLineIndex, by_source
from holdfast.packing.lines.passages import PassageKey, PassageSource
from holdfast.packing.lines.weights import worths_of

LENGTH_POWER = 0.8
"""How much a line's length counts against its worth: less than in full, since room is cut into odd ends."""
FIXED_TOKENS = 3
WEAK_SHARE = 0.1
"""What a name is worth where nothing says what it is: alone in its line, or in a crowd of names."""
SHORTEST_QUOTE = 16
"""Characters from which a line is quoted as a whole."""

_SHARES: tuple[float, ...] = tuple((size + FIXED_TOKENS) ** -LENGTH_POWER for size in range(2 * LONGEST_LINE))
"""What a token of a line is worth of it, by its size: no line that is remembered is longer."""


class LineScores:
    """Scores of `lines`, by their places in the sequence; `covered` are names that the pack shows already."""

    def __init__(
        self, line_index: LogLineIndex, lines: Sequence[IndexedLine], covered: Iterable[str] = ()
    ) -> None:
        self._lines = lines
        self._name_values = {**line_index.name_values(lines)}
        """What each name is still worth: nothing once it is covered."""
        self._hide(self._name_values.keys() & covered)
        worths = zip(lines, worths_of(line_index.line_scores(lines)), strict=True)
        # Arrays, since a list has an object for each number.
        self._quotes = array("d", (w if len(line.key) >= SHORTEST_QUOTE else 0.0 for line, w in worths))
        """What each line is worth as a whole."""

    def of(self, at: int) -> float:
        line = self._lines[at]
        names = sum(map(self._name_values.__getitem__, line.names))
        return (self._quotes[at] + (names * WEAK_SHARE if line.is_weak else names)) * _SHARES[line.size]

    def of_all(self) -> "array[float]":
        """`of` every line, in one go."""
        value = self._name_values.__getitem__
        sums = (sum(map(value, line.names)) for line in self._lines)
        return array(
            "d",
            (
                (quote + (names * WEAK_SHARE if line.is_weak else names)) * _SHARES[line.size]
                for line, quote, names in zip(self._lines, self._quotes, sums, strict=True)
            ),
        )

    def cover(self, line: IndexedLine) -> None:
        if not line.is_weak:
            self._hide(line.names)

    def _hide(self, names: Iterable[str]) -> None:
        for name in names:
            self._name_values[name] = 0.0


TOKENS_A_LINE = 26
FEWEST = 7_500


def line_limit(window: int) -> int:
    """How many lines are remembered in a window of this many tokens: more than it can show."""
    return max(window // TOKENS_A_LINE, FEWEST)


def evict_lines(line_index: LogLineIndex, most: int, kept: Iterable[KeptLines] = ()) -> None:
    """Let go of the worst lines once there are a quarter more than `most`. Lines that notes keep stay, whatever
    they are worth, and half of `most` besides."""
    lines = line_index.lines
    if len(lines) <= most + most // 4:
        return
    values = LineScores(line_index, lines).of_all()
    numbers_kept = {(one.step, one.call, one.part): frozenset(parse_ranges(one.lines)) for one in kept}
    is_shown = [
        line.number in numbers
        for source, group in by_source(lines)
        for numbers in (numbers_kept.get(source.place, ()),)
        for line in group
    ]
    shown = [at for at, is_one in enumerate(is_shown) if is_one]
    others = [at for at, is_one in enumerate(is_shown) if not is_one]
    others.sort(key=values.__getitem__, reverse=True)
    kept_others = others[: max(most - len(shown), most // 2)]
    line_index.remember([lines[at] for at in sorted(shown + kept_others)])


LEAST_ROOM = 8
MOST_MISSES = 200
"""Lines in a row that the room left is too small for, after which nothing shorter is looked for."""


class ShownLines(Struct, frozen=True):
    """Lines, by their keys, and names that the pack shows besides."""

    keys: set[str]
    names: set[str]


def shown_in(texts: Iterable[str], indexed: Iterable[IndexedLine] = ()) -> ShownLines:
    """Most lines of a pack are in the index: of these it is known what is in them."""
    lines = {line for text in texts for line in text.split("\n")}
    known = [line for line in indexed if line.text in lines]
    unknown = lines.difference([line.text for line in known])
    keys = {line.key for line in known}.union(map(line_key, unknown))
    told_apart = (line.names for line in known if not (line.is_weak and is_crowd(line.text, line.names)))
    return ShownLines(keys, uncrowded_names(unknown).union(*told_apart))


class LineChooser:
    """Takes the best lines of folded passages, as much as some room holds, and more where there is more room."""

    def __init__(
        self,
        line_index: LogLineIndex,
        folded: Callable[[PassageSource], bool],
        shown: ShownLines,
        prices: ExcerptPrices,
    ) -> None:
        self._found = candidate_lines(line_index, folded, shown)
        self._scores = LineScores(line_index, self._found, shown.names)
        self._prices = prices
        self._values = self._scores.of_all()
        self._ranked = sorted(range(len(self._found)), key=self._values.__getitem__, reverse=True)[::-1]
        """Places of lines not looked at yet, the best last; of equal ones the newest."""
        self._lowered: list[tuple[float, int]] = []
        """A heap of lines that turned out to be worth less: names in them were covered since they were ranked."""
        self._taken: list[int] = []
        self._headings: dict[int, int] = {}
        """What the heading of a passage costs that has none yet, by the identity of its source; else nothing."""

    def take(self, room: int) -> None:
        """The best lines not yet taken that `room` tokens hold; one that is too long for it waits for more."""
        misses = 0
        waiting: list[tuple[float, int]] = []
        while (self._ranked or self._lowered) and room > LEAST_ROOM and misses < MOST_MISSES:
            value, at = self._pop_best()
            now = self._scores.of(at)
            if now < value * (1 - 1e-9):
                heappush(self._lowered, (-now, at))
                continue
            line = self._found[at]
            cost = self._prices.line(line.source, line.text) + self._heading(line.source)
            misses += 1
            if cost > room:
                waiting.append((-now, at))
                continue
            misses = 0
            room -= cost
            self._headings[id(line.source)] = 0
            self._scores.cover(line)
            self._taken.append(at)
        for one in waiting:
            heappush(self._lowered, one)

    def _pop_best(self) -> tuple[float, int]:
        """What the best line was worth when it was ranked, and its place."""
        lowered = self._lowered
        if self._ranked:
            at = self._ranked[-1]
            if not lowered or (-self._values[at], at) < lowered[0]:
                return self._values[self._ranked.pop()], at
        value, at = heappop(lowered)
        return -value, at

    def _heading(self, source: PassageSource) -> int:
        known = self._headings.get(id(source))
        if known is None:
            known = self._headings[id(source)] = self._prices.heading(source)
        return known

    @property
    def taken(self) -> list[IndexedLine]:
        """In the order of the log."""
        # Candidates were found newest first.
        return [self._found[at] for at in sorted(self._taken, reverse=True)]


def candidate_lines(
    line_index: LogLineIndex, folded: Callable[[PassageSource], bool], shown: ShownLines
) -> list[IndexedLine]:
    """Every line once, at its newest place."""
    seen = set(shown.keys)
    found: list[IndexedLine] = []
    for source, lines in by_source(reversed(line_index.lines)):
        if folded(source):
            for line in lines:
                if line.key not in seen:
                    seen.add(line.key)
                    found.append(line)
    return found


def numbers_by_passage(lines: Iterable[IndexedLine]) -> dict[PassageKey, list[int]]:
    """Numbers of lines by the place of their passage."""
    found: dict[PassageKey, list[int]] = {}
    for source, group in by_source(lines):
        found.setdefault(source.place, []).extend(line.number for line in group)
    return found
