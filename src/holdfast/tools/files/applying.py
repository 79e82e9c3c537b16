"""The edit engine: replacements of exact text, one after the other, on a text in memory.

Rule: pure, and all or nothing. What no replacement names stays byte for byte. `\\n` in a replacement means the end
of a line, however the file ends its lines.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.tools.files.diffs import Change
from holdfast.tools.files.endings import ends_in_crlf, with_endings
from holdfast.tools.files.regions import (
    Span,
    cut_pieces,
    region_changes,
    regions_of,
    touched_lines,
    whole_lines,
)
from holdfast.tools.files.texts import unified_ends

MOST_PLACES = 20
"""Places that a misfit names; all of them are counted."""


class Replacement(Struct, frozen=True):
    old: str
    new: str
    every: bool = False


class Applied(Struct, frozen=True):
    """`changes` are the lines that differ; `touched` the lines of the old text in which something was replaced, and
    one that was joined to them."""

    text: str
    counts: tuple[int, ...]
    changes: list[Change]
    touched: list[Span]


class Misfit(Struct, frozen=True):
    """A replacement that stands nowhere, or in several places. `text` is what it was looked for in, with `\\n` as
    its only ending; `lines` are those where it begins, counted from 1."""

    edit: int
    text: str
    places: int
    lines: list[int]


def apply(text: str, replacements: Sequence[Replacement]) -> Applied | Misfit:
    plain = unified_ends(text)
    now = plain
    pieces: list[Span] = [(0, len(plain))]
    counts: list[int] = []
    for number, wanted in enumerate(replacements):
        old, new = unified_ends(wanted.old), unified_ends(wanted.new)
        spans = _spans(now, old, every=wanted.every)
        if not spans or (len(spans) > 1 and not wanted.every):
            begins = [now.count("\n", 0, first) + 1 for first, _ in spans[:MOST_PLACES]]
            return Misfit(number, now, len(spans), begins)
        pieces = cut_pieces(pieces, spans, len(new))
        now = _joined(now, spans, new)
        counts.append(len(spans))
    regions = regions_of(pieces, len(plain))
    lines = whole_lines(plain, now, regions)
    is_crlf = "\n" not in text and ends_in_crlf(replacement.new for replacement in replacements)
    return Applied(
        now.replace("\n", "\r\n") if is_crlf else with_endings(text, plain, now, regions),
        tuple(counts),
        region_changes(plain, now, lines),
        touched_lines(plain, lines),
    )


def _spans(text: str, old: str, *, every: bool) -> list[Span]:
    """Where a text stands. Places that overlap are counted too, unless all are replaced from left to right: of
    `aaa` there is no telling which `aa` is meant."""
    assert old, "nothing stands everywhere"
    step = len(old) if every else 1
    found: list[Span] = []
    place = text.find(old)
    while place >= 0:
        found.append((place, place + len(old)))
        place = text.find(old, place + step)
    return found


def _joined(text: str, spans: Sequence[Span], new: str) -> str:
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    return new.join(text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2))
