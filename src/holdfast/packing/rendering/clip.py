"""Clipping: the head and the tail of a text, by line and by size, with what lies between named.

Rule: a line that is kept is kept byte for byte; only a line larger than the room for it is cut inside. What would
not come out smaller stays whole.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from holdfast.ids import text_id
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.rendering.marks import mark

MARK_TOKENS = 40
"""Room for one mark, so that a clipped text keeps within its cap."""

LEAST_KEPT = 0.25
"""The share of the room that whole lines must fill; else the text is cut within a line."""
HEAD_SHARE = 0.6

GAP = "[… 1234 lines left out, Recall lines 1234-2467]\n"
"""A gap line as long as they come, to count what one more gap costs."""

LEAST_INSIDE = 8
"""Tokens below which a part of a line says nothing."""


def clip_tokens(text: str, cap: int, counter: TokenCounter) -> str:
    """The text, or as much of its head and tail as `cap` tokens hold."""
    size = counter.text(text)
    if size <= cap:
        return text
    room = max(cap - MARK_TOKENS, 8)
    clipped = _clip_to(text, room, counter)
    for _ in range(4):
        # A clipped text may be of another content class, and count more than its lines did.
        excess = counter.text(clipped) - cap
        if excess <= 0 or room <= 8:
            break
        room = max(room - excess - 8, 8)
        clipped = _clip_to(text, room, counter)
    return clipped if counter.text(clipped) < size else text


def share_cap(sizes: Sequence[int], cap: int) -> list[int]:
    """The tokens of a cap for each of several texts: short ones stay whole, long ones share what these leave."""
    caps, least, short = [0] * len(sizes), MARK_TOKENS + 20, cap // 2
    by_size = sorted(range(len(sizes)), key=lambda at: sizes[at])
    for place, at in enumerate(by_size, 1):
        longer = len(sizes) - place
        is_short = sizes[at] <= min(short, cap - longer * least)
        caps[at] = sizes[at] if is_short else max(cap // (longer + 1), least)
        cap -= min(sizes[at], caps[at])
    return caps


def _clip_to(text: str, room: int, counter: TokenCounter) -> str:
    lines = text.split("\n")
    sizes = counter.lines(text)
    head = _fitting(sizes, int(room * HEAD_SHARE))
    # Lines may add up to less than their text; at least one goes, or there would be nothing to name.
    tail = min(_fitting(reversed(sizes[head:]), room - sum(sizes[:head])), max(len(lines) - head - 1, 0))
    if sum(sizes[:head]) + sum(sizes[len(sizes) - tail :]) < room * LEAST_KEPT:
        # A line that is longer than the room must not take the whole text with it.
        first, last = _shares(text, room / max(sum(sizes), 1))
        return clip_chars(text, first, last, counter=counter)
    return _with_gap(lines, head, tail, text_id(text))


def clip_chars(text: str, head: int, tail: int, *, counter: TokenCounter | None = None) -> str:
    """The first `head` and the last `tail` characters: for the rule of design document 003 and for very long lines.

    Smaller is meant in tokens where a counter is given, in characters otherwise.
    """
    if len(text) <= head + tail:
        return text
    first, last = head + 1, len(text) - tail
    gap = mark(f"{last - head} of {len(text)} characters left out", text_id(text), chars=f"{first}-{last}")
    clipped = "\n".join([*([text[:head]] if head else []), gap, *([text[last:]] if tail else [])])
    size = counter.text if counter else len
    return clipped if size(clipped) < size(text) else text


def clip_line(line: str, share: float, number: int = 0) -> str:
    """A share of one line's head and tail. `number`, from 1, says where Recall finds it; 0 if it cannot."""
    head, tail = _shares(line, share)
    first, last = head + 1, len(line) - tail
    where = f", Recall lines {number} chars {first}-{last}" if number else ""
    return f"{line[:head]}[… {last - head} characters left out{where}]{line[last:]}"


class LineChoice(Struct, frozen=True):
    """Lines chosen from a text, best first, as numbers from 0.

    The first `facts` lines are an envelope's; where there are any, none of the lines is known to Recall by number.
    Of lines `in_order` none is shown after the first that has no room; `telling` ones are cut inside instead.
    """

    lines: list[str]
    numbers: list[int]
    facts: int
    in_order: bool
    telling: frozenset[int]

    def count(self, kept: Iterable[int]) -> tuple[int, int]:
        """How many lines are kept, and of how many: facts, and blank lines at the end, count in neither."""
        end = max(filled_lines(self.lines), self.facts)
        return sum(self.facts <= number < end for number in kept), end - self.facts


def filled_lines(lines: Sequence[str]) -> int:
    """How many lines there are up to the last that is not blank."""
    return next((i for i in range(len(lines), 0, -1) if lines[i - 1].strip()), 0)


def fit_lines(choice: LineChoice, sizes: list[int], room: int, gap: int) -> tuple[list[str], set[int]]:
    """The lines, and which of them `room` holds, the lines that name gaps counted at `gap` tokens each."""
    lines, kept = list(choice.lines), set[int]()
    room -= gap
    for number in choice.numbers:
        edges = (number == 0 or number - 1 in kept) + (number == len(lines) - 1 or number + 1 in kept)
        gaps = gap * (1 - edges)
        cost = sizes[number] + gaps
        if cost > room and number in choice.telling:
            # Half the room where others follow that may be shorter, so that one giant line leaves them some.
            cost = room if number == choice.numbers[-1] or choice.in_order else room // 2
            inside = cost - gaps - gap * 3 // 2
            if inside < LEAST_INSIDE:
                continue
            place = 0 if choice.facts else number + 1
            lines[number] = clip_line(lines[number], inside / sizes[number], place)
        if cost <= room:
            room -= cost
            kept.add(number)
        elif choice.in_order and number >= choice.facts:
            break
    return lines, kept | _cheaper_shown(kept, sizes, gap)


def _cheaper_shown(kept: set[int], sizes: list[int], gap: int) -> set[int]:
    """Lines whose gap would cost more to name than the lines themselves."""
    out: set[int] = set()
    start = 0
    for number in (*sorted(kept), len(sizes)):
        if 0 < number - start <= gap and sum(sizes[start:number]) <= gap:
            out.update(range(start, number))
        start = number + 1
    return out


def keep_lines(lines: Sequence[str], kept: Iterable[int], gap: Callable[[int, int], str]) -> str:
    """The kept lines in order, with what `gap` says of the lines missing between two, from one up to another."""
    out: list[str] = []
    expected = 0
    for number in (*sorted(set(kept)), len(lines)):
        if number > expected:
            out.append(gap(expected, number))
        out += lines[number : number + 1]
        expected = number + 1
    return "\n".join(out)


def recall_gap(start: int, end: int) -> str:
    """How many lines are missing, and where Recall finds them."""
    if end - start == 1:
        return f"[… 1 line left out, Recall lines {end}]"
    return f"[… {end - start} lines left out, Recall lines {start + 1}-{end}]"


def _with_gap(lines: list[str], head: int, tail: int, id_: str) -> str:
    first, last = head + 1, len(lines) - tail
    gap = mark(f"{last - head} of {len(lines)} lines left out", id_, lines=f"{first}-{last}")
    return "\n".join([*lines[:head], gap, *lines[last:]])


def _shares(text: str, share: float) -> tuple[int, int]:
    """How many characters of head and of tail make a share of a text."""
    most = int(len(text) * min(max(share, 0), 1))
    head = int(most * HEAD_SHARE)
    return head, most - head


def _fitting(sizes: Iterable[int], room: int) -> int:
    count = 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        count += 1
    return count
