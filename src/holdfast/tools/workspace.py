"""The guard: every file that a tool touches is opened here, inside the allowed roots, or not at all.

Rule: a path is resolved first and then opened from the root's own descriptor, one name at a time, following no
symbolic link. The string only says where to look; what is checked is what was opened, so a link that is swapped in
between is met as a link and refused. An OSError never leaves the guard; it becomes one of our error codes.

A link that leads to a place inside a root is allowed, since the place is what counts. `~` and `@` have no meaning
here. A hard link cannot be told from the file itself. Writing through one never reaches the other name, because a
write always replaces the directory entry with a new file. Reading one is allowed: package stores link thousands of
files, and the person who made the link could read the file.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from holdfast.errors import InputError
from holdfast.tools.envelope import ErrorCode, ToolError
from holdfast.tools.workspace_files import (
    TEMPORARY,
    OpenDirectory,
    OpenFile,
    WorkspacePath,
    printable_path,
    replace_in,
)

_ERROR_CODES: dict[int, tuple[ErrorCode, str]] = {
    errno.ENOENT: ("NOT_FOUND", "does not exist"),
    errno.ENOTDIR: ("NOT_FOUND", "is not a directory, or leads through something that is not one"),
    errno.EISDIR: ("IS_DIRECTORY", "is a directory"),
    errno.ELOOP: ("ACCESS_DENIED", "is a link that leads nowhere, or became one just now"),
    errno.EACCES: ("PERMISSION_DENIED", "may not be accessed: the operating system refuses"),
    errno.EPERM: ("PERMISSION_DENIED", "may not be accessed: the operating system refuses"),
    errno.EROFS: ("PERMISSION_DENIED", "lies on a read-only file system"),
    errno.ENAMETOOLONG: ("INVALID_PARAM", "has a name that is too long"),
    errno.EINVAL: ("INVALID_PARAM", "is a name that the file system refuses"),
    errno.EILSEQ: ("INVALID_PARAM", "is a name that the file system refuses"),
}

_HINTS = {
    "~": "`~` is not expanded; give a path from the workspace's root",
    "@": "Leave out the `@`: a path is written plainly",
}


@contextlib.contextmanager
def translate_os_errors(shown: str, *, asked: str) -> Iterator[None]:
    """Turn an OSError about a path into a ToolError that names it."""
    try:
        yield
    except OSError as error:
        code, words = _ERROR_CODES.get(
            error.errno or 0, ("EXECUTION_ERROR", f"failed: {error.strerror or error}")
        )
        hint = _HINTS.get(asked[:1], "") if code == "NOT_FOUND" else ""
        raise ToolError(code, f"`{shown}` {words}", hint=hint) from None


LONGEST_PATH = 4096

_FOLLOW_NONE = os.O_CLOEXEC | os.O_NOFOLLOW
# Only Linux has O_PATH; it opens directories that may be searched but not read.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _FOLLOW_NONE
_LIST = os.O_RDONLY | os.O_DIRECTORY | _FOLLOW_NONE
# A pipe that is swapped in after the check must not block the open.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | _FOLLOW_NONE

LEFT_BEHIND = 600.0
"""Seconds after which a temporary file belongs to no write that still runs."""

ExpectedFile = os.stat_result | Literal["absent"]
"""What must be at a path when it is written: the very file with this status, or nothing."""


class WriteRace(ToolError):
    """Somebody wrote the file while it was being changed."""


class Workspace:
    """The roots a tool may touch. Relative paths start at the first one; without a root every path is refused.

    **Contract:** every method raises `ToolError` and nothing else for what can be wrong with a path.
    """

    def __init__(self, roots: Iterable[str | Path] = ()) -> None:
        if os.open not in os.supports_dir_fd:
            raise InputError(
                "tools need a system that opens files relative to a directory (Linux, macOS, BSD)"
            )
        self.roots: tuple[str, ...] = tuple(dict.fromkeys(_real_root(root) for root in roots))
        self._identity = {root: _identity(os.stat(root)) for root in self.roots}  # noqa: PTH116
        self._cleared: dict[tuple[int, int], float] = {}

    def locate(self, path: str) -> WorkspacePath:
        """What a path refers to now, with links and `..` resolved. ACCESS_DENIED if it lies outside."""
        asked = _spelled(path)
        if not self.roots:
            raise ToolError("ACCESS_DENIED", f"`{asked}` cannot be opened: this agent has no folder")
        try:
            real = os.path.realpath(os.path.join(self.roots[0], path))  # noqa: PTH118
        except (OSError, ValueError, RecursionError):
            raise ToolError("ACCESS_DENIED", f"`{asked}` leads through too many links") from None
        within = [root for root in self.roots if real == root or real.startswith(root.rstrip("/") + "/")]
        if not within:
            raise ToolError(
                "ACCESS_DENIED",
                f"`{asked}` lies outside the workspace",
                hint=f"Allowed: {', '.join(f'`{printable_path(root)}`' for root in self.roots)}",
            )
        root, first = max(within, key=len), self.roots[0]
        shown = real[len(first) :].lstrip("/") or "." if first in within else real
        return WorkspacePath(root, real[len(root) :].strip("/"), printable_path(shown))

    def open_file(self, path: str) -> OpenFile:
        """A regular file, for reading."""
        place = self.locate(path)
        with self._parent(place) as parent, translate_os_errors(place.shown, asked=path):
            name = place.parts[-1]
            _expect_file(os.stat(name, dir_fd=parent, follow_symlinks=False), place.shown)
            descriptor = os.open(name, _READ, dir_fd=parent)
        opened = OpenFile(place, os.fdopen(descriptor, "rb"))
        try:
            _expect_file(opened.status, place.shown)
        except ToolError:
            opened.file.close()
            raise
        return opened

    def open_directory(self, path: str) -> OpenDirectory:
        place = self.locate(path)
        with translate_os_errors(place.shown, asked=path):
            return OpenDirectory(place, self._descend(place.root, place.parts))

    def status(self, path: str) -> os.stat_result:
        """Size, times and kind of what is there, with links resolved."""
        place = self.locate(path)
        if not place.inner:
            with self.open_directory(path) as directory:
                return os.fstat(directory.descriptor)
        with self._parent(place) as parent, translate_os_errors(place.shown, asked=path):
            return os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False)

    def replace_file(
        self,
        path: str,
        data: bytes,
        expected: ExpectedFile | None = None,
        check: Callable[[WorkspacePath], None] = lambda _: None,
    ) -> os.stat_result:
        """Write a whole file and return its status: the old one stays until the new one is complete on disk.
        Missing folders are created; mode, owner and extended attributes of an old file stay. CONFLICT if what is
        there is not what is `expected`, which is checked right before the rename, since no system compares and
        renames in one step.
        `check` may refuse the place that is written to, since a path may have changed its meaning a moment ago."""
        place = self.locate(path)
        check(place)
        with self._parent(place, make=True) as parent, translate_os_errors(place.shown, asked=path):
            self._clear(parent)
            name = place.parts[-1]
            old = _status_at(parent, name)
            if old:
                _expect_file(old, place.shown)
                if not os.access(name, os.W_OK, dir_fd=parent):
                    raise ToolError("PERMISSION_DENIED", f"`{place.shown}` is write-protected")
            return replace_in(parent, name, data, old, lambda: _expect(parent, place, expected))

    def remove_file(
        self,
        path: str,
        expected: ExpectedFile | None = None,
        check: Callable[[WorkspacePath], None] = lambda _: None,
    ) -> None:
        """Remove a regular file, to undo a Write that created it; otherwise like `replace_file`."""
        place = self.locate(path)
        check(place)
        with self._parent(place) as parent, translate_os_errors(place.shown, asked=path):
            _expect_file(os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False), place.shown)
            _expect(parent, place, expected)
            os.unlink(place.parts[-1], dir_fd=parent)

    def _clear(self, folder: int) -> None:
        """Remove what a killed write left in a folder. Only now and then, since some folders have a million
        names."""
        identity, now = _identity(os.fstat(folder)), time.monotonic()
        if now - self._cleared.get(identity, -LEFT_BEHIND) < LEFT_BEHIND:
            return
        self._cleared[identity] = now
        for name in filter(TEMPORARY.fullmatch, os.listdir(folder)):
            with contextlib.suppress(OSError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > LEFT_BEHIND:
                    os.unlink(name, dir_fd=folder)

    @contextlib.contextmanager
    def _parent(self, place: WorkspacePath, *, make: bool = False) -> Iterator[int]:
        if not place.inner:
            raise ToolError("IS_DIRECTORY", f"`{place.shown}` is a directory")
        with translate_os_errors(place.shown, asked=place.shown):
            descriptor = self._descend(place.root, place.parts[:-1], make=make)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _descend(self, root: str, names: list[str], *, make: bool = False) -> int:
        """The descriptor of a directory, reached from the root one name at a time."""
        here = os.open(root, _PASS if names else _LIST)
        try:
            if _identity(os.fstat(here)) != self._identity[root]:
                raise ToolError("ACCESS_DENIED", f"the root `{printable_path(root)}` was replaced by another")
            for number, name in enumerate(names, start=1):
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=here)
                below = os.open(name, _LIST if number == len(names) else _PASS, dir_fd=here)
                os.close(here)
                here = below
        except BaseException:
            os.close(here)
            raise
        return here


def _spelled(path: str) -> str:
    """A path as errors show it; INVALID_PARAM if no file can have it."""
    if not path:
        raise ToolError("INVALID_PARAM", "the path is empty")
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolError("INVALID_PARAM", "the path contains characters that no file name can have") from None
    if b"\0" in raw:
        raise ToolError("INVALID_PARAM", "the path contains a NUL byte")
    if len(raw) > LONGEST_PATH:
        raise ToolError("INVALID_PARAM", f"the path is {len(raw)} bytes long; {LONGEST_PATH} are allowed")
    return printable_path(path)


def _real_root(root: str | Path) -> str:
    real = os.path.realpath(root)
    if not os.path.isdir(real):  # noqa: PTH112
        raise InputError(f"the workspace root `{root}` is not a directory", hint="name a folder that exists")
    return real


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _expect_file(status: os.stat_result, shown: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise ToolError("IS_DIRECTORY", f"`{shown}` is a directory")
    if stat.S_ISLNK(status.st_mode):
        raise ToolError("ACCESS_DENIED", f"`{shown}` is a link that leads nowhere, or became one just now")
    raise ToolError("INVALID_PARAM", f"`{shown}` is not a regular file but a pipe, socket or device")


def _status_at(parent: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _expect(parent: int, place: WorkspacePath, expected: ExpectedFile | None) -> None:
    if expected is None:
        return
    now = _status_at(parent, place.parts[-1])
    if (_version(now) if now else "absent") == (expected if expected == "absent" else _version(expected)):
        return
    message = f"`{place.shown}` was changed by someone else at this very moment"
    raise WriteRace("CONFLICT", message, hint="Read it again")


def _version(status: os.stat_result) -> tuple[int, ...]:
    # `cp -p` and `touch` can set the modification time back, but not the change time.
    return *_identity(status), status.st_size, status.st_mtime_ns, status.st_ctime_ns
