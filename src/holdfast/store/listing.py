"""Matching lines as a list: their numbers, their neighbours, and never more than there is room for.

Rule: a match that is listed is there in full, or says by characters which part of its line is shown.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.store.patterns import Match, Matches
from holdfast.store.words import phrases, score, wanted

SHOWN_OF_LINE = 400
"""A longer line is shown around its match only."""

LINES_ABOUT = 50


class Limits(Struct, frozen=True):
    """How much one answer holds; 0 is no limit."""

    lines: int = 0
    chars: int = 0

    def broken_by(self, lines: int, chars: int) -> bool:
        return bool(self.lines and lines > self.lines) or bool(self.chars and chars > self.chars)


class Listing(Struct, frozen=True):
    """`last_match` is the last match shown, and `complete` whether it was the last of all."""

    text: str
    first_line: int
    last_line: int
    last_match: int
    complete: bool


def list_matches(
    matches: Sequence[Match], lines: Sequence[str], span: tuple[int, int], context: int, limits: Limits
) -> Listing:
    """Matches with `context` lines around each, within `span`. At least one match is shown, whatever the limits."""
    if not matches:
        return Listing("", 0, 0, 0, complete=True)
    by_line = {match.line: match for match in matches}
    out: list[str] = []
    shown: list[int] = []
    size, last_match = 0, 0
    for number in _with_context(matches, span, context):
        match = by_line.get(number)
        gap = ["--"] if context and shown and number > shown[-1] + 1 else []
        new = [*gap, _shown(number, lines[number - 1].removesuffix("\n"), match)]
        size += sum(len(line) + 1 for line in new)
        if last_match and limits.broken_by(len(out) + len(new), size):
            return Listing("\n".join(out), shown[0], shown[-1], last_match, complete=False)
        out += new
        shown.append(number)
        last_match = number if match else last_match
    return Listing("\n".join(out), shown[0], shown[-1], last_match, complete=True)


def lines_about(query: str, lines: Sequence[str], first: int = 1) -> Matches:
    """The lines that hold all words of a query; if none does, the lines that hold most, in their order."""
    asked = wanted(query)
    scores = [(score(line, asked), number) for number, line in enumerate(lines, first)]
    best = [number for found, number in scores if found and found == len(asked)]
    if not best:
        ranked = sorted((-found, number) for found, number in scores if found)
        best = sorted(number for _, number in ranked[:LINES_ABOUT])
    words = [phrase.split()[0].lower() for phrase in phrases(query)]
    return Matches(tuple(_match_of(number, lines[number - first], words) for number in best))


def _match_of(number: int, line: str, words: Sequence[str]) -> Match:
    places = [at for at in (line.lower().find(word) for word in words) if at >= 0]
    start = min(places, default=0)
    return Match(number, start, start)


def _with_context(matches: Sequence[Match], span: tuple[int, int], context: int) -> list[int]:
    numbers: dict[int, None] = {}
    for match in matches:
        around = range(max(match.line - context, span[0]), min(match.line + context, span[1]) + 1)
        numbers.update(dict.fromkeys(around))
    return list(numbers)


def _shown(number: int, line: str, match: Match | None) -> str:
    head = f"{number}{':' if match else '-'} "
    if len(line) <= SHOWN_OF_LINE:
        return head + line
    start = max(0, min((match.start if match else 0) - SHOWN_OF_LINE // 4, len(line) - SHOWN_OF_LINE))
    part = line[start : start + SHOWN_OF_LINE]
    where = f'lines="{number}", chars="{start + 1}-{start + len(part)}" of {len(line)}'
    return f"{head}{'…' if start else ''}{part}… [{where}]"
