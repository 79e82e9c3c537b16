"""What somebody else changed in a file since the agent saw it, and whether that meets what the agent changes.

Rule: a conflict is a line that both touched. Where the earlier text is gone, any change of the file is one.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.files.diffs import Change, first_rows, line_changes, new_lines, unified
from holdfast.tools.files.regions import Span, share_lines
from holdfast.tools.files.spans import said
from holdfast.tools.files.texts import split_lines, unified_ends

MOST_ROWS = 20
"""Rows of somebody else's diff that are shown."""


class Outside(Struct, frozen=True):
    """The text as the agent saw it (None where it is no longer kept) and as it is now, and what differs."""

    before: str | None
    now: str
    changes: list[Change] = []

    def diff(self, most: int = MOST_ROWS) -> list[str]:
        if self.before is None:
            return []
        old, new = split_lines(unified_ends(self.before)), split_lines(unified_ends(self.now))
        return first_rows(unified(old, new, self.changes, context=1), most)

    @property
    def lines(self) -> str:
        """Where the changes stand now."""
        return said(new_lines(self.changes))


def outside_change(before: str, now: str) -> Outside:
    """A file whose line endings alone were changed differs in no line."""
    old, new = split_lines(unified_ends(before)), split_lines(unified_ends(now))
    return Outside(before, now, line_changes(old, new))


def expect_apart(shown: str, outside: Outside, touched: Sequence[Span]) -> None:
    """CONFLICT if somebody else changed a line that is touched."""
    if outside.before is None:
        raise conflict(shown, outside, "and what it was is no longer kept")
    if share_lines(touched, [(c.new_first, c.new_last) for c in outside.changes]):
        raise conflict(shown, outside, "in the lines that you want to change")


def conflict(shown: str, outside: Outside, where: str) -> ToolError:
    rows = outside.diff()
    told = "; their change:\n" + "\n".join([*rows, "(end of their change)"]) if rows else ""
    return ToolError(
        "CONFLICT",
        f"`{shown}` was changed by someone else since you saw it, {where}{told}",
        hint="Nothing was written. Read these lines again and redo the edit",
    )
