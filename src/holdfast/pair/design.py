"""The design of a pair's work as one short hash: what a person approved, and whether it is still that.

Rule: names and bytes decide, and nothing else; two folders with the same files have the same design.
"""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from holdfast.pair.layout import Layout

LENGTH = 12


class Design(Struct, frozen=True):
    """`hash` is empty where there are no files; `missing` are those that cannot be read."""

    files: tuple[str, ...] = ()
    hash: str = ""
    missing: tuple[str, ...] = ()


def read_design(layout: Layout, paths: Iterable[str]) -> Design:
    files = tuple(sorted(set(paths)))
    if not files:
        return Design()
    digest, missing = sha256(), list[str]()
    for path in files:
        if isinstance(layout.look(path), str):
            missing.append(path)
            continue
        try:
            data = (layout.root / path).read_bytes()
        except OSError:
            missing.append(path)
            continue
        name = path.encode("utf-8", "surrogateescape")
        digest.update(b"%d %s %d\n" % (len(name), name, len(data)))
        digest.update(data)
    return Design(files, digest.hexdigest()[:LENGTH], tuple(missing))
