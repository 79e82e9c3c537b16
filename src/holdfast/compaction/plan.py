"""The plan of a compaction: which whole rounds or steps a summary will cover, in which slot, in how many tokens.

Rule: pure and incremental: what an archive entry covers is never planned again. Under pressure, a plan that would
free less than a fold must is not made, so that a compaction that did not suffice is not repeated at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.events import SummarySlot
from holdfast.messages import Message
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.folding.trigger import forced_trigger
from holdfast.packing.folding.zones import divide_steps
from holdfast.packing.view import WindowView
from holdfast.views.transcript import Item, Step

LEAST_STEPS = 2
"""Steps below which there is nothing to summarize."""
LARGEST_SHARE = 4
"""A summary takes at most this part of what it covers, not counting an earlier summary."""
LEAST_BUDGET = 200
MOST_OF_WINDOW = 10
"""And at most this part of the window."""


class CompactionPlan(Struct, frozen=True, kw_only=True):
    """A range of items, from position `start` up to `end`, and what its summary may take.

    `slot` is `state` where the profile's form carries archive and state in one; then the summary builds on the one
    before and covers everything up to `end`.
    """

    reason: Literal["pressure", "manual"]
    slot: SummarySlot
    start: int
    end: int
    first: str
    last: str
    rounds: int
    """Whole rounds in it; 0 where it is a part of one long round."""
    steps: int
    replaced: int
    """Tokens of what it covers, in full; with the summary before where it builds on one."""
    shown: int
    """Tokens that the range takes in the window as it is."""
    budget: int
    focus: str = ""
    merges: tuple[str, ...] = ()
    """Archive entries that have grown too many and are replaced by one of the second level."""


def plan_compaction(window: WindowView, *, manual: bool = False, focus: str = "") -> CompactionPlan | None:
    """The compaction that is due, or the one that a person asked for; None where there is nothing new to summarize.

    Kept rounds are summarized only where what comes before them does not free enough, or has a summary already;
    and where a profile lowers levels, only if a person asks for it or the window overflows.
    """
    if not manual and not _is_due(window):
        return None
    found: CompactionPlan | None = None
    for end in dict.fromkeys(_ends(window, manual or _may_cover_kept(window))):
        plan = _planned(window, end, "manual" if manual else "pressure", focus)
        found = plan or found
        if plan is not None and _suffices(window, plan):
            break
    return found if found is None or manual or _frees(window, found) >= window.profile.min_gain else None


def _is_due(window: WindowView) -> bool:
    """Whether the window is too full, and anything is new since it last shrank. A request that a provider refused
    is answered by a fold, which takes no time; a fold at the end of a round is not urgent. Where old results become
    digests, they do so first: an archive is for what is still too much."""
    due = forced_trigger(window) if window.fresh and not window.refused else None
    if due is None or due.reason == "round_end":
        return False
    return not (_has_whole_old_results(window) and plan_fold(window) is not None)


def _has_whole_old_results(window: WindowView) -> bool:
    if window.profile.excerpt_ratio or window.profile.result_old != "digest":
        return False
    return any(window.levels[number][0] == "full" for number in divide_steps(window).old)


def _may_cover_kept(window: WindowView) -> bool:
    """Whether a summary that nobody asked for may cover rounds that the profile keeps: where it keeps lines, and
    else only steps of a round that does not fit by itself."""
    if window.profile.excerpt_ratio:
        return True
    due, zones = forced_trigger(window), divide_steps(window)
    return due is not None and due.reason == "overflow" and not (zones.old or zones.spare)


def _planned(
    window: WindowView, end: int, reason: Literal["pressure", "manual"], focus: str
) -> CompactionPlan | None:
    start = _start(window)
    items = window.transcript.items[start:end]
    steps = sum(isinstance(item, Step) for item in items)
    if steps < LEAST_STEPS:
        return None
    new = window.counter.messages(messages_of(items))
    if new <= _budget(window, new):
        return None
    slot: SummarySlot = "state" if window.profile.summary_role == "mock_pair" else "archive"
    state = window.transcript.compactions.state
    before = window.counter.text(state.text) if slot == "state" and state is not None else 0
    budget = _budget(window, new, before)
    return CompactionPlan(
        reason=reason,
        slot=slot,
        start=start,
        end=end,
        first=items[0].entry,
        last=items[-1].entry,
        rounds=_whole_rounds(window, start, end),
        steps=steps,
        replaced=new + before,
        shown=window.note_tokens(start, end) + sum(block.size for block in window.blocks[start:end]),
        budget=budget,
        focus=focus,
        merges=_merges(window, budget) if slot == "archive" else (),
    )


def _suffices(window: WindowView, plan: CompactionPlan) -> bool:
    """Whether it leaves as much room as a fold would: down to the low-water mark, or where a profile lowers levels,
    so that everything fits and kept rounds stay."""
    profile = window.profile
    if profile.excerpt_ratio:
        target = window.room_below(window.low_water)
    else:
        target = window.counted(profile.hard_limit) - profile.min_gain
    return window.total - _frees(window, plan) <= target


def _frees(window: WindowView, plan: CompactionPlan) -> int:
    """Tokens that it frees. Only the first state adds to the window; later ones replace it."""
    adds_state = plan.slot == "archive" and window.transcript.compactions.state is None
    return plan.shown - plan.budget * (1 + adds_state)


def _whole_rounds(window: WindowView, start: int, end: int) -> int:
    """Rounds that open and end in a range."""
    opened = sum(start <= at < end for at in window.transcript.rounds)
    ends = end == len(window.transcript.items) or end in window.transcript.rounds
    return opened if ends else max(opened - 1, 0)


def is_stale(plan: CompactionPlan, window: WindowView) -> bool:
    """Whether the log changed so that a summary for this plan no longer fits: undone, covered by another, or
    rewound so far that the plan covers the newest steps."""
    items = window.transcript.items
    if (
        len(items) < plan.end
        or items[plan.end - 1].entry != plan.last
        or items[plan.start].entry != plan.first
    ):
        return True
    if not window.transcript.compactions.archive.keys() >= set(plan.merges):
        return True
    steps = window.transcript.steps
    newest = (n for n in divide_steps(window).newest if window.levels[n][0] != "gone")
    return _start(window) != plan.start or any(steps[n].position < plan.end for n in newest)


def messages_of(items: Sequence[Item]) -> tuple[Message, ...]:
    """The messages of some items as they were said."""
    messages: list[Message] = []
    for item in items:
        messages.append(item.message)
        if isinstance(item, Step):
            messages += item.answers()
    return tuple(messages)


def _start(window: WindowView) -> int:
    """The position after what is covered; an entry that is no longer on the path covers nothing."""
    covered = window.transcript.compactions.covered
    items = window.transcript.items
    return next((item.position + 1 for item in reversed(items) if item.entry == covered), 0)


def _ends(window: WindowView, may_cover_kept: bool) -> Iterator[int]:
    """Where a range may end, the least first: before the rounds a profile keeps, then with one of those less at a
    time down to their floor, and before the newest steps of a long round."""
    zones, steps = divide_steps(window), window.transcript.steps
    newest = (*zones.recent, *zones.newest)
    if not may_cover_kept:
        yield _end(window, (*zones.spare, *zones.long, *newest))
        return
    for first in zones.spare:
        if first == zones.spare.start or steps[first - 1].round < steps[first].round:
            yield _end(window, (*range(first, zones.spare.stop), *zones.long, *newest))
    for staying in ((*zones.long, *newest), newest):
        yield _end(window, staying)


def _end(window: WindowView, staying: Iterable[int]) -> int:
    """Before the first step that stays, where a round begins, or a step of a long one."""
    steps = window.transcript.steps
    first = next((n for n in staying if window.levels[n][0] != "gone"), None)
    if first is None:
        return 0
    start = window.transcript.rounds[steps[first].round]
    is_whole = first == 0 or steps[first - 1].round < steps[first].round
    return start if is_whole else steps[first].position


def _budget(window: WindowView, new: int, before: int = 0) -> int:
    """The most tokens of a summary that covers `new` tokens, and a summary before of `before`."""
    profile = window.profile
    most = min(profile.summary_max_tokens, profile.hard_limit // MOST_OF_WINDOW)
    return max(min(most, before + new // LARGEST_SHARE), LEAST_BUDGET)


def _merges(window: WindowView, budget: int) -> tuple[str, ...]:
    """The archive's entries but the newest, where with one more they would exceed the layer's cap.

    Not those that do not say what they replace: an archive that came with a recording stays as it is.
    """
    profile, archive = window.profile, window.transcript.compactions.archive
    cap = profile.summary_cap or profile.hard_limit // 4
    taken = sum(window.counter.text(archived.text) for archived in archive.values())
    known = {item.entry for item in window.transcript.items}
    older = tuple(id_ for id_ in [*archive][:-1] if {archive[id_].first, archive[id_].last} <= known)
    return older if len(older) > 1 and taken + budget > cap else ()
