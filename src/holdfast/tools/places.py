"""Places inside the workspace, and what is open there.

Rule: values only; they are made by the guard, which has checked them.
"""

import os
import stat
from typing import BinaryIO, Literal, Self

from msgspec import Struct

Kind = Literal["file", "directory", "link", "other"]


class Place(Struct, frozen=True):
    """A resolved place inside a root; there need not be a file. `inner` is empty for the root itself."""

    root: str
    inner: str
    shown: str
    """How a tool names it: from the first root, or whole if it lies in another one."""

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.inner) if self.inner else self.root  # noqa: PTH118 - bytes in names

    @property
    def parts(self) -> list[str]:
        return self.inner.split("/") if self.inner else []


class Entry(Struct, frozen=True):
    name: str
    kind: Kind
    size: int
    mtime_ns: int


class OpenFile:
    """A regular file inside the roots, open for reading. `status` is that of the open file."""

    def __init__(self, place: Place, file: BinaryIO) -> None:
        self.place = place
        self.file = file
        self.status = os.fstat(file.fileno())

    @property
    def links(self) -> int:
        return self.status.st_nlink

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


class OpenDirectory:
    """A directory inside the roots, held by its descriptor: whatever its name comes to mean, this is it."""

    def __init__(self, place: Place, descriptor: int) -> None:
        self.place = place
        self.descriptor = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    @property
    def handle(self) -> str:
        """A path by which a child process gets to this very directory; its name where the system has none."""
        pinned = f"/proc/self/fd/{self.descriptor}"
        return pinned if os.path.isdir(pinned) else self.place.path  # noqa: PTH112

    def entries(self) -> list[Entry]:
        """What stands in it, in the order of names."""
        with os.scandir(self.descriptor) as found:
            entries = [_entry(item) for item in found]
        return sorted((e for e in entries if e), key=lambda e: e.name)


def name_for_people(path: str) -> str:
    """A path as text: bytes that are no UTF-8 and control characters, which could forge lines, are spelled out."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _entry(item: "os.DirEntry[str]") -> Entry | None:
    """An entry, or None if it went away between the listing and the look."""
    try:
        status = item.stat(follow_symlinks=False)
    except OSError:
        return None
    return Entry(item.name, kind_of(status.st_mode), status.st_size, status.st_mtime_ns)


def kind_of(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
