"""Where the paths of a command really lead: links followed, patterns matched with the names that are there.

Rule: names are looked at and no file is opened. What would take long to tell is not told, so that it is asked
about. What happens between this look and the command is for the sandbox to hold.
"""

import os
import re

from holdfast.tools.commands.fields import WILD

MOST_NAMES = 10_000
"""Names that are looked at for one path."""


def real_places(path: str) -> tuple[str, ...] | None:
    """The real paths that an absolute one may mean, as the system resolves it, `..` behind links too; None where
    that cannot be told."""
    try:
        found = _matches(path) if WILD in path else [path]
        return None if found is None else tuple(dict.fromkeys(_resolved(found)))
    except (OSError, ValueError, RecursionError):
        return None


def _matches(path: str) -> list[str] | None:
    """The paths that a pattern stands for now."""
    heads, looked = [""], 0
    for part in path.split("/")[1:]:
        if WILD not in part:
            heads = [f"{head}/{part}" for head in heads]
            continue
        pattern = re.compile(".*".join(re.escape(text) for text in re.split(f"{WILD}+", part)), re.DOTALL)
        found = list[str]()
        for head in heads:
            names = _names(head)
            looked += len(names)
            if looked > MOST_NAMES:
                return None
            found += [f"{head}/{name}" for name in names if pattern.fullmatch(name)]
        heads = found
    return heads


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder or "/")  # noqa: PTH208 - names only, and many
    except OSError:
        return []


def _resolved(paths: list[str]) -> list[str]:
    """Each folder is resolved once, since a pattern finds many names in one."""
    folders: dict[str, str] = {}
    out = list[str]()
    for path in paths:
        folder, _, name = path.rpartition("/")
        if len(paths) == 1 or name in ("", ".", "..") or os.path.islink(path):  # noqa: PTH114
            out.append(os.path.realpath(path))
            continue
        if folder not in folders:
            folders[folder] = os.path.realpath(folder or "/")
        out.append(f"{folders[folder].rstrip('/')}/{name}")
    return out
