"""First sight: a very large result is reduced before it is ever sent, because that costs no cache.

Rule: by the text alone, so that what was once sent stays as it was until a fold; lines are kept byte for byte, and
the whole is one call of Recall away.
"""

from collections.abc import Iterator, Mapping, Sequence

from holdfast.ids import text_id
from holdfast.packing.clip import MARK_TOKENS, clip_tokens
from holdfast.packing.json_clip import clip_json
from holdfast.packing.lines.facts import looks_of
from holdfast.packing.marks import mark
from holdfast.packing.structure import Structure, structure_of
from holdfast.packing.tokens import TokenCounter
from holdfast.tool_use import ToolUse

EDGE_LINES = 12
LINE, HEAD, TAIL, TROUBLE, DEFINITION, NAME = 0.1, 0.3, 0.4, 0.6, 0.5, 0.15
"""What a line is worth: any, one of the first or the last, one that tells of a failure, that defines something, and
each name in it."""
MOST_NAMES = 4
LENGTH_POWER = 0.5
GAP_TOKENS = 8


def reduce_at_once(use: ToolUse, text: str, cap: int, counter: TokenCounter) -> str:
    """The text, or as much of it as `cap` tokens hold: of JSON a smaller document, else the best lines in order."""
    size = counter.text(text)
    if size <= cap:
        return text
    if use.kind in ("other", "bash") and (document := _smaller_json(text, size, cap, counter)):
        return document
    lines = text.split("\n")
    sizes = counter.lines(text)
    structure = structure_of(lines, use)
    ranked = _ranked(lines, sizes, structure)
    room = cap - MARK_TOKENS
    for _ in range(4):
        kept = _fitting(ranked, sizes, room, structure.anchors)
        if not kept:
            break
        head = mark(f"{len(kept)} of {len(lines)} lines", text_id(text))
        reduced = f"{head}\n{_with_gaps(lines, kept)}"
        excess = counter.text(reduced) - cap
        if excess <= 0:
            return reduced
        room -= excess + GAP_TOKENS
    return clip_tokens(text, cap, counter)


def _smaller_json(text: str, size: int, cap: int, counter: TokenCounter) -> str:
    """A valid document below a mark that says it is not the whole; nothing where the text is no JSON."""
    head = mark(f"a part of a JSON document of {size} tokens", text_id(text))
    smaller = clip_json(text, cap - counter.text(head) - 1, counter)
    if smaller is None:
        return ""
    reduced = f"{head}\n{smaller}"
    return reduced if counter.text(reduced) <= cap else ""


def _ranked(lines: Sequence[str], sizes: Sequence[int], structure: Structure) -> list[int]:
    values = [
        (_worth(line, at, len(lines)) + structure.bonus[at]) / (sizes[at] + 3) ** LENGTH_POWER
        for at, line in enumerate(lines)
    ]
    filled = (at for at, line in enumerate(lines) if line.strip())
    return sorted(filled, key=lambda at: (-values[at], at))


def _worth(line: str, at: int, count: int) -> float:
    looks = looks_of(line)
    edge = HEAD if at < EDGE_LINES else TAIL if at >= count - EDGE_LINES else 0.0
    names = NAME * min(len(looks.names), MOST_NAMES)
    return LINE + edge + names + TROUBLE * looks.is_trouble + DEFINITION * looks.is_definition


def _fitting(ranked: Sequence[int], sizes: Sequence[int], room: int, anchors: Mapping[int, int]) -> list[int]:
    kept: set[int] = set()
    for at in ranked:
        # With a line come the lines that it hangs on. One next to none that is kept opens a gap.
        wanted = [line for line in _anchored(at, anchors) if line not in kept]
        cost = sum(
            sizes[line] + GAP_TOKENS * (1 - (line - 1 in kept) - (line + 1 in kept)) for line in wanted
        )
        if wanted and cost <= room:
            room -= cost
            kept.update(wanted)
    return sorted(kept)


def _anchored(at: int, anchors: Mapping[int, int]) -> Iterator[int]:
    yield at
    while at in anchors:
        at = anchors[at]
        yield at


def _with_gaps(lines: Sequence[str], kept: Sequence[int]) -> str:
    """The kept lines, each gap named by the numbers under which Recall finds what is missing."""
    out: list[str] = []
    expected = 0
    for at in (*kept, len(lines)):
        if at > expected:
            numbers = f"lines {expected + 1}-{at}" if at - expected > 1 else f"line {at}"
            out.append(f"[… {numbers}]")
        out += lines[at : at + 1]
        expected = at + 1
    return "\n".join(out)
