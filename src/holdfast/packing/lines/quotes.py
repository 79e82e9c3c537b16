"""Quotes: what notes show of folded items, so that a cut can say what of it still stands.

Rule: the lines themselves count, in tokens, where a note's message shows them; the headings above them and the gaps
between them are the note's own.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from holdfast.events import KeptLines
from holdfast.messages import Text
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.lines.excerpts import parse_ranges
from holdfast.packing.lines.passages import CALL, RESULT, SAID, USER, Passage, PassageCache
from holdfast.views.transcript import Item, Step

__all__ = ["CALL", "NO_QUOTES", "RESULT", "SAID", "USER", "Quoted", "Spot", "merge_quotes", "quotes_in_note"]

Spot = tuple[str, str, int]
"""A place within an item that a cut can be of: its call, if any, what stands there, and which text of several."""

Quoted = Mapping[Spot, int]
"""Tokens of the lines of an item that stand in notes."""

NO_QUOTES: Quoted = {}


def quotes_in_note(
    kept: Iterable[KeptLines], items: Mapping[str, Item], book: PassageCache, counter: TokenCounter
) -> Mapping[str, Quoted]:
    """What a note that keeps these lines quotes, by entry. `items` are steps and user messages by entry."""
    found: dict[str, dict[Spot, int]] = {}
    for lines in kept:
        item = items.get(lines.step)
        passage = book.of(item).get((lines.step, lines.call, lines.part)) if item else None
        if item is None or passage is None:
            continue
        spots = found.setdefault(lines.step, {})
        for spot, rows in _by_spot(passage, item, parse_ranges(lines.lines)).items():
            spots[spot] = spots.get(spot, 0) + counter.text("\n".join(rows))
    return found


def merge_quotes(quotes: Iterable[Mapping[str, Quoted]]) -> dict[str, Quoted]:
    """What several notes quote together: lines of one item may stand in more than one."""
    found: dict[str, Quoted] = {}
    for note in quotes:
        for entry, quoted in note.items():
            before = found.get(entry)
            found[entry] = quoted if before is None else _sum(before, quoted)
    return found


def _sum(one: Quoted, other: Quoted) -> Quoted:
    return {spot: one.get(spot, 0) + other.get(spot, 0) for spot in (*one, *other)}


def _by_spot(passage: Passage, item: Item, numbers: Sequence[int]) -> dict[Spot, list[str]]:
    """The lines of a passage that a note shows, by the text they stand in. Arguments belong to their call."""
    part = passage.source.part if passage.source.part in (RESULT, SAID, USER) else CALL
    lines = [number for number in numbers if number < len(passage.lines)]
    texts = _texts(passage, item)
    filled = [at for at, text in enumerate(texts) if text and not text.isspace()]
    if len(filled) < 2:
        # One alone says anything: its lines may be counted otherwise, such as the records of a document.
        rows = [passage.lines[number] for number in lines]
        return {(passage.source.call, part, filled[0] if filled else 0): rows} if rows else {}
    ends = list(accumulate(text.count("\n") + 1 for text in texts))
    found: dict[Spot, list[str]] = {}
    for number in lines:
        spot = passage.source.call, part, min(bisect_right(ends, number), len(texts) - 1)
        found.setdefault(spot, []).append(passage.lines[number])
    return found


def _texts(passage: Passage, item: Item) -> list[str]:
    """The texts that a passage joins, one below the other."""
    if passage.source.part == RESULT and isinstance(item, Step):
        return [part.text for part in item.results[passage.source.call].parts if isinstance(part, Text)]
    said = [part.text for part in item.message.parts if isinstance(part, Text)]
    if passage.source.part == SAID:
        # Blank lines before all that was said are no part of it.
        said[0] = said[0].lstrip()
    return said if passage.source.part in (SAID, USER) else []
