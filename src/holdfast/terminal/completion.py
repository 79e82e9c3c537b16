"""What could be meant: commands after `/`, files of the repository after `@`.

Rule: pure functions of the text, the cursor and the names; what they insert is a mention that is understood.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

MOST = 8
"""Candidates that are shown."""

_FILE = re.compile(r'@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"@]*))$')
_COMMAND = re.compile(r"/(\S*)$")
_PLAIN_PATH = re.compile(r"""(?:(?!\#L\d)[^\s"'`<>|,;:()\[\]{}，。；：！？、（）《》「」【】@\\])+""")
_FIRST_CJK = "\u2e80"


class Wanted(Struct, frozen=True):
    """A word that can be completed: what is looked for, and where its text begins, `@` or `/` included."""

    kind: str
    typed: str
    start: int


class Candidate(Struct, frozen=True):
    text: str
    about: str = ""


def wanted(before: str) -> Wanted | None:
    """What the text before the cursor asks for."""
    if command := _COMMAND.fullmatch(before):
        return Wanted("command", command[1], 0)
    found = _FILE.search(before)
    if not found or _is_inside_a_word(before, found.start()):
        return None
    typed = found["quoted"] if found["quoted"] is not None else found["plain"]
    return Wanted("file", typed, found.start())


def mention(path: str) -> str:
    """A path as it is mentioned; in quotes where it would be cut off otherwise."""
    return f"@{path}" if _PLAIN_PATH.fullmatch(path) and path[-1] not in ".!?" else f'@"{path}"'


def commands_like(typed: str, commands: Sequence[Candidate]) -> list[Candidate]:
    typed = typed.lower()
    begin = [one for one in commands if one.text[1:].lower().startswith(typed)]
    rest = [one for one in commands if one not in begin and typed in one.text.lower()]
    return [*begin, *rest][:MOST]


def files_like(typed: str, paths: Iterable[str]) -> list[Candidate]:
    """The paths that fit best: by the beginning of a name, of a part, by what they hold, by letters in order."""
    typed = typed.lower().removeprefix("./")
    letters = re.compile(".*?".join(map(re.escape, typed)), re.DOTALL) if typed else None
    found: list[tuple[int, int, str]] = []
    for path in paths:
        lower = path.lower()
        if letters is None:
            found.append((lower.count("/"), len(path), path))
        elif letters.search(lower):
            found.append((_distance(typed, lower), len(path), path))
    return [Candidate(path) for _, _, path in sorted(found)[:MOST]]


def with_folders(paths: Sequence[str]) -> list[str]:
    """The paths, and the folders they lie in with a slash at the end."""
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


def _is_inside_a_word(text: str, at: int) -> bool:
    before = text[at - 1] if at else ""
    return (before.isalnum() and before < _FIRST_CJK) or before in ("_", "\\")
