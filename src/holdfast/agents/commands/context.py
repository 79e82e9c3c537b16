"""`/context`: what the next request holds, by part, by file and by result, and what to do about it.

Rule: it shows and changes nothing; numbers are tokens. Every piece of advice names what it is about, its size, and
what a person can do.
"""

import asyncio
from collections.abc import Iterator, Sequence

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand
from holdfast.agents.commands.context_sizes import FileSize, WindowSizes, measure_window
from holdfast.agents.commands.markdown import (
    bullets,
    code,
    counted,
    grouped,
    joined,
    percentage,
    table,
)
from holdfast.compaction.plan import CompactionPlan, plan_compaction
from holdfast.packing.presence import STATES
from holdfast.packing.view import WindowView
from holdfast.packing.visibility import TextVisibility
from holdfast.packing.window import Window
from holdfast.views import path


def readable_window(coding: CodingSession) -> WindowView:
    """The session's window, or while the agent works on it in another thread, a second one made from the log."""
    session = coding.session
    if not coding.agent.is_running:
        session.catch_up()
        return session.window.view()
    return Window(session.profile, session.window.counter, path(session.log.entries())).view()


LARGE_RESULT = 0.05
LARGE_FRAME = 0.15
NEAR_TRIGGER = 0.85
"""From which share of the window a result, or a fixed part, counts as large; and which share of the trigger counts
as near it."""


def give_advice(sizes: WindowSizes, plan: CompactionPlan | None) -> list[str]:
    """The most important advice first."""
    lines = [*_about_trigger(sizes), *_about_largest(sizes)]
    if lines:
        lines.append(_would(plan))
    lines += [*_about_stale(sizes), *_about_frame(sizes)]
    return lines or ["Nothing needs doing: there is room."]


def _about_trigger(sizes: WindowSizes) -> Iterator[str]:
    left = sizes.trigger - sizes.used - sizes.reply_room
    if left <= 0:
        yield "The trigger is reached: the next step folds first. Recall brings back what is folded."
    elif sizes.used + sizes.reply_room >= NEAR_TRIGGER * sizes.trigger:
        yield f"{grouped(left)} tokens are left until a fold."


def _about_largest(sizes: WindowSizes) -> Iterator[str]:
    row = max(sizes.ledger.rows, key=lambda one: one.tokens, default=None)
    if row is None or row.tokens < LARGE_RESULT * sizes.window:
        return
    yield (
        f"{_named(row)} takes {grouped(row.tokens)} tokens in step {row.step}: it folds when "
        f"{grouped(sizes.trigger)} are reached, and {code(f'/recall {row.id}')} brings it back."
    )


def _would(plan: CompactionPlan | None) -> str:
    if plan is None:
        return "`/compact` has nothing to summarize yet: the newest steps stay as they are."
    return (
        f"`/compact now` would replace {counted(plan.steps, 'step')} of {grouped(plan.shown)} tokens by a summary "
        f"of at most {grouped(plan.budget)}."
    )


def _about_stale(sizes: WindowSizes) -> Iterator[str]:
    stale = sizes.ledger.totals()["stale"]
    if stale.tokens >= LARGE_RESULT * sizes.window:
        yield (
            f"{grouped(stale.tokens)} tokens show files as they were before an edit; a fold removes these first."
        )


def _about_frame(sizes: WindowSizes) -> Iterator[str]:
    """Parts that are in every request and that no fold reduces."""
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
            yield f"The summary takes {grouped(part.tokens)} tokens: `/fork` keeps it, a new session has none."


def _named(row: TextVisibility) -> str:
    return code(row.path or row.call[:80])


MOST_ROWS = 8
"""How many files and results are listed; `/context all` lists all that take any room."""

MOST_STEPS = 4


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument not in ("", "all"):
        raise CONTEXT.unexpected(argument)
    # Off the event loop: measuring a large window takes a moment, and a screen must go on painting.
    sizes, plan = await asyncio.to_thread(_measured, coding)
    most = len(sizes.ledger.rows) if argument else MOST_ROWS
    return CommandAnswer(
        joined(
            _head(sizes),
            _parts(sizes),
            _files(sizes.files, most),
            _results(sizes.rows, most),
            _states(sizes),
            "**Advice**",
            bullets(give_advice(sizes, plan)),
        )
    )


def _measured(coding: CodingSession) -> tuple[WindowSizes, CompactionPlan | None]:
    window = readable_window(coding)
    return measure_window(window), plan_compaction(window, manual=True)


def _head(sizes: WindowSizes) -> str:
    text = (
        f"**Context**: {grouped(sizes.used)} tokens of a window of {grouped(sizes.window)} "
        f"({percentage(sizes.used, sizes.window)}); folds begin at {grouped(sizes.trigger)}, reply included."
    )
    if sizes.used > sizes.counted:
        text += f" That is what the provider reports; our own count, as below, is {grouped(sizes.total)}."
    return text


def _parts(sizes: WindowSizes) -> str:
    left = max(0, sizes.trigger - sizes.used - sizes.reply_room)
    sized = [(part.name, part.tokens) for part in sizes.parts]
    sized += [("room for the reply", sizes.reply_room), ("free until a fold", left)]
    rows = [[name, grouped(tokens), percentage(tokens, sizes.window)] for name, tokens in sized]
    return table(["part", "tokens", "of the window"], rows, right=(1, 2))


def _files(files: Sequence[FileSize], most: int) -> str:
    shown = [file for file in files if file.tokens]
    rows = [
        [code(file.path), grouped(file.tokens), _steps(file.steps), ", ".join(file.states)]
        for file in shown[:most]
    ]
    return _with_rest(table(["file", "tokens", "step", "state"], rows, right=(1,)), len(shown) - most, "file")


def _results(results: Sequence[TextVisibility], most: int) -> str:
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


def _states(sizes: WindowSizes) -> str:
    """How much of the tools' results is still visible."""
    totals = sizes.ledger.totals()
    rows = [
        [state, grouped(total.rows), grouped(total.tokens), grouped(total.size)]
        for state in STATES
        if (total := totals[state]).rows
    ]
    return table(["state", "results", "tokens visible", "tokens in all"], rows, right=(1, 2, 3))


def _steps(steps: Sequence[int]) -> str:
    named = ", ".join(map(str, steps[-MOST_STEPS:]))
    return f"…, {named}" if len(steps) > MOST_STEPS else named


CONTEXT = SlashCommand(
    "context", "/context [all]", "what takes room in the window, and what to do about it", _run
)
