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


def divide(window: Window) -> Zones:
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


def within_layer(window: Window, zones: Zones, layer: str) -> Zones:
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
