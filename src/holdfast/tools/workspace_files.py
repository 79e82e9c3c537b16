"""Paths, open files and directories inside the workspace, and how a file is replaced.

Rule: these values are made by the guard, which has checked them. While a file is replaced its name means either the
old file or the new one, even if the machine stops; what a killed write leaves behind has a recognizable name.
"""

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from typing import BinaryIO, Literal

from msgspec import Struct

VERSION_CONTROL = (".git", ".hg", ".jj", ".svn")
"""Folders that no listing enters, and no edit: their files may name programs that version control runs."""

EntryKind = Literal["file", "directory", "link", "other"]


class WorkspacePath(Struct, frozen=True):
    """A resolved path inside a root, whether or not a file exists there. `inner` is empty for the root itself."""

    root: str
    inner: str
    shown: str
    """How a tool names it: relative to the first root, or absolute if it lies in another one."""

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.inner) if self.inner else self.root  # noqa: PTH118 - bytes in names

    @property
    def parts(self) -> list[str]:
        return self.inner.split("/") if self.inner else []


class DirectoryEntry(Struct, frozen=True):
    name: str
    kind: EntryKind
    size: int


class OpenFile(contextlib.AbstractContextManager["OpenFile"]):
    """A regular file inside the roots, open for reading. `status` is that of the open file."""

    def __init__(self, place: WorkspacePath, file: BinaryIO) -> None:
        self.place = place
        self.file = file
        self.status = os.fstat(file.fileno())

    def __exit__(self, *_: object) -> None:
        self.file.close()


class OpenDirectory(contextlib.AbstractContextManager["OpenDirectory"]):
    """A directory inside the roots, held by its descriptor, whatever its name comes to mean."""

    def __init__(self, place: WorkspacePath, descriptor: int) -> None:
        self.place = place
        self.descriptor = descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    @property
    def handle(self) -> str:
        """A path by which a child process reaches this very directory; its plain path where the system has no such
        thing."""
        pinned = f"/proc/self/fd/{self.descriptor}"
        return pinned if os.path.isdir(pinned) else self.place.path  # noqa: PTH112

    def entries(self) -> list[DirectoryEntry]:
        """What is in it, sorted by name, without what disappears meanwhile."""
        entries: list[DirectoryEntry] = []
        with os.scandir(self.descriptor) as found:
            for item in found:
                with contextlib.suppress(OSError):
                    status = item.stat(follow_symlinks=False)
                    entries.append(DirectoryEntry(item.name, entry_kind(status.st_mode), status.st_size))
        return sorted(entries, key=lambda entry: entry.name)


def printable_path(path: str) -> str:
    """A path as text: bytes that are not UTF-8 and control characters, which could forge lines, are escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def entry_kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


TEMPORARY = re.compile(r"\.holdfast-[0-9a-f]{16}\.tmp")

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def replace_in(
    parent: int, name: str, data: bytes, old: os.stat_result | None, check: Callable[[], None]
) -> os.stat_result:
    """Temporary file, fsync, rename: a rename replaces a link that was swapped in and does not follow it. `check`
    is called right before it."""
    temporary = f".holdfast-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, _CREATE, 0o600 if old else 0o666, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if old:
                _keep_attributes(file.fileno(), parent, name)
                _keep_owner_and_mode(file.fileno(), old)
            os.fsync(file.fileno())
            check()
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            # A rename is a change of status too.
            status = os.fstat(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise
    os.fsync(parent)
    return status


def _keep_attributes(descriptor: int, parent: int, name: str) -> None:
    """Give a new file the extended attributes of the old one, access lists included, where the system has them."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        old = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            for attribute in os.listxattr(old):
                # Some are the system's own, and only it may set them.
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(old, attribute))
        finally:
            os.close(old)


def _keep_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    # Only root may change the owner; otherwise the new file belongs to us, as with any editor.
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        # A setuid or setgid program must not run with the rights of another owner.
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, old.st_gid)
    os.fchmod(descriptor, mode)
