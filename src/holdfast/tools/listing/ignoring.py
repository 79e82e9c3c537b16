"""What `.gitignore` files say, read as ripgrep reads them.

Rule: the nearest file that says anything about a path decides, within a file the last line that does; nothing above
the repository's top counts, and outside a repository nothing does. `.git/info/exclude` speaks last.
"""

import contextlib
import os
import re
import stat

from msgspec import Struct

from holdfast.tools.listing.globs import BadGlob, compiled

VERSION_CONTROL = (".git", ".hg", ".jj", ".svn")
"""Folders that no listing enters."""

_LARGEST = 1_000_000
_TRAILING_SPACE = re.compile(r"(?<!\\)\s+\Z")


class Rule(Struct, frozen=True):
    pattern: re.Pattern[str]
    ignores: bool
    only_directories: bool


class Level(Struct, frozen=True):
    """The rules that stand in one directory. `above` counts the characters of its path, its slash included."""

    above: int
    rules: tuple[Rule, ...]
    exclude: tuple[Rule, ...]
    is_top: bool


class Scope(Struct, frozen=True):
    """The levels that apply in a directory, nearest first."""

    levels: tuple[Level, ...] = ()

    def ignores(self, path: str, is_directory: bool) -> bool:
        """Whether an entry of the directory is ignored. `path` is whole."""
        if not any(level.is_top for level in self.levels):
            return False
        said: bool | None = None
        excluded: bool | None = None
        for level in self.levels:
            inner = path[level.above :]
            said = _verdict(level.rules, inner, is_directory) if said is None else said
            excluded = _verdict(level.exclude, inner, is_directory) if excluded is None else excluded
            if level.is_top:
                break
        return bool(excluded if said is None else said)

    def entered(self, directory: str) -> "Scope":
        """The scope inside a directory below this one."""
        level = _level(directory)
        return Scope((level, *self.levels)) if level else self


def scope_of(directory: str) -> Scope:
    """The rules that apply in a directory, given by its whole path: up to the repository's top, no further."""
    levels: list[Level] = []
    while True:
        level = _level(directory)
        if level:
            levels.append(level)
        parent = os.path.dirname(directory)  # noqa: PTH120
        if (level and level.is_top) or parent == directory:
            return Scope(tuple(levels))
        directory = parent


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules of a file, the last first; a line that cannot be read is no rule."""
    rules: list[Rule] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        with contextlib.suppress(BadGlob):
            rule = _rule(line.removesuffix("\r"))
            if rule:
                rules.append(rule)
    return tuple(reversed(rules))


def _rule(line: str) -> Rule | None:
    glob = _TRAILING_SPACE.sub("", line)
    if not glob or glob.startswith("#"):
        return None
    ignores = not glob.startswith("!")
    glob = glob if ignores else glob[1:]
    anchored = glob.startswith("/")
    glob = glob[1:] if anchored else glob
    only_directories = glob.endswith("/")
    glob = glob[:-1] if only_directories else glob
    if not glob:
        return None
    if not anchored and "/" not in glob:
        glob = f"**/{glob}"
    if glob.endswith("/**"):
        # Everything inside, but not the directory itself.
        glob += "/*"
    return Rule(compiled(glob), ignores, only_directories)


def _verdict(rules: tuple[Rule, ...], path: str, is_directory: bool) -> bool | None:
    for rule in rules:
        if (is_directory or not rule.only_directories) and rule.pattern.fullmatch(path):
            return rule.ignores
    return None


def _level(directory: str) -> Level | None:
    """What a directory says, or None if nothing."""
    is_top = any(os.path.lexists(os.path.join(directory, name)) for name in (".git", ".jj"))  # noqa: PTH118
    rules = _read_rules(os.path.join(directory, ".gitignore"))  # noqa: PTH118
    exclude = _read_rules(os.path.join(directory, ".git", "info", "exclude")) if is_top else ()  # noqa: PTH118
    if not (is_top or rules):
        return None
    return Level(len(directory.rstrip("/")) + 1, rules, exclude, is_top)


def _read_rules(path: str) -> tuple[Rule, ...]:
    """The rules in a file; a link, a pipe or nothing there holds none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ()
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ()
        return parse_rules(os.fsdecode(file.read(_LARGEST)))
