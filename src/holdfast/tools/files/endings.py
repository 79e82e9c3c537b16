"""Line endings that stay: a text is edited with `\\n` alone, and gets its own endings back.

Rule: a line that stays keeps its ending, byte for byte; a new line takes that of its neighbour. Where the old text
has no line break there is none to take, and new lines end as they are given.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from holdfast.tools.files.diffs import Change, line_changes
from holdfast.tools.files.regions import Region
from holdfast.tools.files.texts import split_lines, unified_ends


class Endings:
    """Where the lines of a text end in `\\r\\n`, in terms of the same text with plain endings."""

    def __init__(self, text: str) -> None:
        self._at: list[int] = []
        place = text.find("\r\n")
        while place >= 0:
            self._at.append(place - len(self._at))
            place = text.find("\r\n", place + 2)

    def back(self, offset: int) -> int:
        """The offset in the text itself."""
        return offset + bisect_left(self._at, offset)

    def of(self, offset: int) -> str:
        """The ending that the line feed at an offset stands for."""
        place = bisect_left(self._at, offset)
        return "\r\n" if place < len(self._at) and self._at[place] == offset else "\n"


def with_endings(text: str, plain: str, new: str, regions: Sequence[Region]) -> str:
    """A new text with the endings of the old one. `plain` is the old text as it was edited."""
    if len(plain) == len(text):
        return new
    endings = Endings(text)
    parts: list[str] = []
    here = 0
    for region in regions:
        parts.append(text[endings.back(here) : endings.back(region.first)])
        parts.append(_fresh(plain, new[region.new_first : region.new_last], region, endings))
        here = region.last
    parts.append(text[endings.back(here) :])
    return "".join(parts)


def rewritten(text: str, new: str) -> str:
    """A whole text that takes the place of another, whose endings it gets."""
    if "\n" not in text:
        return new
    plain, fresh = unified_ends(text), unified_ends(new)
    return with_endings(text, plain, fresh, [Region(0, len(plain), 0, len(fresh))])


def ends_in_crlf(texts: Iterable[str]) -> bool:
    """Whether every line break in them is `\\r\\n`, and there is one."""
    whole = "\0".join(texts)
    return 0 < whole.count("\r\n") == whole.count("\n")


def _fresh(plain: str, new: str, region: Region, endings: Endings) -> str:
    if "\n" not in new:
        return new
    old_ends = [endings.of(i) for i in range(region.first, region.last) if plain[i] == "\n"]
    if len(set(old_ends)) < 2:
        return new.replace("\n", old_ends[0] if old_ends else _ending_near(plain, region, endings))
    old_lines, new_lines = split_lines(plain[region.first : region.last]), split_lines(new)
    sources = _sources(len(old_lines), len(new_lines), line_changes(old_lines, new_lines))
    return "".join(
        line[:-1] + old_ends[min(source, len(old_ends) - 1)] if line.endswith("\n") else line
        for line, source in zip(new_lines, sources, strict=True)
    )


def _sources(olds: int, news: int, changes: Sequence[Change]) -> list[int]:
    """For each new line the old one whose ending it takes."""
    sources: list[int] = []
    shift = 0
    for change in [*changes, Change(olds, olds, news, news)]:
        sources += [line + shift for line in range(len(sources), change.new_first)]
        fresh = range(change.new_last - change.new_first)
        sources += [min(change.first + i, max(change.last - 1, change.first - 1, 0)) for i in fresh]
        shift = change.last - change.new_last
    return sources


def _ending_near(plain: str, region: Region, endings: Endings) -> str:
    """The ending of the line in which a region stands, or of the one before if it is the last."""
    after = plain.find("\n", region.last)
    return endings.of(after if after >= 0 else plain.rfind("\n", 0, region.first))
