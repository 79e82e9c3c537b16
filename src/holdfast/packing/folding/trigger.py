"""When to fold: rule A6 of the design documents, and for profiles that say so with room for the reply.

Rule: what does not fit is never hidden: the larger of what the provider reported and what we estimate decides that.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from holdfast.events import FoldReason
from holdfast.packing.folding.economics import FoldEstimate, estimate_fold, expected_steps
from holdfast.packing.folding.zones import FoldDepth
from holdfast.packing.view import WindowView
from holdfast.views.transcript import User

CAPPED: tuple[Literal["window", "round"], ...] = ("window", "round")
BOUNDARY_SHARE = 0.5
"""Between two tasks, fold once the carry cost reaches this share of what a fold costs: the next task needs less of
the old text."""


class FoldTrigger(Struct, frozen=True):
    """Why a fold is due, and the numbers that say so. `layer` is set where one layer is over its own cap."""

    reason: FoldReason
    estimate: int
    limit: int
    layer: Literal["", "window", "round"] = ""

    @property
    def why(self) -> str:
        if self.reason in ("profit", "boundary"):
            return "it pays" if self.reason == "profit" else "a task ended, and it pays"
        if self.reason == "manual":
            return "a summary replaces it"
        if self.reason == "overflow":
            return f"{self.estimate} tokens do not fit into {self.limit}"
        unit = "messages" if self.reason == "messages" else "tokens"
        return f"{self.estimate} {unit} reached the trigger of {self.limit}"


def estimate_request(view: WindowView) -> int:
    """Tokens of the next request as the provider will count them: what it reported last with what is new, or our
    own count; where the profile counts the reply, the larger of both with room for it."""
    if not view.profile.reply_in_trigger:
        return view.reported or view.corrected
    return max(view.reported, view.corrected + view.profile.reply_room)


def forced_trigger(view: WindowView) -> FoldTrigger | None:
    """The first reason to fold now, or None."""
    return next(forced_triggers(view), None)


def forced_triggers(view: WindowView) -> Iterator[FoldTrigger]:
    """The reasons to fold now; the next counts where a fold for the one before would change too little."""
    profile = view.profile
    size = estimate_request(view)
    if view.refused or max(view.reported - profile.reply_room, view.corrected) > profile.hard_limit:
        yield FoldTrigger("overflow", size, profile.hard_limit)
        return
    if view.message_count >= profile.min_messages:
        reached = size > profile.trigger if profile.strict_trigger else size >= profile.trigger
        if reached:
            yield FoldTrigger("pressure", size, profile.trigger)
        for layer in CAPPED:
            cap, taken = layer_cap(view, layer)
            if cap and taken > cap:
                yield FoldTrigger("pressure", taken, cap, layer)
    if profile.max_messages and view.message_count > profile.max_messages:
        yield FoldTrigger("messages", view.message_count, profile.max_messages)
    if profile.fold_at_round_end and _round_just_opened(view):
        yield FoldTrigger("round_end", size, profile.trigger)


def profit_trigger(view: WindowView, depth: FoldDepth) -> FoldTrigger | None:
    """A fold that is not forced but pays: the cache is cold, or the carry cost of what it would drop has reached
    its own cost. Enough further steps must be expected."""
    profile = view.profile
    if not profile.fold_for_profit or depth.freed < profile.min_gain or not view.fresh:
        return None
    if view.message_count < profile.min_messages:
        return None
    figures = fold_estimate(view, depth.freed, depth.rewritten)
    boundary = _round_just_opened(view)
    due = figures.costs * (BOUNDARY_SHARE if boundary else 1.0)
    if not figures.pays or (view.economics.carry_cost < due and not figures.is_cold):
        return None
    return FoldTrigger("boundary" if boundary else "profit", estimate_request(view), profile.trigger)


def fold_estimate(view: WindowView, freed: int, rewritten: int) -> FoldEstimate:
    further = expected_steps(len(view.transcript.steps))
    return estimate_fold(view.profile, freed, rewritten, further, view.economics.idle)


def layer_cap(view: WindowView, layer: Literal["window", "round"]) -> tuple[int, int]:
    """The cap of the earlier rounds, or of the current one, and the tokens it takes; nothing without a cap."""
    cap = view.profile.window_cap if layer == "window" else view.profile.round_cap
    if not cap:
        return 0, 0
    rounds = view.transcript.rounds
    start = rounds[-1] if rounds else 0
    first, last = (0, start) if layer == "window" else (start, len(view.blocks))
    return cap, sum(block.tokens for block in view.blocks[first:last]) + view.note_tokens(first, last)


def _round_just_opened(view: WindowView) -> bool:
    rounds = view.transcript.rounds
    return len(rounds) > 1 and all(isinstance(i, User) for i in view.transcript.items[rounds[-1] :])
