"""The ladder: the levels that a step passes on its way down, and what gives way when a pack would not fit at all.

Rule: what is worth least to the task goes first, then the oldest. Under overflow the order is: recap, summary, old
user text, whole old rounds, newest steps; last of all the long user texts of the current round, which nothing else
touches.
"""

from collections.abc import Callable, Iterable
from itertools import groupby

from holdfast.events import Level
from holdfast.messages import Thinking
from holdfast.packing.folding.draft import FoldDraft
from holdfast.packing.folding.zones import Zones
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.blocks import UserDisplay
from holdfast.packing.view import LevelCap, WindowView
from holdfast.views.transcript import User

STUB_SHARE = 0.15
"""Share of the low-water mark that stubs may fill."""

IsTooLarge = Callable[[], bool]
"""Whether a draft is still too large."""

_DEPTH: dict[Level, int] = {"full": 0, "clipped": 1, "digest": 2, "stub": 3, "skeleton": 4, "gone": 5}


def rungs(profile: Profile) -> tuple[LevelCap, ...]:
    """The levels an old step passes through: the digest as its tool's setting says, then with shrinking caps, a
    share of the window each."""
    if profile.result_old == "skeleton":
        return (("skeleton", 0), ("gone", 0))
    if profile.result_old == "stub":
        return (("stub", 0), ("skeleton", 0), ("gone", 0))
    return (("digest", 0), *digest_rungs(profile), ("stub", 0), ("skeleton", 0), ("gone", 0))


