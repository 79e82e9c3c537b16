"""First sight: a very large result is reduced before it is ever sent, because that costs no cache.

Rule: by the text alone, so that what was once sent stays as it was until a fold; lines are kept byte for byte, and
the whole is one call of Recall away.
"""

from collections.abc import Iterator, Mapping, Sequence

from holdfast.ids import text_id
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.lines.alone import ends, troubles, worth_alone
from holdfast.packing.lines.weights import Vectors
from holdfast.packing.renditions.clip import MARK_TOKENS, clip_tokens
from holdfast.packing.renditions.json_clip import clip_json
from holdfast.packing.renditions.json_tight import tight_json
from holdfast.packing.renditions.marks import mark
from holdfast.packing.structure import structure_of
from holdfast.tool_use import ToolUse

LENGTH_POWER = 0.5
GAP_TOKENS = 8
ENDS_SHARE, TROUBLE_SHARE = 0.25, 0.5
"""What the first and last lines may take of the room, and what those that tell of a failure may of the rest."""


def reduce_at_once(use: ToolUse, text: str, cap: int, counter: TokenCounter, weights: Vectors) -> str:
    """The text, or as much of it as `cap` tokens hold: of JSON a smaller document, else the best lines in order."""
    size = counter.text(text)
    if size <= cap:
        return text
    if use.kind in ("other", "bash") and (document := _smaller_json(text, size, cap, counter)):
        return document
    lines = text.split("\n")
    sizes = counter.lines(text)
    structure = structure_of(lines, use)
    ranked = _ranked(lines, sizes, worth_alone(lines, use, structure, weights))
    rank = {at: place for place, at in enumerate(ranked)}
    wanted = [
        (ends(lines, use, structure), ENDS_SHARE),
        (sorted(troubles(lines, structure), key=rank.__getitem__), TROUBLE_SHARE),
        (ranked, 1.0),
    ]
    room = cap - MARK_TOKENS
    for _ in range(4):
        kept = _fitting(wanted, sizes, room, structure.anchors)
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
    """A valid document below a mark: the whole with its keys written once, or a part of it; nothing where the text
    is no JSON. What is written over many lines may be edited by them, and is never written anew."""
    if "\n" not in text.strip() and (tight := tight_json(text)):
        whole = f"{mark('the JSON document with keys written once', text_id(text))}\n{tight}"
        if counter.text(whole) <= cap:
            return whole
    head = mark(f"a part of a JSON document of {size} tokens", text_id(text))
    smaller = clip_json(text, cap - counter.text(head) - 1, counter)
    if smaller is None:
        return ""
    reduced = f"{head}\n{smaller}"
    return reduced if counter.text(reduced) <= cap else ""


def _ranked(lines: Sequence[str], sizes: Sequence[int], worths: Sequence[float]) -> list[int]:
    values = [worth / (size + 3) ** LENGTH_POWER for worth, size in zip(worths, sizes, strict=True)]
    filled = (at for at, line in enumerate(lines) if line.strip())
    return sorted(filled, key=lambda at: (-values[at], at))


def _fitting(
    wanted: Sequence[tuple[Sequence[int], float]], sizes: Sequence[int], room: int, anchors: Mapping[int, int]
) -> list[int]:
    """The lines that have room one after the other. Each group of them may fill the room up to its share."""
    kept: set[int] = set()
    taken = 0
    for group, share in wanted:
        most = taken + int((room - taken) * share)
        for at in group:
            # With a line come the lines that it hangs on. One next to none that is kept opens a gap.
            new = [line for line in _anchored(at, anchors) if line not in kept]
            cost = sum(
                sizes[line] + GAP_TOKENS * (1 - (line - 1 in kept) - (line + 1 in kept)) for line in new
            )
            if new and taken + cost <= most:
                taken += cost
                kept.update(new)
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
