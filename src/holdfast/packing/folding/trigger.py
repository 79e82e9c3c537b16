"""When to fold: the seeds' rule A6, contained in one that also counts system prompt, tools and the reply.

Rule: the larger of what the provider reported and what we estimate decides, so that neither can hide an overflow.
"""

from typing import Literal

from msgspec import Struct

from holdfast.packing.folding.economics import FoldEstimate, estimate_fold, expected_steps
from holdfast.packing.folding.zones import FoldDepth
from holdfast.packing.window import Window
from holdfast.views.transcript import User

CAPPED: tuple[Literal["window", "round"], ...] = ("window", "round")
Reason = Literal["pressure", "round_end", "messages", "overflow", "profit", "boundary", "manual"]
BOUNDARY_SHARE = 0.5
"""Of the rent that a fold costs, what must be paid before one is made between two tasks: what follows needs less
of what was."""


class FoldTrigger(Struct, frozen=True):
    """Why a fold is due, and the numbers that say so. `layer` is set where one layer is over its own cap."""

    reason: Reason
    estimate: int
    limit: int
    layer: Literal["", "window", "round"] = ""

    @property
    def why(self) -> str:
        if self.reason in ("profit", "boundary"):
            return "it pays" if self.reason == "profit" else "a task ended, and it pays"
        if self.reason == "manual":
            return "a summary stands for it"
        unit = "messages" if self.reason == "messages" else "tokens"
        return f"{self.estimate} {unit} reached the trigger of {self.limit}"


def estimate_request(window: Window) -> int:
    """Tokens of the next exchange as the provider will count them, reply included."""
    return max(window.reported(), window.corrected() + window.profile.reply_room)


def forced_trigger(window: Window) -> FoldTrigger | None:
    """The reason to fold now, or None."""
    profile = window.profile
    size = estimate_request(window)
    if window.refused:
        return FoldTrigger("overflow", size, profile.hard_limit)
    if size - profile.reply_room > profile.hard_limit:
        return FoldTrigger("overflow", size, profile.hard_limit)
    if window.message_count() >= profile.min_messages:
        reached = size > profile.trigger if profile.strict_trigger else size >= profile.trigger
        if reached:
            return FoldTrigger("pressure", size, profile.trigger)
        for layer in CAPPED:
            cap, taken = layer_cap(window, layer)
            if cap and taken > cap:
                return FoldTrigger("pressure", taken, cap, layer)
    if profile.max_messages and window.message_count() > profile.max_messages:
        return FoldTrigger("messages", window.message_count(), profile.max_messages)
    if profile.fold_at_round_end and _round_just_opened(window):
        return FoldTrigger("round_end", size, profile.trigger)
    return None


def profit_trigger(window: Window, depth: FoldDepth) -> FoldTrigger | None:
    """A fold that nothing forces, and that pays: because the cache is cold, or because the rent for what it would
    let go has come to what it costs, and enough steps are to be expected."""
    profile = window.profile
    if not profile.fold_for_profit or depth.freed < profile.min_gain or not window.fresh:
        return None
    if window.message_count() < profile.min_messages:
        return None
    figures = fold_estimate(window, depth.freed, depth.rewritten)
    boundary = _round_just_opened(window)
    due = figures.costs * (BOUNDARY_SHARE if boundary else 1.0)
    if not figures.pays or (window.rent < due and not figures.is_cold):
        return None
    return FoldTrigger("boundary" if boundary else "profit", estimate_request(window), profile.trigger)


def fold_estimate(window: Window, freed: int, rewritten: int) -> FoldEstimate:
    further = expected_steps(len(window.transcript.steps))
    return estimate_fold(window.profile, freed, rewritten, further, window.idle)


def layer_cap(window: Window, layer: Literal["window", "round"]) -> tuple[int, int]:
    """The cap of the earlier rounds, or of the current one, and the tokens it takes; nothing without a cap."""
    cap = window.profile.window_cap if layer == "window" else window.profile.round_cap
    if not cap:
        return 0, 0
    rounds = window.transcript.rounds
    start = rounds[-1] if rounds else 0
    end = len(window.blocks)
    first, last = (0, start) if layer == "window" else (start, end)
    notes = sum(block.tokens for at, (_, block) in window.notes.items() if first <= at < last)
    return cap, sum(b.tokens for b in window.blocks[first:last]) + notes


def _round_just_opened(window: Window) -> bool:
    rounds = window.transcript.rounds
    return len(rounds) > 1 and all(isinstance(i, User) for i in window.transcript.items[rounds[-1] :])
