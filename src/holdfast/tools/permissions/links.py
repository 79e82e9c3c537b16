"""Where the paths of a command really lead: links followed, patterns matched with the names that are there.

Rule: names are looked at and no file is opened. What would take long to tell is not told, so that it is asked
about. What happens between this look and the command is for the sandbox to hold.
"""

import os
import re

from holdfast.tools.commands.fields import BELOW, EVEN, HOME, SMOOTH, SOLID, WILD, name_pattern

MOST_NAMES = 10_000
"""Names that are looked at for one path,"""
MOST_BELOW = 200_000
"""and for one that means everything below it."""
_ROUGH = re.compile(r"^-|[\s\"'\\]")
"""What parts a name from a word: blanks, quotes, a dash at its start."""
_LAST = re.compile(f"([{BELOW}{SMOOTH}])({SOLID}?)([^/{WILD}-{HOME}]*)")


def real_places(path: str) -> tuple[str, ...] | None:
    """The real paths that an absolute one may mean, as the system resolves it, `..` behind links too; None where
    that cannot be told, or where names are not what the path says of them."""
    folder, _, name = path.rpartition("/")
    last = _LAST.fullmatch(name)
    path = folder or "/" if last else path
    if BELOW in path or SMOOTH in path:
        return None
    try:
        found = _matches(path) if WILD in path or EVEN in path else [path]
        if found is None:
            return None
        led = _resolved(found)
        below = _led_below(led, last) if last else []
    except (OSError, ValueError, RecursionError):
        return None
    return None if below is None else tuple(dict.fromkeys([*led, *below]))


def _led_below(folders: list[str], wanted: re.Match[str]) -> list[str] | None:
    """Where the links below folders lead, and those below these. None for too many names, and for a rough one where
    smooth ones are wanted."""
    is_smooth, is_solid, ending = wanted[1] == SMOOTH, bool(wanted[2]), wanted[3]
    looked, led = 0, list[str]()
    waiting, seen = [(folder, False) for folder in folders], set(folders)
    while waiting:
        folder, is_rough = waiting.pop()
        for entry in _entries(folder):
            looked += 1
            is_folder = entry.is_dir(follow_symlinks=False)
            rough = is_smooth and (is_rough or bool(_ROUGH.search(entry.name)))
            is_meant = entry.name.endswith(ending) and not (is_folder and is_solid)
            if looked > MOST_BELOW or (rough and is_meant):
                return None
            if is_folder:
                waiting.append((entry.path, rough))
            elif is_meant and not is_solid and entry.is_symlink():
                target = os.path.realpath(entry.path)
                led.append(target)
                if target not in seen and os.path.isdir(target):  # noqa: PTH112
                    seen.add(target)
                    waiting.append((target, rough))
    return led


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _matches(path: str) -> list[str] | None:
    """The paths that a pattern stands for now."""
    heads, looked = [""], 0
    for part in path.split("/")[1:]:
        if WILD not in part and EVEN not in part:
            heads = [f"{head}/{part}" for head in heads]
            continue
        pattern = name_pattern(part)
        found = list[str]()
        for head in heads:
            names = _names(head)
            looked += len(names)
            if looked > MOST_NAMES:
                return None
            names = [name for name in names if pattern.fullmatch(name)]
            if EVEN in part and any(map(_ROUGH.search, names)):
                return None
            found += [f"{head}/{name}" for name in names]
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
