"""The result of a change: a summary for the model, a diff for the person, ids and line ranges for the log.

Rule: the first line says what was done; a change that was not made says so in the same place.
"""

from msgspec import Struct

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolResult, answered
from holdfast.tools.files.conflicts import Outside
from holdfast.tools.files.diffs import Change, first_rows, new_lines, unified
from holdfast.tools.files.seen import place_data
from holdfast.tools.files.spans import said
from holdfast.tools.files.texts import split_lines, unified_ends
from holdfast.tools.places import Place

MOST_ROWS = 50
"""Rows of a diff that stand in history; the largest number that a profile's digest keeps."""

MOST_NEW_ROWS = 10
"""Rows of a new file: its text stands in the call."""

MOST_SHOWN = 400
"""Rows of a diff that a person is shown."""

MOST_CHANGES = 200
"""Changes that `data` names one by one; of more only the hull."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What a change did or would do."""

    verb: str
    place: Place
    old: str
    new: str
    changes: list[Change]
    before: str
    after: str
    size: int
    mtime_ns: int
    encoding: str
    replacements: int
    step: int
    dry_run: bool
    outside: Outside | None = None
    notes: tuple[str, ...] = ()


def change_result(outcome: Outcome) -> ToolResult:
    old, new = split_lines(unified_ends(outcome.old)), split_lines(unified_ends(outcome.new))
    path = outcome.place.shown
    rows = first_rows(unified(old, new, outcome.changes, context=1), _most(outcome))
    text = "\n".join([_headline(outcome, len(new)), *rows, *_notes(outcome)])
    shown = first_rows(unified(old, new, outcome.changes), MOST_SHOWN)
    heads = [f"--- {path if outcome.before else '/dev/null'}", f"+++ {path}"] if shown else []
    envelope = Envelope(status="success", text=text, data=_data(outcome, len(new)), context={"path": path})
    return answered(envelope, "\n".join([*heads, *shown]) or f"`{path}` unchanged")


def _most(outcome: Outcome) -> int:
    return MOST_ROWS if outcome.before else MOST_NEW_ROWS


def _headline(outcome: Outcome, total: int) -> str:
    path = outcome.place.shown
    if not outcome.changes and outcome.before == outcome.after:
        return f"`{path}` already has this text: {_counted(total, 'line')}, unchanged."
    if outcome.dry_run:
        return f"Dry run, not written: `{path}` would change, {_amount(outcome, total)}."
    return f"{outcome.verb} `{path}`: {_amount(outcome, total)}."


def _amount(outcome: Outcome, total: int) -> str:
    if not outcome.before:
        return f"{_counted(total, 'line')}, {outcome.size} bytes"
    count = f"{_counted(outcome.replacements, 'replacement')}, " if outcome.replacements else ""
    if not outcome.changes:
        return f"{count}only how lines end"
    return f"{count}{said(new_lines(outcome.changes))} of {total}"


def _notes(outcome: Outcome) -> list[str]:
    notes = [f"({note})" for note in outcome.notes]
    if outcome.outside is None:
        return notes
    told = f"modified_externally: `{outcome.place.shown}` was changed since you saw it, not by your edits"
    if not outcome.outside.changes:
        return [*notes, f"({told}, but no line differs)"]
    where = f"in other lines ({outcome.outside.lines} before this edit)"
    return [*notes, f"({told}, {where}; that change:)", *outcome.outside.diff()]


def _data(outcome: Outcome, total: int) -> dict[str, Json]:
    changes = [[c.first, c.last, c.new_first, c.new_last] for c in outcome.changes]
    if len(changes) > MOST_CHANGES:
        changes = [[changes[0][0], changes[-1][1], changes[0][2], changes[-1][3]]]
    is_hull = len(changes) < len(outcome.changes)
    return {
        **place_data(outcome.place),
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
