"""What somebody else changed in a file since the agent saw it, and whether that meets what the agent changes.

Rule: a conflict is a line that both touched. Where the earlier text is gone, any change of the file is one.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.files.line_diff import (
    LineChange,
    describe_ranges,
    first_rows,
    line_changes,
    new_lines,
    unified_diff,
)
from holdfast.tools.files.replacements import Span, share_lines
from holdfast.tools.files.seen_files import path_data
from holdfast.tools.files.text_encoding import split_lines, unify_line_endings
from holdfast.tools.workspace_files import WorkspacePath

MOST_OUTSIDE_ROWS = 20
"""Rows of somebody else's diff that are shown."""


class OutsideChange(Struct, frozen=True):
    """The text as the agent saw it (None where it is no longer kept) and as it is now, and what differs."""

    before: str | None
    now: str
    changes: list[LineChange] = []

    def diff(self, most: int = MOST_OUTSIDE_ROWS) -> list[str]:
        if self.before is None:
            return []
        old, new = split_lines(unify_line_endings(self.before)), split_lines(unify_line_endings(self.now))
        return first_rows(unified_diff(old, new, self.changes, context=1), most)

    @property
    def lines(self) -> str:
        """Where the changes stand now."""
        return describe_ranges(new_lines(self.changes))


def compare_versions(before: str, now: str) -> OutsideChange:
    """A file whose line endings alone were changed differs in no line."""
    old, new = split_lines(unify_line_endings(before)), split_lines(unify_line_endings(now))
    return OutsideChange(before, now, line_changes(old, new))


def expect_apart(shown: str, outside: OutsideChange, touched: Sequence[Span]) -> None:
    """CONFLICT if somebody else changed a line that is touched."""
    if outside.before is None:
        raise conflict_error(shown, outside, "and what it was is no longer kept")
    if share_lines(touched, [(c.new_first, c.new_last) for c in outside.changes]):
        raise conflict_error(shown, outside, "in the lines that you want to change")


def conflict_error(shown: str, outside: OutsideChange, where: str) -> ToolError:
    rows = outside.diff()
    told = "; their change:\n" + "\n".join([*rows, "(end of their change)"]) if rows else ""
    return ToolError(
        "CONFLICT",
        f"`{shown}` was changed by someone else since you saw it, {where}{told}",
        hint="Nothing was written. Read these lines again and redo the edit",
    )


# The result of a change: a summary for the model, a diff for the person, ids and line ranges for the log.
#
# Rule: the first line says what was done; a change that was not made says so in the same place.

MOST_ROWS = 50
"""Rows of a diff that stand in history; the largest number that a profile's digest keeps."""

MOST_NEW_ROWS = 10
"""Rows of a new file: its text stands in the call."""

MOST_SHOWN = 400
"""Rows of a diff that a person is shown."""

MOST_CHANGES = 200
"""Changes that `data` names one by one; of more only the hull."""


class ChangeReport(Struct, frozen=True, kw_only=True):
    """What a change did or would do."""

    verb: str
    place: WorkspacePath
    old: str
    new: str
    changes: list[LineChange]
    before: str
    after: str
    size: int
    mtime_ns: int
    encoding: str
    replacements: int
    step: int
    dry_run: bool
    outside: OutsideChange | None = None
    notes: tuple[str, ...] = ()


def change_result(outcome: ChangeReport) -> ToolResult:
    old, new = split_lines(unify_line_endings(outcome.old)), split_lines(unify_line_endings(outcome.new))
    path = outcome.place.shown
    rows = first_rows(unified_diff(old, new, outcome.changes, context=1), _most(outcome))
    text = "\n".join([_headline(outcome, len(new)), *rows, *_notes(outcome)])
    shown = first_rows(unified_diff(old, new, outcome.changes), MOST_SHOWN)
    heads = [f"--- {path if outcome.before else '/dev/null'}", f"+++ {path}"] if shown else []
    envelope = Envelope(status="success", text=text, data=_data(outcome, len(new)), context={"path": path})
    return build_result(envelope, "\n".join([*heads, *shown]) or f"`{path}` unchanged")


def _most(outcome: ChangeReport) -> int:
    return MOST_ROWS if outcome.before else MOST_NEW_ROWS


def _headline(outcome: ChangeReport, total: int) -> str:
    path = outcome.place.shown
    if not outcome.changes and outcome.before == outcome.after:
        return f"`{path}` already has this text: {_counted(total, 'line')}, unchanged."
    if outcome.dry_run:
        return f"Dry run, not written: `{path}` would change, {_amount(outcome, total)}."
    return f"{outcome.verb} `{path}`: {_amount(outcome, total)}."


def _amount(outcome: ChangeReport, total: int) -> str:
    if not outcome.before:
        return f"{_counted(total, 'line')}, {outcome.size} bytes"
    count = f"{_counted(outcome.replacements, 'replacement')}, " if outcome.replacements else ""
    if not outcome.changes:
        return f"{count}only how lines end"
    return f"{count}{describe_ranges(new_lines(outcome.changes))} of {total}"


def _notes(outcome: ChangeReport) -> list[str]:
    notes = [f"({note})" for note in outcome.notes]
    if outcome.outside is None:
        return notes
    told = f"modified_externally: `{outcome.place.shown}` was changed since you saw it, not by your edits"
    if not outcome.outside.changes:
        return [*notes, f"({told}, but no line differs)"]
    where = f"in other lines ({outcome.outside.lines} before this edit)"
    return [*notes, f"({told}, {where}; that change:)", *outcome.outside.diff()]


def _data(outcome: ChangeReport, total: int) -> dict[str, Json]:
    changes = [[c.first, c.last, c.new_first, c.new_last] for c in outcome.changes]
    if len(changes) > MOST_CHANGES:
        changes = [[changes[0][0], changes[-1][1], changes[0][2], changes[-1][3]]]
    is_hull = len(changes) < len(outcome.changes)
    return {
        **path_data(outcome.place),
        "applied": not outcome.dry_run and outcome.before != outcome.after,
        "created": not outcome.before,
        "dry_run": outcome.dry_run,
        "replacements": outcome.replacements,
        "ranges": [list(span) for span in new_lines(outcome.changes)[:MOST_CHANGES]],
        "lines_added": sum(c.new_last - c.new_first for c in outcome.changes),
        "lines_removed": sum(c.last - c.first for c in outcome.changes),
        "total_lines": total,
        "changes": changes,
        "is_hull": is_hull,
        "before": outcome.before,
        "after": outcome.after,
        "size": outcome.size,
        "mtime_ns": outcome.mtime_ns,
        "encoding": outcome.encoding,
        "modified_externally": outcome.outside is not None,
        "step": outcome.step,
    }


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
