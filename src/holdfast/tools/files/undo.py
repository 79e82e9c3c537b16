"""Undo: the last edits taken back, newest first, so that the files are again what they were.

Rule: all or nothing is looked at before anything is written, and a file that is not as the agent left it stays.
"""

import contextlib
from functools import partial
from itertools import pairwise

from msgspec import Struct

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.files.edit import write_file
from holdfast.tools.files.file_text import FileText, expect_writable, load_file
from holdfast.tools.files.line_diff import line_changes, unified_diff
from holdfast.tools.files.seen_files import UNDO, AgentEdit, SeenFiles, path_of
from holdfast.tools.files.text_encoding import (
    decode,
    detect_encoding,
    split_lines,
    unify_line_endings,
)
from holdfast.tools.workspace import ExpectedFile, Workspace


class _Way(Struct, frozen=True):
    """A file's way back: as it is now, and the bytes it shall have; None if it shall not be there."""

    made: AgentEdit
    current: FileText
    raw: bytes | None


def undo(files: SeenFiles, workspace: Workspace, count: int = 1, *, dry_run: bool = False) -> ToolResult:
    """Take back the last edits. CONFLICT if a file was changed since, NOT_FOUND if there is nothing to undo.

    The `data` of the result is to be kept like that of a tool named `Undo`: `SeenFiles.restore` takes it.
    """
    assert count > 0
    if not files.made:
        raise ToolError("NOT_FOUND", "there is no edit to undo")
    taken = files.made[-count:]
    ways = [_way_back(files, workspace, chain) for chain in _chains(taken).values()]
    backs = _go_all(files, workspace, ways, dry_run=dry_run)
    data: dict[str, Json] = {"count": len(taken), "files": backs, "dry_run": dry_run}
    if not dry_run:
        files.restore(UNDO, data)
    named = ", ".join(f"`{way.made.path}`{'' if way.raw is not None else ' (removed)'}" for way in ways)
    edits = "1 edit" if len(taken) == 1 else f"{len(taken)} edits"
    text = f"{'Would undo' if dry_run else 'Undid'} {edits}: {named}."
    shown = "\n".join(row for way in ways for row in _diff(way))
    return build_result(Envelope(status="success", text=text, data=data), shown or text)


def _chains(taken: list[AgentEdit]) -> dict[str, list[AgentEdit]]:
    """The edits of each file, oldest first."""
    chains: dict[str, list[AgentEdit]] = {}
    for made in taken:
        chains.setdefault(made.key, []).append(made)
    return chains


def _way_back(files: SeenFiles, workspace: Workspace, chain: list[AgentEdit]) -> _Way:
    newest, oldest = chain[-1], chain[0]
    current = load_file(workspace, path_of(newest.key))
    if current.hash != newest.after:
        raise ToolError(
            "CONFLICT", f"`{newest.path}` was changed since it was edited", hint="Nothing was undone"
        )
    # An edit made upon somebody else's change must not take that back as well.
    for earlier, later in pairwise(chain):
        if later.before != earlier.after:
            raise ToolError(
                "CONFLICT",
                f"`{newest.path}` was changed by someone else between two of these edits",
                hint="Nothing was undone; fewer edits may be",
            )
    if not oldest.before:
        return _Way(oldest, current, None)
    raw = files.snapshots.get(oldest.before)
    if raw is None:
        raise ToolError(
            "NOT_FOUND", f"what `{oldest.path}` was before is no longer kept", hint="Nothing was undone"
        )
    return _Way(oldest, current, raw)


def _go_all(
    files: SeenFiles, workspace: Workspace, ways: list[_Way], *, dry_run: bool
) -> list[dict[str, Json]]:
    gone: list[tuple[dict[str, Json], ExpectedFile]] = []
    try:
        gone.extend(_go(files, workspace, way, dry_run=dry_run) for way in ways)
    except ToolError:
        # Somebody wrote one of the files at this very moment: those before it are as they were again.
        for way, (_, left) in zip(ways, gone, strict=False):
            with contextlib.suppress(ToolError):
                write_file(workspace, files, path_of(way.made.key), way.current.raw, left)
        raise
    return [back for back, _ in gone]


def _go(
    files: SeenFiles, workspace: Workspace, way: _Way, *, dry_run: bool
) -> tuple[dict[str, Json], ExpectedFile]:
    """What `data` says of a file, and how it is left."""
    path = path_of(way.made.key)
    back: dict[str, Json] = {"path": way.made.path, "hash": "", "size": 0, "mtime_ns": 0, "total_lines": 0}
    if way.made.key != way.made.path:
        back["file"] = way.made.key
    if way.raw is None:
        if not dry_run:
            workspace.remove_file(path, way.current.status, partial(expect_writable, files))
        return back, "absent"
    status = way.current.status
    if not dry_run:
        status = write_file(workspace, files, path, way.raw, status).status
    lines = way.raw.count(b"\n") + (bool(way.raw) and not way.raw.endswith(b"\n"))
    back |= {"hash": way.made.before, "size": len(way.raw), "mtime_ns": status.st_mtime_ns}
    return back | {"total_lines": lines}, status


def _diff(way: _Way) -> list[str]:
    old, new = _lines(way.current.raw, way.made.path), _lines(way.raw or b"", way.made.path)
    target = way.made.path if way.raw is not None else "/dev/null"
    return [f"--- {way.made.path}", f"+++ {target}", *unified_diff(old, new, line_changes(old, new))]


def _lines(raw: bytes, shown: str) -> list[str]:
    encoding = detect_encoding(raw)
    return split_lines(unify_line_endings(decode(raw, encoding, shown))) if encoding else []
