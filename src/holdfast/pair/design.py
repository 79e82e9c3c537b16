"""The design of a pair's work as one short hash: what a person approved, and whether it is still that.

Rule: names and bytes decide, and nothing else; two folders with the same files have the same design.
"""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from holdfast.pair.layout import Layout

LENGTH = 12


class Design(Struct, frozen=True):
    """`hash` is empty where there are no files; `missing` are those that cannot be read, and with them it is
    another design than without."""

    files: tuple[str, ...] = ()
    hash: str = ""
    missing: tuple[str, ...] = ()


def read_design(layout: Layout, paths: Iterable[str]) -> Design:
    files = tuple(sorted({_plain(path) for path in paths}))
    if not files:
        return Design()
    digest, missing = sha256(), list[str]()
    for path in files:
        data = _read(layout, path)
        name = path.encode("utf-8", "surrogateescape")
        if data is None:
            missing.append(path)
            digest.update(b"%d %s -\n" % (len(name), name))
            continue
        digest.update(b"%d %s %d\n" % (len(name), name, len(data)))
        digest.update(data)
    return Design(files, digest.hexdigest()[:LENGTH], tuple(missing))


def _plain(path: str) -> str:
    """One name for one file: `./a//b` is `a/b`. What leads out of the folder stays what it is."""
    if path.startswith("/"):
        return path
    return "/".join(part for part in path.split("/") if part not in ("", ".")) or path


def _read(layout: Layout, path: str) -> bytes | None:
    if isinstance(layout.look(path), str):
        return None
    try:
        return (layout.root / path).read_bytes()
    except OSError:
        return None
