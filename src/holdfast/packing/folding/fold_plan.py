"""Planning a fold: what gives way first, and how far.

Rule: pure. A plan is one event or nothing, found from a view alone; the caller records it. Folds are rare and deep:
one batch, never a window that rolls with each request. Profiles that keep lines fold down to the low-water mark;
the others lower what lies outside the rounds they keep, and touch those only where the window overflows.
"""

from holdfast.errors import ContextOverflow
from holdfast.events import Folded
from holdfast.numbers import grouped
from holdfast.packing.folding.draft import FoldDraft
from holdfast.packing.folding.ladder import (
    IsTooLarge,
    clip_old_users,
    drop_stubs,
    give_up_rounds,
    hide_rounds,
    lower_to,
    lower_until,
    lower_zone,
    relieve_overflow,
    relieve_users,
    rungs,
    shorten_fixed_layers,
)
from holdfast.packing.folding.trigger import FoldTrigger, forced_triggers, profit_trigger
from holdfast.packing.folding.zones import FoldDepth, Zones, divide_steps, fold_depth, zones_in_layer
from holdfast.packing.view import WindowView


def plan_fold(view: WindowView) -> Folded | None:
    """The fold that is due now, or None. Raises ContextOverflow when nothing more may give way."""
    reasons = [*forced_triggers(view)]
    if reasons and not (view.fresh or view.total > view.profile.hard_limit):
        return None
    if not (reasons or view.profile.fold_for_profit):
        return None
    zones = divide_steps(view)
    depth = fold_depth(view, zones) if view.profile.excerpt_ratio else None
    if not reasons and depth is not None and (pays := profit_trigger(view, depth)):
        reasons = [pays]
    return next((fold for due in reasons if (fold := _planned(view, due, zones, depth))), None)


def _planned(view: WindowView, due: FoldTrigger, zones: Zones, depth: FoldDepth | None) -> Folded | None:
    """The fold for one reason, or None where it would change too little."""
    if due.reason == "round_end":
        draft = FoldDraft(view)
        _fold_ended_rounds(draft)
        return draft.event(due)
    is_whole = due.reason in ("pressure", "profit", "boundary") and not due.layer
    adds = depth is not None and depth.appends and is_whole
    draft = FoldDraft(view, appends=adds)
    if due.layer:
        _lower_layer(draft, zones_in_layer(view, zones, due.layer), due)
    elif due.reason != "messages":
        lower = _lower_to_lines if depth is not None else _lower_by_levels
        lower(draft, zones)
    if view.profile.max_messages and draft.messages > view.profile.max_messages:
        _lower_messages(draft, zones)
    limit = _limit(view)
    if draft.total > limit:
        relieve_overflow(draft, zones, limit)
    if depth is not None:
        target = _well_below(draft, due) if due.layer else view.room_below(_low_water(view))
        draft.keep_lines(min(limit, draft.total + depth.room if adds else target))
    if draft.total > view.profile.hard_limit or (view.refused and draft.total >= draft.before):
        raise _overflow(draft)
    return draft.event(due) if _pays(draft, due) else None


def plan_summary_fold(view: WindowView, end: int, grown: int = 0) -> Folded | None:
    """The fold that hides the steps before position `end`, which a summary now replaces. `grown` is how many tokens
    the summary adds.

    Where a profile keeps lines, user messages stay as they are; else rounds that ended go whole, and what their
    users demanded stays in one note.
    """
    draft = FoldDraft(view, grown=grown)
    keeps_lines = view.profile.excerpt_ratio > 0
    if not keeps_lines:
        draft.hide_until(max((at for at in view.transcript.rounds if at <= end), default=0))
    _hide_steps(draft, end)
    _clip_kept(draft, divide_steps(view))
    if keeps_lines:
        clip_old_users(draft)
        draft.keep_lines(min(_limit(view), _smaller(view)))
    return draft.event(FoldTrigger("manual", draft.before, view.profile.trigger))


