"""`/context`: what the next request holds, by part, by file and by result, and what to do about it.

Rule: it shows and changes nothing; numbers are tokens, and the parts add up to the whole, whatever is shown of
them. Every piece of advice names what it is about, its size, and what a person can do.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import bullets, code, joined, percentage, table
from holdfast.agents.outcomes import CommandAnswer
from holdfast.compaction.plan import CompactionPlan, plan_compaction
from holdfast.errors import ContextOverflow
from holdfast.numbers import counted, grouped
from holdfast.packing.folding.trigger import estimate_request
from holdfast.packing.pack import pack
from holdfast.packing.presence import STATES
from holdfast.packing.view import WindowView
from holdfast.packing.visibility import TextVisibility, Visibility, visibility_of
from holdfast.packing.window import Window
from holdfast.tools.mcp.tool_names import MCP_PREFIX
from holdfast.views import path


class WindowPart(Struct, frozen=True):
    name: str
    tokens: int


class FileSize(Struct, frozen=True):
    """What the window holds of one file, in all steps that read or wrote it."""

    path: str
    tokens: int
    size: int
    steps: tuple[int, ...]
    states: tuple[str, ...]


class WindowSizes(Struct, frozen=True):
    """`parts` are what the next request holds without the room for its reply, by our own count, which `counted`
    bounds. `used` is the same by the provider's reports. `rows` are results that belong to no file, the largest
    first."""

    parts: tuple[WindowPart, ...]
    used: int
    counted: int
    trigger: int
    window: int
    reply_room: int
    files: tuple[FileSize, ...]
    rows: tuple[TextVisibility, ...]
    visibility: Visibility

    @property
    def total(self) -> int:
        return sum(part.tokens for part in self.parts)


def measure_window(window: WindowView) -> WindowSizes:
    found = visibility_of(window)
    profile = window.profile
    others = sorted((row for row in found.rows if not row.path), key=lambda row: -row.tokens)
    return WindowSizes(
        parts=tuple(part for part in _window_parts(window) if part.tokens),
        used=max(0, estimate_request(window) - profile.reply_room),
        counted=window.total,
        trigger=profile.trigger,
        window=profile.window,
        reply_room=profile.reply_room,
        files=tuple(_file_sizes(row for row in found.rows if row.path)),
        rows=tuple(others),
        visibility=found,
    )


def _window_parts(window: WindowView) -> list[WindowPart]:
    transcript, count = window.transcript, window.counter
    pinned = [
        WindowPart("system prompt", count.text(transcript.system)),
        *(WindowPart(f"rules `{path}`", count.text(text)) for path, text in transcript.rules.items()),
        *(WindowPart(f"context `{key}`", count.text(text)) for key, text in transcript.contexts.items()),
    ]
    # What messages cost besides their texts belongs to the prompt, so that the parts add up.
    rest = max(0, window.stable.tokens - sum(part.tokens for part in pinned))
    pinned[0] = WindowPart(pinned[0].name, pinned[0].tokens + rest)
    # Our own tools, and those of MCP servers, which a person can remove.
    foreign = tuple(tool for tool in transcript.tools if tool.name.startswith(MCP_PREFIX))
    taken, own = count.tools(foreign), len(transcript.tools) - len(foreign)
    pinned += [
        WindowPart(f"definitions of {own} tools", window.stable.tool_tokens - taken),
        WindowPart(f"definitions of {len(foreign)} tools of MCP servers", taken),
    ]
    try:
        packed = pack(window)
    except ContextOverflow:
        # It does not fit until a fold is made; what it takes is known all the same.
        sizes = window.fixed_tokens
        steps = window.total - sum(sizes.values())
        return [*pinned, WindowPart("summary", sizes["summary"]), WindowPart("rounds", steps)]
    layer = packed.layer
    return [
        *pinned,
        WindowPart("summary", layer("summary").tokens),
        WindowPart("earlier rounds", layer("window").tokens),
        WindowPart("this round", layer("round").tokens),
        WindowPart("todo recap", layer("tail").tokens),
    ]


def _file_sizes(rows: Iterable[TextVisibility]) -> list[FileSize]:
    by_path: dict[str, list[TextVisibility]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    found = []
    for name, group in by_path.items():
        shown = [row for row in group if row.tokens] or group
        steps = tuple(dict.fromkeys(row.step for row in shown))
        states = tuple(dict.fromkeys(row.state for row in shown))
        tokens, size = sum(row.tokens for row in group), sum(row.size for row in group)
        found.append(FileSize(name, tokens, size, steps, states))
    return sorted(found, key=lambda file: (-file.tokens, -file.size, file.path))


LARGE_RESULT = 0.03
LARGE_FRAME = 0.15
NEAR_TRIGGER = 0.85
"""From which share of the window a result, or a fixed part, counts as large; and which share of the trigger counts
as near it."""


def give_advice(sizes: WindowSizes, plan: CompactionPlan | None) -> list[str]:
    """The most important advice first."""
    lines = []
    left = sizes.trigger - sizes.used - sizes.reply_room
    if left <= 0:
        lines.append("The trigger is reached: the next step folds first. Recall brings back what is folded.")
    elif sizes.used + sizes.reply_room >= NEAR_TRIGGER * sizes.trigger:
        lines.append(f"{grouped(left)} tokens are left until a fold.")
    row = max(sizes.visibility.rows, key=lambda one: one.tokens, default=None)
    if row is not None and row.tokens >= LARGE_RESULT * sizes.window:
        lines.append(
            f"{code(row.path or row.call[:80])} takes {grouped(row.tokens)} tokens in step {row.step}: it folds "
            f"when {grouped(sizes.trigger)} are reached, and {code(f'/recall {row.id}')} brings it back."
        )
    if lines and plan is None:
        lines.append("`/compact` has nothing to summarize yet: the newest steps stay as they are.")
    elif lines and plan:
        lines.append(
            f"`/compact now` would replace {counted(plan.steps, 'step')} of {grouped(plan.shown)} tokens by a "
            f"summary of at most {grouped(plan.budget)}."
        )
    stale = sizes.visibility.totals()["stale"].tokens
    if stale >= LARGE_RESULT * sizes.window:
        lines.append(
            f"{grouped(stale)} tokens show files as they were before an edit; a fold removes these first."
        )
    lines += _about_frame(sizes)
    return lines or ["Nothing needs doing: there is room."]


def _about_frame(sizes: WindowSizes) -> Iterator[str]:
    """Parts that are in every request and that no fold reduces."""
    for part in sizes.parts:
        if part.tokens < LARGE_FRAME * sizes.window:
            continue
        taken = f"{grouped(part.tokens)} tokens"
        if part.name.startswith("rules"):
            yield f"The {part.name} take {taken} of every request, never cut: shorten them."
        elif part.name.endswith("of MCP servers"):
            yield f"The {part.name} take {taken} of every request: leave out servers that are not needed."
        elif part.name == "summary":
            yield f"The summary takes {taken}: `/fork` keeps it, a new session has none."


MOST_ROWS = 8
"""How many files and results are listed; `/context all` lists all that take any room."""

MOST_STEPS = 4


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument not in ("", "all"):
        raise CONTEXT.unexpected(argument)
    # Off the event loop: measuring a large window takes a moment, and a screen must go on painting.
    sizes, plan = await asyncio.to_thread(_measure, coding)
    most = len(sizes.visibility.rows) if argument else MOST_ROWS
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


def _measure(coding: CodingSession) -> tuple[WindowSizes, CompactionPlan | None]:
    session = coding.session
    if coding.agent.is_running:
        # It works on the window in another thread: a second one is made from the log.
        window = Window(session.profile, session.window.counter, path(session.log.entries())).view()
    else:
        session.catch_up()
        window = session.window.view()
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
    rows = [
        [code(file.path), grouped(file.tokens), _steps(file.steps), ", ".join(file.states)]
        for file in files
        if file.tokens
    ]
    return _first_rows(["file", "tokens", "step", "state"], rows, most)


def _results(results: Sequence[TextVisibility], most: int) -> str:
    rows = [
        [code(row.call[:60]), grouped(row.tokens), str(row.step), row.state, code(row.id)]
        for row in results
        if row.tokens
    ]
    return _first_rows(["result", "tokens", "step", "state", "id"], rows, most)


def _first_rows(head: Sequence[str], rows: Sequence[Sequence[str]], most: int) -> str:
    left = len(rows) - most
    rest = f"and {counted(left, head[0])} more: `/context all`" if left > 0 else ""
    return joined(table(head, rows[:most], right=(1,)), rest)


def _states(sizes: WindowSizes) -> str:
    """How much of the tools' results is still visible."""
    totals = sizes.visibility.totals()
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
