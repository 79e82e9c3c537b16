"""What packing yields: layers of messages, most stable first, and a reason for every cut.

Rule: whatever the log holds is shown in a layer or named in a cut.
"""

from itertools import accumulate
from typing import Literal

from msgspec import Struct

from holdfast.messages import Message, ToolDefinition

LayerName = Literal["stable", "summary", "window", "round", "tail"]
LAYER_NAMES: tuple[LayerName, ...] = ("stable", "summary", "window", "round", "tail")


class Cut(Struct, frozen=True, gc=False):
    """Something left out: what it was, by which rule, its size before and after, and the id that brings it back.

    `after` is what can still be read of it: in its place, and as lines that notes keep.
    """

    entry: str
    what: str
    rule: str
    before: int
    after: int
    id: str


class Block(Struct, frozen=True, gc=False):
    """An item of the transcript as it is shown now. `reserve` is room for a bridge that may have to follow."""

    messages: tuple[Message, ...] = ()
    tokens: int = 0
    cuts: tuple[Cut, ...] = ()
    reserve: int = 0

    @property
    def size(self) -> int:
        return self.tokens + self.reserve


class Layer(Struct, frozen=True):
    name: LayerName
    messages: tuple[Message, ...]
    tokens: int


class Pack(Struct, frozen=True):
    """The messages to send, in layers. `tokens` counts everything, tool definitions included.

    `limit` is what the pack may take: the budget less the room for the reply.
    """

    layers: tuple[Layer, ...]
    tools: tuple[ToolDefinition, ...]
    tool_tokens: int
    tokens: int
    budget: int
    limit: int
    trigger: int
    cut_groups: tuple[tuple[Cut, ...], ...]
    notes: tuple[str, ...]

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Every cut, oldest entry first; repairs last."""
        return tuple(cut for group in self.cut_groups for cut in group)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(m for layer in self.layers for m in layer.messages)

    def layer(self, name: LayerName) -> Layer:
        return self.layers[LAYER_NAMES.index(name)]

    @property
    def layer_ends(self) -> tuple[int, ...]:
        """After how many messages each layer but the tail ends: where a provider may keep a cache."""
        return tuple(accumulate(len(layer.messages) for layer in self.layers[:-1]))

    @property
    def prefix(self) -> tuple[Message, ...]:
        """Layers 1–4: between folds, each pack's prefix begins with the one before."""
        return tuple(m for layer in self.layers[:-1] for m in layer.messages)
