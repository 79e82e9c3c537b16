"""The floor: every part that may not be cut, with its size, for the error that names them."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from holdfast.errors import ContextOverflow
from holdfast.messages import AssistantMessage, Message, SystemMessage, UserMessage
from holdfast.packing.layers import LAYER_NAMES, Cut, Layer, Pack
from holdfast.packing.rendering.blocks import BRIDGE
from holdfast.packing.window import Window
from holdfast.views.transcript import User


def floor_parts(window: Window, room: Callable[[int], int]) -> tuple[tuple[str, int], ...]:
    """(name, tokens) of the pinned parts, of user text and of steps, largest first.

    `room` gives what the item at a position takes after all that could go is gone.
    """
    count, transcript = window.scene.counter, window.transcript
    users = sum(room(i.position) for i in transcript.items if isinstance(i, User))
    parts = {
        "system prompt": count.text(transcript.system),
        "tool definitions": window.tool_tokens,
        **{f"rules {path}": count.text(text) for path, text in transcript.rules.items()},
        **{f"context {key}": count.text(text) for key, text in transcript.contexts.items()},
        "summary": count.messages(window.summary()),
        "todo recap": count.messages(window.tail()),
        "user messages": users,
        "steps": sum(room(s.position) for s in transcript.steps),
    }
    return tuple(sorted(((n, t) for n, t in parts.items() if t), key=lambda p: (-p[1], p[0])))


# Packing: the window as layers of messages, with an account of everything left out.
#
# Rule: pure. Same log, same profile, same bytes; and never over the limit, or ContextOverflow says why not.


def pack(window: Window) -> Pack:
    """What would be sent now. Folds are the caller's: see `plan_fold`."""
    window.refresh()
    tool_tokens = window.tool_tokens
    _check_stable_cap(window, tool_tokens)
    layers = _layers(window)
    tokens = sum(layer.tokens for layer in layers) + tool_tokens
    profile = window.profile
    if tokens > profile.hard_limit:
        raise ContextOverflow(
            f"the pack takes {tokens} tokens, and the budget leaves {profile.hard_limit}",
            parts=floor_parts(window, lambda position: window.blocks[position].room),
            budget=profile.window,
            hint="fold first, or raise the budget",
        )
    return Pack(
        layers=layers,
        tools=window.transcript.tools,
        tool_tokens=tool_tokens,
        tokens=tokens,
        budget=profile.window,
        limit=profile.hard_limit,
        trigger=profile.trigger,
        cut_groups=(*window.cut_groups, *(b.cuts for b in window.waiting()), _repair_cuts(window)),
        notes=tuple(f"{r.rule}: {r.detail} ({r.entry})" for r in window.transcript.repairs),
    )


def _check_stable_cap(window: Window, tool_tokens: int) -> None:
    cap, taken = window.profile.stable_cap, window.stable[1] + tool_tokens
    if cap and taken > cap:
        raise ContextOverflow(
            f"the stable layer takes {taken} tokens, and its cap is {cap}",
            parts=floor_parts(window, lambda position: window.blocks[position].room),
            budget=window.profile.window,
            hint="raise `stable_cap`, or shorten the largest part",
        )


def _layers(window: Window) -> tuple[Layer, ...]:
    count = window.scene.counter.messages
    rounds = window.transcript.rounds
    start = rounds[-1] if rounds else 0
    stable, stable_tokens = window.stable
    summary, tail = window.summary(), window.tail()
    recap: tuple[Message, ...] = ()
    if window.profile.todo_position == "before_steps":
        recap, tail = tail, ()
    before, before_tokens = _shown(window, 0, start)
    current, current_tokens = _shown(window, start, len(window.blocks))
    asked = next((i for i, m in enumerate(current) if not isinstance(m, UserMessage)), len(current))
    current[asked:asked] = recap
    waiting = window.waiting()
    current += [message for block in waiting for message in block.messages]
    current_tokens += sum(block.tokens for block in waiting)
    sizes = (stable_tokens, count(summary), before_tokens, current_tokens + count(recap), count(tail))
    bridge = count((BRIDGE,))
    layers: list[Layer] = []
    assistant_before = True
    for name, part, size in zip(LAYER_NAMES, (stable, summary, before, current, tail), sizes, strict=True):
        messages, assistant_before = _bridged(part, assistant_before)
        layers.append(Layer(name, messages, size + bridge * (len(messages) - len(part))))
    return tuple(layers)


def _shown(window: Window, start: int, end: int) -> tuple[list[Message], int]:
    messages: list[Message] = []
    tokens = 0
    first = bisect_left(window.visible, start)
    for position in window.visible[first : bisect_left(window.visible, end, first)]:
        if position in window.notes:
            note = window.notes[position][1]
            messages += note.messages
            tokens += note.tokens
        block = window.blocks[position]
        messages += block.messages
        tokens += block.tokens
    return messages, tokens


def _bridged(part: Sequence[Message], assistant_before: bool) -> tuple[tuple[Message, ...], bool]:
    """The messages with a bridge where an assistant message would follow another, or come first of all."""
    out: list[Message] = []
    for message in part:
        speaks = isinstance(message, AssistantMessage)
        if speaks and assistant_before:
            out.append(BRIDGE)
        if not isinstance(message, SystemMessage):
            assistant_before = speaks
        out.append(message)
    return tuple(out), assistant_before


def _repair_cuts(window: Window) -> tuple[Cut, ...]:
    """Entries that no block shows: empty messages, and results without a call."""
    silent = ("empty-user", "empty-assistant", "orphan-result")
    repairs = (*window.transcript.repairs, *window.transcript.unplaced.values())
    return tuple(
        Cut(r.entry, r.detail, r.rule, 0, 0, r.id or r.entry) for r in repairs if r.id or r.rule in silent
    )
