"""Excerpts: the lines that a note keeps of folded items, shown below the calls they came from.

Rule: a line is shown byte for byte, in its own order, below what it came from. Where lines are missing between two
that bear no numbers, a gap says so. Of a JSON document on one line there are records, and the heading says so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from holdfast.events import KeptLines
from holdfast.messages import joined_text
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

__all__ = ["CALL", "RESULT", "SAID", "USER", "kept_lines", "parse_ranges", "render_excerpt"]

GAP = "…"
THEN = "=>"
"""Stands between a call's own lines and what came of it."""
RECORDS = " JSON records"
"""Stands behind the call where what is below was written anew, value by value, and is no line of the result."""
MUCH = 300
"""Tokens of a result from which its id stands with it: less is not worth a second look."""

GAP_TOKENS, SPEAKER_TOKENS = 2, 8
"""What a gap takes, and a line that says who spoke."""

Ranges = str


def kept_lines(chosen: Mapping[PassageKey, Sequence[int]]) -> list[KeptLines]:
    return [KeptLines(*place, _ranges(numbers)) for place, numbers in chosen.items()]


def render_excerpt(
    kept: Sequence[KeptLines],
    items: Mapping[str, Item],
    book: PassageCache,
    files: FileTouches,
    counter: TokenCounter,
) -> str:
    """The kept lines below what they came from. `items` are steps and user messages by entry."""
    out: list[str] = []
    heading = ""
    for lines in kept:
        item = items.get(lines.step)
        passage = book.of(item).get((lines.step, lines.call, lines.part)) if item else None
        if item is None or passage is None:
            continue
        quoted = list(_quoted(passage, parse_ranges(lines.lines)))
        above = (
            ""
            if _names_its_tool(passage.source, item, quoted)
            else _heading(passage.source, item, heading, files, counter)
        )
        out += [above] if above not in ("", heading.rpartition(" in ")[2]) else []
        heading = _under(passage.source, above)
        out += quoted
    return "\n".join(out)


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
        return self.counter.line(f"# {use.label}") + (self.counter.text(back) if back else 0)


def _has_gaps(source: PassageSource) -> bool:
    """Whether a missing line must be marked: in a listing each stands for itself, so does a record, and in a file
    it has a number."""
    return not (source.part == CALL or source.has_records or source.kind in ("ls", "glob", "grep", "read"))


def _names_its_tool(source: PassageSource, item: Item, quoted: Sequence[str]) -> bool:
    if source.part != CALL or not isinstance(item, Step):
        return False
    return all(line.startswith(f"{item.uses[source.call].name} ") for line in quoted)


def _under(source: PassageSource, above: str) -> str:
    """What the lines after these stand under: of a call's own lines, the call itself."""
    return f"{CALL} {source.call} in {above}" if source.part == CALL else above


def _heading(
    source: PassageSource, item: Item, before: str, files: FileTouches, counter: TokenCounter
) -> str:
    if source.part == USER:
        return "# the user said"
    if source.part == SAID or not isinstance(item, Step):
        return "# you said"
    use = item.uses[source.call]
    if source.part == CALL:
        return f"# {use.name}"
    told = before.startswith(f"{CALL} {source.call} ")
    label = THEN if told else f"# {use.label}"
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


def _ranges(numbers: Iterable[int]) -> Ranges:
    out: list[str] = []
    start = end = -2
    for number in (*sorted(numbers), -1):
        if number == end + 1:
            end = number
            continue
        if start >= 0:
            out.append(str(start) if start == end else f"{start}-{end}")
        start = end = number
    return ",".join(out)


def parse_ranges(ranges: Ranges) -> list[int]:
    """The numbers of ranges such as `0-4,9`; nothing of what is no range."""
    if ranges.isdecimal():
        return [int(ranges)]
    numbers: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            numbers += range(int(first), int(last or first) + 1)
    return numbers
