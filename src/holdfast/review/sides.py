"""Both sides of the files of a diff, line by line, as far as they are known; and the unit a line belongs to.

Rule: lines are numbered from 1 and compared as they are; a `\\r` at the end is not part of a line.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from holdfast.redaction import redact
from holdfast.review.diff import Versions
from holdfast.review.finding import Side
from holdfast.review.unit import Unit

Lines = Mapping[int, str]
"""By number. With gaps if only the hunks are known."""


def find_unit(units: Sequence[Unit], side: Side, line: int) -> str:
    """The id of the unit that contains the line, else of the nearest one. All units are of one file; empty if there
    are none."""

    def distance(unit: Unit) -> int:
        span = unit.new if side == "new" else unit.old
        return max(span.first - line, line - span.last, 0)

    return min(units, key=distance).id if units else ""


class Sides:
    """Reads each side of a file once, when it is first needed."""

    def __init__(self, units: Sequence[Unit], versions: Versions) -> None:
        self.units = tuple(units)
        self.versions = versions
        self.lines = cache(self._lines)
        self.safe_lines = cache(self._safe_lines)

    def _safe_lines(self, path: str, side: Side) -> Lines:
        """The lines without secrets. Redacted as one text: what makes a line secret may be in the line before."""
        lines = self.lines(path, side) or {}
        text = redact("\n".join(lines.values()), kingfisher=False).split("\n")
        return dict(zip(lines, text, strict=True)) if lines else {}

    def units_of(self, path: str) -> list[Unit]:
        return [unit for unit in self.units if path in (unit.path, unit.old_path)]

    def _lines(self, path: str, side: Side) -> Lines | None:
        """All lines of that side, else those that the hunks show; None if nothing is known."""
        units = self.units_of(path)
        if side == "new":
            text = self.versions.new(path)
        else:
            text = self.versions.old(next((unit.old_path for unit in units if unit.path == path), path))
        if text is not None:
            whole = text.removesuffix("\n").split("\n") if text else []
            return {number: line.removesuffix("\r") for number, line in enumerate(whole, start=1)}
        # On the new side, the old name of a moved file belongs to another file, or to none.
        own = [unit for unit in units if unit.path == path] or (units if side == "old" else [])
        lines = {
            number: line.text.removesuffix("\r")
            for unit in own
            for hunk in unit.hunks
            for line in hunk.lines
            if (number := line.old if side == "old" else line.new)
        }
        return dict(sorted(lines.items())) or None
