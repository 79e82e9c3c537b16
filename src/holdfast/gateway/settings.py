"""What the gateway may do to requests."""

from typing import Literal, get_args

from msgspec import Struct

Mode = Literal["watch", "safe", "fold"]
"""`watch` changes nothing; `safe` shortens large results before they are sent for the first time; `fold` packs the
whole history to a budget."""
MODES: tuple[Mode, ...] = get_args(Mode)

LARGEST_RESULT = 4_000
REPLACEMENTS = "gateway-replacements"
"""The log of what was sent in place of results. A store that has it has conversations that are changed."""


class GatewaySettings(Struct, frozen=True):
    """`control` is the share of conversations that stay in `watch`, to compare with. `budget` is for `fold`: tokens
    of a request and its reply, 0 for the model's own window. `largest_result` is for `safe`: tokens to which a new
    result is reduced that has more."""

    mode: Mode = "watch"
    control: float = 0.0
    budget: int = 0
    largest_result: int = LARGEST_RESULT
