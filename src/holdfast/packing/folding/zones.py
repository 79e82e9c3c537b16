"""Zones: the steps of a log in the order in which they give way, and how deep a fold goes into them.

Rule: a fold appends to the notes, or rewrites all of them: whichever costs less for each token that it frees. Notes
that stay are cached, and everything after a change is written again; but notes only grow, so that now and then all
lines are chosen again.
"""

from bisect import bisect_left
from operator import attrgetter

from msgspec import Struct

from holdfast.packing.view import WindowView
from holdfast.views.transcript import Step

RECENT_SHARE = 0.35
"""Share of the low-water mark that the newest steps may fill untouched inside a long round."""

WHOLE_SHARE = 0.25
"""Share of the low-water mark that kept rounds and recent steps may take whole where lines are kept. The rest is
for the lines of what went: with twice the share recall falls at 16k and 32k."""

KEPT_SHARE = 0.3
"""Share of newly folded steps that stays as lines where a fold appends."""

MOST_APPENDED = 4
"""Folds in a row that only append: by then many lines in notes have been said again or lost their use."""


class Zones(Struct, frozen=True):
    """Numbers of steps, each zone oldest first.

    `old` lies outside what the profile keeps; `spare` inside it but above the floor; `long` is what a long round
    holds beyond its newest steps; `recent` are those, and `newest` the ones a reply cannot do without.
    """

    old: range
    spare: range
    long: range
    recent: range
    newest: range


def divide_steps(view: WindowView) -> Zones:
    """The steps in zones, by rounds or by steps as the profile keeps them."""
    profile = view.profile
    count = len(view.transcript.steps)
    if profile.keep_unit == "steps":
        kept = max(count - profile.keep, 0)
        floor = max(count - profile.keep_floor, kept)
        return Zones(range(kept), range(kept, floor), range(0), range(0), range(floor, count))
    newest = max(count - profile.steps_floor, 0)
    recent = _recent_start(view, newest)
    rounds = len(view.transcript.rounds)
    kept = _first_step(view, rounds - profile.keep)
    floor = _first_step(view, rounds - profile.keep_floor)
    if profile.excerpt_ratio:
        recent = _whole_rounds_start(view, recent)
        kept, floor = min(kept, recent), min(floor, recent)
    else:
        newest = max(newest, floor)
        recent = max(recent, floor)
    return Zones(
        range(kept), range(kept, floor), range(floor, recent), range(recent, newest), range(newest, count)
    )


def zones_in_layer(view: WindowView, zones: Zones, layer: str) -> Zones:
    """The zones without the steps that are not in a layer: the current round, or the rounds before it."""
    start = _first_step(view, len(view.transcript.rounds) - 1)

    def kept(zone: range) -> range:
        if layer == "round":
            return range(max(zone.start, start), max(zone.stop, start))
        return range(min(zone.start, start), min(zone.stop, start))

    return Zones(*(kept(z) for z in (zones.old, zones.spare, zones.long, zones.recent, zones.newest)))


def _first_step(view: WindowView, round_: int) -> int:
    """Number of the first step of a round, or of the next one that has any."""
    return bisect_left(view.transcript.steps, round_, key=attrgetter("round"))


def _recent_start(view: WindowView, newest: int) -> int:
    """The first of the steps that fill the recent share of the low-water mark, counted back from the end."""
    profile = view.profile
    room = profile.recent_tokens
    if not profile.excerpt_ratio:
        room = int(profile.low_water * RECENT_SHARE)
    start = newest
    while start > 0:
        room -= view.step_tokens(start - 1)
        if room < 0:
            break
        start -= 1
    return start


def _whole_rounds_start(view: WindowView, recent: int) -> int:
    """The first step of the kept rounds that stay whole where lines are kept: the newest first, as many as their
    share of the low-water mark holds. The recent steps stay in any case."""
    profile, rounds = view.profile, len(view.transcript.rounds)
    room = int(view.room_below(view.low_water) * WHOLE_SHARE)
    room -= sum(view.step_tokens(number) for number in range(recent, len(view.transcript.steps)))
    start = recent
    for kept in reversed(range(max(rounds - profile.keep, 0), rounds)):
        first = _first_step(view, kept)
        if any(view.levels[number][0] == "gone" for number in range(first, start)):
            break
        room -= sum(view.step_tokens(number) for number in range(first, start))
        if room < 0:
            break
        start = min(start, first)
    return start


class FoldDepth(Struct, frozen=True):
    """Tokens that a fold would free, and would have written again. `room` is for the lines of one that appends."""

    appends: bool
    freed: int
    rewritten: int
    room: int = 0


def fold_depth(view: WindowView, zones: Zones) -> FoldDepth:
    """The cheaper of the two for each token that it frees."""
    rewriting, appending = _rewriting(view, zones), _appending(view, zones)
    if appending is None:
        return rewriting
    is_dearer = appending.rewritten * rewriting.freed >= rewriting.rewritten * appending.freed
    return rewriting if rewriting.freed > 0 and is_dearer else appending


def _rewriting(view: WindowView, zones: Zones) -> FoldDepth:
    """A fold down to the low-water mark, or to what always stays where that takes more."""
    before = _before_notes(view)
    stays = before + sum(map(view.step_tokens, zones.newest))
    low = max(view.low_water - view.profile.counted_reply, stays)
    return FoldDepth(False, view.total - low, low - before)


def _appending(view: WindowView, zones: Zones) -> FoldDepth | None:
    """A fold of the newest old steps only; None where it would free too little."""
    profile = view.profile
    if not view.notes or not profile.append_folds or view.economics.appended >= MOST_APPENDED:
        return None
    recent = sum(map(view.step_tokens, (*zones.recent, *zones.newest)))
    # Whatever is gone takes nothing, and most of a long log is.
    shown = (view.transcript.items[position] for position in view.visible)
    folded = sum(view.item_tokens(item.position) for item in shown if isinstance(item, Step)) - recent
    room = round(folded * KEPT_SHARE)
    freed = folded - room
    enough = freed >= profile.min_gain and view.total - freed <= profile.trigger - profile.min_gain
    return FoldDepth(True, freed, room + recent, room) if enough else None


def _before_notes(view: WindowView) -> int:
    """Tokens in front of the first note, or of the first step: what no fold of steps rewrites."""
    steps = view.transcript.steps
    first = min(view.notes) if view.notes else steps[0].position if steps else 0
    before = sum(block.tokens for block in view.blocks[:first])
    return before + view.stable.tokens + view.stable.tool_tokens
