"""Excerpts: the lines that a note keeps of folded items, shown below the calls they came from, and what they quote.

Rule: a line is shown byte for byte, in its own order, below what it came from. Where lines are missing between two
without numbers, a gap says so. A JSON document on one line is shown as records, and the heading says so. What a
note quotes of an item is counted by its lines alone; headings and gaps are the note's own.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct

from holdfast.events import KeptLines
from holdfast.line_ranges import written_ranges
from holdfast.messages import Text, joined_text
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.lines.passages import (
    CALL,
    RESULT,
    SAID,
    USER,
    Passage,
    PassageKey,
    PassageSource,
    passages_of,
)
from holdfast.packing.rendering.levels import source_id
from holdfast.views.files import FileTouches
from holdfast.views.transcript import Item, Step

GAP = "…"
THEN = "=>"
"""Comes between a call's own lines and its result."""
RECORDS = " JSON records"
"""Follows the call where the lines below are records of the result and no lines of it."""
MUCH = 800
"""Tokens of a result from which its id is shown; that of a shorter one is in the index of the note."""
LONGEST_COMMAND = 60
"""Characters of a command in a heading: enough to tell it from others."""

GAP_TOKENS, SPEAKER_TOKENS = 2, 8
"""What a gap takes, and a line that says who spoke."""

Spot = tuple[str, str, int]
"""A place within an item that a cut can be of: its call, if any, what is there, and which text of several."""

Quoted = Mapping[Spot, int]
"""Tokens of the lines of an item that notes show."""

NO_QUOTES: Quoted = {}


def kept_lines(chosen: Mapping[PassageKey, Sequence[int]]) -> list[KeptLines]:
    return [KeptLines(*place, ",".join(written_ranges(numbers))) for place, numbers in chosen.items()]


class Quote(Struct, frozen=True, gc=False):
    """The lines of a passage that a note shows, by their numbers and in their order."""

    source: PassageSource
    lines: dict[int, str]


class QuoteCache:
    """Quotes by what a note keeps, read once until they are cleared: a fold looks at them several times. Of a
    passage only these lines stay in memory: all lines of a long log would take more than the log."""

    def __init__(self) -> None:
        self._known: dict[KeptLines, Quote | None] = {}
        self._newest: tuple[Item | None, Mapping[PassageKey, Passage]] = None, {}
        """The passages of the item that was read last: a note keeps lines of several in a row."""

    def of(self, kept: KeptLines, items: Mapping[str, Item]) -> Quote | None:
        """None where the log's path no longer holds the passage. `items` are steps and user messages by entry."""
        item = items.get(kept.step)
        if item is None or kept in self._known:
            return self._known.get(kept) if item else None
        if self._newest[0] is not item:
            self._newest = item, passages_of(item)
        passage = self._newest[1].get((kept.step, kept.call, kept.part))
        quote = _quote(passage, parse_ranges(kept.lines)) if passage else None
        if not isinstance(item, Step) or not item.waiting:
            self._known[kept] = quote
        return quote

    def clear(self) -> None:
        self._known.clear()
        self._newest = None, {}


def _quote(passage: Passage, numbers: Iterable[int]) -> Quote:
    most = len(passage.lines)
    return Quote(passage.source, {number: passage.lines[number] for number in numbers if number < most})


def render_excerpt(
    kept: Sequence[KeptLines],
    items: Mapping[str, Item],
    quotes: QuoteCache,
    files: FileTouches,
    counter: TokenCounter,
) -> str:
    """The kept lines below what they came from. `items` are steps and user messages by entry."""
    out: list[str] = []
    before = _Above("", "")
    paths = _ShownPaths(counter)
    for lines in kept:
        quote = quotes.of(lines, items)
        if quote is None:
            continue
        item, source = items[lines.step], quote.source
        quoted = list(_with_gaps(quote))
        heading = ""
        if not _names_its_tool(source, item, quoted):
            heading = _heading(source, item, before, paths, files, counter)
        is_told = heading == before.heading and source.call == before.call
        out += [heading] if heading and not is_told else []
        out += quoted
        told = (heading, *quoted) if source.part == CALL else (heading,)
        paths.note(source.path, told)
        shows_path = source.part == CALL and (not source.path or any(source.path in line for line in told))
        before = _Above(source.call, heading, shows_path)
    return "\n".join(out)


class _Above(Struct, frozen=True):
    """What the lines before stand under: their call and heading. `tells_call` says that they are the call's own and
    name its file, if it has one, so that its result needs no heading that does."""

    call: str
    heading: str
    tells_call: bool = False


