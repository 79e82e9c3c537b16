"""A client's own list of messages, request by request, as a recording or a watching gateway has it.

Rule: the list only grows until the client compacts it, so a request is a part of one list that all share. What a
client left out without a word is not known, and nothing is guessed.
"""

from itertools import accumulate

from msgspec.structs import replace

from holdfast.events import BoundarySeen, ContextSet, Entry, RulesSet, SystemSet, ToolsSet
from holdfast.messages import Message, SystemMessage, Text, ToolDefinition, UserMessage, joined_text
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.viewer.packs import WindowContents, same_start
from holdfast.viewer.sent import BlockKind, SentBlock
from holdfast.views.frozen_list import FrozenList
from holdfast.views.transcript import Item, Step, Transcript, User


class ClientListWalk:
    def __init__(self, counter: TokenCounter) -> None:
        self.transcript = Transcript()
        self._counter = counter
        self._body: list[SentBlock] = []
        self._sums = [0]
        """Tokens of the list up to each block."""
        self._round_at = 0
        """The block that opens the current round."""
        self._items = 0
        """How many items of the transcript are in the list."""
        self._start = 0
        """The first block that the client still sends."""
        self._head: tuple[SentBlock, ...] = ()
        self._is_head_known = False
        self._tools: tuple[ToolDefinition, ...] = ()
        self._is_list_same = True
        """Whether the list is still the one of the request before: not after the client compacted it."""
        self._summary, self._summary_entry = "", ""
        self._before = 0
        """Blocks of the request before that keep their place, those that wait not among them."""
        self._tool_tokens = 0

    def add(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, BoundarySeen) and _is_compaction(event):
            self._take_in()
            self._start = len(self._body)
            if event.summary:
                self._summary, self._summary_entry = event.summary, entry.id
            self._is_head_known = self._is_list_same = False
        elif isinstance(event, SystemSet | RulesSet | ContextSet | ToolsSet):
            self._is_head_known = False
        self.transcript.add(entry)

    def contents(self) -> WindowContents:
        """The request that would be sent now."""
        self._take_in()
        same = self._renew_head()
        waiting = tuple(self._block("user", user.message, user) for user in self.transcript.waiting_users)
        round_at = max(self._round_at, self._start)
        fixed = {kind: sum(b.tokens for b in self._head if b.kind == kind) for kind in _FIXED}
        steps = self._sums[round_at] - self._sums[self._start]
        current = self._sums[-1] - self._sums[round_at] + sum(block.tokens for block in waiting)
        layers = (self._tool_tokens, fixed["system"], fixed["rules"], fixed["summary"], 0, steps, current, 0)
        common = self._tool_tokens if same else 0
        common += sum(block.tokens for block in self._head[:same])
        if same > len(self._head):
            common += self._sums[self._start + same - len(self._head)] - self._sums[self._start]
        # What waits gets another place when the results are in.
        self._before = len(self._head) + len(self._body) - self._start
        parts = self._head, FrozenList(self._body), self._start, waiting
        rounds = self.transcript.rounds
        return WindowContents(lambda: _joined(*parts), layers, rounds[-1] if rounds else 0, same, common)

    def _renew_head(self) -> int:
        """Read what comes before the list again if it was set; how many blocks are those of the request before."""
        if self._is_head_known:
            return self._before
        before, tools = self._head, self._tools
        self._head, self._tools = self._fixed(), self.transcript.tools
        self._tool_tokens = self._counter.tools(self._tools)
        is_list_same, self._is_head_known, self._is_list_same = self._is_list_same, True, True
        if self._tools != tools:
            return 0
        if is_list_same and self._head == before:
            return self._before
        return min(
            same_start(*([block.message for block in head] for head in (before, self._head))), self._before
        )

    def _take_in(self) -> None:
        """Add the items that came since, which no later entry changes."""
        rounds = self.transcript.rounds
        for item in self.transcript.items[self._items :]:
            if rounds and item.position == rounds[-1]:
                self._round_at = len(self._body)
            blocks = self._blocks(item)
            self._body += blocks
            self._sums += list(accumulate((b.tokens for b in blocks), initial=self._sums[-1]))[1:]
        self._items = len(self.transcript.items)

    def _blocks(self, item: Item) -> list[SentBlock]:
        if isinstance(item, User):
            return [self._block("user", item.message, item)]
        assert isinstance(item, Step)
        answers = (
            SentBlock(
                "result",
                answer,
                self._counter.message(answer),
                item.result_entries.get(answer.call_id, item.entry),
                item.number + 1,
                item.position,
                answer.name,
                answer.call_id,
                "full",
            )
            for answer in item.answers()
        )
        return [self._block("assistant", item.message, item), *answers]

    def _block(self, kind: BlockKind, message: Message, item: Item | None = None) -> SentBlock:
        tokens = self._counter.message(message)
        if item is None:
            return SentBlock(kind, message, tokens)
        step = item.number + 1 if isinstance(item, Step) else 0
        return SentBlock(kind, message, tokens, item.entry, step, item.position, level="full")

    def _fixed(self) -> tuple[SentBlock, ...]:
        transcript = self.transcript
        texts: list[tuple[BlockKind, str, str]] = [
            ("system", "", transcript.system),
            *(("rules", f"rules {path}", text) for path, text in transcript.rules.items()),
            *(("rules", f"context {key}", text) for key, text in transcript.contexts.items()),
        ]
        found = [
            replace(self._block(kind, SystemMessage(text)), name=name)
            for kind, name, text in texts
            if text.strip()
        ]
        if self._summary.strip() and not self._repeats_summary():
            block = self._block("summary", UserMessage((Text(self._summary),)))
            found.append(replace(block, entry=self._summary_entry))
        return tuple(found)

    def _repeats_summary(self) -> bool:
        """Whether the list has the summary as a message, as some clients record it."""
        first = self._body[self._start : self._start + 3]
        return any(
            isinstance(block.message, UserMessage)
            and self._summary.strip() in joined_text(block.message.parts)
            for block in first
        )


_FIXED: tuple[BlockKind, ...] = ("system", "rules", "summary")


def _joined(
    head: tuple[SentBlock, ...], body: FrozenList[SentBlock], start: int, waiting: tuple[SentBlock, ...]
) -> list[SentBlock]:
    return [*head, *body[start:], *waiting]


def _is_compaction(event: BoundarySeen) -> bool:
    """Whether the client began a new list. A small compaction only empties some results, and says not which."""
    return "compact" in event.kind and "micro" not in event.kind
