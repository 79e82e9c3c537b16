"""What could be meant by what is typed: commands after `/`, files of the repository after `@`.

Rule: matching is pure: the text, the cursor and the names go in. Files are listed as the tools list them, in a
process of its own, and not again for every key.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

MOST_CANDIDATES = 8
"""Candidates that are shown."""

_FILE = re.compile(r'@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"@]*))$')
_COMMAND = re.compile(r"/(\S*)$")
_PLAIN_PATH = re.compile(r"""(?:(?!\#L\d)[^\s"'`<>|,;:()\[\]{}，。；：！？、（）《》「」【】@\\])+""")
_FIRST_CJK = "\u2e80"


class CompletionQuery(Struct, frozen=True):
    """A word to complete: what is looked for, and where it starts, with its `@` or `/`."""

    kind: str
    typed: str
    start: int


class Candidate(Struct, frozen=True):
    text: str
    about: str = ""


def find_query(before: str) -> CompletionQuery | None:
    """What the text before the cursor asks for, if anything."""
    if command := _COMMAND.fullmatch(before):
        return CompletionQuery("command", command[1], 0)
    found = _FILE.search(before)
    left = before[: found.start()][-1:] if found else ""
    is_inside_a_word = (left.isalnum() and left < _FIRST_CJK) or left in ("_", "\\")
    if not found or is_inside_a_word:
        return None
    typed = found["quoted"] if found["quoted"] is not None else found["plain"]
    return CompletionQuery("file", typed, found.start())


def format_mention(path: str) -> str:
    """A path as a mention; in quotes where it would be cut off otherwise."""
    return f"@{path}" if _PLAIN_PATH.fullmatch(path) and path[-1] not in ".!?" else f'@"{path}"'


def match_commands(typed: str, commands: Sequence[Candidate]) -> list[Candidate]:
    typed = typed.lower()
    begin = [one for one in commands if one.text[1:].lower().startswith(typed)]
    rest = [one for one in commands if one not in begin and typed in one.text.lower()]
    return [*begin, *rest]


def match_files(typed: str, paths: Iterable[str]) -> list[Candidate]:
    """The best matches: by the start of the name, of a folder, by what they contain, by letters in order."""
    typed = typed.lower().removeprefix("./")
    letters = re.compile(".*?".join(map(re.escape, typed)), re.DOTALL) if typed else None
    found: list[tuple[int, int, str]] = []
    for path in paths:
        lower = path.lower()
        if letters is None:
            found.append((lower.count("/"), len(path), path))
        elif letters.search(lower):
            found.append((_distance(typed, lower), len(path), path))
    return [Candidate(path) for _, _, path in sorted(found)[:MOST_CANDIDATES]]


def add_folders(paths: Sequence[str]) -> list[str]:
    """The paths, and their folders with a slash at the end."""
    folders: dict[str, None] = {}
    for path in paths:
        at = path.rfind("/")
        while at > 0 and (folder := path[: at + 1]) not in folders:
            folders[folder] = None
            at = path.rfind("/", 0, at)
    return [*paths, *folders]


def _distance(typed: str, path: str) -> int:
    name = path.rstrip("/").rpartition("/")[2]
    if path.startswith(typed):
        return 0 if path == typed or name == path.rstrip("/") else 1
    if name.startswith(typed):
        return 1
    if f"/{typed}" in path:
        return 2
    if typed in name:
        return 3
    return 4 if typed in path else 5


SECONDS = 10.0
"""How long a listing may take, and how long it stays fresh."""


class RepositoryFiles:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._listed = 0.0
        self._listing: asyncio.Task[None] | None = None
        self.paths: list[str] = []

    def refresh(self, then: Callable[[], None]) -> None:
        """List the files if the last listing is old; `then` is called after that."""
        is_new = self._listed and time.monotonic() - self._listed < SECONDS
        if not is_new and self._listing is None:
            self._listing = asyncio.create_task(self._list(then))

    async def _list(self, then: Callable[[], None]) -> None:
        # Imported with the first mention: the screen does not need it.
        from holdfast.tools.envelope import ToolError  # noqa: PLC0415
        from holdfast.tools.search.ripgrep import FileWalk, find_ripgrep, read_paths, run_program  # noqa: PLC0415  # noqa: PLC0415

        try:
            done = await run_program(find_ripgrep().files(FileWalk()), str(self._root), SECONDS)
            found = await asyncio.to_thread(read_paths, done.output)
            self.paths = await asyncio.to_thread(add_folders, sorted(found))
        except ToolError:
            self.paths = []
        finally:
            self._listed = time.monotonic()
            self._listing = None
        then()
