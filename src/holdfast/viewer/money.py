"""What the requests of a session cost, by what the money went for.

Rule: what the provider reported is never mixed up with what we estimate: every request says which of the two it is.
What a fold made be written again is always an estimate, since no provider reports it. A model without a price has
no dollars, which is not the same as none.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from holdfast.errors import NotFound
from holdfast.messages import Json, Usage, add_usage
from holdfast.models.catalogue import CostParts, ModelEntry, ModelLookup, Price, cost_parts, request_cost
from holdfast.viewer.block_changes import sent_again
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.request_price import estimate_usage, is_still_cached
from holdfast.viewer.sent import SentRequest, SideRequest

MoneyKind = Literal["reads", "writes", "plain", "output", "summaries"]
KINDS: tuple[MoneyKind, ...] = ("reads", "writes", "plain", "output", "summaries")
"""`plain` is input that was neither read from the cache nor written to it."""

FOLDS = ("fold", "compaction")
"""Marks of what changes text that was sent before."""

DIGITS = 9
"""Of dollars, behind the point: a token costs a ten-millionth at least."""


class MeasuredRequests(Struct, frozen=True):
    """Requests with all that money needs of them. `again` are the tokens of each, in ours, that a fold made be sent
    once more."""

    requests: Sequence[SentRequest]
    again: Sequence[int]
    sides: Sequence[SideRequest] = ()


class RequestBill(Struct, frozen=True, gc=False):
    """One request. `rewritten` tokens are part of those written and of the plain ones, and so are their dollars."""

    usage: Usage
    is_reported: bool
    rewritten: int
    parts: CostParts | None

    @property
    def plain(self) -> int:
        return max(0, self.usage.prompt - self.usage.cache_read - self.usage.cache_write)

    @property
    def dollars(self) -> float | None:
        return None if self.parts is None else sum(asdict(self.parts).values())

    @property
    def rewritten_dollars(self) -> float | None:
        uncached = self.usage.cache_write + self.plain
        if self.parts is None or not uncached:
            return None if self.parts is None else 0.0
        return (self.parts.writes + self.parts.plain) * self.rewritten / uncached


class SideSums(Struct, frozen=True):
    """Requests beside those of the timeline, added up. `dollars` leaves out the `unpriced` ones."""

    requests: int = 0
    usage: Usage = Usage(0)
    dollars: float = 0.0
    unpriced: int = 0
    unreported: int = 0

    @property
    def known_dollars(self) -> float | None:
        return self.dollars if self.requests > self.unpriced + self.unreported else None

    def plus(self, usage: Usage | None, known: ModelEntry | None) -> "SideSums":
        cost = request_cost(known, usage) if known and usage else None
        return SideSums(
            self.requests + 1,
            add_usage(self.usage, usage or Usage(0)),
            self.dollars + (cost or 0.0),
            self.unpriced + int(usage is not None and cost is None),
            self.unreported + int(usage is None),
        )


def measure_history(history: RequestHistory) -> MeasuredRequests:
    return MeasuredRequests(history.requests, sent_again_by_folds(history), history.side_requests)


def sent_again_by_folds(history: RequestHistory) -> list[int]:
    again = [0] * len(history.requests)
    for request in history.requests[1:]:
        if any(mark.kind in FOLDS for mark in request.marks):
            before, after = (
                [placed.block for placed in history.window(number)]
                for number in (request.number - 1, request.number)
            )
            again[request.number - 1] = sent_again(before, after, request.same_blocks)
    return again


def bill_requests(
    measured: MeasuredRequests, lookup: ModelLookup, *, is_estimate: bool = False
) -> list[RequestBill]:
    """The bill of every request. With `is_estimate` what was reported is left aside, so that sessions that were
    never sent can be compared with one that was."""
    bills: list[RequestBill] = []
    before = 0
    for request, again in zip(measured.requests, measured.again, strict=True):
        known = lookup(request.model)
        usage = request.usage if request.is_reported and not is_estimate else None
        billed = usage or estimate_usage(
            known,
            tokens=request.tokens,
            common=request.common,
            idle=request.idle,
            completion=request.completion,
        )
        rewritten = 0
        if again and request.tokens and is_still_cached(known, before, request.idle):
            # In the provider's tokens, as all that is billed.
            rewritten = min(
                round(again * billed.prompt / request.tokens), max(0, billed.prompt - billed.cache_read)
            )
        parts = cost_parts(known, billed) if known else None
        bills.append(RequestBill(billed, usage is not None, rewritten, parts))
        before = request.tokens
    return bills


def money_of(history: RequestHistory, lookup: ModelLookup) -> Json:
    """The money of a session. What is elsewhere in its log was paid for too."""
    bills = bill_requests(measure_history(history), lookup)
    summaries, others = split_sides(history.side_requests)
    tokens, dollars = _columns(bills, _by_request(summaries, len(bills), lookup))
    sides = add_sides(others, lookup)
    elsewhere = SideSums()
    for reply in history.elsewhere if history.basis != "preview" else ():
        elsewhere = elsewhere.plus(reply.usage, lookup(reply.model))
    return {
        "tokens": tokens,
        "dollars": {kind: [_rounded(amount) for amount in amounts] for kind, amounts in dollars.items()},
        "is_reported": [int(bill.is_reported) for bill in bills],
        "totals": {
            "tokens": {kind: sum(counts) for kind, counts in tokens.items()},
            "dollars": {kind: add_known(amounts) for kind, amounts in dollars.items()},
            "all": (shown := add_known(amount for kind in KINDS for amount in dollars[kind])),
            "session": add_known((shown, sides.known_dollars, elsewhere.known_dollars)),
        },
        "reported": _of(bills, lambda bill: bill.is_reported),
        "estimated": _of(bills, lambda bill: not bill.is_reported),
        "unpriced": sum(bill.parts is None for bill in bills),
        "summaries": len(summaries),
        "others": asdict(sides),
        "elsewhere": asdict(elsewhere),
    }


def fixed_prices(name: str, lookup: ModelLookup) -> ModelLookup:
    """Every request at the prices of one model."""
    chosen = lookup(name)
    if chosen is None or chosen.price is None:
        raise NotFound(f"the catalogue has no model `{name[:100]}` with a price")
    return lambda _: chosen


def price_words(price: Price) -> str:
    """Dollars for a million tokens, in words."""
    amounts = {
        "input": price.input,
        "output": price.output,
        "cache read": price.read,
        "cache write": price.write,
    }
    return ", ".join(f"{what} ${amount:g}" for what, amount in amounts.items())


def _columns(
    bills: Sequence[RequestBill], summaries: Sequence[SideSums]
) -> tuple[dict[str, list[int]], dict[str, list[float | None]]]:
    """Tokens and dollars of every request by kind, and of these what was written again."""
    tokens = {
        "reads": [bill.usage.cache_read for bill in bills],
        "writes": [bill.usage.cache_write for bill in bills],
        "plain": [bill.plain for bill in bills],
        "output": [bill.usage.completion for bill in bills],
        "summaries": [sums.usage.total for sums in summaries],
        "rewritten": [bill.rewritten for bill in bills],
    }
    paid = [asdict(bill.parts) if bill.parts else None for bill in bills]
    dollars: dict[str, list[float | None]] = {
        **{kind: [parts[kind] if parts else None for parts in paid] for kind in KINDS[:-1]},
        "summaries": [sums.known_dollars for sums in summaries],
        "rewritten": [bill.rewritten_dollars for bill in bills],
    }
    return tokens, dollars


def split_sides(sides: Iterable[SideRequest]) -> tuple[list[SideRequest], list[SideRequest]]:
    """Those that wrote a summary, and the others."""
    found: tuple[list[SideRequest], list[SideRequest]] = ([], [])
    for side in sides:
        found["summary" not in side.purpose].append(side)
    return found


def _by_request(sides: Iterable[SideRequest], requests: int, lookup: ModelLookup) -> list[SideSums]:
    """Summaries at the request that came next; those after the last at the last."""
    sums = [SideSums()] * requests
    for side in sides:
        if requests:
            at = min(side.before, requests) - 1
            sums[at] = sums[at].plus(side.usage, lookup(side.model))
    return sums


def add_sides(sides: Iterable[SideRequest], lookup: ModelLookup) -> SideSums:
    sums = SideSums()
    for side in sides:
        sums = sums.plus(side.usage, lookup(side.model))
    return sums


def _of(bills: Iterable[RequestBill], wanted: Callable[[RequestBill], bool]) -> Json:
    found = [bill for bill in bills if wanted(bill)]
    return {"requests": len(found), "dollars": add_known(bill.dollars for bill in found)}


def add_known(amounts: Iterable[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _rounded(amount: float | None) -> float | None:
    return round(amount, DIGITS) if amount else amount
