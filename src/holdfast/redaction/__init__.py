"""Secrets, found and replaced by `<REDACTED>` before anything is written to disk.

Rule: only the secret changes. Everything else, every line break included, stays byte for byte, and redacting
twice is the same as redacting once.

A secret is also found directly after other text, split over lines, and in colour, percent escapes or base64.

Ids, hashes, UUIDs, paths and references to secrets (`$TOKEN`, `os.environ["API_KEY"]`) are not secrets.
"""

from collections.abc import Iterator

from holdfast.redaction.base64_text import find_in_base64
from holdfast.redaction.context_rules import CONTEXT_RULES, find_assignments, find_cookies
from holdfast.redaction.key_formats import DOTTED_RULES, find_key_blocks, find_known_keys
from holdfast.redaction.kingfisher import (
    find_by_kingfisher,
    is_kingfisher_loaded,
    kingfisher_problem,
    needs_kingfisher,
)
from holdfast.redaction.named_values import ValueStyle, is_secret, is_type, name_sensitivity, name_words
from holdfast.redaction.randomness import long_runs
from holdfast.redaction.rewritten_text import find_in_rewritten, has_colours, outside_colours
from holdfast.redaction.secret_rule import MARK, SecretSpan

__all__ = [
    "MARK",
    "SecretSpan",
    "find_secrets",
    "is_kingfisher_loaded",
    "kingfisher_problem",
    "loads_kingfisher",
    "redact",
    "redact_value",
]

_HEADERS = frozenset(("authorization", "cookie"))


def redact(text: str, *, kingfisher: bool = True) -> str:
    """The text with every secret replaced. `kingfisher=False` leaves out Kingfisher: own rules only."""
    while found := find_secrets(text, kingfisher=kingfisher):
        # Repeated until nothing is found: a replaced secret can change how its neighbours are read. Each pass
        # leaves fewer characters outside the marks, so this ends; a text without secrets costs one pass.
        text = _replaced(text, found)
    return text


def find_secrets(text: str, *, kingfisher: bool = True) -> list[SecretSpan]:
    """Where secrets are, in order and without overlap. Empty for anything that `redact` returned."""
    runs = long_runs(text)
    found = list(_own(text, runs))
    found += find_in_rewritten(text, found, _own)
    if kingfisher:
        found += find_by_kingfisher(text, runs)
    if found and has_colours(text):
        found = [rest for one in found for rest in outside_colours(text, one)]
    found.sort(key=lambda one: one.start)
    if MARK in text:
        found = [rest for one in found for rest in _outside_marks(text, one)]
    return _merged(found)


def loads_kingfisher(text: str) -> bool:
    """Whether to redact this text would load Kingfisher first, which takes half a second."""
    return not is_kingfisher_loaded() and needs_kingfisher(text, long_runs(text))


def redact_value(key: str, value: str, *, kingfisher: bool = True) -> str:
    """The value of a field, redacted whole where its name suggests a secret and it looks like one."""
    parts = name_words(key)
    if parts and parts[-1] in _HEADERS:
        head = parts[-1] + ": "
        return redact(head + value, kingfisher=kingfisher).removeprefix(head)
    if not is_type(value) and is_secret(value, name_sensitivity(key), ValueStyle.FIELD):
        return MARK
    return redact(value, kingfisher=kingfisher)


def _own(text: str, runs: list[str] | None = None) -> Iterator[SecretSpan]:
    """What our own rules find, in base64 too."""
    runs = long_runs(text) if runs is None else runs
    yield from _as_written(text, runs)
    yield from find_in_base64(text, runs, _as_written)


def _as_written(text: str, runs: list[str] | None = None) -> Iterator[SecretSpan]:
    """What our own rules find in a text that hides nothing."""
    runs = long_runs(text) if runs is None else runs
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    yield from find_known_keys(text, runs)
    yield from find_assignments(text, lower)
    yield from find_cookies(text, lower)
    if "-----BEGIN" in text:
        yield from find_key_blocks(text)
    for rule in DOTTED_RULES:
        yield from rule.find(text)
    for rule in CONTEXT_RULES:
        yield from rule.find(text, lower)


def _outside_marks(text: str, found: SecretSpan) -> Iterator[SecretSpan]:
    """The parts of a span that are not redacted yet. A mark that overlaps the span counts as part of it."""
    start = found.start
    at = text.find(MARK, max(0, start - len(MARK) + 1))
    while 0 <= at < found.end:
        if at > start:
            yield SecretSpan(start, at, found.rule)
        start = at + len(MARK)
        at = text.find(MARK, start)
    if start < found.end:
        yield SecretSpan(start, found.end, found.rule)


def _merged(found: list[SecretSpan]) -> list[SecretSpan]:
    merged: list[SecretSpan] = []
    for one in found:
        if merged and one.start < merged[-1].end:
            last = merged.pop()
            merged.append(SecretSpan(last.start, max(last.end, one.end), last.rule))
        else:
            merged.append(one)
    return merged


def _replaced(text: str, found: list[SecretSpan]) -> str:
    parts: list[str] = []
    at = 0
    for one in found:
        parts += (text[at : one.start], MARK)
        at = one.end
    return "".join((*parts, text[at:]))
