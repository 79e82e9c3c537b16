"""What a request cost, and how much of it the provider had in its cache.

Rule: the provider's own usage where it reported one; else an estimate from what the request has in common with the
one before, as long as the model's cache lives. A model without a price costs None, never nothing.
"""

from msgspec import Struct

from holdfast.messages import Usage
from holdfast.models.catalogue import ModelEntry, price_table, request_cost


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
    cached = written = 0
    if known is None or known.price is None:
        return RequestPrice(common, False, None)
    table = price_table(known, prompt=tokens)
    if table.life_seconds > 0 and tokens >= table.minimum_tokens:
        is_warm = common >= table.minimum_tokens and (idle is None or idle <= table.life_seconds)
        cached = common if is_warm else 0
        written = tokens - cached
    return RequestPrice(cached, False, request_cost(known, Usage(tokens, completion, cached, written)))
