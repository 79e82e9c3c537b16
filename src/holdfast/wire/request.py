"""A request in one provider's shape.

Rule: plain JSON values, ready to be encoded.
"""

from typing import Literal

from msgspec import Struct

from holdfast.messages import Json

WireDict = dict[str, Json]


class WireRequest(Struct, frozen=True):
    """A request's messages in one provider's shape. `system` is set only where the provider keeps it apart."""

    format: Literal["openai", "anthropic"]
    messages: list[WireDict]
    system: list[WireDict] | None
    tools: list[WireDict]
    losses: tuple[str, ...]
