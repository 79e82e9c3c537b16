"""Two requests of a session compared, as JSON for the page.

Rule: bounded. Totals are of everything, rows come in parts, and a text is asked for as a block of its request.
"""

from collections.abc import Sequence

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.viewer.answers import first_words
from holdfast.viewer.block_changes import CHANGE_KINDS, BlockChange, compare_blocks
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.prefix_end import prefix_end
from holdfast.viewer.sent import SentBlock
from holdfast.viewer.whereabouts import Whereabouts, note_name

MOST_ROWS = 200
"""Changes in one answer."""


def comparison_of(
    history: RequestHistory, number: int, other: int, first: int = 0, what: str = "", most: int = MOST_ROWS
) -> Json:
    """Two requests, the earlier one first whichever was named first. Of the changes, those of one kind if `what`
    names it, from the `first` on, at `most` so many."""
    if what and what not in CHANGE_KINDS:
        raise InputError(f"`{what[:40]}` is none of {', '.join(CHANGE_KINDS)}")
    numbers = min(number, other), max(number, other)
    before, after = (history.blocks(one) for one in numbers)
    changes = compare_blocks(before, after)
    listed = [change for change in changes if not what or change.what == what]
    places = Whereabouts(history, numbers[1])
    earlier, later = (history.requests[one - 1] for one in numbers)
    return {
        "earlier": numbers[0],
        "later": numbers[1],
        "tokens": [earlier.tokens, later.tokens],
        "tool_tokens": [earlier.layers[0], later.layers[0]],
        "totals": totals_of(before, after, changes),
        "prefix": prefix_end(history, numbers, before, after, changes),
        "total": len(listed),
        "first": first,
        "rows": [_row(before, after, change, places) for change in listed[first : first + most]],
    }


def totals_of(
    before: Sequence[SentBlock], after: Sequence[SentBlock], changes: Sequence[BlockChange]
) -> dict[str, Json]:
    """Of each kind of change the blocks, with their tokens in the earlier and in the later request; `same` is the
    rest."""
    sums: dict[str, list[int]] = {kind: [0, 0, 0] for kind in CHANGE_KINDS}
    for change in changes:
        one = sums[change.what]
        one[0] += 1
        one[1] += before[change.before].tokens if change.before >= 0 else 0
        one[2] += after[change.after].tokens if change.after >= 0 else 0
    touched = sum(count for kind, (count, _, _) in sums.items() if kind != "left")
    rest = [
        sum(block.tokens for block in blocks) - sum(one[side] for one in sums.values())
        for side, blocks in ((1, before), (2, after))
    ]
    totals = {**sums, "same": [len(after) - touched, *rest]}
    return {
        kind: {"blocks": count, "before": earlier, "after": later}
        for kind, (count, earlier, later) in totals.items()
    }


def _row(
    before: Sequence[SentBlock], after: Sequence[SentBlock], change: BlockChange, places: Whereabouts
) -> Json:
    was = before[change.before] if change.before >= 0 else None
    now = after[change.after] if change.after >= 0 else None
    block = now or was
    assert block is not None
    where, into = "", -1
    if now is None and block.position >= 0 and block.kind != "bridge":
        place = places.of_hidden(block.position)
        where, into = place.words, place.at
    elif block.kind == "note" and change.what != "level":
        where = f"it is {note_name(places.transcript, block)}"
    return {
        "what": change.what,
        "before": change.before,
        "after": change.after,
        "kind": block.kind,
        "name": block.name,
        "tool": block.tool,
        "step": block.step,
        "levels": [was.level if was else "", now.level if now else ""],
        "tokens": [was.tokens if was else None, now.tokens if now else None],
        "where": where,
        "into": into,
        "words": first_words(block.message),
    }
