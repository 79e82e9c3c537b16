"""Excerpts: the lines that a note keeps of folded items, shown below the calls they came from.

Rule: a line is shown byte for byte, in its own order, below what it came from. Where lines are missing between two
that bear no numbers, a gap says so. Of a JSON document on one line there are records, and the heading says so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from holdfast.events import KeptLines
from holdfast.messages import joined_text
from holdfast.packing.lines.passages import CALL, RESULT, SAID, USER, Passage, Place, passages_of, said_by
from holdfast.packing.tokens import TokenCounter
from holdfast.views.files import FileTouches
from holdfast.views.transcript import Item, Step

__all__ = ["CALL", "RESULT", "SAID", "USER", "excerpt", "kept_lines", "numbers_in"]

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


def kept_lines(chosen: Mapping[Place, Sequence[int]]) -> list[KeptLines]:
    return [KeptLines(*place, _ranges(numbers)) for place, numbers in chosen.items()]


def excerpt(
    kept: Sequence[KeptLines], items: Mapping[str, Item], files: FileTouches, counter: TokenCounter
) -> str:
    """The kept lines below what they came from. `items` are steps and user messages by entry."""
    out: list[str] = []
    heading = entry = ""
    passages: dict[Place, Passage] = {}
    for lines in kept:
        item = items.get(lines.step)
        if item is None:
            continue
        if lines.step != entry:
            entry = lines.step
            found = passages_of(item) if isinstance(item, Step) else said_by(item)
            passages = {passage.place: passage for passage in found}
        passage = passages.get((lines.step, lines.call, lines.part))
        if passage is None:
            continue
        quoted = list(_quoted(passage, numbers_in(lines.lines)))
        above = (
            "" if _names_its_tool(passage, item, quoted) else _heading(passage, item, heading, files, counter)
        )
        out += [above] if above not in ("", heading.rpartition(" in ")[2]) else []
        heading = _under(passage, above)
        out += quoted
    return "\n".join(out)


class ExcerptPrices(Struct, frozen=True):
    """What lines and headings of an excerpt take at most."""

    counter: TokenCounter
    steps: Mapping[str, Step]
    files: FileTouches

    def line(self, passage: Passage, number: int) -> int:
        return self.counter.line(passage.lines[number]) + (GAP_TOKENS if _has_gaps(passage) else 0)

    def heading(self, passage: Passage) -> int:
        step = self.steps.get(passage.entry)
        if step is None or not passage.call:
            return SPEAKER_TOKENS
        use = step.uses[passage.call]
        if passage.part == CALL:
            return self.counter.line(f"# {use.name}")
        back = _state(passage, step, self.files, self.counter)
        return self.counter.line(f"# {use.label}") + (self.counter.text(back) if back else 0)


def _has_gaps(passage: Passage) -> bool:
    """Whether a missing line must be marked: in a listing each stands for itself, so does a record, and in a file
    it has a number."""
    return not (passage.part == CALL or passage.has_records or passage.kind in ("ls", "glob", "grep", "read"))


def _names_its_tool(passage: Passage, item: Item, quoted: Sequence[str]) -> bool:
    if passage.part != CALL or not isinstance(item, Step):
        return False
    return all(line.startswith(f"{item.uses[passage.call].name} ") for line in quoted)


def _under(passage: Passage, above: str) -> str:
    """What the lines after these stand under: of a call's own lines, the call itself."""
    return f"{CALL} {passage.call} in {above}" if passage.part == CALL else above


def _heading(passage: Passage, item: Item, before: str, files: FileTouches, counter: TokenCounter) -> str:
    if passage.part == USER:
        return "# the user said"
    if passage.part == SAID or not isinstance(item, Step):
        return "# you said"
    use = item.uses[passage.call]
    if passage.part == CALL:
        return f"# {use.name}"
    told = before.startswith(f"{CALL} {passage.call} ")
    label = THEN if told else f"# {use.label}"
    return f"{label}{_state(passage, item, files, counter)}"


def _state(passage: Passage, step: Step, files: FileTouches, counter: TokenCounter) -> str:
    """What a reader must know of lines besides: that the agent wrote them, that they are records, the id of a long
    result, and that its file was edited since."""
    if passage.part != RESULT:
        return " written"
    what = RECORDS if passage.has_records else ""
    back = f" [{passage.id}]" if counter.text(joined_text(step.results[passage.call].parts)) > MUCH else ""
    stale = files.edited_since(step).get(passage.call, "")
    return f"{what}{back}, {stale}" if stale else f"{what}{back}"


def _quoted(passage: Passage, numbers: Iterable[int]) -> Iterator[str]:
    expected = 0
    marked = _has_gaps(passage)
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


def numbers_in(ranges: Ranges) -> list[int]:
    """The numbers of ranges such as `0-4,9`; nothing of what is no range."""
    numbers: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            numbers += range(int(first), int(last or first) + 1)
    return numbers
