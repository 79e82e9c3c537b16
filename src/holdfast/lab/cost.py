"""What the requests of one recording cost: tokens in common with the request before, and the bill.

Rule: the cached part of a request is never longer than its longest common prefix, by token, with the request
just before it. A request is the token streams of its messages' texts, one after the other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.policy import ModelCall
from holdfast.lab.scored_message import MessageCounter, ScoredMessage
from holdfast.packing.counting.tokens import Tokenizer
from holdfast.prices import PriceTable

CHARACTERS_PER_TOKEN = 4
"""For tokenizers that cannot say which tokens a text has."""

REMEMBERED = 16
"""Encoded texts kept: what a request opens with is compared once as the new and once as the old one."""

T = TypeVar("T")


class BilledRequest(Struct, frozen=True):
    """A request measured against the one before. `common` is what they share, whether or not a cache still had it.

    `moved_tokens` and `moved_bytes` are what stood behind the common prefix in the request before: what was
    dropped or changed. Bytes are UTF-8, counted from the first character that differs.
    """

    tokens: int
    common: int
    moved_tokens: int
    moved_bytes: int
    cached: dict[str, int] = {}
    """By price table, once it is billed."""


class Bill:
    """The bill of one recording under one policy, in every price table at once.

    Units are the price of one uncached input token. `uncached` counts tokens of requests; the calls a policy
    makes on its own are in `dollars` only.
    """

    def __init__(self, counter: MessageCounter, tokenizer: Tokenizer, tables: Sequence[PriceTable]) -> None:
        self._tables = tables
        self._trail = PrefixTracker(counter, tokenizer)
        self._at: float | None = None
        self.dollars = {table.name: 0.0 for table in tables}
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
        step = self._trail.follow(request)
        cached = {table.name: cached_tokens(table, step.common, idle) for table in self._tables}
        for table in self._tables:
            hit = cached[table.name]
            made = sum(call.prompt + table.output * call.completion for call in calls)
            self.dollars[table.name] += request_price(table, step.tokens, hit) + made
            self.uncached[table.name] += step.tokens - hit
        return replace(step, cached=cached)

    def ref_charge(self, fetched_tokens: int, request_tokens: int) -> None:
        """Bill one more call, which follows a reference: the same request again, with the fetched text behind it.

        It comes at once, so the request is read from the cache and the fetched tokens are written to it:
        `read` × request + `write` × fetched; where the request is too short for a cache, what `charge` says of
        one without a hit. The few tokens in which the model asks for the text are left out, as are all replies.
        """
        for table in self._tables:
            hit = cached_tokens(table, request_tokens, 0.0)
            self.ref_dollars[table.name] += request_price(table, request_tokens + fetched_tokens, hit)


def cached_tokens(table: PriceTable, common: int, idle: float | None) -> int:
    """How much of a common prefix a cache gives back after so many idle seconds; None is no clock."""
    is_warm = table.life_seconds > 0 and (idle is None or idle <= table.life_seconds)
    return common if is_warm and common >= table.minimum_tokens else 0


def request_price(table: PriceTable, tokens: int, cached: int) -> float:
    if table.life_seconds == 0 or tokens < table.minimum_tokens:
        return float(tokens)
    return table.read * cached + table.write * (tokens - cached)


class PrefixTracker:
    """Requests in order, each compared with the one before. Messages that are the same are not read again."""

    def __init__(self, counter: MessageCounter, tokenizer: Tokenizer) -> None:
        self._counter = counter
        encode: Callable[[str], list[int]] | None = getattr(tokenizer, "ids", None)
        self._ids = lru_cache(REMEMBERED)(encode) if encode else None
        self._before: list[ScoredMessage] = []
        self._sizes: list[int] = []

    def follow(self, request: Sequence[ScoredMessage]) -> BilledRequest:
        # Ids of calls included: where only an id differs, which is not sent, the comparison by text goes on.
        pairs = zip(self._before, request, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
        head = sum(self._sizes[:same])
        sizes = self._sizes[:same] + [self._counter.message(scored) for scored in request[same:]]
        common, kept = self._inside(self._before[same:], request[same:])
        moved = sum(_size(text) for text in _texts(self._before[same:])) - kept
        step = BilledRequest(sum(sizes), head + common, sum(self._sizes) - head - common, moved)
        self._before, self._sizes = list(request), sizes
        return step

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
                common += _common_ids(
                    map(self._ids, chain((old,), old_texts)), map(self._ids, chain((new,), new_texts))
                )
            break
        return common, kept


def _common_ids(before: Iterator[list[int]], after: Iterator[list[int]]) -> int:
    """Tokens that two streams share from their start. A stream has no seams: where one text ends early, its
    successor goes on against the rest of the other."""
    common = 0
    old: list[int] | None = []
    new: list[int] | None = []
    while True:
        while old is not None and not old:
            old = next(before, None)
        while new is not None and not new:
            new = next(after, None)
        if old is None or new is None:
            return common
        shared = _shared(old, new)
        common += shared
        if shared < min(len(old), len(new)):
            return common
        old, new = old[shared:], new[shared:]


def _shared(one: Sequence[T], other: Sequence[T]) -> int:
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
