"""What a reply costs, in dollars, by the catalogue's prices.

Rule: what is not known is None, never 0: a price that nobody wrote down must not look like a free model.
"""

from holdfast.messages import Usage
from holdfast.models.catalogue import Entry

MILLION = 1_000_000


def bill(entry: Entry, usage: Usage) -> float | None:
    """Dollars of one request. What was read from and written to the cache is part of `usage.prompt`."""
    price = entry.price_of(usage.prompt)
    if price is None:
        return None
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    plain = max(0, usage.prompt - usage.cache_read - usage.cache_write)
    dollars = plain * price.input + usage.cache_read * read + usage.cache_write * write
    return (dollars + usage.completion * price.output) / MILLION
