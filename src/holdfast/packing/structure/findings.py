"""What is found in a text: a bonus for each line, and the line that gives it its meaning.

Rule: a line belongs to one structure, the first that claims it; following anchors always ends. Detectors search the
bare text, without the prefixes and colours that would hide its shape, line for line. A search is one pass of a
pattern that begins with a line end, so that a line costs its first characters, whatever its length.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, get_args

from msgspec import Struct

LONGEST = 400
"""Characters of a line that are looked at one by one."""

_OPENING = 24
"""Lines in which a prefix that runs through the text shows."""

_PART = 50
"""Lines of each part of a sample."""

_NUMBER = re.compile(r"[ \t]{0,8}(\d{1,7})(→|\t|:|\|| (?! {0,8}\|))")
_SURE = {"→": 1, "\t": 3, ":": 4, "|": 3, " ": 5}
"""How many numbers in a row make a listing, by the character behind them."""

_STAMP = re.compile(
    r"(?:[^\t]{1,60}+\t[^\t]{1,80}+\t)?+\ufeff?+\[?+\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\]]{0,20}+\]?+[ \t]?+"
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}+[A-Za-z]")


class BareText:
    """The bare lines of a text. `numbers_end` is what stood behind their numbers, nothing if they had none."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.count = len(lines)
        self.numbers_end = _numbers_end(lines[:_OPENING])
        self.lines = _without_numbers(lines, self.numbers_end) if self.numbers_end else _without_stamps(lines)

    @cached_property
    def text(self) -> str:
        """The bare lines as one text that begins with a line end, so that every line does."""
        text = "\n" + "\n".join(self.lines)
        assert text.count("\n") == self.count, "a line has no line end inside"
        return text

    @cached_property
    def filled(self) -> int:
        """How many lines are not blank."""
        return sum(map(bool, map(str.strip, self.lines)))

    @cached_property
    def sample(self) -> list[str]:
        """Lines from the beginning, the middle and the end of a long text; a short one is its own sample."""
        lines, part = self.lines, _PART
        if len(lines) <= 4 * part:
            return lines
        middle = (len(lines) - part) // 2
        return [*lines[:part], *lines[middle : middle + part], *lines[-part:]]

    def hits(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Matches of a pattern, each with the number of the line in which it ends."""
        text, line, upto = self.text, -1, 0
        for found in pattern.finditer(text):
            end = found.end()
            line += text.count("\n", upto, end)
            upto = end
            yield line, found


def _numbers_end(lines: Sequence[str]) -> str:
    """The character behind the line numbers of a numbered listing; empty where lines are not numbered."""
    run, expected, between = 0, -1, ""
    # A row of names above numbers is the head of a table, and the numbers are its first column.
    is_table = bool(lines) and "\t" in lines[0] and not _NUMBER.match(lines[0])
    for found in map(_NUMBER.match, lines):
        if found is None:
            run = 0
            continue
        number, separator = int(found[1]), found[2]
        run = run + 1 if number == expected and separator == between else 1
        expected, between = number + 1, separator
        if run >= _SURE[separator]:
            return "" if separator == "\t" and is_table else separator
    return ""


def _without_numbers(lines: Sequence[str], mark: str) -> list[str]:
    if mark == "→":
        # Nearly every file that is read, so the quick way; no arrow stands in what a tool writes around a file.
        return [line.partition(mark)[2] or ("" if mark in line else line) for line in lines]
    found = map(_NUMBER.match, lines)
    return [line[n.end() :] if n and n[2] == mark else line for line, n in zip(lines, found, strict=True)]


def _without_stamps(lines: Sequence[str]) -> list[str]:
    """The lines without colours, and without the time that a log puts before each."""
    if "\x1b[" in "\n".join(lines):
        lines = [_COLOUR.sub("", line) for line in lines]
    if all(_STAMP.match(line) for line in lines[:2]):
        found = map(_STAMP.match, lines)
        return [line[stamp.end() :] if stamp else line for line, stamp in zip(lines, found, strict=True)]
    return lines if isinstance(lines, list) else list(lines)


StructureKind = Literal["plain", "json", "diff", "trace", "tests", "code"]
_NUMBERS: dict[StructureKind, int] = {kind: number for number, kind in enumerate(get_args(StructureKind))}

KEY, TELLING, HINT = 0.5, 0.3, 0.15
"""What the rest depends on; what a reader looks for; what is a little better than its neighbours."""
SLIGHT, DULL, REPEATED, NOISE, PASSED = -0.1, -0.25, -0.4, -0.6, -1.0
"""Passed tests go first of all: their lines are full of names, which would count for them."""

NOWHERE = -1
"""The anchor of a line that needs none."""

MAIN_SHARE = 0.25
"""The share of a text's filled lines from which a structure is what the text mainly is."""


class Structure(Struct, frozen=True, gc=False):
    """`bonus` adds to each line's worth, before that is divided by its size; `anchors` lead from a line to the one
    without which it says little. An anchor stands above its line, but for the error that ends a trace."""

    kind: StructureKind
    bonus: Sequence[float]
    anchors: dict[int, int]


class LineFindings:
    """What has been found so far, line by line. `taken` holds for each line which kind has it, 0 for none."""

    def __init__(self, count: int) -> None:
        self.bonus = [0.0] * count
        self.anchors: dict[int, int] = {}
        self.taken = bytearray(count)
        self.sizes: dict[StructureKind, int] = {}

    def claim(self, kind: StructureKind, line: int, bonus: float = 0.0, anchor: int = NOWHERE) -> None:
        """A line for a structure, unless another has it."""
        if self.taken[line]:
            return
        self.taken[line] = _NUMBERS[kind]
        self.sizes[kind] = self.sizes.get(kind, 0) + 1
        self.bonus[line] = bonus
        if anchor != NOWHERE:
            assert anchor != line
            self.anchors[line] = anchor

    def adjust(self, line: int, bonus: float) -> None:
        """A bonus for a line that no structure claims."""
        if not self.taken[line]:
            self.bonus[line] += bonus

    def calm(self, kind: StructureKind, within: StructureKind) -> None:
        """What one kind found is no more than a detail of another after all."""
        if kind in self.sizes:
            self.sizes[within] = self.sizes.get(within, 0) + self.sizes.pop(kind)
            number = _NUMBERS[kind]
            self.bonus = [
                min(bonus, SLIGHT) if taken == number else bonus
                for bonus, taken in zip(self.bonus, self.taken, strict=True)
            ]

    def share(self, filled: int) -> float:
        """The share of the filled lines that are claimed."""
        return sum(self.sizes.values()) / max(filled, 1)

    def structure(self, bare_text: BareText, fallback: StructureKind) -> Structure:
        """What was found, as a value. `fallback` is the kind of a text that is not mainly anything found."""
        if not self.sizes:
            return Structure(fallback, self.bonus, self._grounded())
        # A tie goes to the name that sorts first, so that the order of searching shows nowhere.
        kind, size = min(self.sizes.items(), key=lambda item: (-item[1], item[0]))
        main = kind if size >= bare_text.filled * MAIN_SHARE else fallback
        return Structure(main, self.bonus, self._grounded())

    def _grounded(self) -> dict[int, int]:
        """The anchors, without those that lead down to a line with an anchor of its own: no way may be a circle."""
        anchors = self.anchors
        return {line: at for line, at in anchors.items() if at < line or at not in anchors}
