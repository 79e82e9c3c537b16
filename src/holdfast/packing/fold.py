"""Planning a fold: what gives way first, and how far, down the ladder of the design.

Rule: pure. A plan is one event or nothing, found from the window alone; the caller appends it. Folds are rare and
deep: one batch down to the low-water mark, never a window that rolls with each request.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from holdfast.errors import ContextOverflow
from holdfast.events import Folded, Level
from holdfast.packing.blocks import UserLook
from holdfast.packing.draft import Draft
from holdfast.packing.notes import round_note_room
from holdfast.packing.overflow import floor_parts
from holdfast.packing.trigger import Pressure, pressure
from holdfast.packing.window import LevelCap, Window
from holdfast.views.transcript import User

RECENT_SHARE = 0.35
"""Share of the low-water mark that the newest steps may fill untouched inside a long round."""

STUB_SHARE = 0.15
"""Share of the low-water mark that stubs may fill."""

Rung = tuple[Level, int]


class Zones(Struct, frozen=True):
    """Steps in the order in which they give way, each zone oldest first.

    `old` lies outside what the profile keeps; `spare` inside it but above the floor; `long` is what a long round
    holds beyond its newest steps; `recent` are those, and `newest` the ones a reply cannot do without.
    """

    old: tuple[int, ...]
    spare: tuple[int, ...]
    long: tuple[int, ...]
    recent: tuple[int, ...]
    newest: tuple[int, ...]


def plan_fold(window: Window) -> Folded | None:
    """The fold that is due now, or None. Raises ContextOverflow when nothing more may give way."""
    window.refresh()
    due = pressure(window)
    if due is None:
        return None
    draft = Draft(window)
    zones = divide(window)
    if due.reason == "round_end":
        return _fold_ended_rounds(window, draft, due)
    if due.reason != "messages":
        _lower_zones(draft, zones, due)
    if window.profile.max_messages and draft.messages > window.profile.max_messages:
        _lower_messages(draft, zones)
    if due.layer == "window":
        _hide_rounds(draft, _excess(draft, due, 0))
    limit = window.counted(window.profile.hard_limit)
    if draft.total > limit:
        _overflow_ladder(draft, zones, limit)
    if draft.total > window.profile.hard_limit:
        raise _overflow(window, draft, zones)
    return draft.event(due) if _pays(draft, due) else None


def _pays(draft: Draft, due: Pressure) -> bool:
    """Whether the fold frees enough for the cache it costs. What does not fit has no choice."""
    profile = draft.window.profile
    gain = draft.before - draft.total
    if draft.before > profile.hard_limit:
        return gain > 0
    if due.reason == "messages":
        return draft.messages < draft.window.message_count()
    if due.layer:
        return gain >= int(due.limit * profile.min_gain_ratio)
    return gain >= (profile.min_gain // 4 if due.reason == "overflow" else profile.min_gain)


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


def _recent_start(window: Window, newest: int) -> int:
    """The first of the steps that fill the recent share of the low-water mark, counted back from the end."""
    room = int(window.profile.low_water * RECENT_SHARE)
    start = newest
    while start > 0:
        level, cap = window.levels[start - 1]
        room -= window.cost(start - 1, level, cap)
        if room < 0:
            break
        start -= 1
    return start


def _rungs(window: Window) -> tuple[Rung, ...]:
    """The levels an old step passes through, with shrinking caps: a share of the window each."""
    profile = window.profile
    if profile.result_old == "skeleton":
        return (("skeleton", 0), ("gone", 0))
    if profile.result_old == "stub":
        return (("stub", 0), ("gone", 0))
    caps = (max(profile.window // 20, 400), max(profile.window // 80, 160), max(profile.window // 250, 80))
    return (*(("digest", cap) for cap in caps), ("stub", 0), ("gone", 0))


def _lower_zones(draft: Draft, zones: Zones, due: Pressure) -> None:
    window, profile = draft.window, draft.window.profile
    excess = _excess(draft, due, window.counted(profile.low_water) - profile.reply_room)
    rungs = _rungs(window)
    for zone in (zones.old, zones.spare, zones.long):
        for level, cap in rungs:
            if level != "gone" or _is_bulky(draft, zone):
                _lower_until(draft, zone, level, cap, excess)
    _let_stubs_go(draft, (*zones.old, *zones.spare, *zones.long))
    if profile.compaction_clip_chars:
        for number in zones.newest:
            draft.lower(number, "clipped")
    halfway = window.counted((profile.low_water + profile.trigger) // 2) - profile.reply_room
    for level, cap in rungs:
        _lower_until(draft, zones.recent, level, cap, _excess(draft, due, halfway))


def _lower_messages(draft: Draft, zones: Zones) -> None:
    """Well below the cap on messages: whole old rounds first, then steps of the rounds that stay."""

    def excess() -> bool:
        return draft.messages > draft.window.profile.max_messages // 2

    _hide_rounds(draft, excess)
    _lower_until(draft, (*zones.old, *zones.spare, *zones.long, *zones.recent), "gone", 0, excess)


def _let_stubs_go(draft: Draft, steps: Iterable[int]) -> None:
    """Stubs beyond their share go, oldest first: a long row of them tells a model little and is paid each time."""
    window = draft.window
    stubs = [n for n in steps if draft.level(n)[0] == "stub"]
    spare = sum(window.cost(n, "stub", 0) for n in stubs) - int(window.profile.low_water * STUB_SHARE)
    for number in stubs:
        if spare <= 0:
            return
        spare -= window.cost(number, "stub", 0)
        draft.lower(number, "gone")


def _is_bulky(draft: Draft, zone: Iterable[int]) -> bool:
    """Whether what is left of a zone is worth losing every trace of it."""
    left = sum(draft.window.cost(n, *draft.level(n)) for n in zone)
    return left > draft.window.profile.min_gain // 2


def _excess(draft: Draft, due: Pressure, target: int) -> Callable[[], bool]:
    """Whether the draft is still too large: the whole, or the layer that made the fold due."""
    if due.layer:
        goal = draft.before - (due.estimate - due.limit * 7 // 10)
        return lambda: draft.total > goal
    return lambda: draft.total > target


def _lower_until(
    draft: Draft, zone: Iterable[int], level: Level, cap: int, excess: Callable[[], bool]
) -> None:
    for number in zone:
        if not excess():
            return
        if _deeper((level, cap), draft.level(number)):
            draft.lower(number, _own_level(draft.window, number, level), cap)


def _own_level(window: Window, number: int, level: Level) -> Level:
    """Of a round at level *skeleton* only the last step speaks on; the others are gone."""
    steps = window.transcript.steps
    if level != "skeleton":
        return level
    is_last = number + 1 == len(steps) or steps[number + 1].round != steps[number].round
    return "skeleton" if is_last and steps[number].message.text.strip() else "gone"


_DEPTH: dict[Level, int] = {"full": 0, "clipped": 1, "digest": 2, "stub": 3, "skeleton": 4, "gone": 5}


def _deeper(new: LevelCap, old: LevelCap) -> bool:
    if new[0] == old[0]:
        return 0 < new[1] < (old[1] or new[1] + 1)
    return _DEPTH[new[0]] > _DEPTH[old[0]]


def _fold_ended_rounds(window: Window, draft: Draft, due: Pressure) -> Folded | None:
    """Seed 001 to the letter: at a round's end its results leave the scratchpad and enter history compressed."""
    current = len(window.transcript.rounds) - 1
    level, cap = _rungs(window)[0]
    for step in window.transcript.steps:
        if step.round < current and _deeper((level, cap), draft.level(step.number)):
            draft.lower(step.number, _own_level(window, step.number, level), cap)
    return draft.event(due)


