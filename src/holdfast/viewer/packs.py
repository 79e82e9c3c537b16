"""Packs of a log, request by request: those that Holdfast sent, or would send under another profile.

Rule: nothing of packing is repeated here. The messages of a pack are looked up, by identity, in the view that it
was made from, and so get their step, their level and their cuts.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import ContextOverflow
from holdfast.events import Entry, Folded
from holdfast.messages import Message, ToolMessage
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.layers import Block, Pack
from holdfast.packing.log_walk import LogWalk
from holdfast.packing.pack import pack
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.blocks import BRIDGE
from holdfast.packing.view import WindowView
from holdfast.packing.window import Window
from holdfast.viewer.sent import LAYER_KINDS, BlockKind, RequestMark, SentBlock, layer_of
from holdfast.views.transcript import Item, Step, Transcript

ROOMY = 1 << 40
"""A budget that nothing is beyond: what was sent is shown even where it did not fit."""


class WindowContents(Struct, frozen=True):
    """A request before it is priced. `same` blocks, of `common` tokens, are those of the request before."""

    blocks: Callable[[], Sequence[SentBlock]]
    """Made when they are asked for: the lists of ten thousand requests are never needed at once."""
    layers: tuple[int, ...]
    round_start: int
    same: int
    common: int
    marks: tuple[RequestMark, ...] = ()


class PackWalk:
    def __init__(self, profile: Profile, counter: TokenCounter, *, plans_folds: bool) -> None:
        self._log_walk = LogWalk(Window(profile, counter))
        self._plans_folds = plans_folds
        self._before: tuple[Message, ...] = ()
        self._blocks: tuple[SentBlock, ...] = ()
        self._pinned: tuple[object, tuple[tuple[BlockKind, str], ...]] = (None, ())
        self._tools: object = ()
        self._is_folded = False
        """Whether levels may have changed since the request before, so that no block is known."""

    @property
    def transcript(self) -> Transcript:
        return self._log_walk.window.transcript

    def add(self, entry: Entry) -> None:
        self._is_folded = self._is_folded or isinstance(entry.event, Folded)
        # Not by the walk, which would plan folds of its own where the log has all that were made.
        if self._plans_folds:
            self._log_walk.add(entry)
        else:
            self._log_walk.window.add(entry)

    def contents(self) -> WindowContents:
        """The request that would be sent now."""
        marks = self._make_room() if self._plans_folds else []
        view = self._log_walk.window.view()
        packed, refused = _pack_whole(view)
        if refused:
            marks.append(RequestMark("overflow", refused))
        messages = packed.messages
        is_prefix_same = view.transcript.tools == self._tools
        same = same_start(self._before, messages) if is_prefix_same else 0
        known = () if self._is_folded else self._blocks[:same]
        blocks = (*known, *self._find(view, packed, len(known)))
        rounds = view.transcript.rounds
        round_start = rounds[-1] if rounds else 0
        common = packed.tool_tokens + sum(block.tokens for block in blocks[:same]) if same else 0
        self._before, self._blocks = messages, blocks
        self._tools, self._is_folded = view.transcript.tools, False
        layers = _layers(blocks, packed.tool_tokens, round_start)
        return WindowContents(lambda: blocks, layers, round_start, same, common, tuple(marks))

    def _make_room(self) -> list[RequestMark]:
        made = len(self._log_walk.folds)
        with suppress(ContextOverflow):
            # What no fold can make fit is said once, when it is packed.
            self._log_walk.make_room()
        new = self._log_walk.folds[made:]
        self._is_folded = self._is_folded or bool(new)
        return [
            RequestMark("fold", f"{f.reason}, {f.tokens_before:,} to {f.tokens_after:,} tokens") for f in new
        ]

    def _find(self, view: WindowView, packed: Pack, known: int) -> list[SentBlock]:
        """Blocks for the messages from number `known` on."""
        messages = packed.messages
        ends = list(accumulate(len(layer.messages) for layer in packed.layers))
        sought = {id(m) for m in messages[max(known, ends[1]) :] if m is not BRIDGE} - {
            id(m) for m in view.tail
        }
        found = _origins(view, sought)
        for user, rendered in zip(view.transcript.waiting_users, view.waiting, strict=True):
            found.update((id(m), _of_item(view, user, rendered, m)) for m in rendered.messages)
        stable = self._stable_parts(view) if known < ends[0] else ()
        summaries = _summary_entries(view, ends[1] - ends[0]) if known < ends[1] else ()
        count = view.counter.message
        blocks: list[SentBlock] = []
        for at in range(len(messages) - 1, known - 1, -1):
            message = messages[at]
            if at < ends[0]:
                kind, name = stable[at]
                block = SentBlock(kind, message, count(message), name=name)
            elif at < ends[1]:
                block = SentBlock("summary", message, count(message), summaries[at - ends[0]])
            elif message is BRIDGE:
                # In the layer of the message that it makes room for.
                block = SentBlock(
                    "bridge", message, count(message), position=blocks[-1].position if blocks else -1
                )
            else:
                block = found.get(id(message)) or SentBlock("tail", message, count(message))
            blocks.append(block)
        blocks.reverse()
        return blocks

    def _stable_parts(self, view: WindowView) -> tuple[tuple[BlockKind, str], ...]:
        """What each message of the stable layer is, with its name."""
        if self._pinned[0] is not view.stable:
            transcript = view.transcript
            texts = {
                "system": {"": transcript.system},
                "rules": transcript.rules,
                "context": transcript.contexts,
            }
            parts: list[tuple[BlockKind, str]] = [
                ("system", "") if kind == "system" else ("rules", f"{kind} {name}")
                for kind in view.profile.pinned_order
                for name, text in texts.get(kind, {}).items()
                if text.strip()
            ]
            self._pinned = (view.stable, tuple(parts))
        return self._pinned[1]


def _pack_whole(view: WindowView) -> tuple[Pack, str]:
    """The pack, and why it would have been refused, if so."""
    try:
        return pack(view), ""
    except ContextOverflow as error:
        roomy = replace(view.profile, window=ROOMY, stable_cap=0)
        return pack(replace(view, profile=roomy)), error.message


def same_start(before: Sequence[object], after: Sequence[object]) -> int:
    """How many messages or blocks two requests begin with, by halving: slices are compared in C."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _summary_entries(view: WindowView, count: int) -> tuple[str, ...]:
    """The archive entry of each message of the summary layer. The working state has none, nor has a message that
    holds several."""
    archive = [id_ for id_, archived in view.transcript.compactions.archive.items() if archived.text.strip()]
    state = view.transcript.compactions.state
    entries = [*archive, ""] if state and state.text.strip() else archive
    return tuple(entries) if len(entries) == count else ("",) * count


