"""Where a path lies: inside the root, in a guarded part of it, outside, in the system.

Rule: paths are read as text, and what seems to lie inside is looked up by whoever knows where links lead. What
cannot be told is `unknown`, never `inside`.
"""

import posixpath
import re
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from holdfast.tools.commands.fields import FETCHED, HOME, NAMES, is_known

Place = Literal[
    "inside", "root", "guarded", "outside", "temporary", "system", "stream", "device", "network", "unknown"
]

_STREAM = re.compile(r"/dev/(?:null|zero|u?random|full|tty|std(?:in|out|err)|fd/(?:\d+|\ue001))")
_SYSTEM = re.compile(
    r"/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|root|var|opt|home|System|Library|Users)?(?:/.*)?", re.DOTALL
)
_OPEN_PLACES = re.compile(r"/(?:home|Users|root|opt|var/tmp|var/folders)/.+", re.DOTALL)
_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders)/.+", re.DOTALL)
_UP = re.compile(r"\.[.\ue000\ue007]*")
"""A part of a path that is, or by a pattern may be, the folder above."""


_ANY_NAME = re.compile(f"[{''.join(NAMES)}]+")

OURS = frozenset({"inside", "root", "guarded"})
Follow = Callable[[str], tuple[str, ...] | None]
"""The real paths that an absolute one leads to, those of links below it where it ends so; None where that cannot be
told."""


def stay(path: str) -> tuple[str, ...]:  # noqa: ARG001 - as `Follow` says
    """Where there are no links."""
    return ()


class Ground(Struct, frozen=True):
    """The folders that belong to the work, and the names in them that do not."""

    folders: tuple[str, ...]
    """Absolute and without a closing slash, the root first."""
    guarded: tuple[str, ...] = ()
    """Names of files and folders, in small letters, with which other programs can be made to run commands."""
    follow: Follow = stay


def places_of(path: str, cwd: str | None, ground: Ground) -> set[Place]:
    """Where a path lies by its text, and where it leads."""
    near = place_of(path, cwd, ground)
    if near not in OURS:
        return {near}
    # Not made shorter before: behind a link, `..` is the folder above the place that it leads to.
    led = ground.follow(posixpath.join(cwd or "/", path))
    if led is None:
        return {near, "unknown"}
    return {near, *(place_of(real, None, ground) for real in led)}


def place_of(path: str, cwd: str | None, ground: Ground) -> Place:
    """`cwd` is the absolute folder that the command runs in, or None where it is not known."""
    path = path.replace(f"{FETCHED}/dev/fd/", "/dev/fd/")
    if _STREAM.fullmatch(path):
        return "stream"
    if not is_known(path):
        return "unknown"
    if path.startswith(HOME):
        return "system" if path.strip("/") == HOME else "outside"
    whole = absolute(path, cwd)
    if whole is None:
        return "unknown"
    if whole.startswith("/dev/"):
        return "network" if whole.startswith(("/dev/tcp/", "/dev/udp/")) else "device"
    return _placed(whole, ground)


def absolute(path: str, cwd: str | None) -> str | None:
    """The path from the top, `..` resolved as text; None where it cannot be told."""
    if not is_known(path) or HOME in path or (cwd is None and not path.startswith("/")):
        return None
    parts = posixpath.join(cwd or "/", path).split("/")
    first = next((at for at, part in enumerate(parts) if _is_open(part)), len(parts))
    if any(_UP.fullmatch(part) and part != "." for part in parts[first:]):
        return None  # what is above a name that is not known is not known either
    return "/" + posixpath.normpath("/" + posixpath.join(cwd or "/", path)).lstrip("/")


def _placed(whole: str, ground: Ground) -> Place:
    for folder in ground.folders:
        if whole == folder:
            return "root"
        if whole.startswith(folder.rstrip("/") + "/"):
            inner = whole[len(folder) :].strip("/").split("/")
            return "guarded" if any(_is_guarded(part, ground) for part in inner) else "inside"
    if any(folder.startswith(whole.rstrip("/") + "/") for folder in ground.folders):
        return "system"
    if _TEMPORARY.fullmatch(whole):
        return "temporary"
    if _SYSTEM.fullmatch(whole) and not _OPEN_PLACES.fullmatch(whole):
        return "system"
    return "outside"


def _is_guarded(part: str, ground: Ground) -> bool:
    part = part.lower()
    if not _is_open(part):
        return part in ground.guarded or part.endswith(".git")
    return any(name_pattern(part).fullmatch(name) for name in ground.guarded)


def _is_open(part: str) -> bool:
    return any(mark in part for mark in NAMES)


def name_pattern(part: str) -> re.Pattern[str]:
    """The names that a part of a path with marks in it may stand for."""
    return re.compile(".*".join(re.escape(text) for text in re.split(_ANY_NAME, part)), re.DOTALL)
