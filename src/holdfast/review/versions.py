"""The text of both versions of the files of a diff, read when it is needed.

Rule: bounded. Texts are read in batches by one run of git, the latest are cached, and a file that is large, not
text or outside the repository is not read at all. What is not UTF-8 is decoded line by line, so that a line of a
diff and the same line of its file become the same text; the result can always be written as UTF-8.
"""

import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from holdfast.review.diff import FileChange, apply_hunks, revert_hunks, text_of_added_or_deleted
from holdfast.review.repository import Repository

BINARY_PREFIX = 8000
"""Bytes at the beginning of a file in which a NUL makes it binary, as in git."""

_CHINESE = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe])*")
"""ASCII and pairs of GB 2312. Accented Latin letters rarely come in pairs."""


def is_binary(raw: bytes) -> bool:
    return b"\0" in raw[:BINARY_PREFIX]


def decode_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "\n".join(_decode_line(line) for line in raw.split(b"\n"))


def _decode_line(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace") if _CHINESE.fullmatch(raw) else raw.decode("latin-1")


MOST_TEXT = 2 * 1024 * 1024
BATCH = 512
BATCH_BYTES = 8 * 1024 * 1024
CACHED = 2 * BATCH
CACHED_CHARACTERS = 2 * BATCH_BYTES


TextSource = Callable[[Sequence[str]], Mapping[str, str | None]]
"""Gives the texts of one side: that of the first path, and of as many of the next ones as are together no more than
`BATCH_BYTES`."""


def git_texts(repository: Repository, tree: str, paths: Sequence[str]) -> dict[str, str | None]:
    """Texts in a commit, a tree, or (with an empty name) the index."""
    lead = tree + ":" if tree else ":0:"

    def run(option: str, paths: Sequence[str]) -> bytes:
        names = b"".join(f"{lead}{path}\n".encode("utf-8", "surrogateescape") for path in paths)
        return repository.run("cat-file", option, stdin=names, most=2**31) if paths else b""

    # git reads one name a line.
    named = [path for path in paths if is_downward(path) and "\n" not in path]
    heads = run("--batch-check=%(objecttype) %(objectsize)", named).split(b"\n")
    sizes = {
        path: int(head[5:])
        for path, head in zip(named, heads, strict=False)
        if head.startswith(b"blob ") and head[5:].isdigit()
    }
    taken = _batch(paths, [sizes.get(path, -1) for path in paths])
    small = [path for path in taken if 0 <= sizes.get(path, -1) <= MOST_TEXT]
    out = run("--batch", small)
    found: dict[str, str | None] = dict.fromkeys(taken)
    at = 0
    for path in small:
        head_end = out.index(b"\n", at)
        size = int(out[at:head_end].rsplit(b" ", 1)[1])
        at = head_end + 1
        found[path] = _text(out[at : at + size])
        at += size + 1
    return found


def disk_texts(top: Path, paths: Sequence[str]) -> dict[str, str | None]:
    """Texts on disk, inside one folder."""
    found: dict[str, str | None] = {}
    left = BATCH_BYTES
    for path in paths:
        raw = read_inside(top, path)
        found[path] = None if raw is None else _text(raw)
        left -= len(raw or b"")
        if left < 0:
            break
    return found


class PrefetchedTexts:
    """One side with a cache, read ahead in the order of the diff."""

    def __init__(self, side: TextSource, order: Sequence[str]) -> None:
        self._side = side
        self._order = list(dict.fromkeys(order))
        self._places = {path: i for i, path in enumerate(self._order)}
        self._cache: OrderedDict[str, str | None] = OrderedDict()
        self._size = 0

    def text(self, path: str) -> str | None:
        if path not in self._cache:
            at = self._places.get(path)
            ahead = [path] if at is None else self._order[at : at + BATCH]
            texts = self._side([p for p in ahead if p not in self._cache])
            # The requested text is added last, so that it is dropped last.
            self._cache.update(reversed(list(texts.items())))
            self._size += sum(len(text or "") for text in texts.values())
            while len(self._cache) > 1 and (len(self._cache) > CACHED or self._size > CACHED_CHARACTERS):
                _, dropped = self._cache.popitem(last=False)
                self._size -= len(dropped or "")
        return self._cache[path]


class GitVersions:
    """Both sides from a repository."""

    def __init__(self, old: TextSource, new: TextSource, files: Sequence[FileChange]) -> None:
        self._old = PrefetchedTexts(old, [file.old_path for file in files if file.change != "added"])
        self._new = PrefetchedTexts(new, [file.path for file in files if file.change != "deleted"])

    def old(self, path: str) -> str | None:
        return self._old.text(path)

    def new(self, path: str) -> str | None:
        return self._new.text(path)


class TextVersions:
    """Both sides of a diff that was given as text: from the diff if it contains a whole file, else from the file
    on disk, if the diff applies to it (not applied yet) or can be reverted (already applied). A file that the
    diff does not name is read from disk."""

    def __init__(self, top: Path | None, files: Sequence[FileChange]) -> None:
        self._top = top
        self._by_old = {file.old_path: file for file in files}
        self._by_new = {file.path: file for file in files}

    def old(self, path: str) -> str | None:
        file = self._by_old.get(path)
        return self._sides(file)[0] if file else self._untouched(path)

    def new(self, path: str) -> str | None:
        file = self._by_new.get(path)
        return self._sides(file)[1] if file else self._untouched(path)

    def _sides(self, file: FileChange) -> tuple[str | None, str | None]:
        if file.change == "added":
            return None, text_of_added_or_deleted(file)
        if file.change == "deleted":
            return text_of_added_or_deleted(file), None
        now = self._on_disk(file.path)
        if now is not None and (reverted := revert_hunks(now, file.hunks)) is not None:
            return reverted, now
        before = self._on_disk(file.old_path)
        after = None if before is None else apply_hunks(before, file.hunks)
        return (None, None) if after is None else (before, after)

    def _untouched(self, path: str) -> str | None:
        """A file that the diff does not name, which is the same on both sides."""
        is_named = path in self._by_old or path in self._by_new
        return None if is_named or ".git" in path.split("/") else self._on_disk(path)

    def _on_disk(self, path: str) -> str | None:
        raw = read_inside(self._top, path) if self._top else None
        return None if raw is None else _text(raw)


def is_downward(path: str) -> bool:
    """Does a path only go down? A diff may name any path."""
    return bool(path) and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def read_inside(top: Path, path: str, most: int = MOST_TEXT) -> bytes | None:
    """The bytes of a file (of a link, its target); None if it is missing, too large, not a file, unreadable or
    outside."""
    if not is_downward(path):
        return None
    place = top / path
    try:
        # Not with pathlib, which takes three times as long: this runs for every file.
        folder, root = os.path.realpath(place.parent), os.path.realpath(top)
        if folder != root and not folder.startswith(root.rstrip("/") + "/"):
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


def _batch(paths: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """The first path, and as many of the next ones as may be read with it. Files that are too large are not
    read."""
    taken: list[str] = []
    left = BATCH_BYTES
    for path, size in zip(paths, sizes, strict=True):
        left -= size if 0 <= size <= MOST_TEXT else 0
        if taken and left < 0:
            break
        taken.append(path)
    return taken


def _text(raw: bytes) -> str | None:
    return None if is_binary(raw) else decode_text(raw)
