"""`/context`: what the next request holds, by part, by file and by result, and what to do about it.

Rule: it shows and changes nothing; numbers are tokens.
"""

import asyncio
from collections.abc import Sequence

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.advice import advice
from holdfast.agents.commands.command import Command, Shown
from holdfast.agents.commands.looking import window_of
from holdfast.agents.commands.sizes import FileSize, Sizes, sizes_of
from holdfast.agents.commands.writing import bullets, code, counted, grouped, joined, share, table
from holdfast.compaction.plan import Plan, plan_compaction
from holdfast.packing.residency.ledger import Row
from holdfast.packing.residency.presence import STATES

MOST_ROWS = 8
"""Files, and results, that are listed; `/context all` lists all that take any room."""

MOST_STEPS = 4


async def _run(desk: Desk, argument: str) -> Shown:
    if argument not in ("", "all"):
        raise CONTEXT.misused(f"`{argument}` means nothing here")
    # Off the event loop: the ledger of a large window takes a moment, and a screen must go on painting.
    sizes, plan = await asyncio.to_thread(_measured, desk)
    most = len(sizes.ledger.rows) if argument else MOST_ROWS
    return Shown(
        joined(
            _head(sizes),
            _parts(sizes),
            _files(sizes.files, most),
            _results(sizes.rows, most),
            _states(sizes),
            "**Advice**",
            bullets(advice(sizes, plan)),
        )
    )


def _measured(desk: Desk) -> tuple[Sizes, Plan | None]:
    window = window_of(desk)
    return sizes_of(window), plan_compaction(window, manual=True)


def _head(sizes: Sizes) -> str:
    text = (
        f"**Context**: {grouped(sizes.used)} tokens of a window of {grouped(sizes.window)} "
        f"({share(sizes.used, sizes.window)}); folds begin at {grouped(sizes.trigger)}, reply included."
    )
    if sizes.used > sizes.counted:
        text += (
            f" That is by the provider's reports; by our own count, as below, it is {grouped(sizes.total)}."
        )
    return text


def _parts(sizes: Sizes) -> str:
    left = max(0, sizes.trigger - sizes.used - sizes.reply_room)
    sized = [(part.name, part.tokens) for part in sizes.parts]
    sized += [("room for the reply", sizes.reply_room), ("free until a fold", left)]
    rows = [[name, grouped(tokens), share(tokens, sizes.window)] for name, tokens in sized]
    return table(["part", "tokens", "of the window"], rows, right=(1, 2))


def _files(files: Sequence[FileSize], most: int) -> str:
    shown = [file for file in files if file.tokens]
    rows = [
        [code(file.path), grouped(file.tokens), _steps(file.steps), ", ".join(file.states)]
        for file in shown[:most]
    ]
    return _with_rest(table(["file", "tokens", "step", "state"], rows, right=(1,)), len(shown) - most, "file")


def _results(results: Sequence[Row], most: int) -> str:
    shown = [row for row in results if row.tokens]
    rows = [
        [code(row.call[:60]), grouped(row.tokens), str(row.step), row.state, code(row.id)]
        for row in shown[:most]
    ]
    return _with_rest(
        table(["result", "tokens", "step", "state", "id"], rows, right=(1,)), len(shown) - most, "result"
    )


def _with_rest(drawn: str, left: int, noun: str) -> str:
    if not drawn or left <= 0:
        return drawn
    return joined(drawn, f"and {counted(left, noun)} more: `/context all`")


def _states(sizes: Sizes) -> str:
    """How much of what the tools returned is still there."""
    totals = sizes.ledger.totals()
    rows = [
        [state, grouped(total.rows), grouped(total.tokens), grouped(total.size)]
        for state in STATES
        if (total := totals[state]).rows
    ]
    return table(["state", "results", "tokens on view", "tokens in all"], rows, right=(1, 2, 3))


def _steps(steps: Sequence[int]) -> str:
    named = ", ".join(map(str, steps[-MOST_STEPS:]))
    return f"…, {named}" if len(steps) > MOST_STEPS else named


CONTEXT = Command("context", "/context [all]", "what takes room in the window, and what to do about it", _run)
