"""Where things stand: the lines of one side of a file, as far as they are known, and the unit that holds one.

Rule: lines are numbered from 1 and compared as they are; `\\r` at their end is not a part of them.
"""

from collections.abc import Mapping, Sequence

from holdfast.redaction import redact
from holdfast.review.diff import Versions
from holdfast.review.finding import Side
from holdfast.review.unit import Unit

Lines = Mapping[int, str]
"""By number. With gaps where only the hunks are known."""


def find_unit(units: Sequence[Unit], side: Side, line: int) -> str:
    """Of the units of one file, the one that holds the line, else the nearest; empty where there are none."""

    def distance(unit: Unit) -> int:
        span = unit.new if side == "new" else unit.old
        return max(span.first - line, line - span.last, 0)

    return min(units, key=distance).id if units else ""


class Sides:
    """Both sides of the files of a diff, as far as they are known. A file is read once, when first asked for."""

    def __init__(self, units: Sequence[Unit], versions: Versions) -> None:
        self.units = tuple(units)
        self.versions = versions
        self._lines: dict[tuple[str, Side], Lines | None] = {}
        self._safe: dict[tuple[str, Side], Lines] = {}

    def lines(self, path: str, side: Side) -> Lines | None:
        """All lines of the file on that side, else those that the hunks show; None where nothing is known."""
        key = (path, side)
        if key not in self._lines:
            self._lines[key] = _known(path, side, self.units_of(path), self.versions)
        return self._lines[key]

    def safe_lines(self, path: str, side: Side) -> Lines:
        """The same without secrets. Redacted as one text: what makes a line secret may stand on the one before."""
        key = (path, side)
        if key not in self._safe:
            lines = self.lines(path, side) or {}
            text = redact("\n".join(lines.values()), kingfisher=False).split("\n")
            self._safe[key] = dict(zip(lines, text, strict=True)) if lines else {}
        return self._safe[key]

    def units_of(self, path: str) -> list[Unit]:
        return [unit for unit in self.units if path in (unit.path, unit.old_path)]


def _known(path: str, side: Side, units: Sequence[Unit], versions: Versions) -> Lines | None:
    if side == "new":
        text = versions.new(path)
    else:
        moved = next((unit.old_path for unit in units if unit.path == path), path)
        text = versions.old(moved)
    if text is not None:
        return split_lines(text)
    # A name that a file had before is that of another one, or of none, on the newer side.
    own = [unit for unit in units if unit.path == path] or (units if side == "old" else [])
    shown = {
        number: line.text.removesuffix("\r")
        for unit in own
        for hunk in unit.hunks
        for line in hunk.lines
        if (number := line.old if side == "old" else line.new)
    }
    return dict(sorted(shown.items())) or None


def split_lines(text: str) -> Lines:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return {number: line.removesuffix("\r") for number, line in enumerate(lines, start=1)}
