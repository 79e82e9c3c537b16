"""The bill: what the requests of one recording cost under one policy, and what the money went for.

Rule: the cached part of a request is never longer than its longest common prefix, by token, with the request just
before it. A request is the token streams of its messages' texts, one after the other. Every dollar is paid for one
of four things: reading what is cached, writing what is new, writing again what was sent before, or a model call
that the policy makes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.policy import ModelCall
from holdfast.lab.results import DollarParts
from holdfast.lab.scored_message import MessageCounter, ScoredMessage
from holdfast.packing.counting.tokens import Tokenizer
from holdfast.prices import PriceTable

CHARACTERS_PER_TOKEN = 4
"""For tokenizers that cannot say which tokens a text has."""

REMEMBERED = 16
"""Encoded texts kept: what a request opens with is compared once as the new and once as the old one."""


class BilledRequest(Struct, frozen=True):
    """A request measured against the one before. `common` is what they share, whether or not a cache still had it.

    `moved_tokens` and `moved_bytes` are what came after the common prefix in the request before: what was
    dropped or changed. Bytes are UTF-8, counted from the first character that differs.
    """

    tokens: int
    common: int
    moved_tokens: int
    moved_bytes: int
    again: int = 0
    """Tokens after the common prefix that had been sent before."""
    cached: dict[str, int] = {}
    """By price table, once it is billed."""


class Bill:
    """The bill of one recording under one policy, in every price table at once.

    Units are the price of one uncached input token. `uncached` counts tokens of requests; the calls a policy
    makes on its own are in `dollars` only.
    """

    def __init__(self, counter: MessageCounter, tokenizer: Tokenizer, tables: Sequence[PriceTable]) -> None:
        self._tables = tables
        self._tracker = PrefixTracker(counter, tokenizer)
        self._at: float | None = None
        self.dollars = {table.name: 0.0 for table in tables}
        self.parts = {table.name: DollarParts() for table in tables}
        """The same dollars by what they were paid for."""
        self.uncached = {table.name: 0 for table in tables}
        self.ref_dollars = {table.name: 0.0 for table in tables}
        """What following references would cost on top of `dollars`."""

    def charge(
        self, request: Sequence[ScoredMessage], at: float | None, calls: Sequence[ModelCall] = ()
    ) -> BilledRequest:
        """Bill a request sent at a time, None where there is no clock, and the model calls that made it.

        Cached is the common prefix if it has the table's minimum and the cache still lives; without a clock it
        does. A request of the minimum or more costs `read` a cached token and `write` any other; a shorter one,
        which no provider caches, costs 1 a token. Model calls cost 1 a token of prompt and `output` a token of
        completion.
        """
        idle = None if at is None or self._at is None else at - self._at
        self._at = at
        step = self._tracker.follow(request)
        cached = {table.name: cached_tokens(table, step.common, idle) for table in self._tables}
        for table in self._tables:
            hit = cached[table.name]
            call_price = sum(call.prompt + table.output * call.completion for call in calls)
            self.dollars[table.name] += request_price(table, step.tokens, hit) + call_price
            self.parts[table.name] += _parts(table, step, hit, call_price)
            self.uncached[table.name] += step.tokens - hit
        return replace(step, cached=cached)

    def ref_charge(self, fetched_tokens: int, request_tokens: int) -> None:
        """Bill one more call, which follows a reference: the same request again, with the fetched text after it.

        It comes at once, so the request is read from the cache and the fetched tokens are written to it:
        `read` × request + `write` × fetched; where the request is too short for a cache, what `charge` says of
        one without a hit. The few tokens in which the model asks for the text are left out, as are all replies.
        """
        for table in self._tables:
            hit = cached_tokens(table, request_tokens, 0.0)
            self.ref_dollars[table.name] += request_price(table, request_tokens + fetched_tokens, hit)


def cached_tokens(table: PriceTable, common: int, idle: float | None) -> int:
    """How much of a common prefix a cache gives back after some idle seconds; None is no clock."""
    is_warm = table.life_seconds > 0 and (idle is None or idle <= table.life_seconds)
    return common if is_warm and common >= table.minimum_tokens else 0


def request_price(table: PriceTable, tokens: int, cached: int) -> float:
    if table.life_seconds == 0 or tokens < table.minimum_tokens:
        return float(tokens)
    return table.read * cached + table.write * (tokens - cached)


def _parts(table: PriceTable, step: BilledRequest, cached: int, call_price: float) -> DollarParts:
    """What is common and not cached had been sent before too: the cache was cold, or the request is too short."""
    again = step.again + step.common - cached
    writes = request_price(table, step.tokens, cached) - table.read * cached
    uncached = step.tokens - cached
    rewrites = writes * again / uncached if uncached else 0.0
    return DollarParts(table.read * cached, writes - rewrites, rewrites, call_price)


class SentText:
    """What was sent so far. A message that is sent in another form, or a note about several, was sent before as far
    as its lines were; a call and its result were if any form of them was."""

    def __init__(self) -> None:
        self._messages: dict[ScoredMessage, None] = {}
        self._calls: set[tuple[str, str]] = set()
        self._lines: set[int] = set()
        """Hashes, since these are many."""
        self._read = 0
        """Messages whose calls and lines are known: they are looked at only where a prefix changes."""

    def add(self, request: Sequence[ScoredMessage]) -> None:
        self._messages.update(dict.fromkeys(request))

    def share(self, scored: ScoredMessage) -> float:
        """How much of a message had been sent before, by characters."""
        if scored in self._messages:
            return 1.0
        self._read_messages()
        if calls := _call_ids(scored):
            return float(not self._calls.isdisjoint(calls))
        lines = scored.text.split("\n")
        size = sum(map(len, lines))
        return sum(len(line) for line in lines if hash(line) in self._lines) / size if size else 0.0

    def _read_messages(self) -> None:
        if self._read < len(self._messages):
            for scored in islice(self._messages, self._read, None):
                self._calls.update(_call_ids(scored))
                self._lines.update(hash(line) for text in scored.texts[1:] for line in text.split("\n"))
            self._read = len(self._messages)


def _call_ids(scored: ScoredMessage) -> list[tuple[str, str]]:
    """The call that a message answers, or those it makes; none where a recorder gave them no ids."""
    ids = [scored.answers] if scored.role == "tool" else [call.id for call in scored.calls]
    return [(scored.role, id_) for id_ in ids if id_]


class PrefixTracker:
    """Requests in order, each compared with the one before. Messages that are the same are not read again."""

    def __init__(self, counter: MessageCounter, tokenizer: Tokenizer) -> None:
        self._counter = counter
        encode: Callable[[str], list[int]] | None = getattr(tokenizer, "ids", None)
        self._ids = lru_cache(REMEMBERED)(encode) if encode else None
        self._before: list[ScoredMessage] = []
        self._sizes: list[int] = []
        self._sent = SentText()

    def follow(self, request: Sequence[ScoredMessage]) -> BilledRequest:
        # Ids of calls included: where only an id differs, which is not sent, the comparison by text goes on.
        pairs = zip(self._before, request, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
        head = sum(self._sizes[:same])
        sizes = self._sizes[:same] + [self._counter.message(scored) for scored in request[same:]]
        common, kept = self._inside(self._before[same:], request[same:])
        moved = sum(_size(text) for text in _texts(self._before[same:])) - kept
        # What follows all of the request before is new, whatever it says.
        is_longer = bool(self._before) and same == len(self._before)
        again = 0 if is_longer else self._again(request[same:], sizes[same:], common)
        self._sent.add(request[same:])
        step = BilledRequest(sum(sizes), head + common, sum(self._sizes) - head - common, moved, again)
        self._before, self._sizes = list(request), sizes
        return step

    def _again(self, messages: Sequence[ScoredMessage], sizes: Sequence[int], common: int) -> int:
        """Tokens of messages, but for the first `common`, that had been sent before."""
        again = 0.0
        for scored, size in zip(messages, sizes, strict=True):
            shared = min(common, size)
            common -= shared
            if size > shared:
                again += (size - shared) * self._sent.share(scored)
        return round(again)

    def _inside(self, before: Sequence[ScoredMessage], after: Sequence[ScoredMessage]) -> tuple[int, int]:
        """Tokens and bytes in common from the first message that differs."""
        old_texts, new_texts = _texts(before), _texts(after)
        common = kept = 0
        for old, new in zip(old_texts, new_texts, strict=False):
            if old == new:
                common += self._counter.text(old)
                kept += _size(old)
                continue
            shared = _shared(old, new)
            kept += _size(old[:shared])
            if self._ids is None:
                common += shared // CHARACTERS_PER_TOKEN
            else:
                # By token. A stream has no seams: where one text ends early, its successor goes on against the rest
                # of the other.
                rests = (chain((old,), old_texts), chain((new,), new_texts))
                tokens = (chain.from_iterable(map(self._ids, rest)) for rest in rests)
                same = takewhile(lambda pair: pair[0] == pair[1], zip(*tokens, strict=False))
                common += sum(1 for _ in same)
            break
        return common, kept


def _shared(one: str, other: str) -> int:
    """Length of the common prefix, by halving: slices are compared in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _texts(request: Iterable[ScoredMessage]) -> Iterator[str]:
    return (text for scored in request for text in scored.texts)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