class _ShownPaths:
    """Paths that an excerpt has shown whole. A later heading writes only the last part of one, unless another path
    with the same last part was shown too, or that takes no fewer tokens."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._by_last_part: dict[str, str] = {}

    def note(self, path: str, lines: Iterable[str]) -> None:
        if path and any(path in line for line in lines):
            known = self._by_last_part.setdefault(_last_part(path), path)
            if known != path:
                self._by_last_part[_last_part(path)] = ""

    def short(self, path: str) -> str:
        if self._by_last_part.get(_last_part(path)) != path:
            return path
        short = f"{GAP}/{_last_part(path)}"
        return short if self._counter.text(short) < self._counter.text(path) else path


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


class ExcerptPrices(Struct, frozen=True):
    """What lines and headings of an excerpt take at most."""

    counter: TokenCounter
    steps: Mapping[str, Step]
    files: FileTouches

    def line(self, source: PassageSource, text: str) -> int:
        return self.counter.line(text) + (GAP_TOKENS if _has_gaps(source) else 0)

    def heading(self, source: PassageSource) -> int:
        step = self.steps.get(source.entry)
        if step is None or not source.call:
            return SPEAKER_TOKENS
        use = step.uses[source.call]
        if source.part == CALL:
            return self.counter.line(f"# {use.name}")
        back = _state(source, step, self.files, self.counter)
        label = use.label_with(use.path, LONGEST_COMMAND)
        return self.counter.line(f"# {label}") + (self.counter.text(back) if back else 0)


def _has_gaps(source: PassageSource) -> bool:
    """Whether a missing line must be marked: each line of a listing is complete in itself, so is a record, and a
    line of a file has a number."""
    return not (source.part == CALL or source.has_records or source.kind in ("ls", "glob", "grep", "read"))


def _names_its_tool(source: PassageSource, item: Item, quoted: Sequence[str]) -> bool:
    if source.part != CALL or not isinstance(item, Step):
        return False
    return all(line.startswith(f"{item.uses[source.call].name} ") for line in quoted)


def _heading(
    source: PassageSource,
    item: Item,
    before: _Above,
    paths: _ShownPaths,
    files: FileTouches,
    counter: TokenCounter,
) -> str:
    if source.part == USER:
        return "# the user said"
    if source.part == SAID or not isinstance(item, Step):
        return "# you said"
    use = item.uses[source.call]
    if source.part == CALL:
        return f"# {use.name}"
    is_told = before.tells_call and before.call == source.call
    label = THEN if is_told else f"# {use.label_with(paths.short(use.path), LONGEST_COMMAND)}"
    return f"{label}{_state(source, item, files, counter)}"


def _state(source: PassageSource, step: Step, files: FileTouches, counter: TokenCounter) -> str:
    """What a reader must know of lines besides: that the agent wrote them, that they are records, the id of a long
    result, and that its file was edited since."""
    if source.part != RESULT:
        return " written"
    what = RECORDS if source.has_records else ""
    text = joined_text(step.results[source.call].parts)
    back = f" [{source_id(step.uses[source.call], text)}]" if counter.text(text) > MUCH else ""
    stale = files.edited_since(step).get(source.call, "")
    return f"{what}{back}, {stale}" if stale else f"{what}{back}"


def _with_gaps(quote: Quote) -> Iterator[str]:
    expected = 0
    marked = _has_gaps(quote.source)
    for number, line in quote.lines.items():
        if marked and number > expected > 0:
            yield GAP
        yield line
        expected = number + 1


def parse_ranges(ranges: str) -> list[int]:
    """The numbers of ranges such as `0-4,9`; nothing of what is no range."""
    numbers: list[int] = []
    for part in ranges.split(","):
        if part.isdecimal():
            numbers.append(int(part))
            continue
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            numbers += range(int(first), int(last or first) + 1)
    return numbers


def quotes_in_note(
    kept: Iterable[KeptLines], items: Mapping[str, Item], quotes: QuoteCache, counter: TokenCounter
) -> Mapping[str, Quoted]:
    """What a note that keeps these lines quotes, by entry. `items` are steps and user messages by entry."""
    found: dict[str, dict[Spot, int]] = {}
    for lines in kept:
        quote = quotes.of(lines, items)
        if quote is None:
            continue
        spots = found.setdefault(lines.step, {})
        for spot, rows in _by_spot(quote, items[lines.step]).items():
            spots[spot] = spots.get(spot, 0) + counter.text("\n".join(rows))
    return found


def merge_quotes(quotes: Iterable[Mapping[str, Quoted]]) -> dict[str, Quoted]:
    """What several notes quote together: lines of one item may be in more than one."""
    found: dict[str, Quoted] = {}
    for note in quotes:
        for entry, quoted in note.items():
            known = found.get(entry, NO_QUOTES)
            found[entry] = {spot: known.get(spot, 0) + quoted.get(spot, 0) for spot in (*known, *quoted)}
    return found


def _by_spot(quote: Quote, item: Item) -> dict[Spot, list[str]]:
    """Quoted lines by the text they are in. Arguments belong to their call."""
    source = quote.source
    part = source.part if source.part in (RESULT, SAID, USER) else CALL
    texts = _texts(source, item)
    filled = [at for at, text in enumerate(texts) if text and not text.isspace()]
    if len(filled) < 2:
        # One alone says anything: its lines may be counted otherwise, such as the records of a document.
        rows = [*quote.lines.values()]
        return {(source.call, part, filled[0] if filled else 0): rows} if rows else {}
    ends = list(accumulate(text.count("\n") + 1 for text in texts))
    found: dict[Spot, list[str]] = {}
    for number, line in quote.lines.items():
        spot = source.call, part, min(bisect_right(ends, number), len(texts) - 1)
        found.setdefault(spot, []).append(line)
    return found


def _texts(source: PassageSource, item: Item) -> list[str]:
    """The texts that a passage joins, one below the other."""
    if source.part == RESULT and isinstance(item, Step):
        return [part.text for part in item.results[source.call].parts if isinstance(part, Text)]
    said = [part.text for part in item.message.parts if isinstance(part, Text)]
    if source.part == SAID:
        # Blank lines before all that was said are no part of it.
        said[0] = said[0].lstrip()
    return said if source.part in (SAID, USER) else []