def _hide_steps(draft: FoldDraft, end: int) -> None:
    """Hide the steps before `end` that no note for whole rounds replaces yet. Where a profile keeps lines,
    notes of those that are gone already are written again: their lines were chosen with more room."""
    view = draft.view
    rounds = (view.position(note.last) + 1 for note, _ in view.notes.values() if note.users)
    start = max(draft.hidden, *rounds, 0)
    for step in view.transcript.steps:
        if start <= step.position < end:
            if draft.level(step.number)[0] != "gone":
                lower_to(draft, step.number, "gone", 0)
            elif view.profile.excerpt_ratio:
                draft.rewrite_note(step.number)


def _smaller(view: WindowView) -> int:
    """What a compaction leaves at most: as much smaller as a fold at the trigger makes it, also where nothing
    pressed. Else the lines it keeps would fill the room it makes."""
    profile = view.profile
    size = min(view.total + profile.counted_reply, profile.trigger)
    return view.room_below(size * _low_water(view) // profile.trigger)


def _limit(view: WindowView) -> int:
    """What the pack may take: the budget's limit as the provider counts, and less than what it refused."""
    limit = view.counted(view.profile.hard_limit)
    return min(limit, view.refused * 6 // 10) if view.refused else limit


def _low_water(view: WindowView) -> int:
    low = view.low_water
    return min(low, _limit(view)) if view.refused else low


def _pays(draft: FoldDraft, due: FoldTrigger) -> bool:
    """Whether the fold frees enough for the cache it costs. What does not fit has no choice."""
    profile = draft.view.profile
    gain = draft.before - draft.total
    if draft.before > profile.hard_limit or draft.view.refused:
        return gain > 0
    if due.reason == "messages":
        return draft.view.message_count - draft.messages >= max(profile.max_messages // 4, 1)
    if due.layer:
        return gain >= int(due.limit * profile.min_gain_ratio)
    return gain >= (profile.min_gain // 4 if due.reason == "overflow" else profile.min_gain)


def _above(draft: FoldDraft, mark: int) -> IsTooLarge:
    """Whether the draft is above a mark of the profile, counted as the provider does."""
    target = draft.view.room_below(mark)
    return lambda: draft.total > target


def _lower_by_levels(draft: FoldDraft, zones: Zones) -> None:
    """What lies outside the rounds that the profile keeps, to the level of old results. Only where that does not
    fit: shorter excerpts, whole old rounds, the summary, then kept rounds, one at a time down to their floor, and
    last of all steps of what is left. In an overflow all of these make room for more than the next request."""
    view, limit = draft.view, _limit(draft.view)
    target = limit if view.refused else limit - view.profile.min_gain
    above_low = _above(draft, _low_water(view))
    level, cap = rungs(view.profile)[0]
    for number in zones.old:
        lower_to(draft, number, level, cap)
    _clip_kept(draft, zones)
    if draft.before <= limit or draft.total <= target:
        return
    lower_zone(draft, zones.old, above_low)
    drop_stubs(draft, zones.old)
    if draft.total > target:
        hide_rounds(draft, zones, above_low, keep=_kept_rounds(view))
    shorten_fixed_layers(draft, target)
    give_up_rounds(draft, zones.spare, lambda: draft.total > target)
    if draft.total > limit and zones.long:
        draft.remark = "the rounds that stay do not fit, and are folded by steps"
        lower_zone(draft, zones.long, above_low)


def _lower_to_lines(draft: FoldDraft, zones: Zones) -> None:
    """Old steps go, and their best lines stay in notes; what is recent gives way only halfway to the mark."""
    profile, refused = draft.view.profile, draft.view.refused
    low = _low_water(draft.view)
    above_low = _above(draft, low)
    halfway = above_low if refused else _above(draft, (low + profile.trigger) // 2)
    if not draft.appends:
        draft.drop_lines()
    for number in (*zones.old, *zones.spare, *zones.long):
        lower_to(draft, number, "gone", 0)
    if draft.appends:
        return
    clip_old_users(draft)
    _clip_kept(draft, zones)
    for level, cap in rungs(profile):
        lower_until(draft, zones.recent, level, cap, halfway)
    if draft.total > (fits := _limit(draft.view) - profile.min_gain):
        # Else the next exchange would not fit, and a fold follow each.
        relieve_users(draft, zones, fits)


def _clip_kept(draft: FoldDraft, zones: Zones) -> None:
    """Very long results of the steps that always stay, where a profile clips them at a compaction, and the window
    would be above its trigger with them whole (design document 003)."""
    profile = draft.view.profile
    if profile.compaction_clip_chars and _above(draft, profile.trigger)():
        for number in zones.newest:
            draft.lower(number, "clipped")


def _kept_rounds(view: WindowView) -> int:
    """Rounds that the profile keeps whole; where it keeps steps, their rounds stay in any case."""
    return view.profile.keep if view.profile.keep_unit == "rounds" else 0


def _well_below(draft: FoldDraft, due: FoldTrigger) -> int:
    """What everything takes when a layer is at 70% of its cap."""
    return draft.before - (due.estimate - due.limit * 7 // 10)


def _lower_layer(draft: FoldDraft, zones: Zones, due: FoldTrigger) -> None:
    """One layer: what is old down to well below its cap, what the profile keeps only down to the cap."""
    at_cap, well_below = draft.before - (due.estimate - due.limit), _well_below(draft, due)
    lower_zone(draft, zones.old, lambda: draft.total > well_below)
    if due.layer == "window":
        hide_rounds(draft, zones, lambda: draft.total > well_below, keep=_kept_rounds(draft.view))
    give_up_rounds(draft, zones.spare, lambda: draft.total > at_cap)
    for zone in (zones.long, zones.recent):
        lower_zone(draft, zone, lambda: draft.total > (at_cap if due.layer == "window" else well_below))
    if due.layer == "window":
        hide_rounds(draft, zones, lambda: draft.total > at_cap)


def _lower_messages(draft: FoldDraft, zones: Zones) -> None:
    """Well below the cap on messages: whole old rounds first. What the profile keeps gives way only as far as the
    cap demands, whole rounds above the floor first, then steps of the rounds that stay."""
    profile = draft.view.profile
    most = profile.max_messages

    def is_above_half() -> bool:
        return draft.messages > most // 2

    def is_near_cap() -> bool:
        return draft.messages > most * 3 // 4

    hide_rounds(draft, zones, is_above_half, keep=_kept_rounds(draft.view))
    lower_until(draft, zones.old, "gone", 0, is_above_half)
    hide_rounds(draft, zones, is_near_cap)
    steps = (*zones.spare, *zones.long, *zones.recent, *zones.newest[:-1])
    lower_until(draft, steps, "gone", 0, is_near_cap)


def _fold_ended_rounds(draft: FoldDraft) -> None:
    """Design document 001 to the letter: at a round's end its results leave the scratchpad and enter history
    compressed."""
    transcript = draft.view.transcript
    level, cap = rungs(draft.view.profile)[0]
    for step in transcript.steps:
        if step.round < len(transcript.rounds) - 1:
            lower_to(draft, step.number, level, cap)


def _overflow(draft: FoldDraft) -> ContextOverflow:
    view = draft.view
    parts = draft.parts()
    largest = ", ".join(f"{name} {grouped(tokens)}" for name, tokens in parts[:3])
    limit = min(view.profile.hard_limit, view.refused or view.profile.hard_limit)
    refused = "the provider refused, and " if view.refused else ""
    return ContextOverflow(
        f"{refused}what may not be cut takes {grouped(draft.total)} tokens, and the budget leaves {grouped(limit)}",
        parts=parts,
        budget=view.profile.window,
        hint=f"raise the budget, or shorten the largest part: {largest}",
    )
