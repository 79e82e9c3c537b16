"""Undo: take back the last edits, newest first, so that the files are what they were before.

Rule: everything is checked before anything is written, and a file that is not as the agent left it stays.
"""

import contextlib
from itertools import pairwise

from msgspec import Struct

from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.files.file_text import FileText, load_file
from holdfast.tools.files.line_diff import line_changes, unified_diff
from holdfast.tools.files.seen_files import UNDO, AgentEdit, SeenFiles, path_of
from holdfast.tools.files.text_encoding import decode, detect_encoding, plain_lines
from holdfast.tools.workspace import ExpectedFile, Workspace


class _Restoration(Struct, frozen=True):
    """The oldest edit of a file that is undone, the file as it is now, and the bytes that it gets back; None if it
    is removed."""

    edit: AgentEdit
    now: FileText
    raw: bytes | None


def undo(files: SeenFiles, workspace: Workspace, count: int = 1, *, dry_run: bool = False) -> ToolResult:
    """Take back the last edits. CONFLICT if a file was changed since, NOT_FOUND if there is nothing to undo.

    The `data` of the result must be stored like that of a tool named `Undo`: `SeenFiles.restore` reads it.
    """
    assert count > 0
    if not files.edits:
        raise ToolError("NOT_FOUND", "there is no edit to undo")
    taken = files.edits[-count:]
    chains: dict[str, list[AgentEdit]] = {}
    for made in taken:
        chains.setdefault(made.key, []).append(made)
    plan = [_check_chain(files, workspace, chain) for chain in chains.values()]
    states = [one.now.status for one in plan] if dry_run else _restore_all(files, workspace, plan)
    backs = [_back(one, state) for one, state in zip(plan, states, strict=True)]
    data: dict[str, Json] = {"count": len(taken), "files": backs, "dry_run": dry_run}
    if not dry_run:
        files.restore(UNDO, data)
    named = ", ".join(f"`{one.edit.path}`{'' if one.raw is not None else ' (removed)'}" for one in plan)
    text = f"{'Would undo' if dry_run else 'Undid'} {count_noun(len(taken), 'edit')}: {named}."
    shown = "\n".join(row for one in plan for row in _diff(one))
    return tool_result(text, shown or text, data=data)


def _check_chain(files: SeenFiles, workspace: Workspace, chain: list[AgentEdit]) -> _Restoration:
    """What is to be done about a file; `chain` are its edits, oldest first."""
    newest, oldest = chain[-1], chain[0]
    current = load_file(workspace, path_of(newest.key))
    if current.hash != newest.after:
        raise ToolError(
            "CONFLICT", f"`{newest.path}` was changed since it was edited", hint="Nothing was undone"
        )
    # Undoing an edit must not undo a change that somebody else made before it.
    for earlier, later in pairwise(chain):
        if later.before != earlier.after:
            raise ToolError(
                "CONFLICT",
                f"`{newest.path}` was changed by someone else between two of these edits",
                hint="Nothing was undone; fewer edits may be",
            )
    raw = files.snapshots.get(oldest.before) if oldest.before else None
    if raw is None and oldest.before:
        raise ToolError(
            "NOT_FOUND", f"what `{oldest.path}` was before is no longer kept", hint="Nothing was undone"
        )
    return _Restoration(oldest, current, raw)


def _restore_all(files: SeenFiles, workspace: Workspace, plan: list[_Restoration]) -> list[ExpectedFile]:
    """Write the files as they were; returns the state of each afterwards."""
    states: list[ExpectedFile] = []
    try:
        for one in plan:
            path, now = path_of(one.edit.key), one.now.status
            if one.raw is None:
                workspace.remove_file(path, now, files.expect_writable)
                states.append("absent")
            else:
                states.append(workspace.replace_file(path, one.raw, now, files.expect_writable))
    except ToolError:
        # Somebody wrote one of the files at this very moment: put those before it back.
        for one, state in zip(plan, states, strict=False):
            with contextlib.suppress(ToolError):
                path = path_of(one.edit.key)
                workspace.replace_file(path, one.now.raw, state, files.expect_writable)
        raise
    return states


def _back(one: _Restoration, state: ExpectedFile) -> dict[str, Json]:
    """What `data` says about a file; `state` is what is there afterwards."""
    back: dict[str, Json] = {"path": one.edit.path, "hash": "", "size": 0, "mtime_ns": 0, "total_lines": 0}
    if one.edit.key != one.edit.path:
        back["file"] = one.edit.key
    if one.raw is not None and state != "absent":
        lines = one.raw.count(b"\n") + (bool(one.raw) and not one.raw.endswith(b"\n"))
        back |= {"hash": one.edit.before, "size": len(one.raw), "mtime_ns": state.st_mtime_ns}
        back["total_lines"] = lines
    return back


def _diff(one: _Restoration) -> list[str]:
    path = one.edit.path
    encoding = detect_encoding(one.raw or b"")
    old = plain_lines(one.now.text)
    new = plain_lines(decode(one.raw or b"", encoding, path)) if encoding else []
    target = path if one.raw is not None else "/dev/null"
    return [f"--- {path}", f"+++ {target}", *unified_diff(old, new, line_changes(old, new))]
