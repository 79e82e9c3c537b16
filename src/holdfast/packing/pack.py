"""Packing: a window's view as layers of messages, with an account of everything left out.

Rule: pure. Same view, same bytes; and never over the limit, or ContextOverflow says why not.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from holdfast.errors import ContextOverflow
from holdfast.messages import AssistantMessage, Message, SystemMessage, UserMessage
from holdfast.numbers import grouped
from holdfast.packing.layers import LAYER_NAMES, Cut, Layer, Pack
from holdfast.packing.rendering.blocks import BRIDGE
from holdfast.packing.view import WindowView
from holdfast.views.transcript import Repair


def pack(view: WindowView) -> Pack:
    """What would be sent now. Folds are the caller's: see `plan_fold`."""
    tool_tokens = view.stable.tool_tokens
    _check_stable_cap(view, tool_tokens)
    layers = _layers(view)
    tokens = sum(layer.tokens for layer in layers) + tool_tokens
    profile = view.profile
    if tokens > profile.hard_limit:
        raise ContextOverflow(
            f"the pack takes {grouped(tokens)} tokens, and the budget leaves {grouped(profile.hard_limit)}",
            parts=view.floor_parts(tokens),
            budget=profile.window,
            hint="fold first, or raise the budget",
        )
    return Pack(
        layers=layers,
        tools=view.transcript.tools,
        tool_tokens=tool_tokens,
        tokens=tokens,
        budget=profile.window,
        limit=profile.hard_limit,
        trigger=profile.trigger,
        cut_groups=(*view.cut_groups, *(b.cuts for b in view.waiting), _repair_cuts(view)),
        notes=tuple(_note(repair, repair.entry) for repair in view.transcript.repairs),
    )


def rename_entries(pack: Pack, repairs: Iterable[Repair], ids: Mapping[str, str]) -> Pack:
    """The pack with other ids of entries: no message shows one, but the account of cuts and repairs does."""
    groups = (
        tuple(Cut(ids[c.entry], c.what, c.rule, c.before, c.after, ids.get(c.id, c.id)) for c in group)
        for group in pack.cut_groups
    )
    notes = tuple(_note(repair, ids[repair.entry]) for repair in repairs)
    return replace(pack, cut_groups=tuple(groups), notes=notes)


def _note(repair: Repair, entry: str) -> str:
    return f"{repair.rule}: {repair.detail} ({entry})"


def _check_stable_cap(view: WindowView, tool_tokens: int) -> None:
    cap, taken = view.profile.stable_cap, view.stable.tokens + tool_tokens
    if cap and taken > cap:
        raise ContextOverflow(
            f"the stable layer takes {grouped(taken)} tokens, and its cap is {grouped(cap)}",
            parts=view.stable_parts(),
            budget=view.profile.window,
            hint="raise `stable_cap`, or shorten the largest part",
        )


def _layers(view: WindowView) -> tuple[Layer, ...]:
    count = view.counter.messages
    rounds = view.transcript.rounds
    start = rounds[-1] if rounds else 0
    stable, summary, tail = view.stable, view.summary, view.tail
    recap: tuple[Message, ...] = ()
    if view.profile.todo_position == "before_steps":
        recap, tail = tail, ()
    before, before_tokens = _shown(view, 0, start)
    current, current_tokens = _shown(view, start, len(view.blocks))
    asked = next((i for i, m in enumerate(current) if not isinstance(m, UserMessage)), len(current))
    current[asked:asked] = recap
    current += [message for block in view.waiting for message in block.messages]
    current_tokens += sum(block.tokens for block in view.waiting)
    sizes = (stable.tokens, count(summary), before_tokens, current_tokens + count(recap), count(tail))
    bridge = count((BRIDGE,))
    layers: list[Layer] = []
    assistant_before = True
    for name, part, size in zip(
        LAYER_NAMES, (stable.messages, summary, before, current, tail), sizes, strict=True
    ):
        messages, assistant_before = _bridged(part, assistant_before)
        layers.append(Layer(name, messages, size + bridge * (len(messages) - len(part))))
    return tuple(layers)


def _shown(view: WindowView, start: int, end: int) -> tuple[list[Message], int]:
    messages: list[Message] = []
    tokens = 0
    first = bisect_left(view.visible, start)
    for position in view.visible[first : bisect_left(view.visible, end, first)]:
        if position in view.notes:
            note = view.notes[position][1]
            messages += note.messages
            tokens += note.tokens
        block = view.blocks[position]
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


def _repair_cuts(view: WindowView) -> tuple[Cut, ...]:
    """Entries that no block shows: empty messages, and results without a call."""
    silent = ("empty-user", "empty-assistant", "orphan-result")
    repairs = (*view.transcript.repairs, *view.transcript.unplaced.values())
    return tuple(
        Cut(r.entry, r.detail, r.rule, 0, 0, r.id or r.entry) for r in repairs if r.id or r.rule in silent
    )
