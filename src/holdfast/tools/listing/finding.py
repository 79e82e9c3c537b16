"""The folder that a search works in, held by its descriptor, and how what it finds is named.

Rule: a program is started inside the folder that the guard opened and looks at `./` only.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator

from holdfast.tools.envelope import ToolError
from holdfast.tools.listing.globs import BadGlob, glob_pattern
from holdfast.tools.places import OpenDirectory, Place, name_for_people
from holdfast.tools.workspace import Workspace

_ALL = ("*", "**", "**/*")
_HEAD = 8192
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Found:
    """Where a search works. `target` is `./`, or `./name` for a single file; `named` is what was asked for."""

    def __init__(self, directory: OpenDirectory, target: str, named: str) -> None:
        self.place: Place = directory.place
        self.descriptor = directory.descriptor
        self.handle = directory.handle
        self.target = target
        self.named = named

    def shown(self, path: str) -> str:
        """A path that was found, as the tool names it."""
        name = name_for_people(path)
        return name if self.place.shown == "." else f"{self.place.shown}/{name}"


@contextlib.contextmanager
def searched(workspace: Workspace, path: str) -> Iterator[Found]:
    """The folder that `path` is or lies in, open as long as the search lasts."""
    place = workspace.locate(path)
    is_directory = not place.inner or stat.S_ISDIR(workspace.status(path).st_mode)
    folder = place.path if is_directory else os.path.dirname(place.path)  # noqa: PTH120
    target = "./" if is_directory else f"./{place.parts[-1]}"
    with workspace.open_directory(folder) as directory:
        yield Found(directory, target, place.shown)


def expect_text(workspace: Workspace, path: str) -> None:
    """BINARY_FILE for a single file that is no text; in a folder such files are skipped and counted."""
    with workspace.open_file(path) as opened:
        head = opened.file.read(_HEAD)
        if b"\0" in head and head[:2] not in _UTF16:
            raise ToolError("BINARY_FILE", f"`{opened.place.shown}` is binary and cannot be searched")


def still_inside(workspace: Workspace, found: Found, paths: Iterable[str], most: int) -> list[str]:
    """The first paths that the guard finds too: a program may have walked through a link that was swapped in."""
    kept: list[str] = []
    for path in paths:
        with contextlib.suppress(ToolError):
            status = workspace.status(os.path.join(found.place.path, path))  # noqa: PTH118
            if stat.S_ISREG(status.st_mode):
                kept.append(path)
        # Here and not above: to ask for one more may cost a sort of all.
        if len(kept) == most:
            break
    return kept


def expect_pattern(pattern: str) -> None:
    """INVALID_PARAM for what no program can be asked for, before one is started."""
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise ToolError("INVALID_PARAM", "`pattern` must be one line of text, without NUL bytes")
    if any("\ud800" <= char <= "\udfff" for char in pattern):
        raise ToolError("INVALID_PARAM", "`pattern` holds half a character")


def expect_glob(glob: str) -> None:
    expect_pattern(glob)
    try:
        glob_pattern(glob)
    except BadGlob as error:
        raise ToolError("INVALID_PARAM", f"the pattern `{glob}` is wrong: {error}") from None


def filtered(paths: Iterable[str], glob: str) -> list[str]:
    """The paths that a pattern matches, in their order; `expect_glob` has looked at it."""
    if glob in _ALL:
        return list(paths)
    matches = glob_pattern(glob).fullmatch
    return [path for path in paths if matches(path)]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
