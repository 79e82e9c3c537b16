"""A file as it is at this moment, about to be changed: its bytes, its text, and whether it may be changed at all.

Rule: what is written later is only written if the file is still this one.
"""

import os

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.envelope import ToolError
from holdfast.tools.files.changes import OutsideChange, compare_versions
from holdfast.tools.files.seen_files import SeenFile, SeenFiles
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.files.text_encoding import (
    GUESSES,
    Encoding,
    decode,
    decodes,
    detect_encoding,
    encoding_named,
)
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import WorkspacePath

LARGEST = 32 * 1024 * 1024
"""Bytes of a file that is edited in memory."""

VERSION_CONTROL = (".git", ".hg", ".jj", ".svn")
"""Folders whose files may name programs that version control runs."""


class FileText(Struct, frozen=True):
    place: WorkspacePath
    raw: bytes
    status: os.stat_result
    hash: str


def expect_writable(files: SeenFiles, place: WorkspacePath) -> None:
    """ACCESS_DENIED for what an agent's edit must never reach, wherever the path led through."""
    names = {name.lower() for name in place.path.split("/")}
    if inside := [name for name in VERSION_CONTROL if name in names]:
        raise ToolError(
            "ACCESS_DENIED",
            f"`{place.shown}` lies inside `{inside[0]}`, whose files can make version control run programs",
            hint="Use version control's own commands",
        )
    for folder in files.protected:
        if place.path == folder or place.path.startswith(folder.rstrip("/") + "/"):
            raise ToolError("ACCESS_DENIED", f"`{place.shown}` belongs to this agent's own records")


def load_file(workspace: Workspace, path: str) -> FileText:
    with workspace.open_file(path) as opened:
        status, place = opened.status, opened.place
        # One that grows while it is read must not fill the memory.
        raw = opened.file.read(LARGEST + 1) if status.st_size <= LARGEST else b""
    size = max(status.st_size, len(raw))
    if size > LARGEST:
        raise ToolError(
            "EXECUTION_ERROR",
            f"`{place.shown}` has {size} bytes; {LARGEST} can be edited",
            hint="Change it with Bash (`sed`, or a script)",
        )
    return FileText(place, raw, status, content_hash(raw))


def absent(workspace: Workspace, path: str) -> bool:
    """Whether nothing stands at a path; any other trouble is for whoever opens it."""
    try:
        workspace.status(path)
    except ToolError as error:
        return error.code == "NOT_FOUND"
    return False


def expect_seen(files: SeenFiles, current: FileText) -> SeenFile:
    sight = files.sight(current.place)
    if sight is None:
        raise ToolError(
            "ACCESS_DENIED",
            f"`{current.place.shown}` exists and you have not read it",
            hint="Read it first, at least the part you want to change",
        )
    return sight


def encoding_of(raw: bytes, sight: SeenFile | None) -> Encoding | None:
    """The encoding to keep: the one it was read with. None where it is no text, such as a picture.

    A guess is not made anew: one edit more, and the umlauts of a Western file may look like Chinese. Only bytes
    that somebody else wrote, and that are certain to be of another encoding, are taken for what they are.
    """
    if sight and sight.encoding:
        return encoding_named(sight.encoding, raw)
    found = detect_encoding(raw)
    if found is None or sight is None or sight.seen_as in ("", found.name):
        return found
    kept = replace(encoding_named(sight.seen_as, raw), is_guess=sight.seen_as in GUESSES)
    is_sure = sight.hash == content_hash(raw) or (kept.is_guess and found.is_guess)
    return kept if is_sure and decodes(raw, kept) else found


def changed_outside(files: SeenFiles, current: FileText, sight: SeenFile, text: str) -> OutsideChange | None:
    """What somebody else did to a file since the agent saw it; None if nothing."""
    if sight.hash == current.hash:
        return None
    raw = files.snapshots.get(sight.hash)
    encoding = encoding_of(raw, sight) if raw is not None else None
    if raw is None or encoding is None:
        return OutsideChange(None, text)
    return compare_versions(decode(raw, encoding, current.place.shown), text)
