"""Ids: one id space for texts (`a…`) and log entries (`e…`), derived from content alone.

Rule: an id never depends on a clock, a machine or a process, so the same log gives the same ids anywhere.
"""

from hashlib import blake2b
from itertools import product

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = ["".join(pair)[::-1] for pair in product(ALPHABET, repeat=2)]
LENGTH = 12
"""Sixty bits: a million texts in one store collide with a chance of about 4 in 10 million."""


def text_id(text: str) -> str:
    """The id under which a text is stored and recalled."""
    return "a" + _short(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def entry_id(log: str, seq: int, parent: str | None, body: bytes) -> str:
    """The id of a log entry: chained to its parent, so equal ids mean equal histories."""
    head = f"{log}\0{seq}\0{parent or ''}\0".encode()
    return "e" + _short(blake2b(head + body, digest_size=8).digest())


def is_id(text: str) -> bool:
    return len(text) == LENGTH + 1 and text[0] in "ae" and all(c in ALPHABET for c in text[1:])


def _short(digest: bytes) -> str:
    number = int.from_bytes(digest, "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(0, 5 * LENGTH, 10)])
