"""A request as it was sent: its layers, its blocks, what it cost, and what happened before it.

Rule: values only. Tokens are ours, so that all requests of a session are counted alike; what the provider counted
is beside them.
"""

from typing import Literal

from msgspec import Struct

from holdfast.messages import Message, Usage
from holdfast.packing.layers import Cut

LayerKind = Literal["tools", "system", "rules", "summary", "notes", "steps", "round", "tail"]
LAYER_KINDS: tuple[LayerKind, ...] = (
    "tools",
    "system",
    "rules",
    "summary",
    "notes",
    "steps",
    "round",
    "tail",
)
"""In the order sent, but for notes, which are between the steps that they are about."""

BlockKind = Literal["system", "rules", "summary", "note", "user", "assistant", "result", "tail", "bridge"]

MarkKind = Literal["fold", "compaction", "overflow", "error", "rewind", "shrunk"]

Basis = Literal["pack", "list", "preview"]
"""What is shown: the pack that Holdfast sent, the client's own list, or the pack that Holdfast would send."""


class RequestMark(Struct, frozen=True, gc=False):
    """Something that happened between the request before and this one."""

    kind: MarkKind
    text: str


class SentBlock(Struct, frozen=True, gc=False):
    """One message of a request. `step` counts from 1 and is 0 where no step sent it; `position` is the place of its
    item in the transcript, -1 for what is no item. `entry` brings back the original. `name` tells rules and
    contexts apart; a note replaces the items from `position` to `end`."""

    kind: BlockKind
    message: Message
    tokens: int
    entry: str = ""
    step: int = 0
    position: int = -1
    tool: str = ""
    call_id: str = ""
    level: str = ""
    cuts: tuple[Cut, ...] = ()
    name: str = ""
    end: int = -1


class SentRequest(Struct, frozen=True, gc=False):
    """`layers` are tokens by `LAYER_KINDS`, and `tokens` their sum. `cached` is in the same tokens: by the
    provider's usage where `is_reported`, else what the request has in common with the one before. `dollars` is None
    where the model has no price. Blocks from `round_start` on belong to the current round.

    `common`, `completion` and `idle` are what an estimate is made of: tokens in common with the request before,
    tokens of the reply, and the seconds since the request before, None without a clock."""

    number: int
    entry: str
    at: float | None
    model: str
    step: int
    layers: tuple[int, ...]
    tokens: int
    cached: int
    is_reported: bool
    usage: Usage | None
    dollars: float | None
    round_start: int
    same_blocks: int
    """How many blocks, from the first, are those of the request before."""
    marks: tuple[RequestMark, ...] = ()
    common: int = 0
    completion: int = 0
    idle: float | None = None
    removed: int = 0
    """Tokens that the gateway sent less than the client's list has, by its own account."""


class SideRequest(Struct, frozen=True, gc=False):
    """A request that is no step, by the usage that was reported for it: for a summary, of a sub-agent, or one that
    nothing came of. `before` is the number of the step's request that came next."""

    before: int
    model: str
    purpose: str
    usage: Usage


class PlacedBlock(Struct, frozen=True, gc=False):
    """A block in one request. `age` is in steps; `is_same`: the request before had it in the same place."""

    block: SentBlock
    layer: LayerKind
    age: int
    is_same: bool


def layer_of(block: SentBlock, round_start: int) -> LayerKind:
    match block.kind:
        case "system" | "rules" | "summary" | "tail":
            return block.kind
        case "note":
            return "notes"
        case _:
            return "steps" if 0 <= block.position < round_start else "round"


def place_block(request: SentRequest, at: int, block: SentBlock) -> PlacedBlock:
    """The block that is number `at` of a request."""
    age = request.step - block.step if block.step else 0
    return PlacedBlock(block, layer_of(block, request.round_start), age, at < request.same_blocks)
