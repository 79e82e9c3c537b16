"""The folder where a shell keeps what its commands print, and their temporary files.

Rule: it is created when first needed and removed when the shell is closed, garbage-collected, or the interpreter
ends. The folder of a killed process is removed by the next one: a folder belongs to the process that holds its
lock, and the system releases the locks of dead processes.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
import weakref
from functools import cache
from pathlib import Path

FOLDER_PREFIX = "holdfast-shell-"
LOCK_FILE = "lock"
UNLOCKED = 3600.0
"""Seconds after which a folder without a lock belongs to nobody; before, it may be about to get one."""


class ShellFolder:
    """**Contract:** `remove` may be called at any time; a later use creates the folder again."""

    def __init__(self) -> None:
        self._removal: weakref.finalize[[Path, int, int], ShellFolder] | None = None
        self._path = Path()

    @property
    def path(self) -> Path:
        if not (self._removal and self._removal.alive):
            remove_abandoned_folders(tempfile.gettempdir())
            self._path = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX)).resolve()
            lock = os.open(self._path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._removal = weakref.finalize(self, _remove, self._path, lock, os.getpid())
        return self._path

    @property
    def temporary(self) -> Path:
        """The part for temporary files of commands."""
        inner = self.path / "tmp"
        inner.mkdir(mode=0o700, exist_ok=True)
        return inner

    def remove(self) -> None:
        if self._removal:
            self._removal()


def _remove(path: Path, lock: int, owner: int) -> None:
    # A forked process runs the same finalizers, but does not own the folder.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@cache
def remove_abandoned_folders(place: str) -> None:
    """Remove the folders of killed processes; once per process."""
    for path in Path(place).glob(f"{FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_left(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_left(path: Path) -> bool:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return False
    try:
        lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - status.st_mtime > UNLOCKED
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
