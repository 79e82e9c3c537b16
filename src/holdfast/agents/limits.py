"""How far a run may go, and how far it has gone.

Rule: a limit of 0 is no limit. Steps, dollars and tokens stop a run before the step that would exceed them. Time
stops it wherever it is: the model and the tools are interrupted, and every call gets a result.
"""

import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.outcomes import Stop
from holdfast.messages import Usage, add_usage
from holdfast.prices import format_dollars

RAISE = "raise the limit to continue"


class RunLimits(Struct, frozen=True):
    steps: int = 0
    dollars: float = 0.0
    seconds: float = 0.0
    tokens: int = 0
    """Prompt and completion of all requests together, cached or not."""


class Spent(Struct, frozen=True):
    """`unpriced` counts the replies whose price is unknown; `dollars` leaves them out."""

    steps: int = 0
    usage: Usage = Usage(0)
    dollars: float = 0.0
    unpriced: int = 0

    def with_reply(self, usage: Usage | None, dollars: float | None) -> "Spent":
        if usage is None:
            return replace(self, unpriced=self.unpriced + 1)
        return replace(
            self,
            usage=add_usage(self.usage, usage),
            dollars=self.dollars + (dollars or 0.0),
            unpriced=self.unpriced + (dollars is None),
        )


def reached_limit(limits: RunLimits, spent: Spent, seconds: float) -> Stop | None:
    """The limit that keeps the next step from beginning."""
    if limits.steps and spent.steps >= limits.steps:
        return Stop("steps", f"the limit of {limits.steps} steps is reached", "send a message to continue")
    if limits.dollars and spent.dollars >= limits.dollars:
        used, most = format_dollars(spent.dollars), format_dollars(limits.dollars)
        return Stop("cost", f"the limit of {most} is reached ({used} spent)", RAISE)
    if limits.tokens and spent.usage.total >= limits.tokens:
        used = f"{spent.usage.total} used"
        return Stop("cost", f"the limit of {limits.tokens} tokens is reached ({used})", RAISE)
    if limits.seconds and seconds >= limits.seconds:
        return time_limit_stop(limits)
    return None


def time_limit_stop(limits: RunLimits) -> Stop:
    return Stop("time", f"the limit of {limits.seconds:g} seconds is reached", RAISE)


class RunBudget:
    """The limits of a run and what it has spent. Tools may hold it: a sub-agent spends from its parent's budget."""

    def __init__(self, limits: RunLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits or RunLimits()
        self._clock = clock
        self._counts_together = False
        self.begin()

    def begin(self) -> None:
        """A new run begins: count from zero, unless all runs count together."""
        if not self._counts_together:
            self.spent, self._began = Spent(), self._clock()

    def count_together(self, began: float) -> None:
        """From now on all runs count together, and time counts from this moment of the clock."""
        self._counts_together, self._began = True, began

    @property
    def seconds_left(self) -> float | None:
        """Until the time limit; None without one."""
        return self.limits.seconds - (self._clock() - self._began) if self.limits.seconds else None

    def add_step(self) -> None:
        self.spent = replace(self.spent, steps=self.spent.steps + 1)

    def add_reply(self, usage: Usage | None, dollars: float | None) -> None:
        self.spent = self.spent.with_reply(usage, dollars)

    def reached(self) -> Stop | None:
        return reached_limit(self.limits, self.spent, self._clock() - self._began)


class TaskSettings(Struct, frozen=True, kw_only=True):
    """Limits of sub-agents. With a `depth` of 1 a sub-agent has no sub-agents of its own."""

    limits: RunLimits = RunLimits(steps=60, seconds=1_800.0, tokens=4_000_000)
    parallel: int = 4
    depth: int = 1
