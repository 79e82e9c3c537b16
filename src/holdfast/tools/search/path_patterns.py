"""Patterns for paths as ripgrep reads them: globs, and `.gitignore` files.

Rule: a pattern is matched against paths that were found inside a root; it never makes a path. For `.gitignore` the
nearest file that mentions a path decides, and within a file the last line that does. Nothing above the top of the
repository counts, and outside a repository nothing does. `.git/info/exclude` comes last.

`*` and `?` stay inside one name, `**` crosses directories, `{a,b}` is a choice.
"""

import contextlib
import os
import re
import stat
from collections.abc import Iterator

from msgspec import Struct

_SIMPLE_NAME = re.compile(r"[\w.*?\-+@~#%=,{} ]+")
_ESCAPED = re.compile(r"\\.")
_CROSSING = re.compile(r"(?:(?<=/)|\A)\*\*(?:/(?:\*\*/)*|\Z)")
_DEEPEST = 10


class BadGlob(ValueError):
    """A pattern that cannot be read; the message says why."""


def glob_pattern(glob: str) -> re.Pattern[str]:
    """The pattern of a tool, matched against whole relative paths. Without a slash it is a name at any depth."""
    spelled = glob.removeprefix("./")
    anchored = spelled.startswith("/") or "/" in _ESCAPED.sub("", spelled)
    return compile_glob(spelled.lstrip("/") if anchored else f"**/{spelled}")


def compile_glob(glob: str) -> re.Pattern[str]:
    """A glob for a whole path."""
    try:
        return re.compile("".join(_pieces(glob)), re.DOTALL)
    except re.error as error:
        raise BadGlob(f"it cannot be read: {error.msg}") from None


def name_glob(glob: str) -> str:
    """The file name part of a pattern, if ripgrep may use it to narrow its walk; otherwise empty.

    Only plain characters are allowed; what this glob lets through is matched again with the whole pattern.
    """
    name = glob.rsplit("/", 1)[-1]
    plain = _SIMPLE_NAME.fullmatch(name) and name.count("{") == name.count("}") and "**" not in name
    return name if plain else ""


def _pieces(glob: str) -> Iterator[str]:
    at, depth = 0, 0
    while at < len(glob):
        char = glob[at]
        if stars := _CROSSING.match(glob, at):
            yield "(?:.*/)?" if stars[0].endswith("/") else ".*"
            at = stars.end()
            continue
        match char:
            case "*":
                yield "" if glob[at + 1 : at + 2] == "*" else "[^/]*"
            case "?":
                yield "[^/]"
            case "[":
                piece, at = _class(glob, at)
                yield piece
            case "{":
                depth += 1
                if depth > _DEEPEST:
                    raise BadGlob("its braces are nested too deeply")
                yield "(?:"
            case "}" if depth:
                depth -= 1
                yield ")"
            case "}":
                raise BadGlob("a `}` closes nothing")
            case "," if depth:
                yield "|"
            case "\\":
                at += 1
                if at == len(glob):
                    raise BadGlob("it ends in a backslash")
                yield re.escape(glob[at])
            case _:
                yield re.escape(char)
        at += 1
    if depth:
        raise BadGlob("a `{` is not closed")


def _class(glob: str, start: int) -> tuple[str, int]:
    """A class such as `[a-z]` or `[!.]` as a regular expression, and where it ends."""
    at = start + 1
    negated = at < len(glob) and glob[at] in "!^"
    at += negated
    # A bracket that comes first is literal.
    end = glob.find("]", at + 1)
    if end < 0:
        raise BadGlob("a `[` is not closed")
    body = re.sub(r"([\\\[\]&~|^])", r"\\\1", glob[at:end])
    return f"(?!/)[{'^' if negated else ''}{body}]", end


_LARGEST = 1_000_000
_TRAILING_SPACE = re.compile(r"(?<!\\)\s+\Z")


class IgnoreRule(Struct, frozen=True):
    pattern: re.Pattern[str]
    ignores: bool
    only_directories: bool


class IgnoreLevel(Struct, frozen=True):
    """The rules in one directory. `above` counts the characters of its path, including its slash."""

    above: int
    rules: tuple[IgnoreRule, ...]
    is_top: bool


class IgnoreScope(Struct, frozen=True):
    """The levels that apply in a directory, nearest first."""

    levels: tuple[IgnoreLevel, ...] = ()

    def ignores(self, path: str, is_directory: bool) -> bool:
        """Whether an entry of the directory is ignored. `path` is absolute."""
        verdict: bool | None = None
        for level in self.levels:
            if verdict is None:
                verdict = _verdict(level.rules, path[level.above :], is_directory)
            if level.is_top:
                return bool(verdict)
        return False

    def entered(self, directory: str) -> "IgnoreScope":
        """The scope inside a directory below this one."""
        level = _level(directory)
        return IgnoreScope((level, *self.levels)) if level else self


def ignore_scope(directory: str) -> IgnoreScope:
    """The rules that apply in a directory (an absolute path), up to the top of its repository."""
    levels: list[IgnoreLevel] = []
    while True:
        level = _level(directory)
        if level:
            levels.append(level)
        parent = os.path.dirname(directory)  # noqa: PTH120
        if (level and level.is_top) or parent == directory:
            return IgnoreScope(tuple(levels))
        directory = parent


def parse_ignore_rules(text: str) -> tuple[IgnoreRule, ...]:
    """The rules of a file, the last first; a line that cannot be read is skipped."""
    rules: list[IgnoreRule | None] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        with contextlib.suppress(BadGlob):
            rules.append(_rule(line.removesuffix("\r")))
    return tuple(rule for rule in reversed(rules) if rule)


def _rule(line: str) -> IgnoreRule | None:
    glob = _TRAILING_SPACE.sub("", line)
    if not glob or glob.startswith("#"):
        return None
    ignores = not glob.startswith("!")
    rooted = glob.removeprefix("!")
    inner = rooted.removeprefix("/")
    glob = inner.removesuffix("/")
    if not glob:
        return None
    if inner == rooted and "/" not in glob:
        glob = f"**/{glob}"
    if glob.endswith("/**"):
        # Everything inside, but not the directory itself.
        glob += "/*"
    return IgnoreRule(compile_glob(glob), ignores, inner.endswith("/"))


def _verdict(rules: tuple[IgnoreRule, ...], path: str, is_directory: bool) -> bool | None:
    for rule in rules:
        if (is_directory or not rule.only_directories) and rule.pattern.fullmatch(path):
            return rule.ignores
    return None


def _level(directory: str) -> IgnoreLevel | None:
    """The rules of a directory, or None if it has none."""
    is_top = any(os.path.lexists(os.path.join(directory, name)) for name in (".git", ".jj"))  # noqa: PTH118
    rules = _read_rules(os.path.join(directory, ".gitignore"))  # noqa: PTH118
    if is_top:
        rules += _read_rules(os.path.join(directory, ".git", "info", "exclude"))  # noqa: PTH118
    return IgnoreLevel(len(directory.rstrip("/")) + 1, rules, is_top) if is_top or rules else None


def _read_rules(path: str) -> tuple[IgnoreRule, ...]:
    """The rules in a file; a link, a pipe or a missing file has none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ()
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ()
        return parse_ignore_rules(os.fsdecode(file.read(_LARGEST)))
