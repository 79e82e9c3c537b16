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
    PassageCache,
    PassageKey,
    PassageSource,
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


def render_excerpt(
    kept: Sequence[KeptLines],
    items: Mapping[str, Item],
    book: PassageCache,
    files: FileTouches,
    counter: TokenCounter,
) -> str:
    """The kept lines below what they came from. `items` are steps and user messages by entry."""
    out: list[str] = []
    before = _Above("", "")
    paths = _ShownPaths(counter)
    for lines in kept:
        item = items.get(lines.step)
        passage = book.of(item).get((lines.step, lines.call, lines.part)) if item else None
        if item is None or passage is None:
            continue
        source = passage.source
        quoted = list(_quoted(passage, parse_ranges(lines.lines)))
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


def _quoted(passage: Passage, numbers: Iterable[int]) -> Iterator[str]:
    expected = 0
    marked = _has_gaps(passage.source)
    for number in numbers:
        if number >= len(passage.lines):
            return
        if marked and number > expected > 0:
            yield GAP
        yield passage.lines[number]
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
    """What several notes quote together: lines of one item may be in more than one."""
    found: dict[str, Quoted] = {}
    for note in quotes:
        for entry, quoted in note.items():
            known = found.get(entry, NO_QUOTES)
            found[entry] = {spot: known.get(spot, 0) + quoted.get(spot, 0) for spot in (*known, *quoted)}
    return found


def _by_spot(passage: Passage, item: Item, numbers: Sequence[int]) -> dict[Spot, list[str]]:
    """The lines of a passage that a note shows, by the text they are in. Arguments belong to their call."""
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
