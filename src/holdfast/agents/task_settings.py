"""How far sub-agents may go.

Rule: values only; who has sub-agents and who is one both know them.
"""

from msgspec import Struct

from holdfast.agents.limits import Limits


class TaskSettings(Struct, frozen=True, kw_only=True):
    """`depth` is how many deep they may be: 1 lets none have sub-agents of its own."""

    limits: Limits = Limits(steps=60, seconds=1_800.0, tokens=4_000_000)
    parallel: int = 4
    depth: int = 1
