"""A part of one text: some lines, some characters, or the lines that match.

Rule: a part that was cut off names the call that goes on, and those calls together give every byte once.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from holdfast.store.lines import Range, clamped, split_lines
from holdfast.store.listing import Limits, lines_about, list_matches
from holdfast.store.patterns import grep as grep_lines


class Recalled(Struct, frozen=True):
    """What was asked for. `chars` is set where characters were asked for, or a line was too long to show whole.

    `matches` counts matching lines, or texts where no id was given. `note` says what is not as asked; `more` is
    the arguments of the call that goes on where this one was cut off.
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


def line_part(id_: str, text: str, asked: Range | None, limits: Limits) -> Recalled:
    lines = split_lines(text)
    first, last, note = clamped(asked, len(lines), "lines")
    some = lines[first - 1 : last]
    fitting = _fitting(some, limits)
    if fitting == 0 and some:
        # The first line alone is too long: from here on only characters can be counted.
        return character_part(id_, text, (first, last), (1, None), limits, note)
    shown = first + fitting - 1
    more = {"id": id_, "lines": f"{shown + 1}-{last}"} if fitting < len(some) else None
    return Recalled(
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


def _fitting(lines: Sequence[str], limits: Limits) -> int:
    size = 0
    for count, line in enumerate(lines):
        size += len(line)
        # What follows the last line feed may be nothing, and nothing always fits.
        if line and limits.broken_by(count + 1, size):
            return count
    return len(lines)


def character_part(
    id_: str, text: str, asked: Range | None, chars: Range, limits: Limits, note: str = ""
) -> Recalled:
    lines = split_lines(text)
    first, last, note_on_lines = clamped(asked, len(lines), "lines")
    part = "".join(lines[first - 1 : last])
    start, end, note_on_chars = clamped(chars, len(part), "chars")
    cut = min(end, start + limits.chars - 1) if limits.chars else end
    span = {"lines": f"{first}-{last}"} if asked else {}
    more = {"id": id_, **span, "chars": f"{cut + 1}-{end}"} if cut < end else None
    shown = part[start - 1 : cut]
    top = first + part.count("\n", 0, start - 1)
    return Recalled(
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
    id_: str, text: str, asked: Range | None, how: dict[str, str], context: int, limits: Limits
) -> Recalled:
    lines = split_lines(text)
    first, last, note = clamped(asked, len(lines), "lines")
    some = lines[first - 1 : last]
    matches = (
        grep_lines(how["grep"], some, first) if "grep" in how else lines_about(how["query"], some, first)
    )
    listing = list_matches(matches.found, lines, (first, last), context, limits)
    resume = listing.last_match if not listing.complete else matches.stopped
    if matches.stopped and listing.complete:
        note = f"the pattern is slow: only lines {first}-{matches.stopped} were searched"
    more = {"id": id_, "lines": f"{resume + 1}-{last}", **how} if 0 < resume < last else None
    return Recalled(
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
