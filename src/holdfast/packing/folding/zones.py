"""Zones: the steps of a log in the order in which they give way."""

from msgspec import Struct

from holdfast.packing.window import Window

RECENT_SHARE = 0.35
"""Share of the low-water mark that the newest steps may fill untouched inside a long round."""


class Zones(Struct, frozen=True):
    """Numbers of steps, each zone oldest first.

    `old` lies outside what the profile keeps; `spare` inside it but above the floor; `long` is what a long round
    holds beyond its newest steps; `recent` are those, and `newest` the ones a reply cannot do without.
    """

    old: tuple[int, ...]
    spare: tuple[int, ...]
    long: tuple[int, ...]
    recent: tuple[int, ...]
    newest: tuple[int, ...]


def divide_steps(window: Window) -> Zones:
    """The steps in zones, by rounds or by steps as the profile keeps them."""
    profile, steps = window.profile, window.transcript.steps
    count = len(steps)
    if profile.keep_unit == "steps":
        kept = max(count - profile.keep, 0)
        floor = max(count - profile.keep_floor, kept)
        return Zones(tuple(range(kept)), tuple(range(kept, floor)), (), (), tuple(range(floor, count)))
    newest = max(count - profile.steps_floor, 0)
    recent = _recent_start(window, newest)
    rounds = len(window.transcript.rounds)
    keep_from, floor_from = rounds - profile.keep, rounds - profile.keep_floor
    before = range(recent)
    return Zones(
        old=tuple(n for n in before if steps[n].round < keep_from),
        spare=tuple(n for n in before if keep_from <= steps[n].round < floor_from),
        long=tuple(n for n in before if steps[n].round >= max(keep_from, floor_from)),
        recent=tuple(range(recent, newest)),
        newest=tuple(range(newest, count)),
    )


def zones_in_layer(window: Window, zones: Zones, layer: str) -> Zones:
    """The zones without the steps that are not in a layer: the current round, or the rounds before it."""
    current = len(window.transcript.rounds) - 1
    steps = window.transcript.steps

    def kept(zone: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(n for n in zone if (steps[n].round == current) == (layer == "round"))

    return Zones(*(kept(z) for z in (zones.old, zones.spare, zones.long, zones.recent, zones.newest)))


def _recent_start(window: Window, newest: int) -> int:
    """The first of the steps that fill the recent share of the low-water mark, counted back from the end."""
    profile = window.profile
    room = profile.recent_tokens
    if not profile.excerpt_ratio:
        room = int(profile.low_water * RECENT_SHARE)
    start = newest
    while start > 0:
        room -= window.blocks[window.transcript.steps[start - 1].position].room
        if room < 0:
            break
        start -= 1
    return start


# How deep a fold goes: it adds to the notes that stand, or writes all of them anew.
#
# Rule: what costs less for each token that it frees. Standing notes are cached, and behind what changes everything is
# written again; but they only grow, so that now and then all lines are chosen anew.

KEPT_SHARE = 0.2
"""What of newly folded steps stays as lines where a fold adds to the notes."""


MOST_ADDED = 4
"""Folds in a row that only add: by then many lines that stand have been said again or lost their use."""


class FoldDepth(Struct, frozen=True):
    """What a fold would free and have written anew, in tokens. `room` is for the lines of one that adds."""

    appends: bool
    freed: int
    rewritten: int
    room: int = 0


def fold_depth(window: Window, zones: Zones) -> FoldDepth:
    """The cheaper of the two for each token that it frees."""
    anew, adding = _rewriting(window), _appending(window, zones)
    if adding is None or (anew.freed > 0 and adding.rewritten * anew.freed >= anew.rewritten * adding.freed):
        return anew
    return adding


def _rewriting(window: Window) -> FoldDepth:
    profile, total = window.profile, window.total()
    low = profile.low_water - profile.reply_room
    return FoldDepth(False, total - low, max(low - _before_notes(window), 0))


def _appending(window: Window, zones: Zones) -> FoldDepth | None:
    """A fold of the newest old steps only; None where it would free too little."""
    profile = window.profile
    if not window.notes or not profile.append_folds or window.added >= MOST_ADDED:
        return None
    folded = sum(_room(window, n) for zone in (zones.old, zones.spare, zones.long) for n in zone)
    recent = sum(_room(window, n) for zone in (zones.recent, zones.newest) for n in zone)
    room = round(folded * KEPT_SHARE)
    freed = folded - room
    enough = freed >= profile.min_gain and window.total() - freed <= profile.trigger - profile.min_gain
    return FoldDepth(True, freed, room + recent, room) if enough else None


def _room(window: Window, number: int) -> int:
    return window.blocks[window.transcript.steps[number].position].room


def _before_notes(window: Window) -> int:
    """Tokens in front of the first note, or of the first step: what no fold of steps rewrites."""
    steps = window.transcript.steps
    first = min(window.notes) if window.notes else steps[0].position if steps else 0
    before = sum(block.tokens for block in window.blocks[:first])
    return before + window.stable[1] + window.tool_tokens
