"""What Edit, MultiEdit, Write and Undo share: which files may be changed, how they are written, and the result.

Rule: a file is only replaced by a text that was made from what it holds at that moment; if somebody writes it in
between, everything is done again with what they wrote. A conflict is a line that both changed; where the earlier
text is gone, any change of the file is one. The first line of a result says what was done, or that nothing was.
"""

from collections.abc import Callable

from msgspec import Struct

from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.files.file_text import LARGEST, FileText, choose_encoding, load_file
from holdfast.tools.files.line_diff import (
    LineChange,
    describe_ranges,
    first_rows,
    line_changes,
    new_lines,
    unified_diff,
)
from holdfast.tools.files.seen_files import SeenFile, SeenFiles, path_data
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.files.text_encoding import Encoding, decode, plain_lines
from holdfast.tools.workspace import ExpectedFile, Workspace, WriteRace
from holdfast.tools.workspace_files import WorkspacePath

MOST_OUTSIDE_ROWS = 20
"""Rows of somebody else's diff that are shown."""

MOST_ROWS = 50
"""Rows of a diff in history; the largest number that a profile's digest keeps."""

MOST_NEW_ROWS = 10
"""Rows of a new file: its text is in the call."""

MOST_SHOWN = 400
MOST_DRY_SHOWN = 20_000
"""Rows of a diff that a person is shown after a change, and before one is approved."""

MOST_CHANGES = 200
"""Changes that `data` names one by one; of more only the hull."""

REDACTED = "<REDACTED>"
"""What replaces a secret in everything that was logged."""

_TRIES = 3


class OutsideChange(Struct, frozen=True):
    """What somebody else changed: the text as the agent saw it (None if it is no longer kept), as it is now, and
    the lines that differ."""

    before: str | None
    now: str
    changes: list[LineChange] = []

    def diff(self, most: int = MOST_OUTSIDE_ROWS) -> list[str]:
        if self.before is None:
            return []
        rows = unified_diff(plain_lines(self.before), plain_lines(self.now), self.changes, context=1)
        return first_rows(rows, most)

    @property
    def lines(self) -> str:
        """Where the changes are now."""
        return describe_ranges(new_lines(self.changes))


class PlannedChange(Struct, frozen=True, kw_only=True):
    """A change that is ready to be written. `file` is None if there is none yet."""

    place: WorkspacePath
    file: FileText | None
    text: str
    raw: bytes
    encoding: Encoding
    changes: list[LineChange]
    dry_run: bool
    replacements: int = 0
    outside: OutsideChange | None = None
    notes: list[str] = []


def load_seen_file(
    workspace: Workspace, files: SeenFiles, path: str
) -> tuple[FileText, SeenFile, OutsideChange | None]:
    """A file that the agent may change, as it is and as the agent knows it, and what somebody else changed."""
    file = load_file(workspace, path, files)
    seen = files.seen(file.place)
    if seen is None:
        raise ToolError(
            "ACCESS_DENIED",
            f"`{file.place.shown}` exists and you have not read it",
            hint="Read it first, at least the part you want to change",
        )
    return file, seen, find_outside_change(files, file)


def find_outside_change(files: SeenFiles, file: FileText, largest: int = LARGEST) -> OutsideChange | None:
    """What somebody else did to a file since the agent saw it; None if nothing."""
    seen = files.seen(file.place)
    if seen is None or seen.hash == file.hash:
        return None
    raw = files.snapshots.get(seen.hash)
    encoding = choose_encoding(raw, seen) if raw is not None else None
    if raw is None or encoding is None or file.large or file.size > largest:
        return OutsideChange(None, "")
    before = decode(raw, encoding, file.place.shown)
    # A file in which only line endings were changed differs in no line.
    return OutsideChange(before, file.text, line_changes(plain_lines(before), plain_lines(file.text)))


def conflict_error(shown: str, outside: OutsideChange, where: str) -> ToolError:
    rows = outside.diff()
    note = "; their change:\n" + "\n".join([*rows, "(end of their change)"]) if rows else ""
    return ToolError(
        "CONFLICT",
        f"`{shown}` was changed by someone else since you saw it, {where}{note}",
        hint="Nothing was written. Read these lines again and redo the edit",
    )


def change_file(
    workspace: Workspace, files: SeenFiles, tool: str, path: str, work: Callable[[], ToolResult]
) -> ToolResult:
    """Do the work, if the file may be written; again if somebody else was faster. And note it.

    **Contract:** it is noted before this returns, so that a call that is cancelled while it runs in a thread leaves
    no change that nobody knows of.
    """
    files.expect_writable(workspace.locate(path))
    for attempt in range(1, _TRIES + 1):
        try:
            result = work()
            break
        except WriteRace:
            if attempt == _TRIES:
                raise
    files.note(tool, path, result.envelope.data)
    return result