def digest_rungs(profile: Profile) -> tuple[LevelCap, ...]:
    caps = (max(profile.window // 20, 400), max(profile.window // 80, 160), max(profile.window // 250, 80))
    return tuple(("digest", cap) for cap in caps)


def lower_zone(draft: FoldDraft, zone: Iterable[int], excess: IsTooLarge) -> None:
    """A zone down all rungs, until the draft is small enough or what is left is not worth losing every trace of."""
    zone = tuple(zone)
    for level, cap in rungs(draft.view.profile):
        if level not in ("skeleton", "gone") or is_bulky(draft, zone):
            lower_until(draft, zone, level, cap, excess)


def give_up_rounds(draft: FoldDraft, zone: Iterable[int], excess: IsTooLarge) -> None:
    """Kept rounds, or steps where the profile keeps steps, one after the other and the oldest first: the next stays
    whole while this one can still shrink."""
    steps, unit = draft.view.transcript.steps, draft.view.profile.keep_unit
    for _, kept in groupby(zone, key=lambda number: steps[number].round if unit == "rounds" else number):
        lower_zone(draft, kept, excess)


def lower_until(draft: FoldDraft, zone: Iterable[int], level: Level, cap: int, excess: IsTooLarge) -> None:
    """Steps to a level while the draft is too large: what is worth least to the task first, then the oldest."""
    transcript = draft.view.transcript
    if any(transcript.path_priority.values()):
        zone = sorted(zone, key=lambda number: transcript.priority_of(transcript.steps[number]))
    for number in zone:
        if not excess():
            return
        lower_to(draft, number, level, cap)


def lower_to(draft: FoldDraft, number: int, level: Level, cap: int) -> None:
    if _is_deeper((level, cap), draft.level(number)):
        draft.lower(number, _own_level(draft.view, number, level), cap)


def drop_stubs(draft: FoldDraft, steps: Iterable[int]) -> None:
    """Stubs beyond their share go, those worth least and then the oldest first: a long row of them tells a model
    little and is paid each time."""
    transcript = draft.view.transcript
    stubs = [n for n in steps if draft.level(n)[0] == "stub"]
    stubs.sort(key=lambda number: transcript.priority_of(transcript.steps[number]))
    spare = sum(map(draft.step_tokens, stubs)) - int(draft.view.profile.low_water * STUB_SHARE)
    for number in stubs:
        if spare <= 0:
            return
        spare -= draft.step_tokens(number)
        lower_to(draft, number, "skeleton", 0)


def is_bulky(draft: FoldDraft, zone: Iterable[int]) -> bool:
    return sum(map(draft.step_tokens, zone)) > draft.view.profile.min_gain // 2


def _own_level(view: WindowView, number: int, level: Level) -> Level:
    """Of a round at level *skeleton* only the last step speaks on; the others are gone."""
    steps, rounds = view.transcript.steps, len(view.transcript.rounds)
    if level != "skeleton":
        return level
    following = steps[number + 1].round if number + 1 < len(steps) else rounds - 1
    is_last = following != steps[number].round
    return "skeleton" if is_last and steps[number].message.text.strip() else "gone"


def _is_deeper(new: LevelCap, old: LevelCap) -> bool:
    if new[0] == old[0]:
        return 0 < new[1] < (old[1] or new[1] + 1)
    return _DEPTH[new[0]] > _DEPTH[old[0]]


OLD_PASTE = 64
"""The share of the window that an old paste keeps, in parts."""


def relieve_overflow(draft: FoldDraft, zones: Zones, limit: int) -> None:
    """Let things go until the draft fits `limit`, or nothing more may go."""

    def excess() -> bool:
        return draft.total > limit

    relieve_users(draft, zones, limit)
    _lower_newest(draft, zones, excess, limit)
    _clip_current_users(draft, excess)


def relieve_users(draft: FoldDraft, zones: Zones, limit: int) -> None:
    """Recap and summary to little, then old user messages beyond their cap to first line and directives; if the
    draft is above `limit` even then, whole old rounds go into one note that has these lines, well below it."""
    view = draft.view
    shorten_fixed_layers(draft, limit)
    _shorten_users(draft, lambda: draft.total > limit)
    if draft.total > limit:
        target = min(limit, view.low_water - view.profile.counted_reply)
        hide_rounds(draft, zones, lambda: draft.total > target)


def shorten_fixed_layers(draft: FoldDraft, limit: int) -> None:
    """The todo recap to one line, and each line of the summary to one sentence, as far as `limit` asks for it."""
    sizes = draft.view.fixed_tokens
    if draft.total > limit and sizes["tail"] and draft.view.recap_lines > 1 and not draft.recap_lines:
        draft.shorten_recap()
    if (
        draft.total > limit
        and sizes["summary"]
        and not (draft.view.summary_sentences or draft.summary_sentences)
    ):
        draft.shorten_summary()


def hide_rounds(draft: FoldDraft, zones: Zones, excess: IsTooLarge, *, keep: int = 0) -> None:
    """Whole old rounds into one note, oldest first and well below the limit, so that it happens rarely. The newest
    `keep` rounds stay, and in any case the floor of the profile."""
    view, rounds = draft.view, draft.view.transcript.rounds
    users = (i for i in view.transcript.items if isinstance(i, User) and i.entry in view.hidden)
    hidden = max((u.position for u in users), default=0)
    last = min(_first_kept_round(view, zones), len(rounds) - keep)
    for start in rounds[1 : last + 1] if last > 0 else ():
        if not excess():
            return
        if start > hidden + 1:
            draft.hide_until(start)


def _first_kept_round(view: WindowView, zones: Zones) -> int:
    """The first round that stays visible: of the floor, or of the steps that never shrink."""
    if view.profile.keep_unit == "rounds":
        return len(view.transcript.rounds) - view.profile.keep_floor
    return view.transcript.steps[zones.newest[0]].round if zones.newest else 0


def clip_old_users(draft: FoldDraft) -> None:
    """Long pastes of old user messages to head, tail and id, the largest first, where users' text is over its cap;
    the best lines of what lies between stay in notes."""
    view = draft.view
    cap = max(view.profile.window // OLD_PASTE, 200)
    spare = _old_user_tokens(draft) - view.profile.user_cap_tokens
    for user in sorted(_old_users(draft), key=lambda u: (-draft.item_tokens(u.position), u.position)):
        before = draft.item_tokens(user.position)
        if spare <= 0 or before <= 2 * cap:
            return
        if user.entry not in view.displays:
            draft.clip_user(user, cap)
            spare -= before - draft.item_tokens(user.position)


def _old_users(draft: FoldDraft) -> list[User]:
    view = draft.view
    current = len(view.transcript.rounds) - 1
    users = (i for i in view.transcript.items if isinstance(i, User) and i.round < current)
    return [u for u in users if u.entry not in view.hidden and u.position >= draft.hidden]


def _old_user_tokens(draft: FoldDraft) -> int:
    return sum(draft.item_tokens(user.position) for user in _old_users(draft))


def _shorten_users(draft: FoldDraft, excess: IsTooLarge) -> None:
    """Old user messages beyond their cap, largest first and the first of all, the goal, last."""
    view = draft.view
    spare = _old_user_tokens(draft) - view.profile.user_cap_tokens
    for user in sorted(
        _old_users(draft), key=lambda u: (u.round == 0, -draft.item_tokens(u.position), u.position)
    ):
        if spare <= 0 or not excess():
            return
        if not view.displays.get(user.entry, UserDisplay()).brief:
            before = draft.item_tokens(user.position)
            draft.shorten_user(user)
            spare -= before - draft.item_tokens(user.position)


def _lower_newest(draft: FoldDraft, zones: Zones, excess: IsTooLarge, limit: int) -> None:
    """The newest steps: the largest clipped to the room there is, then all of them to little; and where the profile
    lets them shrink digests, stubs and gone, but the last."""
    profile = draft.view.profile
    steps = (*zones.recent, *zones.newest)
    if excess():
        draft.remark = draft.remark or "the newest results do not fit, and are clipped"
        _clip_to_room(draft, max(steps, key=draft.step_tokens, default=None), limit)
    lower_until(draft, steps, "clipped", max(profile.window // 20, 200), excess)
    if profile.keep_unit == "steps":
        return
    if steps and _thinks_under_signature(draft.view, steps[-1]):
        # Its thinking must go back as it came while its calls are being answered.
        steps = steps[:-1]
    below: tuple[LevelCap, ...] = (*digest_rungs(profile), ("stub", 0))
    for level, cap in below:
        lower_until(draft, steps, level, cap, excess)
    lower_until(draft, (*zones.recent, *zones.newest[:-1]), "gone", 0, excess)


MARK_ROOM = 60
"""What a clipped result takes besides the text it shows."""


def _clip_to_room(draft: FoldDraft, number: int | None, limit: int) -> None:
    """The results of one step clipped so far that everything fits, where that leaves more than little of them."""
    if number is None:
        return
    results = max(len(draft.view.transcript.steps[number].message.calls), 1)
    room = limit - (draft.total - draft.step_tokens(number))
    cap = room // results - MARK_ROOM
    if cap > max(draft.view.profile.window // 20, 200):
        draft.lower(number, "clipped", cap)


def _thinks_under_signature(view: WindowView, number: int) -> bool:
    parts = view.transcript.steps[number].message.parts
    return any(isinstance(p, Thinking) and (p.signature or p.redacted) for p in parts)


def _clip_current_users(draft: FoldDraft, excess: IsTooLarge) -> None:
    """Long user texts of the current round, the largest first, the newest last."""
    view = draft.view
    cap = max(view.profile.hard_limit // 16, 200)
    current = len(view.transcript.rounds) - 1
    users = [i for i in view.transcript.items if isinstance(i, User) and i.round == current]
    older = sorted(users[:-1], key=lambda u: (-draft.item_tokens(u.position), u.position))
    for user in (*older, *users[-1:]):
        if not excess():
            return
        draft.clip_user(user, cap)
