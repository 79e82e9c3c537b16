"""A file as it is at this moment, about to be changed: its bytes, its text, and whether it may be changed at all.

Rule: what is written later is only written if the file is still this one.
"""

import os

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.envelope import ToolError
from holdfast.tools.files.conflicts import Outside, outside_change
from holdfast.tools.files.seen import Files, Sight
from holdfast.tools.files.snapshots import id_of
from holdfast.tools.files.texts import GUESSES, Encoding, decode, decodes, detect, named
from holdfast.tools.places import Place
from holdfast.tools.workspace import Workspace

LARGEST = 32 * 1024 * 1024
"""Bytes of a file that is edited in memory."""

VERSION_CONTROL = (".git", ".hg", ".jj", ".svn")
"""Folders whose files may name programs that version control runs."""


class Current(Struct, frozen=True):
    place: Place
    raw: bytes
    status: os.stat_result
    hash: str


def expect_writable(files: Files, place: Place) -> None:
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


def current_file(workspace: Workspace, path: str) -> Current:
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
    return Current(place, raw, status, id_of(raw))


def absent(workspace: Workspace, path: str) -> bool:
    """Whether nothing stands at a path; any other trouble is for whoever opens it."""
    try:
        workspace.status(path)
    except ToolError as error:
        return error.code == "NOT_FOUND"
    return False


def expect_seen(files: Files, current: Current) -> Sight:
    sight = files.sight(current.place)
    if sight is None:
        raise ToolError(
            "ACCESS_DENIED",
            f"`{current.place.shown}` exists and you have not read it",
            hint="Read it first, at least the part you want to change",
        )
    return sight


def encoding_of(raw: bytes, sight: Sight | None) -> Encoding | None:
    """The encoding to keep: the one it was read with. None where it is no text, such as a picture.

    A guess is not made anew: one edit more, and the umlauts of a Western file may look like Chinese. Only bytes
    that somebody else wrote, and that are certain to be of another encoding, are taken for what they are.
    """
    if sight and sight.encoding:
        return named(sight.encoding, raw)
    found = detect(raw)
    if found is None or sight is None or sight.seen_as in ("", found.name):
        return found
    kept = replace(named(sight.seen_as, raw), is_guess=sight.seen_as in GUESSES)
    is_sure = sight.hash == id_of(raw) or (kept.is_guess and found.is_guess)
    return kept if is_sure and decodes(raw, kept) else found


def changed_outside(files: Files, current: Current, sight: Sight, text: str) -> Outside | None:
    """What somebody else did to a file since the agent saw it; None if nothing."""
    if sight.hash == current.hash:
        return None
    raw = files.snapshots.get(sight.hash)
    encoding = encoding_of(raw, sight) if raw is not None else None
    if raw is None or encoding is None:
        return Outside(None, text)
    return outside_change(decode(raw, encoding, current.place.shown), text)
