"""Lowering steps: the rungs each passes on its way down, and how far a zone goes."""

from collections.abc import Callable, Iterable

from holdfast.events import Level
from holdfast.packing.folding.draft import Draft
from holdfast.packing.profile import Profile
from holdfast.packing.window import LevelCap, Window

STUB_SHARE = 0.15
"""Share of the low-water mark that stubs may fill."""

Excess = Callable[[], bool]
"""Whether a draft is still too large."""

_DEPTH: dict[Level, int] = {"full": 0, "clipped": 1, "digest": 2, "stub": 3, "skeleton": 4, "gone": 5}


def rungs(profile: Profile) -> tuple[LevelCap, ...]:
    """The levels an old step passes through, with shrinking caps: a share of the window each."""
    if profile.result_old == "skeleton":
        return (("skeleton", 0), ("gone", 0))
    if profile.result_old == "stub":
        return (("stub", 0), ("skeleton", 0), ("gone", 0))
    return (*digest_rungs(profile), ("stub", 0), ("skeleton", 0), ("gone", 0))


def digest_rungs(profile: Profile) -> tuple[LevelCap, ...]:
    caps = (max(profile.window // 20, 400), max(profile.window // 80, 160), max(profile.window // 250, 80))
    return tuple(("digest", cap) for cap in caps)


def lower_zone(draft: Draft, zone: Iterable[int], excess: Excess) -> None:
    """A zone down all rungs, until the draft is small enough or what is left is not worth losing every trace of."""
    zone = tuple(zone)
    for level, cap in rungs(draft.window.profile):
        if level not in ("skeleton", "gone") or is_bulky(draft, zone):
            lower_until(draft, zone, level, cap, excess)


def lower_until(draft: Draft, zone: Iterable[int], level: Level, cap: int, excess: Excess) -> None:
    """Steps to a level while the draft is too large: what is worth least to the task first, then the oldest."""
    transcript = draft.window.transcript
    if any(transcript.worth.values()):
        zone = sorted(zone, key=lambda number: transcript.worth_of(transcript.steps[number]))
    for number in zone:
        if not excess():
            return
        lower_to(draft, number, level, cap)


def lower_to(draft: Draft, number: int, level: Level, cap: int) -> None:
    if _is_deeper((level, cap), draft.level(number)):
        draft.lower(number, _own_level(draft.window, number, level), cap)


def let_stubs_go(draft: Draft, steps: Iterable[int]) -> None:
    """Stubs beyond their share go, those worth least and then the oldest first: a long row of them tells a model
    little and is paid each time."""
    transcript = draft.window.transcript
    stubs = [n for n in steps if draft.level(n)[0] == "stub"]
    stubs.sort(key=lambda number: transcript.worth_of(transcript.steps[number]))
    spare = sum(map(draft.step_room, stubs)) - int(draft.window.profile.low_water * STUB_SHARE)
    for number in stubs:
        if spare <= 0:
            return
        spare -= draft.step_room(number)
        lower_to(draft, number, "skeleton", 0)


def is_bulky(draft: Draft, zone: Iterable[int]) -> bool:
    return sum(map(draft.step_room, zone)) > draft.window.profile.min_gain // 2


def _own_level(window: Window, number: int, level: Level) -> Level:
    """Of a round at level *skeleton* only the last step speaks on; the others are gone."""
    steps = window.transcript.steps
    if level != "skeleton":
        return level
    is_last = number + 1 < len(steps) and steps[number + 1].round != steps[number].round
    return "skeleton" if is_last and steps[number].message.text.strip() else "gone"


def _is_deeper(new: LevelCap, old: LevelCap) -> bool:
    if new[0] == old[0]:
        return 0 < new[1] < (old[1] or new[1] + 1)
    return _DEPTH[new[0]] > _DEPTH[old[0]]
