"""A part of one text: some lines, some characters, or the lines that match; counted from 1.

Rule: a line ends at `\\n` and nowhere else, and keeps it, so that the parts of a text put together are the text.
A part that was cut off names the call that continues it, and those calls together return every byte once. A match
is listed in full, or says by characters which part of its line is shown.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.numbers import counted
from holdfast.store.text_search import (
    TextMatch,
    TextMatches,
    count_phrases,
    folded_phrases,
    grep_lines,
    phrases,
)

Range = tuple[int, int | None]
"""First and last, both included; None is the end."""

_RANGE = re.compile(r"\s*(\d{1,12})\s*(?:(-|–|:|,|\.\.)\s*(\d{1,12})?\s*)?")

SHOWN_OF_LINE = 400
"""A longer line is shown around its match only."""
LINES_ABOUT = 50


def split_lines(text: str) -> list[str]:
    """The lines with their line feeds. What follows the last line feed is a line too, even if empty."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:]


def parse_range(text: str, what: str) -> Range:
    """`10-40`, `10-` or `10` as a range."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise InputError(f"`{text[:40]}` is not a range of {what}", hint=f'write {what}="10-40"')
    first, dash, last = match.groups()
    end = int(last) if last else None if dash else int(first)
    return check_range((int(first), end), what)


def check_range(span: Range, what: str) -> Range:
    first, last = span
    if first < 1 or (last is not None and last < first):
        shown = f"{first}-{'' if last is None else last}"
        raise InputError(
            f"`{shown}` is not a range of {what}", hint=f"{what} count from 1, the first before the last"
        )
    return span


def clamp_range(span: Range | None, total: int, what: str) -> tuple[int, int, str]:
    """A range within 1 to `total`, and a sentence if more was asked for. Beyond the end it is empty."""
    first, last = check_range(span, what) if span else (1, None)
    if first > total:
        return total + 1, total, f"the text has only {counted(total, what[:-1])}"
    if last is not None and last > total:
        return first, total, f"{what} end at {total}"
    return first, total if last is None else last, ""


class OutputLimits(Struct, frozen=True):
    """The most that one answer holds; 0 is no limit."""

    lines: int = 0
    chars: int = 0

    def broken_by(self, lines: int, chars: int) -> bool:
        return bool(self.lines and lines > self.lines) or bool(self.chars and chars > self.chars)


class MatchList(Struct, frozen=True):
    """`last_match` is the last match shown, and `complete` whether it was the last of all."""

    text: str
    first_line: int
    last_line: int
    last_match: int
    complete: bool


def list_matches(
    matches: Sequence[TextMatch],
    lines: Sequence[str],
    span: tuple[int, int],
    context: int,
    limits: OutputLimits,
) -> MatchList:
    """Matches with `context` lines around each, within `span`. At least one match is shown, whatever the limits."""
    if not matches:
        return MatchList("", 0, 0, 0, complete=True)
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
            return MatchList("\n".join(out), shown[0], shown[-1], last_match, complete=False)
        out += new
        shown.append(number)
        last_match = number if match else last_match
    return MatchList("\n".join(out), shown[0], shown[-1], last_match, complete=True)


def lines_with_words(query: str, lines: Sequence[str], first: int = 1) -> TextMatches:
    """The lines with all words of a query; if there are none, the lines with the most words, in their order."""
    asked = folded_phrases(query)
    scores = [(count_phrases(line, asked), number) for number, line in enumerate(lines, first)]
    best = [number for found, number in scores if found and found == len(asked)]
    if not best:
        ranked = sorted((-found, number) for found, number in scores if found)
        best = sorted(number for _, number in ranked[:LINES_ABOUT])
    words = [phrase.split()[0].lower() for phrase in phrases(query)]
    return TextMatches(tuple(_match_of(number, lines[number - first], words) for number in best))


def _match_of(number: int, line: str, words: Sequence[str]) -> TextMatch:
    places = [at for at in (line.lower().find(word) for word in words) if at >= 0]
    start = min(places, default=0)
    return TextMatch(number, start, start)


def _with_context(matches: Sequence[TextMatch], span: tuple[int, int], context: int) -> list[int]:
    numbers: dict[int, None] = {}
    for match in matches:
        around = range(max(match.line - context, span[0]), min(match.line + context, span[1]) + 1)
        numbers.update(dict.fromkeys(around))
    return list(numbers)


def _shown(number: int, line: str, match: TextMatch | None) -> str:
    head = f"{number}{':' if match else '-'} "
    if len(line) <= SHOWN_OF_LINE:
        return head + line
    start = max(0, min((match.start if match else 0) - SHOWN_OF_LINE // 4, len(line) - SHOWN_OF_LINE))
    part = line[start : start + SHOWN_OF_LINE]
    where = f'lines="{number}", chars="{start + 1}-{start + len(part)}" of {len(line)}'
    return f"{head}{'…' if start else ''}{part}… [{where}]"


class RecalledText(Struct, frozen=True):
    """What was asked for. `chars` is set where characters were asked for, or a line was too long to show whole.

    `matches` counts matching lines, or texts where no id was given. `note` says what is not as asked; `more` is
    the arguments of the call that continues where this one was cut off. `is_web` says that the whole text has a
    part from the web.
    """

    id: str
    text: str
    first_line: int = 0
    last_line: int = 0
    total_lines: int = 0
    chars: tuple[int, int] | None = None
    total_chars: int = 0
    matches: int = 0
    truncated: bool = False
    note: str = ""
    more: Mapping[str, str] | None = None
    is_web: bool = False


def line_part(id_: str, text: str, asked: Range | None, limits: OutputLimits) -> RecalledText:
    lines = split_lines(text)
    first, last, note = clamp_range(asked, len(lines), "lines")
    some = lines[first - 1 : last]
    fitting = _fitting(some, limits)
    if fitting == 0 and some:
        # The first line alone is too long: continue by characters.
        return character_part(id_, text, (first, last), (1, None), limits, note)
    shown = first + fitting - 1
    more = {"id": id_, "lines": f"{shown + 1}-{last}"} if fitting < len(some) else None
    return RecalledText(
        id_,
        "".join(some[:fitting]),
        first if some else 0,
        shown if some else 0,
        len(lines),
        total_chars=len(text),
        truncated=more is not None,
        note=note,
        more=more,
    )


def _fitting(lines: Sequence[str], limits: OutputLimits) -> int:
    size = 0
    for count, line in enumerate(lines):
        size += len(line)
        # The part after the last line feed may be empty, and then always fits.
        if line and limits.broken_by(count + 1, size):
            return count
    return len(lines)


def character_part(
    id_: str, text: str, asked: Range | None, chars: Range, limits: OutputLimits, note: str = ""
) -> RecalledText:
    lines = split_lines(text)
    first, last, note_on_lines = clamp_range(asked, len(lines), "lines")
    part = "".join(lines[first - 1 : last])
    start, end, note_on_chars = clamp_range(chars, len(part), "chars")
    cut = min(end, start + limits.chars - 1) if limits.chars else end
    span = {"lines": f"{first}-{last}"} if asked else {}
    more = {"id": id_, **span, "chars": f"{cut + 1}-{end}"} if cut < end else None
    shown = part[start - 1 : cut]
    top = first + part.count("\n", 0, start - 1)
    return RecalledText(
        id_,
        shown,
        top if shown else 0,
        top + shown.removesuffix("\n").count("\n") if shown else 0,
        len(lines),
        chars=(start, cut),
        total_chars=len(part),
        truncated=more is not None,
        note="; ".join(filter(None, [note or note_on_lines, note_on_chars])),
        more=more,
    )


def matching_part(
    id_: str, text: str, asked: Range | None, how: dict[str, str], context: int, limits: OutputLimits
) -> RecalledText:
    lines = split_lines(text)
    first, last, note = clamp_range(asked, len(lines), "lines")
    some = lines[first - 1 : last]
    matches = (
        grep_lines(how["grep"], some, first) if "grep" in how else lines_with_words(how["query"], some, first)
    )
    listing = list_matches(matches.found, lines, (first, last), context, limits)
    resume = listing.last_match if not listing.complete else matches.stopped
    if matches.stopped and listing.complete:
        note = f"the pattern is slow: only lines {first}-{matches.stopped} were searched"
    more = {"id": id_, "lines": f"{resume + 1}-{last}", **how} if 0 < resume < last else None
    return RecalledText(
        id_,
        listing.text,
        listing.first_line,
        listing.last_line,
        len(lines),
        total_chars=len(text),
        matches=len(matches.found),
        truncated=more is not None,
        note=note,
        more=more,
    )
