"""Cache breakpoints: `cache_control` marks where a layer of a pack ends.

Rule: at most four, and where there are more ends than that the newest win: a mark covers everything in front of it,
so the first, behind the tools, is the one that costs least to lose.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.messages import Json

MOST_MARKS = 4
Lifetime = Literal["5m", "1h"]

_UNMARKABLE = ("thinking", "redacted_thinking")


class Written(Struct, frozen=True):
    """One message as blocks. Those of system messages stand in front of all others, wherever the message stood."""

    is_system: bool
    blocks: list[dict[str, Json]]


def mark_ends(
    ends: Sequence[int], tools: list[dict[str, Json]], written: Sequence[Written], lifetime: Lifetime = "5m"
) -> None:
    """Mark the last block in front of each end, in place. `ends` are as in `Request.layer_ends`."""
    mark: dict[str, Json] = {"type": "ephemeral"}
    if lifetime != "5m":
        mark["ttl"] = lifetime
    last: list[dict[str, Json]] = []
    for end in sorted(set(ends)):
        block = next(_blocks_before(end, tools, written), None)
        # Layers that are empty end where the one before does.
        if block is not None and not (last and last[-1] is block):
            last.append(block)
    for block in last[-MOST_MARKS:]:
        block["cache_control"] = dict(mark)


def _blocks_before(
    end: int, tools: list[dict[str, Json]], written: Sequence[Written]
) -> Iterator[dict[str, Json]]:
    """Blocks that may be marked, from an end backwards in the order of the wire."""
    for is_system in (False, True):
        for one in reversed(written[:end]):
            if one.is_system is is_system:
                yield from (block for block in reversed(one.blocks) if block["type"] not in _UNMARKABLE)
    yield from reversed(tools)
