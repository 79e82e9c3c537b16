"""Edit a file: read it, replace, look for conflicts, write it, and tell.

Rule: a file is only replaced by a text that was made from what it holds at that moment. If somebody writes in
between, all is done again with what they wrote.
"""

from collections.abc import Callable, Sequence
from functools import partial

from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.applying import Applied, Misfit, Replacement, apply
from holdfast.tools.files.changes import Outcome, change_result
from holdfast.tools.files.conflicts import Outside, conflict, expect_apart
from holdfast.tools.files.current import (
    Current,
    changed_outside,
    current_file,
    encoding_of,
    expect_seen,
    expect_writable,
)
from holdfast.tools.files.near import explain
from holdfast.tools.files.seen import Files
from holdfast.tools.files.snapshots import id_of
from holdfast.tools.files.texts import decode, encode, expect_whole, unified_ends
from holdfast.tools.workspace import Expected, Replaced, Workspace

REDACTED = "<REDACTED>"
"""What stands for a secret in everything that was logged."""

_TRIES = 3


class Raced(ToolError):
    """Somebody wrote the file while it was being changed."""


def edit_file(
    workspace: Workspace,
    files: Files,
    path: str,
    replacements: Sequence[Replacement],
    *,
    dry_run: bool,
    tool: str,
) -> ToolResult:
    """**Contract:** what was done is noted before this returns, so that a call that is cancelled while it runs in a
    thread leaves no edit of which nobody knows."""
    for number, wanted in enumerate(replacements):
        _expect_sense(wanted, _which(number, len(replacements)))
    expect_writable(files, workspace.locate(path))
    result = retried(lambda: _edit(workspace, files, path, replacements, dry_run=dry_run))
    files.note(tool, path, result.envelope.data)
    return result


def retried(work: Callable[[], ToolResult]) -> ToolResult:
    """The work, again where somebody else was faster."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except Raced:
            continue
    return work()


def keep_versions(files: Files, shown: str, *versions: bytes) -> None:
    """Before the old bytes are gone: a crash right after the write must leave what undoes it."""
    try:
        for raw in versions:
            files.snapshots.keep(raw)
    except OSError as error:
        raise ToolError(
            "EXECUTION_ERROR",
            f"`{shown}` was not written: what would undo it cannot be kept ({error.strerror or error})",
            hint="Free some space on the disk first",
        ) from None


def write_file(workspace: Workspace, files: Files, path: str, raw: bytes, expected: Expected) -> Replaced:
    try:
        return workspace.replace_file(path, raw, expected, partial(expect_writable, files))
    except ToolError as error:
        if error.code == "CONFLICT":
            raise Raced(error.code, error.message, hint=error.hint) from None
        raise


def _which(number: int, total: int) -> str:
    return f"edit {number + 1} of {total}: " if total > 1 else ""


def _expect_sense(wanted: Replacement, which: str) -> None:
    expect_whole(wanted.old, "old_string")
    expect_whole(wanted.new, "new_string")
    if not wanted.old:
        raise ToolError(
            "INVALID_PARAM", f"{which}`old_string` is empty", hint="Use Write to make or fill a file"
        )
    if wanted.old == wanted.new:
        raise ToolError("INVALID_PARAM", f"{which}`old_string` and `new_string` are the same")
    if unified_ends(wanted.old) == unified_ends(wanted.new):
        raise ToolError(
            "INVALID_PARAM",
            f"{which}`old_string` and `new_string` differ in line endings only, which an edit keeps",
            hint="Convert the file with Bash",
        )


def _edit(
    workspace: Workspace, files: Files, path: str, replacements: Sequence[Replacement], *, dry_run: bool
) -> ToolResult:
    current = current_file(workspace, path)
    shown = current.place.shown
    sight = expect_seen(files, current)
    encoding = encoding_of(current.raw, sight)
    if encoding is None:
        raise ToolError("BINARY_FILE", f"`{shown}` is a binary file, which no edit can match")
    text = decode(current.raw, encoding, shown)
    outside = changed_outside(files, current, sight, text)
    done = _applied(shown, text, replacements, outside)
    raw = encode(done.text, encoding, shown)
    if raw == current.raw:
        raise ToolError("INVALID_PARAM", f"together these edits leave `{shown}` as it is")
    keep_versions(files, shown, current.raw, raw)
    status = current.status if dry_run else write_file(workspace, files, path, raw, current.status).status
    return change_result(
        Outcome(
            verb="Edited",
            place=current.place,
            old=text,
            new=done.text,
            changes=done.changes,
            before=current.hash,
            after=id_of(raw),
            size=len(raw),
            mtime_ns=status.st_mtime_ns,
            encoding=encoding.name,
            replacements=sum(done.counts),
            step=files.step(),
            dry_run=dry_run,
            outside=outside,
            notes=link_notes(current),
        )
    )


def _applied(shown: str, text: str, replacements: Sequence[Replacement], outside: Outside | None) -> Applied:
    done = apply(text, replacements)
    if isinstance(done, Misfit):
        raise _trouble(shown, done, replacements, outside)
    if outside:
        expect_apart(shown, outside, done.touched)
    return done


def link_notes(current: Current) -> tuple[str, ...]:
    names = current.status.st_nlink
    if names < 2:
        return ()
    return (f"the file had {names} names (hard links); under the others it keeps its old text",)


def _trouble(
    shown: str, misfit: Misfit, replacements: Sequence[Replacement], outside: Outside | None
) -> ToolError:
    """Why replacements do not fit the file as it is."""
    if outside and outside.before is None:
        return conflict(shown, outside, "and what it was is no longer kept")
    if outside and outside.before is not None and isinstance(apply(outside.before, replacements), Applied):
        return conflict(shown, outside, "so that the text you want to replace no longer fits")
    wanted = replacements[misfit.edit]
    which = _which(misfit.edit, len(replacements))
    if misfit.places:
        more = ", …" if misfit.places > len(misfit.lines) else ""
        lines = ", ".join(map(str, misfit.lines)) + more
        return ToolError(
            "INVALID_PARAM",
            f"{which}`old_string` stands {misfit.places} times in `{shown}`, in lines {lines}",
            hint="Add lines around it so that it is unique, or set `replace_all`",
        )
    if REDACTED in wanted.old:
        return ToolError(
            "INVALID_PARAM",
            f"{which}`old_string` contains `{REDACTED}`, which stands for a secret that was kept out of the log; "
            f"`{shown}` holds the real value",
            hint="Choose text beside the secret, which is never shown",
        )
    after = " after the edits before it" if misfit.edit else ""
    said = explain(misfit.text, unified_ends(wanted.old), unified_ends(wanted.new))
    return ToolError(
        "NOT_FOUND",
        f"{which}`old_string` is not in `{shown}`{after}",
        hint=said or "Read the lines you want to change and copy them exactly",
    )
