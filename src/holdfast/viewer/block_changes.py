"""What happened to the blocks of a request on the way to a later one: entered, left, changed or moved.

Rule: a block is the same block by where it comes from, never by its text: its entry and call, the name of rules,
the first entry of a note. Applied to the earlier request, the changes give the later one.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from holdfast.viewer.packs import same_start
from holdfast.viewer.sent import SentBlock

ChangeKind = Literal["entered", "left", "changed", "level", "moved"]
CHANGE_KINDS: tuple[ChangeKind, ...] = ("entered", "left", "changed", "level", "moved")
"""`level` is a block whose text is the same at another level; `moved` one that only has another place."""


class BlockChange(Struct, frozen=True, gc=False):
    """`before` and `after` are places in the earlier and the later request, -1 where it is not in one of them."""

    what: ChangeKind
    before: int
    after: int


def compare_blocks(before: Sequence[SentBlock], after: Sequence[SentBlock]) -> list[BlockChange]:
    """The changes in the order of reading: what left is where it was."""
    # The beginning that both share is most of them: it changes nothing, and is passed over.
    start = same_start(before, after)
    if start == len(before):
        return [BlockChange("entered", -1, at) for at in range(start, len(after))]
    places = {key: at for at, key in enumerate(_identities(after[start:]), start)}
    pairs = [(at, places[key]) for at, key in enumerate(_identities(before[start:]), start) if key in places]
    partners = {later: earlier for earlier, later in pairs}
    kept = {earlier for earlier, _ in pairs}
    changes: list[BlockChange] = []
    first = second = start
    for earlier, later in [*_rising(pairs), (len(before), len(after))]:
        changes += [BlockChange("left", at, -1) for at in range(first, earlier) if at not in kept]
        for at in range(second, later):
            partner = partners.get(at, -1)
            if partner < 0:
                changes.append(BlockChange("entered", -1, at))
            else:
                changes.append(BlockChange(_difference(before[partner], after[at]) or "moved", partner, at))
        if later < len(after) and (what := _difference(before[earlier], after[later])):
            changes.append(BlockChange(what, earlier, later))
        first, second = earlier + 1, later + 1
    return changes


def sent_again(before: Sequence[SentBlock], after: Sequence[SentBlock], same: int) -> int:
    """Tokens that are sent once more after the `same` blocks that both begin with: blocks of the earlier request,
    at whatever level, and notes, whose lines were in it."""
    known = set(_identities(before))
    places = list(zip(after, _identities(after), strict=True))[same:]
    return sum(block.tokens for block, key in places if block.kind == "note" or key in known)


def _difference(before: SentBlock, after: SentBlock) -> ChangeKind | None:
    if before.message != after.message:
        return "changed"
    return "level" if before.level != after.level else None


def _identities(blocks: Sequence[SentBlock]) -> list[Hashable]:
    """What each block is, each once: where several have the same origin, they are numbered."""
    seen: dict[Hashable, int] = {}
    found: list[Hashable] = []
    for block in blocks:
        origin: Hashable
        if block.kind == "result":
            origin = ("result", block.step, block.call_id)
        elif block.kind == "bridge":
            origin = ("bridge", block.position)
        else:
            origin = (block.kind, block.entry, block.name)
        number = seen.get(origin, 0)
        found.append((origin, number) if number else origin)
        seen[origin] = number + 1
    return found


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many of the pairs as keep their order in both requests; the others moved."""
    if all(one[1] < other[1] for one, other in pairwise(pairs)):
        return [*pairs]
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    # The lowest end of a rising row of each length, and which pair that is.
    for at, (_, later) in enumerate(pairs):
        length = bisect_left(ends, later)
        if length == len(ends):
            ends.append(later)
            last.append(at)
        else:
            ends[length], last[length] = later, at
        previous.append(last[length - 1] if length else -1)
    row: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        row.append(pairs[at])
        at = previous[at]
    row.reverse()
    return row
