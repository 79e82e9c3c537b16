"""The guard against loops: the same call with the same result, again and again.

Rule: only calls between which nothing else was changed count; tests that run again after each edit are work. Nor
does a call count that was made long ago: what it gave may have been folded since.
"""

from typing import Literal

import msgspec
from msgspec import Struct, field

from holdfast.ids import text_id
from holdfast.messages import ToolCall

POINTED_OUT = 3
"""The how-manieth same call with the same result the model is told of; one more ends the run."""
NEAR = 25
"""Calls within which the same one is a repetition."""

Verdict = Literal["", "point", "stop"]


class Repeats(Struct):
    """How often each call gave the same result since something else was changed, and at which call it did last."""

    counts: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    calls: int = 0

    def saw(self, call: ToolCall, result: str, *, is_read_only: bool) -> Verdict:
        key = _key(call, result)
        if not is_read_only and key not in self.counts:
            self.counts.clear()
        self.calls += 1
        is_near = self.calls - self.last.get(key, self.calls) <= NEAR
        self.last[key] = self.calls
        self.counts[key] = count = (self.counts.get(key, 0) if is_near else 0) + 1
        if count < POINTED_OUT:
            return ""
        return "point" if count == POINTED_OUT else "stop"


def reminder(call: ToolCall) -> str:
    """What the model is told."""
    return (
        f"You have called {call.name} {POINTED_OUT} times with the same arguments and got the same result. Nothing "
        "will change by calling it again: use what you have, try something else, or say what is in the way."
    )


def _key(call: ToolCall, result: str) -> str:
    arguments = call.raw or msgspec.json.encode(call.arguments, order="deterministic").decode()
    return text_id("\0".join((call.name, arguments, result)))