def carry_out(workspace: Workspace, files: SeenFiles, path: str, change: PlannedChange) -> ToolResult:
    """Write a change, unless it is a dry run or changes nothing."""
    file = change.file
    mtime_ns = file.status.st_mtime_ns if file else 0
    if not file or file.raw != change.raw:
        try:
            # Before the old bytes are gone: after a crash right behind the write, the undo must still work.
            if file:
                files.snapshots.keep(file.raw)
            files.snapshots.keep(change.raw)
        except OSError as error:
            raise ToolError(
                "EXECUTION_ERROR",
                f"`{change.place.shown}` was not written: what would undo it cannot be kept "
                f"({error.strerror or error})",
                hint="Free some space on the disk first",
            ) from None
        if not change.dry_run:
            expected: ExpectedFile = file.status if file else "absent"
            written = workspace.replace_file(path, change.raw, expected, files.expect_writable)
            mtime_ns = written.st_mtime_ns
    return _change_result(change, mtime_ns, files.step())


def _change_result(change: PlannedChange, mtime_ns: int, step: int) -> ToolResult:
    """A summary for the model, a diff for the person, hashes and line ranges for the log."""
    path, changes = change.place.shown, change.changes
    before, after = change.file.hash if change.file else "", content_hash(change.raw)
    old, new = plain_lines(change.file.text if change.file else ""), plain_lines(change.text)
    most = MOST_ROWS if before else MOST_NEW_ROWS
    rows = first_rows(unified_diff(old, new, changes, context=1), most)
    head = _headline(change, len(new), is_same=before == after)
    shown = first_rows(unified_diff(old, new, changes), MOST_DRY_SHOWN if change.dry_run else MOST_SHOWN)
    names = [f"--- {path if before else '/dev/null'}", f"+++ {path}"] if shown else []
    listed = [[c.first, c.last, c.new_first, c.new_last] for c in changes]
    if is_hull := len(listed) > MOST_CHANGES:
        listed = [[listed[0][0], listed[-1][1], listed[0][2], listed[-1][3]]]
    data: dict[str, Json] = {
        **path_data(change.place),
        "applied": not change.dry_run and before != after,
        "created": not before,
        "dry_run": change.dry_run,
        "replacements": change.replacements,
        "ranges": [list(span) for span in new_lines(changes)[:MOST_CHANGES]],
        "lines_added": sum(c.new_last - c.new_first for c in changes),
        "lines_removed": sum(c.last - c.first for c in changes),
        "total_lines": len(new),
        "changes": listed,
        "is_hull": is_hull,
        "before": before,
        "after": after,
        "size": len(change.raw),
        "mtime_ns": mtime_ns,
        "encoding": change.encoding.name,
        "modified_externally": change.outside is not None,
        "step": step,
    }
    text = "\n".join([head, *rows, *_notes(change)])
    diff = "\n".join([*names, *shown]) or f"`{path}` unchanged"
    return tool_result(text, diff, data=data, context={"path": path})


def _headline(change: PlannedChange, total: int, *, is_same: bool) -> str:
    path, lines = change.place.shown, count_noun(total, "line")
    if is_same and not change.changes:
        return f"`{path}` already has this text: {lines}, unchanged."
    if not change.file:
        verb, amount = "Created", f"{lines}, {len(change.raw)} bytes"
    else:
        verb = "Edited" if change.replacements else "Updated"
        count = f"{count_noun(change.replacements, 'replacement')}, " if change.replacements else ""
        where = f"{describe_ranges(new_lines(change.changes))} of {total}"
        amount = count + (where if change.changes else "only how lines end")
    if change.dry_run:
        return f"Dry run, not written: `{path}` would change, {amount}."
    return f"{verb} `{path}`: {amount}."


def _notes(change: PlannedChange) -> list[str]:
    notes = [f"({note})" for note in change.notes]
    names = change.file.status.st_nlink if change.file and change.file.raw != change.raw else 1
    if names > 1:
        notes.append(f"(the file had {names} names (hard links); under the others it keeps its old text)")
    if change.outside is None:
        return notes
    note = f"modified_externally: `{change.place.shown}` was changed since you saw it, not by your edits"
    if not change.outside.changes:
        return [*notes, f"({note}, but no line differs)"]
    where = f"in other lines ({change.outside.lines} before this edit)"
    return [*notes, f"({note}, {where}; that change:)", *change.outside.diff()]
