"""Exact bytes by their hash: files as they were when read, and before they were changed.

Rule: `get` returns the very bytes that were kept, or None; a damaged snapshot is missing, never wrong. Snapshots
contain the secrets of the files, so only the owner may read their folder.
"""

import contextlib
import os
import re
import secrets
import threading
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import Protocol

MOST_MEMORY = 64 * 1024 * 1024

_ID = re.compile(r"[0-9a-f]{64}")


def content_hash(raw: bytes) -> str:
    return sha256(raw).hexdigest()


class Snapshots(Protocol):
    """**Contract:** `keep` may drop older snapshots, and does not keep one that is too large."""

    def keep(self, raw: bytes) -> str: ...

    def get(self, id_: str) -> bytes | None: ...


class MemorySnapshots:
    """The newest snapshots, as many as fit. Thread-safe."""

    def __init__(self, most: int = MOST_MEMORY) -> None:
        self._most = most
        self._used = 0
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, raw: bytes) -> str:
        id_ = content_hash(raw)
        with self._lock:
            if id_ in self._texts:
                self._texts.move_to_end(id_)
            elif len(raw) <= self._most:
                self._texts[id_] = raw
                self._used += len(raw)
                while self._used > self._most:
                    self._used -= len(self._texts.popitem(last=False)[1])
        return id_

    def get(self, id_: str) -> bytes | None:
        return self._texts.get(id_)


class FolderSnapshots:
    """A file for each snapshot. Several processes may share the folder, since equal bytes have the same name."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)

    def keep(self, raw: bytes) -> str:
        id_ = content_hash(raw)
        path = self._path(id_)
        # One that is there gets a new time; a damaged one is written again.
        if self.get(id_) is not None:
            with contextlib.suppress(OSError):
                os.utime(path)
                return id_
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return id_

    def get(self, id_: str) -> bytes | None:
        if not _ID.fullmatch(id_):
            return None
        try:
            raw = self._path(id_).read_bytes()
        except OSError:
            return None
        return raw if content_hash(raw) == id_ else None

    def _path(self, id_: str) -> Path:
        return self._folder / id_[:2] / id_[2:]
