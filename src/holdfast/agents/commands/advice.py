"""What to do about a window that fills up.

Rule: every piece of advice names what it is about, its size, and what a person can do about it.
"""

from collections.abc import Iterator

from holdfast.agents.commands.sizes import Sizes
from holdfast.agents.commands.writing import code, counted, grouped
from holdfast.compaction.plan import Plan
from holdfast.packing.residency.ledger import Row

LARGE_RESULT = 0.05
LARGE_FRAME = 0.15
NEAR = 0.85
"""Shares of the window from which a result is large and a fixed part is; share of the trigger that is near it."""


def advice(sizes: Sizes, plan: Plan | None) -> list[str]:
    """The most important first."""
    lines = [*_about_trigger(sizes), *_about_largest(sizes)]
    if lines:
        lines.append(_would(plan))
    lines += [*_about_stale(sizes), *_about_frame(sizes)]
    return lines or ["Nothing needs doing: there is room."]


def _about_trigger(sizes: Sizes) -> Iterator[str]:
    left = sizes.trigger - sizes.used - sizes.reply_room
    if left <= 0:
        yield "The trigger is reached: the next step folds first. Texts that fold stay within reach of Recall."
    elif sizes.used + sizes.reply_room >= NEAR * sizes.trigger:
        yield f"{grouped(left)} tokens are left until a fold."


def _about_largest(sizes: Sizes) -> Iterator[str]:
    row = max(sizes.ledger.rows, key=lambda one: one.tokens, default=None)
    if row is None or row.tokens < LARGE_RESULT * sizes.window:
        return
    yield (
        f"{_named(row)} takes {grouped(row.tokens)} tokens in step {row.step}: it folds when "
        f"{grouped(sizes.trigger)} are reached, and {code(f'/recall {row.id}')} brings it back."
    )


def _would(plan: Plan | None) -> str:
    if plan is None:
        return "`/compact` has nothing to sum up yet: the newest steps stay as they are."
    return (
        f"`/compact now` would put a summary of at most {grouped(plan.budget)} tokens in the place of "
        f"{counted(plan.steps, 'step')} that take {grouped(plan.shown)}."
    )


def _about_stale(sizes: Sizes) -> Iterator[str]:
    stale = sizes.ledger.totals()["stale"]
    if stale.tokens >= LARGE_RESULT * sizes.window:
        yield (
            f"{grouped(stale.tokens)} tokens show files as they were before an edit; a fold lets these go first."
        )


def _about_frame(sizes: Sizes) -> Iterator[str]:
    """Parts that stand in every request and that no fold lowers."""
    for part in sizes.parts:
        if part.tokens < LARGE_FRAME * sizes.window:
            continue
        if part.name.startswith("rules"):
            yield f"The {part.name} take {grouped(part.tokens)} tokens of every request, never cut: shorten them."
        elif part.name.endswith("of MCP servers"):
            yield (
                f"The {part.name} take {grouped(part.tokens)} tokens of every request: leave out servers that are "
                "not needed."
            )
        elif part.name == "summary":
            yield f"The summary takes {grouped(part.tokens)} tokens: `/fork` keeps it, a new talk begins without."


def _named(row: Row) -> str:
    return code(row.path or row.call[:80])