def _origins(view: WindowView, sought: set[int]) -> dict[int, SentBlock]:
    """The sought messages among items and notes, newest first: a request that only grew costs what is new."""
    found: dict[int, SentBlock] = {}
    for at in range(len(view.visible) - 1, -1, -1):
        if len(found) >= len(sought):
            break
        position = view.visible[at]
        item, block = view.transcript.items[position], view.blocks[position]
        for message in block.messages:
            if id(message) in sought:
                found[id(message)] = _of_item(view, item, block, message)
        if position in view.notes:
            note, placed = view.notes[position]
            for message in placed.messages:
                if id(message) in sought:
                    tokens, end = view.counter.message(message), view.positions.get(note.last, position)
                    found[id(message)] = SentBlock(
                        "note", message, tokens, note.first, position=position, end=end
                    )
    return found


def _of_item(view: WindowView, item: Item, block: Block, message: Message) -> SentBlock:
    tokens = view.counter.message(message)
    if not isinstance(item, Step):
        display = view.displays.get(item.entry)
        level = "full" if display is None else "brief" if display.brief else "clipped"
        return SentBlock(
            "user", message, tokens, item.entry, position=item.position, level=level, cuts=block.cuts
        )
    number, level = item.number + 1, view.levels[item.number][0]
    if isinstance(message, ToolMessage):
        entry = item.result_entries.get(message.call_id, item.entry)
        kind: BlockKind = "result"
        tool, call_id = message.name, message.call_id
    else:
        entry, kind, tool, call_id = item.entry, "assistant", "", ""
    cuts = tuple(cut for cut in block.cuts if cut.entry == entry)
    return SentBlock(kind, message, tokens, entry, number, item.position, tool, call_id, level, cuts)


def _layers(blocks: Sequence[SentBlock], tool_tokens: int, round_start: int) -> tuple[int, ...]:
    sums = dict.fromkeys(LAYER_KINDS, 0)
    sums["tools"] = tool_tokens
    for block in blocks:
        sums[layer_of(block, round_start)] += block.tokens
    return tuple(sums.values())
