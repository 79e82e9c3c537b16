"""How far a run may go, and how far it has gone.

Rule: a limit of 0 is none. A run stops before the step that would begin beyond a limit, never in the middle of one.
"""

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.outcomes import Stop
from holdfast.messages import Usage
from holdfast.prices import format_dollars


class RunLimits(Struct, frozen=True):
    steps: int = 0
    dollars: float = 0.0
    seconds: float = 0.0
    tokens: int = 0
    """Of all requests and replies together, cached or not."""


class Spent(Struct, frozen=True):
    """`dollars` leaves out the replies whose price nobody knows, which `unpriced` counts."""

    steps: int = 0
    usage: Usage = Usage(0)
    dollars: float = 0.0
    unpriced: int = 0

    def and_step(self) -> "Spent":
        return replace(self, steps=self.steps + 1)

    def and_reply(self, usage: Usage | None, dollars: float | None) -> "Spent":
        if usage is None:
            return replace(self, unpriced=self.unpriced + 1)
        return replace(
            self,
            usage=Usage(
                self.usage.prompt + usage.prompt,
                self.usage.completion + usage.completion,
                self.usage.cache_read + usage.cache_read,
                self.usage.cache_write + usage.cache_write,
            ),
            dollars=self.dollars + (dollars or 0.0),
            unpriced=self.unpriced + (dollars is None),
        )


def reached_limit(limits: RunLimits, spent: Spent, seconds: float) -> Stop | None:
    """The limit that keeps the next step from beginning."""
    if limits.steps and spent.steps >= limits.steps:
        return Stop("steps", f"{limits.steps} steps were made, as many as allowed", "say more to go on")
    if limits.dollars and spent.dollars >= limits.dollars:
        said = f"{format_dollars(spent.dollars)} of {format_dollars(limits.dollars)} are spent"
        return Stop("cost", said, "raise the limit to go on")
    if limits.tokens and spent.usage.total >= limits.tokens:
        return Stop(
            "cost", f"{spent.usage.total} tokens of {limits.tokens} are used", "raise the limit to go on"
        )
    if limits.seconds and seconds >= limits.seconds:
        return Stop("time", f"{limits.seconds:g} seconds are over", "raise the limit to go on")
    return None


# How far sub-agents may go.
#
# Rule: values only; who has sub-agents and who is one both know them.


class TaskSettings(Struct, frozen=True, kw_only=True):
    """`depth` is how many deep they may be: 1 lets none have sub-agents of its own."""

    limits: RunLimits = RunLimits(steps=60, seconds=1_800.0, tokens=4_000_000)
    parallel: int = 4
    depth: int = 1
