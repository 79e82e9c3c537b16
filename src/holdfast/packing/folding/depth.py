"""How deep a fold goes: it adds to the notes that stand, or writes all of them anew.

Rule: what costs less for each token that it frees. Standing notes are cached, and behind what changes everything is
written again; but they only grow, so that now and then all lines are chosen anew.
"""

from msgspec import Struct

from holdfast.packing.folding.zones import Zones
from holdfast.packing.window import Window

KEPT_SHARE = 0.2
"""What of newly folded steps stays as lines where a fold adds to the notes."""


MOST_ADDED = 4
"""Folds in a row that only add: by then many lines that stand have been said again or lost their use."""


class Depth(Struct, frozen=True):
    """What a fold would free and have written anew, in tokens. `room` is for the lines of one that adds."""

    appends: bool
    freed: int
    rewritten: int
    room: int = 0


def depth_of(window: Window, zones: Zones) -> Depth:
    """The cheaper of the two for each token that it frees."""
    anew, adding = _anew(window), _adding(window, zones)
    if adding is None or (anew.freed > 0 and adding.rewritten * anew.freed >= anew.rewritten * adding.freed):
        return anew
    return adding


def _anew(window: Window) -> Depth:
    profile, total = window.profile, window.total()
    low = profile.low_water - profile.reply_room
    return Depth(False, total - low, max(low - _before_notes(window), 0))


def _adding(window: Window, zones: Zones) -> Depth | None:
    """A fold of the newest old steps only; None where it would free too little."""
    profile = window.profile
    if not window.notes or not profile.append_folds or window.added >= MOST_ADDED:
        return None
    folded = sum(_room(window, n) for zone in (zones.old, zones.spare, zones.long) for n in zone)
    recent = sum(_room(window, n) for zone in (zones.recent, zones.newest) for n in zone)
    room = round(folded * KEPT_SHARE)
    freed = folded - room
    enough = freed >= profile.min_gain and window.total() - freed <= profile.trigger - profile.min_gain
    return Depth(True, freed, room + recent, room) if enough else None


def _room(window: Window, number: int) -> int:
    return window.blocks[window.transcript.steps[number].position].room


def _before_notes(window: Window) -> int:
    """Tokens in front of the first note, or of the first step: what no fold of steps rewrites."""
    steps = window.transcript.steps
    first = min(window.notes) if window.notes else steps[0].position if steps else 0
    before = sum(block.tokens for block in window.blocks[:first])
    return before + window.stable[1] + window.tool_tokens