def _overflow_ladder(draft: Draft, zones: Zones, limit: int) -> None:
    """What gives way only when the pack would not fit at all: summary, recap, old user text, newest steps."""
    window = draft.window

    def excess() -> bool:
        return draft.total > limit

    sizes = window.fixed_tokens()
    if excess() and sizes["summary"] and not window.summary_sentences:
        draft.shorten_summary()
    if excess() and sizes["tail"] and window.recap_lines > 1:
        draft.shorten_recap()
    _shorten_users(draft, excess)
    if excess():
        target = window.profile.low_water - window.profile.reply_room
        _hide_rounds(draft, lambda: draft.total > target)
    keep_all = window.profile.keep_unit == "steps"
    rungs: tuple[Rung, ...] = (("clipped", max(window.profile.window // 20, 200)),)
    if not keep_all:
        rungs = (*rungs, *(r for r in _rungs(window) if r[0] == "digest"), ("stub", 0))
    for level, cap in rungs:
        _lower_until(draft, (*zones.recent, *zones.newest), level, cap, excess)
    if not keep_all:
        _lower_until(draft, (*zones.recent, *zones.newest[:-1]), "gone", 0, excess)
    _clip_current_users(draft, excess)


def _clip_current_users(draft: Draft, excess: Callable[[], bool]) -> None:
    """The last thing to give way: long user texts of the current round, the largest first, the newest last."""
    window = draft.window
    cap = max(window.profile.hard_limit // 16, 200)
    current = len(window.transcript.rounds) - 1
    users = [i for i in window.transcript.items if isinstance(i, User) and i.round == current]
    older = sorted(users[:-1], key=lambda u: (-window.blocks[u.position].tokens, u.position))
    for user in (*older, *users[-1:]):
        if not excess():
            return
        draft.clip_user(user, cap)


def _shorten_users(draft: Draft, excess: Callable[[], bool]) -> None:
    """Old user messages beyond their cap, oldest first: directives and first lines stay, with the id."""
    window = draft.window
    old = [u for u in _old_users(window) if u.entry not in window.hidden]
    spare = sum(window.blocks[u.position].tokens for u in old) - window.profile.user_cap_tokens
    for user in old:
        if spare <= 0 or not excess():
            return
        spare -= window.blocks[user.position].tokens
        if not window.looks.get(user.entry, UserLook()).brief:
            draft.shorten_user(user)


def _hide_rounds(draft: Draft, excess: Callable[[], bool]) -> None:
    """Whole old rounds into one note, oldest first and well below the limit, so that it happens rarely."""
    window = draft.window
    room = round_note_room(window)
    floor = 1 if window.profile.keep_unit == "steps" else window.profile.keep_floor
    hidden = [i.position for i in window.transcript.items if isinstance(i, User) and i.entry in window.hidden]
    for start in window.transcript.rounds[1 : max(len(window.transcript.rounds) - floor + 1, 1)]:
        if not excess():
            return
        if start > max(hidden, default=0) + 1:
            draft.hide_until(start, room)


def _old_users(window: Window) -> list[User]:
    current = len(window.transcript.rounds) - 1
    return [i for i in window.transcript.items if isinstance(i, User) and i.round < current]


def _overflow(window: Window, draft: Draft, zones: Zones) -> ContextOverflow:
    parts = floor_parts(window, [window.cost(n, *draft.level(n)) for n in zones.newest])
    limit = window.profile.hard_limit
    return ContextOverflow(
        f"what may not be cut takes {draft.total} tokens, and the budget leaves {limit}",
        parts=parts,
        budget=window.profile.window,
        hint="raise the budget, or shorten the largest part: " + ", ".join(f"{n} {t}" for n, t in parts[:3]),
    )
