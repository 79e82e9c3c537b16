"""A text as it would read without what hides a secret from the rules: colour codes, percent escapes, line breaks.

Rule: each part of a rewritten text knows where it was in the original. What is found in it is redacted there, and
what was left out of it stays: a colour code and a line break are never part of a secret.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from holdfast.redaction.randomness import randomness_score
from holdfast.redaction.secret_rule import SecretSpan

_ESCAPED = r"\\(?:x1[bB]|u001[bB]|033|e)\["
_HAS_ESCAPED = re.compile(_ESCAPED)
_COLOUR = re.compile(rf"(?:\x1b\[|{_ESCAPED})[0-9;]{{0,20}}[A-Za-z]")
_LONGEST_CODE = 28
_PERCENT = re.compile(r"%(?:2[0-9A-Fa-f]|3[A-Fa-f]|40|5[B-Fb-f]|7[B-Eb-e])")

_JOINT = r"""
    (?P<sign>[+-])?[ \t]*+(?:[0-9]{1,6}[ ]?[→\t|│:][ \t]*+)?
    (?: (?P<quote>(?:[+.][ \t]*+)?[brufBRUF]?["'`])(?=[A-Za-z0-9_+/.=-])
      | (?://[ \t]*+|[>|\#*][ \t]*+)?
        (?=(?P<piece>[A-Za-z0-9_+/.-](?=[a-z_+/.-]*+[A-Z0-9])[A-Za-z0-9_+/.-]++)={0,2}(?:[\s"'`,;)\]}@&|\\]|\Z)) )
"""
_LINE_JOINT = re.compile(r"\n(?<=[A-Za-z0-9_+/.=\\\"'`\r\ \t-]\n)" + _JOINT, re.VERBOSE)
_ESCAPED_JOINT = re.compile(r"\\n(?<=[A-Za-z0-9_+/.=r-]\\n)" + _JOINT, re.VERBOSE)
"""A line break, and what may come before the rest of a secret on the next line: the sign of a diff, a line number,
the mark of a comment, `+` and a quote."""
_LEFT_OF_PIECE = re.compile(r"(?<=[A-Za-z0-9_+/.=-])(?:\\|[ \t]{1,8}|\\r)?\r?\Z")
_LEFT_OF_QUOTE = re.compile(r"(?<=[A-Za-z0-9_+/.=-])[\"'`][ \t]{0,8}(?:[+.][ \t]{0,8})?\\?\r?\Z")
_LONGEST_LEFT = 24
_CONTINUED = re.compile(r"[\"'`]|\\\r?\n")
_WHOLE_VALUE = re.compile(
    r"[a-z]{3,}_\w+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})"
)
"""Ids, hashes and UUIDs. What looks like one is not taken for the end of a secret on the line before."""
_JOINERS = str.maketrans("", "", "-_+/.")
"""Left out of the measure: next to them nothing looks random."""
_SAMPLE = 32
_REMEMBERED = 256
_LEAST_RANDOMNESS = 10
_SURELY_RANDOM = 20
_HEX_END = re.compile(r"(?=[0-9-]*[a-f])(?=[a-f-]*[0-9])[0-9a-f-]{8,}")
_MIXED_END = re.compile(r"(?=[^A-Z]*[A-Z]).{8,}")
"""How the end of a secret looks if the line before it could be the whole."""


class _Edit(Struct, frozen=True):
    """`text[start:end]`, to be replaced."""

    start: int
    end: int
    replacement: str = ""


class RewrittenText(Struct, frozen=True):
    """The lines of a text that were rewritten, and where each part of them comes from."""

    text: str
    starts: list[int]
    """Where each part begins in `text`; the last item is the length of `text`."""
    origins: list[tuple[int, int]]
    """From where to where each part was in the original."""

    def original_spans(self, found: SecretSpan) -> list[SecretSpan]:
        """The parts of the original that make up a span, without what was left out between them."""
        spans: list[SecretSpan] = []
        at = bisect_right(self.starts, found.start) - 1
        while at < len(self.origins) and self.starts[at] < found.end:
            start, end = self.origins[at]
            if end - start == self.starts[at + 1] - self.starts[at]:
                end = start + min(found.end - self.starts[at], end - start)
                start += max(0, found.start - self.starts[at])
            if spans and spans[-1].end == start:
                start = spans.pop().start
            if start < end:
                spans.append(SecretSpan(start, end, found.rule))
            at += 1
        return spans


def without_colours(text: str) -> RewrittenText | None:
    """The lines with terminal colours, without them."""
    if not has_colours(text):
        return None
    return _rewrite(text, (_Edit(*match.span()) for match in _COLOUR.finditer(text)))


def has_colours(text: str) -> bool:
    return "\x1b[" in text or _HAS_ESCAPED.search(text) is not None


def percent_decoded(text: str) -> RewrittenText | None:
    """The lines with percent escapes of punctuation, with `=` for `%3D`."""
    if "%" not in text:
        return None
    return _rewrite(
        text, (_Edit(*match.span(), chr(int(match.group()[1:], 16))) for match in _PERCENT.finditer(text))
    )


def lines_joined(text: str) -> RewrittenText | None:
    """The lines that may go on on the next one, with it: wrapped, after a backslash, or as strings in code."""
    return _rewrite(text, _joints(text, _LINE_JOINT))


def escaped_lines_joined(text: str) -> RewrittenText | None:
    """The same where line breaks are escaped, as in JSON."""
    return _rewrite(text, _joints(text, _ESCAPED_JOINT)) if "\\n" in text else None


def outside_colours(text: str, found: SecretSpan) -> Iterator[SecretSpan]:
    """The parts of a span that are not colour codes. A code that overlaps the span counts as part of it."""
    start = found.start
    for code in _COLOUR.finditer(text, max(0, start - _LONGEST_CODE), found.end + _LONGEST_CODE):
        if code.end() > start and code.start() < found.end:
            if code.start() > start:
                yield SecretSpan(start, code.start(), found.rule)
            start = code.end()
    if start < found.end:
        yield SecretSpan(start, found.end, found.rule)


def _joints(text: str, joint: re.Pattern[str]) -> Iterator[_Edit]:
    for match in joint.finditer(text):
        piece = match["piece"]
        if piece is not None and _is_written(piece[:_SAMPLE]):
            continue
        start, end = match.span()
        before = _LEFT_OF_PIECE if piece is not None else _LEFT_OF_QUOTE
        # `search` with a position would let `\Z` look past the end of the line.
        left = before.search(text[max(0, start - _LONGEST_LEFT) : start])
        if left is None:
            continue
        if match["sign"] and text[text.rfind("\n", 0, start) + 1] != match["sign"]:
            end = match.start("sign")  # not a diff: a part of the secret
        yield _Edit(start - (left.end() - left.start()), end)


@lru_cache(_REMEMBERED)
def _is_written(piece: str) -> bool:
    """Whether a piece reads like words: a file has many lines that begin with the same ones."""
    return randomness_score(piece.translate(_JOINERS)) < _LEAST_RANDOMNESS


def _rewrite(text: str, edits: Iterable[_Edit]) -> RewrittenText | None:
    """The lines with edits; None if there are none."""
    parts: list[str] = []
    starts, origins = [0], list[tuple[int, int]]()

    def add(start: int, end: int, written: str) -> None:
        if written:
            parts.append(written)
            starts.append(starts[-1] + len(written))
            origins.append((start, end))

    at, line_end = 0, -1
    for edit in edits:
        if edit.start > line_end:
            if line_end >= 0:
                add(at, line_end, text[at:line_end])
            # With the line break before it, which parts it from the lines above.
            at = max(0, text.rfind("\n", max(0, line_end), edit.start))
        add(at, edit.start, text[at : edit.start])
        add(edit.start, edit.end, edit.replacement)
        at = edit.end
        if at > line_end:
            line_end = text.find("\n", at)
            line_end = len(text) if line_end < 0 else line_end
    if line_end < 0:
        return None
    add(at, line_end, text[at:line_end])
    return RewrittenText("".join(parts), starts, origins)


Finder = Callable[[str], Iterable[SecretSpan]]


def find_in_rewritten(text: str, direct: Iterable[SecretSpan], find: Finder) -> Iterator[SecretSpan]:
    """What `find` finds in the rewritten lines. `direct` is what it found in the text as it is."""
    starts = frozenset(one.start for one in direct)
    for rewritten in filter(None, (without_colours(text), percent_decoded(text))):
        for found in find(rewritten.text):
            yield from rewritten.original_spans(found)
    for joined in filter(None, (lines_joined(text), escaped_lines_joined(text))):
        for found in find(joined.text):
            spans = joined.original_spans(found)
            if len(spans) > 1 and _go_together(text, spans, starts):
                yield from spans


def _go_together(text: str, spans: list[SecretSpan], direct: frozenset[int]) -> bool:
    """Are these the lines of one secret? If the first is one by itself, and no backslash or quote says that it goes
    on, the others must look like more of it."""
    if spans[0].start not in direct or _CONTINUED.search(text, spans[0].end, spans[1].start):
        return True
    pieces = [text[one.start : one.end] for one in spans[1:]]
    if any(map(_WHOLE_VALUE.fullmatch, pieces)):
        return False
    rest = "".join(pieces)
    if _HEX_END.fullmatch(rest):
        return True
    return bool(_MIXED_END.fullmatch(rest)) and randomness_score(rest.translate(_JOINERS)) >= _SURELY_RANDOM
