"""Texts as they lie in a store: compressed by zstd where that pays.

Rule: what was stored is read back byte for byte. A text that is short, or hardly gets smaller, stays as it is; one
whose bytes were damaged reads as `DAMAGED`, so that the rest stays readable and `verify` finds it by its id.
"""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SHORTEST = 512
"""Characters below which a text stays as it is: single lines hardly get smaller."""
WORTH = 0.8
"""The share of its bytes that a compressed text may take."""
DAMAGED = "\ufffd"


def packed(text: str) -> str | bytes:
    if len(text) < SHORTEST:
        return text
    plain = text.encode()
    small = zstd.compress(plain)
    return small if len(small) < WORTH * len(plain) else text


def unpacked(stored: str | bytes) -> str:
    if isinstance(stored, str):
        return stored
    try:
        return zstd.decompress(stored).decode()
    except (zstd.ZstdError, UnicodeDecodeError):
        return DAMAGED
