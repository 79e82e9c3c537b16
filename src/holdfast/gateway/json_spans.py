"""Where values stand in a JSON text, so that one of them can be replaced and every other byte stays.

Rule: a text is changed only where it says what was expected. Whatever does not add up raises SpanError, and nothing
is changed.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

Span = tuple[int, int]
"""The first byte of a value and the one after its last."""
Step = str | int
"""A key of an object, or a place in a list."""

T = TypeVar("T")
_KEY = re.compile(rb'[ \t\n\r]*,?[ \t\n\r]*"(?:[^"\\]|\\.)*"[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
_COMMA = re.compile(rb"[ \t\n\r]*,?[ \t\n\r]*")
_OPENING = re.compile(rb"[ \t\n\r]*([{\[])")
_CLOSING = re.compile(rb"[ \t\n\r]*[}\]]")
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])


class SpanError(ValueError):
    """A JSON text whose values cannot be located."""


def object_spans(text: bytes, within: Span | None = None) -> dict[str, Span]:
    """The spans of an object's values, by their keys."""
    start, end = within or (0, len(text))
    found: dict[str, Span] = {}
    at = _opened(text, start, end, b"{")
    for key, raw in _decoded(_OBJECT, text[start:end]).items():
        at = _after(_KEY, text, at)
        found[key] = at, at + len(memoryview(raw))
        at = _checked(text, found[key], raw)
    _after(_CLOSING, text, at)
    return found


def list_spans(text: bytes, within: Span | None = None) -> list[Span]:
    """The spans of a list's values."""
    start, end = within or (0, len(text))
    found: list[Span] = []
    at = _opened(text, start, end, b"[")
    for raw in _decoded(_LIST, text[start:end]):
        at = _after(_COMMA, text, at)
        found.append((at, at + len(memoryview(raw))))
        at = _checked(text, found[-1], raw)
    _after(_CLOSING, text, at)
    return found


def span_at(text: bytes, steps: Sequence[Step], within: Span | None = None) -> Span:
    """The span of the value that keys and places lead to."""
    span = within or (0, len(text))
    for step in steps:
        try:
            span = object_spans(text, span)[step] if isinstance(step, str) else list_spans(text, span)[step]
        except (KeyError, IndexError):
            raise SpanError(f"there is no `{step}`") from None
    return span


def spliced(text: bytes, changes: Iterable[tuple[Span, bytes]]) -> bytes:
    """The text with other bytes in these spans, which do not overlap."""
    pieces: list[bytes] = []
    at = 0
    for (start, end), new in sorted(changes):
        assert at <= start, "spans do not overlap"
        pieces += (text[at:start], new)
        at = end
    return b"".join((*pieces, text[at:]))


def _decoded(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    try:
        return decoder.decode(text)
    except msgspec.DecodeError as error:
        raise SpanError(str(error)) from None


def _opened(text: bytes, start: int, end: int, bracket: bytes) -> int:
    found = _OPENING.match(text, start, end)
    if found is None or found[1] != bracket:
        raise SpanError(f"there is no `{bracket.decode()}`")
    return found.end()


def _after(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    found = pattern.match(text, at)
    if found is None:
        raise SpanError("a key or a bracket is not where it should be")
    return found.end()


def _checked(text: bytes, span: Span, raw: msgspec.Raw) -> int:
    """The end of a span that holds just this value: a key that stands twice would shift all that follow."""
    if text[span[0] : span[1]] != memoryview(raw):
        raise SpanError("a value does not stand where it should")
    return span[1]
