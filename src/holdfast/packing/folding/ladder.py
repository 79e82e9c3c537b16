"""The overflow ladder: what gives way only when the pack would not fit at all.

Rule: in the order of the design: summary, recap, old user text, whole old rounds, newest steps; and last of all the
long user texts of the current round, which else are never touched.
"""

from holdfast.messages import Thinking
from holdfast.packing.folding.draft import Draft
from holdfast.packing.folding.lowering import Excess, digest_rungs, lower_until
from holdfast.packing.folding.zones import Zones
from holdfast.packing.showing.blocks import UserLook
from holdfast.packing.window import LevelCap, Window
from holdfast.views.transcript import User

OLD_PASTE = 64
"""The share of the window that an old paste keeps, in parts."""


def climb_down(draft: Draft, zones: Zones, limit: int) -> None:
    """Let things go until the draft fits `limit`, or nothing more may go."""
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
        target = min(limit, window.profile.low_water - window.profile.reply_room)
        hide_rounds(draft, zones, lambda: draft.total > target)
    _lower_newest(draft, zones, excess)
    _clip_current_users(draft, excess)


def hide_rounds(draft: Draft, zones: Zones, excess: Excess) -> None:
    """Whole old rounds into one note, oldest first and well below the limit, so that it happens rarely."""
    window, rounds = draft.window, draft.window.transcript.rounds
    users = (i for i in window.transcript.items if isinstance(i, User) and i.entry in window.hidden)
    hidden = max((u.position for u in users), default=0)
    for start in rounds[1 : _first_kept_round(window, zones) + 1]:
        if not excess():
            return
        if start > hidden + 1:
            draft.hide_until(start)


def _first_kept_round(window: Window, zones: Zones) -> int:
    """The first round that stays on view: of the floor, or of the steps that never shrink."""
    if window.profile.keep_unit == "rounds":
        return len(window.transcript.rounds) - window.profile.keep_floor
    return window.transcript.steps[zones.newest[0]].round if zones.newest else 0


def clip_old_users(draft: Draft) -> None:
    """Long pastes of old user messages to head, tail and id, the largest first, where users' text is over its cap;
    the best lines of what lies between stay in notes."""
    window = draft.window
    cap = max(window.profile.window // OLD_PASTE, 200)
    spare = _old_user_tokens(draft) - window.profile.user_cap_tokens
    for user in sorted(_old_users(draft), key=lambda u: (-draft.room(u.position), u.position)):
        before = draft.room(user.position)
        if spare <= 0 or before <= 2 * cap:
            return
        if user.entry not in window.looks:
            draft.clip_user(user, cap)
            spare -= before - draft.room(user.position)


def _old_users(draft: Draft) -> list[User]:
    window = draft.window
    current = len(window.transcript.rounds) - 1
    users = (i for i in window.transcript.items if isinstance(i, User) and i.round < current)
    return [u for u in users if u.entry not in window.hidden and u.position >= draft.hidden]


def _old_user_tokens(draft: Draft) -> int:
    return sum(draft.room(user.position) for user in _old_users(draft))


def _shorten_users(draft: Draft, excess: Excess) -> None:
    """Old user messages beyond their cap, largest first and the first of all, the goal, last."""
    window = draft.window
    spare = _old_user_tokens(draft) - window.profile.user_cap_tokens
    for user in sorted(_old_users(draft), key=lambda u: (u.round == 0, -draft.room(u.position), u.position)):
        if spare <= 0 or not excess():
            return
        if not window.looks.get(user.entry, UserLook()).brief:
            before = draft.room(user.position)
            draft.shorten_user(user)
            spare -= before - draft.room(user.position)


def _lower_newest(draft: Draft, zones: Zones, excess: Excess) -> None:
    """The newest steps: clipped, and where the profile lets them shrink digests, stubs and gone, but the last."""
    profile = draft.window.profile
    steps = (*zones.recent, *zones.newest)
    lower_until(draft, steps, "clipped", max(profile.window // 20, 200), excess)
    if profile.keep_unit == "steps":
        return
    if steps and _thinks_under_signature(draft.window, steps[-1]):
        # Its thinking must go back as it came while its calls are being answered.
        steps = steps[:-1]
    below: tuple[LevelCap, ...] = (*digest_rungs(profile), ("stub", 0))
    for level, cap in below:
        lower_until(draft, steps, level, cap, excess)
    lower_until(draft, (*zones.recent, *zones.newest[:-1]), "gone", 0, excess)


def _thinks_under_signature(window: Window, number: int) -> bool:
    parts = window.transcript.steps[number].message.parts
    return any(isinstance(p, Thinking) and (p.signature or p.redacted) for p in parts)


def _clip_current_users(draft: Draft, excess: Excess) -> None:
    """Long user texts of the current round, the largest first, the newest last."""
    window = draft.window
    cap = max(window.profile.hard_limit // 16, 200)
    current = len(window.transcript.rounds) - 1
    users = [i for i in window.transcript.items if isinstance(i, User) and i.round == current]
    older = sorted(users[:-1], key=lambda u: (-draft.room(u.position), u.position))
    for user in (*older, *users[-1:]):
        if not excess():
            return
        draft.clip_user(user, cap)
