"""Planning a compaction: which whole rounds or steps a summary will stand for, in which slot, in how many tokens.

Rule: pure, and incremental: what an archive entry covers is never planned again, and a plan that could not free
anything is no plan.
"""

from typing import Literal

from msgspec import Struct

from holdfast.messages import Message
from holdfast.packing.trigger import pressure
from holdfast.packing.window import Window
from holdfast.packing.zones import divide
from holdfast.views.transcript import Item, Step

LEAST_STEPS = 2
"""Steps below which there is nothing to sum up."""
LARGEST_SHARE = 4
"""A summary takes at most this part of what it stands for."""
LEAST_BUDGET = 200
MOST_OF_WINDOW = 10
"""And at most this part of the window."""


class Plan(Struct, frozen=True, kw_only=True):
    """A range of items, from position `start` up to `end`, and what its summary may take.

    `slot` is `state` where the profile's form carries archive and state in one; then the summary builds on the one
    before and stands for everything up to `end`.
    """

    reason: Literal["pressure", "manual"]
    slot: Literal["archive", "state"]
    start: int
    end: int
    first: str
    last: str
    rounds: int
    """Whole rounds in it; 0 where it is a part of one long round."""
    steps: int
    replaced: int
    """Tokens of the range as it was said."""
    budget: int
    focus: str = ""
    merges: tuple[str, ...] = ()
    """Archive entries that have grown too many, for a second level to stand for."""


def plan_compaction(window: Window, *, manual: bool = False, focus: str = "") -> Plan | None:
    """The compaction that is due, or the one that a person asked for; None where there is nothing new to sum up."""
    window.refresh()
    if not manual and pressure(window) is None:
        return None
    start, end = _start(window), _end(window)
    items = window.transcript.items[start:end]
    steps = sum(isinstance(item, Step) for item in items)
    if steps < LEAST_STEPS:
        return None
    replaced = window.scene.counter.messages(said_in(items))
    budget = _budget(window, replaced)
    if replaced <= budget:
        return None
    rounds = [at for at in window.transcript.rounds if start <= at < end]
    whole = (
        rounds[1:] if end < len(window.transcript.items) and end not in window.transcript.rounds else rounds
    )
    return Plan(
        reason="manual" if manual else "pressure",
        slot="state" if window.profile.summary_role == "mock_pair" else "archive",
        start=start,
        end=end,
        first=items[0].entry,
        last=items[-1].entry,
        rounds=len(whole),
        steps=steps,
        replaced=replaced,
        budget=budget,
        focus=focus,
        merges=_merges(window, budget),
    )


def is_stale(plan: Plan, window: Window) -> bool:
    """Whether the log went on in a way that a summary for this plan no longer fits: undone, rewound, or covered by
    another."""
    items = window.transcript.items
    if (
        len(items) < plan.end
        or items[plan.end - 1].entry != plan.last
        or items[plan.start].entry != plan.first
    ):
        return True
    return _start(window) != plan.start


def said_in(items: list[Item]) -> tuple[Message, ...]:
    """The messages of some items as they were said."""
    messages: list[Message] = []
    for item in items:
        messages.append(item.message)
        if isinstance(item, Step):
            messages += item.answers()
    return tuple(messages)


def _start(window: Window) -> int:
    """Behind what is covered; an entry that is no longer on the path covers nothing."""
    covered = window.transcript.compactions.covered
    items = window.transcript.items
    return next((item.position + 1 for item in reversed(items) if item.entry == covered), 0)


def _end(window: Window) -> int:
    """Before the first step that stays, where a round begins, or a step of a long one."""
    zones, steps = divide(window), window.transcript.steps
    staying = (n for n in (*zones.recent, *zones.newest) if window.levels[n][0] != "gone")
    first = next(staying, None)
    if first is None:
        return 0
    start = window.transcript.rounds[steps[first].round]
    is_whole = first == 0 or steps[first - 1].round < steps[first].round
    return start if is_whole else steps[first].position


def _budget(window: Window, replaced: int) -> int:
    profile = window.profile
    most = min(profile.summary_max_tokens, profile.hard_limit // MOST_OF_WINDOW)
    return max(min(most, replaced // LARGEST_SHARE), LEAST_BUDGET)


def _merges(window: Window, budget: int) -> tuple[str, ...]:
    """The archive's entries but the newest, where with one more they would exceed the layer's cap."""
    profile, archive = window.profile, window.transcript.compactions.archive
    cap = profile.summary_cap or profile.hard_limit // 4
    taken = sum(window.scene.counter.text(archived.text) for archived in archive.values())
    older = [*archive][:-1]
    return tuple(older) if len(older) > 1 and taken + budget > cap else ()
