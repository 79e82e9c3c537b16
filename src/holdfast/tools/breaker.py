"""A circuit breaker: a tool that keeps failing is not called for a while, and the model is told.

Rule: only the tool's own failures count (an exception, a call that never ends, a server that cannot be reached).
What the model got wrong is a normal answer and never opens a circuit.

A breaker is a value; the caller gives the time, from a monotonic clock.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.envelope import ToolError


class BreakerRules(Struct, frozen=True):
    """After how many failures in a row a circuit opens, and for how many seconds. With a `longest` pause above
    that, each further failure doubles it."""

    failures: int = 3
    pause: float = 60.0
    longest: float = 0.0


class Breaker(Struct, frozen=True):
    """`failures` in a row, the last one at `failed_at` for `reason`; `is_trying` while the one call that a
    half-open circuit lets through is running."""

    failures: int = 0
    reason: str = ""
    failed_at: float = 0.0
    is_trying: bool = False

    def state(self, now: float, rules: BreakerRules) -> Literal["closed", "open", "half-open"]:
        if self.failures < rules.failures:
            return "closed"
        return "half-open" if now >= self._tried_at(rules) else "open"

    def _tried_at(self, rules: BreakerRules) -> float:
        doublings = min(max(self.failures - rules.failures, 0), 30)
        return self.failed_at + min(rules.pause * 2.0**doublings, max(rules.longest, rules.pause))

    def admit(self, now: float, rules: BreakerRules, what: str, hint: str = "") -> "Breaker":
        """The breaker while a call is running; CIRCUIT_OPEN if no call may be made now."""
        match self.state(now, rules):
            case "closed":
                return self
            case "half-open" if not self.is_trying:
                return replace(self, is_trying=True)
        ago = f"{max(now - self.failed_at, 0):.0f} s ago"
        wait = self._tried_at(rules) - now
        again = f"it is tried again in {wait:.0f} s" if wait > 0 else "it is being tried again right now"
        failed = f"failed {self.failures} times in a row, the last time {ago} ({self.reason})"
        raise ToolError("CIRCUIT_OPEN", f"{what} {failed} and is not called for now; {again}", hint=hint)

    def worked(self) -> "Breaker":
        return Breaker()

    def failed(self, now: float, reason: str) -> "Breaker":
        return Breaker(self.failures + 1, reason, now)

    def released(self) -> "Breaker":
        """After a call that says nothing about the tool: one that never reached it, or was interrupted."""
        return replace(self, is_trying=False)
