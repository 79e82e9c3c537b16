"""Numbers of tokens as people write them.

Rule: k and M are powers of ten, as in providers' own lists of models; what is no whole number is refused.
"""

import re
from decimal import Decimal

from holdfast.errors import ConfigError

_AMOUNT = re.compile(
    r"([0-9]{1,12}(?:_[0-9]{1,12}){0,4}(?:\.[0-9]{1,6})?)\s?([km]?)", re.IGNORECASE | re.ASCII
)
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_tokens(amount: int | str) -> int:
    """`32k`, `1.5k`, `1M`, `200_000` or a plain number, as a number of tokens."""
    if isinstance(amount, int) and not isinstance(amount, bool) and amount >= 0:
        return amount
    match = _AMOUNT.fullmatch(amount.strip()) if isinstance(amount, str) else None
    if match is not None:
        tokens = Decimal(match[1].replace("_", "")) * _UNITS[match[2].lower()]
        if tokens == int(tokens):
            return int(tokens)
    raise ConfigError(
        f"`{str(amount)[:40]}` is not a number of tokens", hint="write it like `32k`, `1M` or `200_000`"
    )
