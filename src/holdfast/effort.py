"""How much a model thinks before it replies: levels from `off` to `max`.

Rule: a level is a name that providers share. What it is in a request is for their adapters to say.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from holdfast.errors import ConfigError, suggest

Effort = Literal["off", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

EFFORT_VARIABLE = "HOLDFAST_EFFORT"

THINKING_ROOM: Mapping[Effort, int] = {
    "off": 0,
    "low": 4_096,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 65_536,
}
"""Tokens for thinking on top of those for the reply: providers count both against one limit."""


def nearest_effort(wanted: Effort, levels: Sequence[Effort]) -> Effort:
    """The highest of a model's levels that is not above the one that is wanted, else its lowest."""
    assert levels, "a model that can think has a level"
    order = EFFORTS.index(wanted)
    return max((one for one in levels if EFFORTS.index(one) <= order), key=EFFORTS.index, default=levels[0])


def parse_effort(text: str, where: str) -> Effort | None:
    """A level by its name; None for an empty text. Raises ConfigError for any other."""
    for level in EFFORTS:
        if level == text.strip().lower():
            return level
    if not text.strip():
        return None
    raise ConfigError(f"{where} should be a level of thinking, found `{text}`", hint=suggest(text, EFFORTS))
