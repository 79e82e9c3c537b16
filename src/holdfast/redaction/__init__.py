"""What may never be written: secrets, found and replaced by `<REDACTED>` before anything reaches a disk.

Rule: only the secret changes. Everything else, every line break included, stays byte for byte, and redacting twice
is redacting once.

Ids, hashes, UUIDs, paths and references to secrets (`$TOKEN`, `os.environ["API_KEY"]`) are not secrets.
"""

from collections.abc import Iterator

from holdfast.redaction.assignments import find_assignments
from holdfast.redaction.blocks import find_blocks
from holdfast.redaction.carriers import RULES, find_cookies
from holdfast.redaction.found import MARK, Found
from holdfast.redaction.names import strength, words
from holdfast.redaction.runs import long_runs
from holdfast.redaction.second_net import find_by_kingfisher, missing_because
from holdfast.redaction.shapes import DOTTED, find_shapes
from holdfast.redaction.values import Style, is_secret, is_type

__all__ = ["MARK", "Found", "find_secrets", "missing_because", "redact", "redact_value"]

_HEADERS = frozenset(("authorization", "cookie"))


def redact(text: str, *, second_net: bool = True) -> str:
    """The text with every secret replaced. `second_net=False` leaves kingfisher out: own rules only."""
    while found := find_secrets(text, second_net=second_net):
        # Again until nothing is found: a replaced secret can change how its neighbours read. Each pass leaves
        # fewer characters outside the marks, so this ends; a text without secrets costs one pass.
        text = _replaced(text, found)
    return text


def find_secrets(text: str, *, second_net: bool = True) -> list[Found]:
    """Where secrets stand, in order and without overlap. Empty for anything `redact` returned."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    runs = long_runs(text)
    found = [*_own(text, lower, runs), *(find_by_kingfisher(text, runs) if second_net else ())]
    found.sort(key=lambda one: one.start)
    if MARK in text:
        found = [rest for one in found for rest in _outside_marks(text, one)]
    return _merged(found)


def redact_value(key: str, value: str, *, second_net: bool = True) -> str:
    """The value of a field, redacted whole where its name promises a secret and it looks like one."""
    parts = words(key)
    if parts and parts[-1] in _HEADERS:
        head = parts[-1] + ": "
        return redact(head + value, second_net=second_net).removeprefix(head)
    if not is_type(value) and is_secret(value, strength(key), Style.FIELD):
        return MARK
    return redact(value, second_net=second_net)


def _own(text: str, lower: str, runs: list[str]) -> Iterator[Found]:
    yield from find_shapes(text, runs)
    yield from find_assignments(text, lower)
    yield from find_cookies(text, lower)
    if "-----BEGIN" in text:
        yield from find_blocks(text)
    for rule in DOTTED:
        yield from rule.find(text)
    for rule in RULES:
        yield from rule.find(text, lower)


def _outside_marks(text: str, found: Found) -> Iterator[Found]:
    """The parts of a span that are not yet redacted. A mark that only reaches into the span counts as inside it."""
    start = found.start
    at = text.find(MARK, max(0, start - len(MARK) + 1))
    while 0 <= at < found.end:
        if at > start:
            yield Found(start, at, found.rule)
        start = at + len(MARK)
        at = text.find(MARK, start)
    if start < found.end:
        yield Found(start, found.end, found.rule)


def _merged(found: list[Found]) -> list[Found]:
    merged: list[Found] = []
    for one in found:
        if merged and one.start < merged[-1].end:
            last = merged.pop()
            merged.append(Found(last.start, max(last.end, one.end), last.rule))
        else:
            merged.append(one)
    return merged


def _replaced(text: str, found: list[Found]) -> str:
    parts: list[str] = []
    at = 0
    for one in found:
        parts += (text[at : one.start], MARK)
        at = one.end
    return "".join((*parts, text[at:]))
