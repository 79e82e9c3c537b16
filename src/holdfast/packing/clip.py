"""Clipping: the head and the tail of a text, by line and by size, with what lies between named.

Rule: a line that is kept is kept byte for byte; only a single line larger than the cap is cut inside.
"""

from collections.abc import Iterable, Sequence

from holdfast.ids import text_id
from holdfast.packing.marks import mark
from holdfast.packing.tokens import TokenCounter

MARK_TOKENS = 40
"""Room for one mark, so that a clipped text keeps within its cap."""

HEAD_SHARE = 0.6


def clip_tokens(text: str, cap: int, counter: TokenCounter, *, id_: str = "") -> str:
    """The text, or as much of its head and tail as `cap` tokens hold."""
    if counter.text(text) <= cap:
        return text
    room = max(cap - MARK_TOKENS, 8)
    clipped = _clip_to(text, room, counter, id_)
    for _ in range(4):
        # A clipped text may be of another content class, and count more than its lines did.
        excess = counter.text(clipped) - cap
        if excess <= 0 or room <= 8:
            break
        room = max(room - excess - 8, 8)
        clipped = _clip_to(text, room, counter, id_)
    return clipped


def _clip_to(text: str, room: int, counter: TokenCounter, id_: str) -> str:
    lines = text.split("\n")
    sizes = counter.lines(text)
    head = _fitting(sizes, int(room * HEAD_SHARE))
    tail = _fitting(reversed(sizes[head:]), room - sum(sizes[:head]))
    if head + tail == 0:
        share = room / max(sum(sizes), 1)
        return clip_chars(text, int(len(text) * share * HEAD_SHARE), int(len(text) * share * 0.4), id_=id_)
    return _with_gap(lines, head, tail, id_ or text_id(text))


def clip_chars(text: str, head: int, tail: int, *, id_: str = "") -> str:
    """The first `head` and the last `tail` characters: for seed 003's rule and for very long lines."""
    if len(text) <= head + tail:
        return text
    first, last = head + 1, len(text) - tail
    gap = mark(
        f"characters {first}-{last} of {len(text)} left out", id_ or text_id(text), chars=f"{first}-{last}"
    )
    return f"{text[:head]}\n{gap}\n{text[len(text) - tail :] if tail else ''}".rstrip("\n")


def keep_lines(lines: Sequence[str], kept: Iterable[int], *, numbered: bool = True) -> str:
    """The kept lines in order, each gap named by the numbers, or the number, of the lines it stands for."""
    out: list[str] = []
    expected = 0
    for number in (*sorted(set(kept)), len(lines)):
        if number > expected:
            out.append(_gap(expected, number) if numbered else f"[… {number - expected} more]")
        out += lines[number : number + 1]
        expected = number + 1
    return "\n".join(out)


def _gap(start: int, end: int) -> str:
    return f"[… line {end}]" if end - start == 1 else f"[… lines {start + 1}-{end}]"


def _with_gap(lines: list[str], head: int, tail: int, id_: str) -> str:
    first, last = head + 1, len(lines) - tail
    gap = mark(f"lines {first}-{last} of {len(lines)} left out", id_, lines=f"{first}-{last}")
    return "\n".join([*lines[:head], gap, *(lines[-tail:] if tail else [])])


def _fitting(sizes: Iterable[int], room: int) -> int:
    count = 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        count += 1
    return count
