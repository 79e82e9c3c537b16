"""What a request cost, and how much of it the provider had in its cache.

Rule: the provider's own usage where it reported one; else an estimate from what the request has in common with the
one before, as long as the model's cache lives. A model without a price costs None, never nothing.
"""

from msgspec import Struct

from holdfast.messages import Usage
from holdfast.models.catalogue import ModelEntry, price_table, request_cost
from holdfast.prices import PriceTable


class RequestPrice(Struct, frozen=True, gc=False):
    """`cached` is in our tokens."""

    cached: int
    is_reported: bool
    dollars: float | None


def price_request(
    known: ModelEntry | None,
    *,
    tokens: int,
    common: int,
    idle: float | None,
    completion: int,
    usage: Usage | None,
) -> RequestPrice:
    """`common` is what the request has in common with the one before, `idle` the seconds since, None without a
    clock."""
    if usage is not None and usage.prompt > 0:
        cached = round(tokens * min(usage.cache_read / usage.prompt, 1.0))
        return RequestPrice(cached, True, request_cost(known, usage) if known else None)
    usage = estimate_usage(known, tokens=tokens, common=common, idle=idle, completion=completion)
    return RequestPrice(usage.cache_read, False, request_cost(known, usage) if known else None)


def estimate_usage(
    known: ModelEntry | None, *, tokens: int, common: int, idle: float | None, completion: int
) -> Usage:
    """What the provider would report, in our tokens. Of a cache without a price nothing is known: it is taken to
    have all that is in common."""
    table = _table(known, tokens)
    if table is None:
        return Usage(tokens, completion, common)
    if table.life_seconds == 0 or tokens < table.minimum_tokens:
        return Usage(tokens, completion)
    cached = common if _is_warm(table, common, idle) else 0
    return Usage(tokens, completion, cached, tokens - cached)


def is_still_cached(known: ModelEntry | None, tokens: int, idle: float | None) -> bool:
    """Whether the cache has a request of so many tokens after so many seconds."""
    table = _table(known, tokens)
    return table is None or (table.life_seconds > 0 and _is_warm(table, tokens, idle))


def _table(known: ModelEntry | None, tokens: int) -> PriceTable | None:
    """None where there is no price, or one that says nothing of a cache: that of a model that costs nothing."""
    price = known.price_of(tokens) if known else None
    return price_table(known, prompt=tokens) if known and price and price.input else None


def _is_warm(table: PriceTable, tokens: int, idle: float | None) -> bool:
    return tokens >= table.minimum_tokens and (idle is None or idle <= table.life_seconds)
