"""Why a text that should be replaced was not found: what stands there instead, and where.

Rule: help names a place and a reason; where it knows neither it says nothing.
"""

import re
import unicodedata
from collections.abc import Callable

from holdfast.tools.files.texts import displayed

MOST_LINES = 200_000
"""Lines of a file in which near texts are looked for."""

WIDEST = 120

_NUMBERED = re.compile(r"^[ ]*\d+\t", re.MULTILINE)
_LOOKALIKES = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " ", "…": "..."}
)


def explain(text: str, old: str, new: str) -> str:
    """One or two sentences about a text that is not in a file; both with `\\n` as their only ending."""
    for reason, variant in _variants(old):
        if variant and variant != old and (place := text.find(variant)) >= 0:
            return f"{reason}: without that it stands in line {_line(text, place)}"
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return ""
    for reason, same in _SAME:
        if first := _find_lines(lines, old, same):
            end = first + old.strip("\n").count("\n")
            where = f"line {first}" if first == end else f"lines {first}-{end}"
            return f"Only {reason} differ from {where}: copy these exactly as Read shows them"
    if new.strip() and (place := text.find(new)) >= 0:
        return f"`new_string` already stands in line {_line(text, place)}: was it edited before?"
    return _first_difference(lines, old)


def _variants(old: str) -> list[tuple[str, str]]:
    """Texts that may have been meant, each with what is wrong about the one that was given."""
    return [
        ("`old_string` has the line numbers of Read in it", _NUMBERED.sub("", old)),
        ("`old_string` spells line breaks or quotes with backslashes", _unescaped(old)),
        ("`old_string` ends with a line break and the file does not", old.removesuffix("\n")),
        ("`old_string` has white space at its ends that the file has not", old.strip()),
    ]


def _unescaped(old: str) -> str:
    return old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'")


def _collapsed(line: str) -> str:
    return " ".join(line.split())


def _plain(line: str) -> str:
    return _collapsed(unicodedata.normalize("NFKC", line.translate(_LOOKALIKES)))


_SAME: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("spaces at line ends", str.rstrip),
    ("tabs, spaces or indentation", _collapsed),
    ("quotes, dashes or other look-alike characters", _plain),
    ("capitals", lambda line: _collapsed(line).casefold()),
)


def _find_lines(lines: list[str], old: str, same: Callable[[str], str]) -> int:
    """The first line from which whole lines are the same in a looser sense; 0 where there are none."""
    wanted = [same(line) for line in old.strip("\n").split("\n")]
    if not any(wanted):
        return 0
    given = [same(line) for line in lines]
    for start in range(len(given) - len(wanted) + 1):
        if given[start] == wanted[0] and given[start : start + len(wanted)] == wanted:
            return start + 1
    return 0


def _first_difference(lines: list[str], old: str) -> str:
    """Where the first lines stand as given, and the first one that does not."""
    wanted = old.strip("\n").split("\n")
    if len(wanted) < 2 or not wanted[0].strip():
        return ""
    best, run = 0, 0
    for start in (i for i, line in enumerate(lines) if line == wanted[0]):
        length = 0
        while length < len(wanted) and lines[start + length : start + length + 1] == [wanted[length]]:
            length += 1
        if length > run:
            best, run = start + 1, length
    if not run or run == len(wanted):
        return ""
    there = best + run
    found = f"`{_brief(lines[there - 1])}`" if there <= len(lines) else "the end of the file"
    return f"It begins as line {best}, but then line {there} is {found} and not `{_brief(wanted[run])}`"


def _brief(line: str) -> str:
    shown = displayed(line)[0]
    return shown if len(shown) <= WIDEST else f"{shown[:WIDEST]}…"


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
