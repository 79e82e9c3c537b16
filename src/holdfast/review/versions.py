"""Bytes of a file or of a diff as text.

Rule: line by line where it is not UTF-8, so that a line of a diff and the same line of its file are decoded alike;
what comes out can always be written as UTF-8.
"""

import os
import re
import stat
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from holdfast.review.diff import FileChange, apply_hunks, revert_hunks, text_of_added_or_deleted
from holdfast.review.repository import Repository

LOOKED_AT = 8000
"""Bytes at the beginning among which a NUL makes a file binary, as git has it."""

_CHINESE = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe])*")
"""ASCII and pairs of GB 2312. Latin letters with accents rarely stand in pairs."""


def is_binary(raw: bytes) -> bool:
    return b"\0" in raw[:LOOKED_AT]


def decode_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "\n".join(_line(line) for line in raw.split(b"\n"))


def _line(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace") if _CHINESE.fullmatch(raw) else raw.decode("latin-1")


# Both versions of the files of a diff, read when they are asked for.
#
# Rule: bounded. Texts are read by the dozen in one run of git, the latest are kept, and a file that is large, no text
# or outside of the repository is not read at all.

MOST_TEXT = 2 * 1024 * 1024
AT_ONCE = 512
AT_ONCE_BYTES = 8 * 1024 * 1024
KEPT = 2 * AT_ONCE
KEPT_CHARACTERS = 2 * AT_ONCE_BYTES


class TextSource(Protocol):
    """Where one side's texts come from. **Contract:** answers for the first path, and for as many of the next ones
    as together are no more than `AT_ONCE_BYTES`."""

    def texts(self, paths: Sequence[str]) -> Mapping[str, str | None]: ...


class GitTexts:
    """Texts in a commit, a tree, or (with an empty name) the index."""

    def __init__(self, repository: Repository, tree: str) -> None:
        self._repository = repository
        self._tree = tree

    def texts(self, paths: Sequence[str]) -> dict[str, str | None]:
        # Names are asked for one a line.
        asked = [path for path in paths if is_downward(path) and "\n" not in path]
        sizes = dict(zip(asked, self._sizes(asked), strict=True))
        taken = _fitting(paths, [sizes.get(path, -1) for path in paths])
        small = [path for path in taken if 0 <= sizes.get(path, -1) <= MOST_TEXT]
        out = (
            self._repository.ask("cat-file", "--batch", stdin=self._names(small), most=2**31)
            if small
            else b""
        )
        found: dict[str, str | None] = dict.fromkeys(taken)
        at = 0
        for path in small:
            head_end = out.index(b"\n", at)
            size = int(out[at:head_end].rsplit(b" ", 1)[1])
            at = head_end + 1
            found[path] = _text(out[at : at + size])
            at += size + 1
        return found

    def _sizes(self, paths: Sequence[str]) -> list[int]:
        """-1 where there is no such file."""
        if not paths:
            return []
        out = self._repository.ask(
            "cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=self._names(paths)
        )
        return [
            int(line[5:]) if line.startswith(b"blob ") and line[5:].isdigit() else -1
            for line in out.split(b"\n")[: len(paths)]
        ]

    def _names(self, paths: Sequence[str]) -> bytes:
        lead = self._tree + ":" if self._tree else ":0:"
        return b"".join(f"{lead}{path}\n".encode("utf-8", "surrogateescape") for path in paths)


class DiskTexts:
    """Texts on the disk, inside of one folder."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def texts(self, paths: Sequence[str]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        left = AT_ONCE_BYTES
        for path in paths:
            raw = read_inside(self._top, path)
            found[path] = None if raw is None else _text(raw)
            left -= len(raw or b"")
            if left < 0:
                break
        return found


class PrefetchedTexts:
    """One side, asked in the order of the diff and read ahead."""

    def __init__(self, side: TextSource, order: Sequence[str]) -> None:
        self._side = side
        self._order = list(dict.fromkeys(order))
        self._places = {path: i for i, path in enumerate(self._order)}
        self._kept: OrderedDict[str, str | None] = OrderedDict()
        self._size = 0

    def text(self, path: str) -> str | None:
        if path not in self._kept:
            at = self._places.get(path)
            ahead = [path] if at is None else self._order[at : at + AT_ONCE]
            texts = self._side.texts([p for p in ahead if p not in self._kept])
            # The one asked for comes last, so that it is the latest.
            self._kept.update(reversed(list(texts.items())))
            self._size += sum(len(text or "") for text in texts.values())
            while len(self._kept) > 1 and (len(self._kept) > KEPT or self._size > KEPT_CHARACTERS):
                _, gone = self._kept.popitem(last=False)
                self._size -= len(gone or "")
        return self._kept[path]


class GitVersions:
    """Both sides out of a repository."""

    def __init__(self, old: TextSource, new: TextSource, files: Sequence[FileChange]) -> None:
        self._old = PrefetchedTexts(old, [file.old_path for file in files if file.change != "added"])
        self._new = PrefetchedTexts(new, [file.path for file in files if file.change != "deleted"])

    def old(self, path: str) -> str | None:
        return self._old.text(path)

    def new(self, path: str) -> str | None:
        return self._new.text(path)


class TextVersions:
    """Both sides of a diff that came as a text: out of the diff where it holds a whole file, and otherwise out of
    the file on the disk, if the diff fits it (not applied yet) or fits it backwards (already applied). A file that
    the diff does not name is that on the disk."""

    def __init__(self, top: Path | None, files: Sequence[FileChange]) -> None:
        self._top = top
        self._by_old = {file.old_path: file for file in files}
        self._by_new = {file.path: file for file in files}

    def old(self, path: str) -> str | None:
        file = self._by_old.get(path)
        if file is None:
            return self._untouched(path)
        if file.change == "added":
            return None
        if file.change == "deleted":
            return text_of_added_or_deleted(file)
        if (now := self._on_disk(file.path)) is not None and (
            back := revert_hunks(now, file.hunks)
        ) is not None:
            return back
        before = self._on_disk(path)
        return before if before is not None and apply_hunks(before, file.hunks) is not None else None

    def new(self, path: str) -> str | None:
        file = self._by_new.get(path)
        if file is None:
            return self._untouched(path)
        if file.change == "deleted":
            return None
        if file.change == "added":
            return text_of_added_or_deleted(file)
        if (now := self._on_disk(path)) is not None and revert_hunks(now, file.hunks) is not None:
            return now
        before = self._on_disk(file.old_path)
        return None if before is None else apply_hunks(before, file.hunks)

    def _untouched(self, path: str) -> str | None:
        """A file that the diff does not name is the same on both sides."""
        is_named = path in self._by_old or path in self._by_new
        return None if is_named or ".git" in path.split("/") else self._on_disk(path)

    def _on_disk(self, path: str) -> str | None:
        raw = read_inside(self._top, path) if self._top else None
        return None if raw is None else _text(raw)


def is_downward(path: str) -> bool:
    """Whether a path goes only downwards. A diff, or whoever asks, may name any."""
    return bool(path) and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def read_inside(top: Path, path: str, most: int = MOST_TEXT) -> bytes | None:
    """The bytes of a file (of a link, where it leads); None where it is not there, too large, no file, cannot be
    read, or would lead outside."""
    if not is_downward(path):
        return None
    place = top / path
    try:
        # Not by pathlib: it takes three times as long, and this is done for every file.
        folder, inside = os.path.realpath(place.parent), os.path.realpath(top)
        if folder != inside and not folder.startswith(inside.rstrip("/") + "/"):
            return None
        status = place.lstat()
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(place.readlink())
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(most)
    except OSError:
        return None


def _fitting(paths: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """The first path, and as many of the next ones as may be read with it. What is too large is not read."""
    taken: list[str] = []
    left = AT_ONCE_BYTES
    for path, size in zip(paths, sizes, strict=True):
        left -= size if 0 <= size <= MOST_TEXT else 0
        if taken and left < 0:
            break
        taken.append(path)
    return taken


def _text(raw: bytes) -> str | None:
    return None if is_binary(raw) else decode_text(raw)
