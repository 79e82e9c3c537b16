"""Shell commands that are a read, a search or a listing in disguise, and what they look at.

Rule: when in doubt, a command is none. Lines are named only where the words of the command tell them for sure.
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tool_use.shell_commands import SimpleCommand, script_given_to_shell, simple_commands

LookupKind = Literal["read", "grep", "glob", "ls"]

LONGEST_LOOKUP = 2_000
"""Characters of a command; a longer one is a script, whatever its first word is."""
FROM_END = 1_000_000_000
"""The first line of a range that is counted from the end of a file."""
DEFAULT_LINES = 10
"""What `head` and `tail` show where no number is given."""

_SILENT = frozenset({"cd", "pushd", "set", "export", "true", ":"})
_SPEAKING = frozenset({"echo", "printf"})
"""What puts lines between those of files."""
_PASSING = frozenset({"cat", "nl", "less", "more", "bat"})
_SEARCHES = frozenset({"rg", "grep", "egrep", "fgrep", "ag", "ack"})
_UNKNOWN = re.compile(r"[$*?{}]")
"""A word with one of these names no file by itself."""
_LINE_COUNT = re.compile(r"(?:-n|--lines|-)?[ =]?(\+?)(\d{1,9})")
_SED_LINES = re.compile(r"(\d{1,9})(?:,(\+?)(\d{1,9}|\$))?p")
_WITH_VALUE = frozenset(
    """
    -e -f -g -t -T -A -B -C -m -d -M --glob --iglob --type --type-not --regexp --file --context --after-context
    --before-context --max-count --include --exclude --exclude-dir --max-depth --color --sort
    """.split()
)
"""Options of searches whose value is the next word."""
_ACTING = frozenset(
    "-exec -execdir -delete -ok -okdir -fprint -fprint0 -fprintf -fls -x -X --exec --exec-batch".split()
)


class ShellLookup(Struct, frozen=True, gc=False):
    """What a command looks at. Lines from `first` to `last` are 0 where it names none. `is_mixed` says that the
    output is not these lines of the file alone: it has other files too, or only some of the lines."""

    kind: LookupKind
    path: str = ""
    first: int = 0
    last: int = 0
    pattern: str = ""
    is_mixed: bool = False


def shell_lookup(script: str) -> ShellLookup | None:
    """What a script looks at, of several files the first; None where it does anything else."""
    if len(script) > LONGEST_LOOKUP or "`" in script or "$(" in script or script.rstrip().endswith("|"):
        return None
    commands = simple_commands(script)
    if any(path != "/dev/null" for command in commands for path, _ in command.outputs):
        return None
    if len(commands) == 1 and (inner := script_given_to_shell(commands[0].words)) is not None:
        return None if commands[0].is_silent else shell_lookup(inner)
    found: list[ShellLookup] = []
    folder = ""
    speaks = False
    for pipeline in _pipelines(commands):
        program = pipeline[0].program
        speaks = speaks or program in _SPEAKING
        if program in ("cd", "pushd"):
            folder = posixpath.join(folder, *(pipeline[0].words[1:] or ["~"]))
        if program in _SILENT or (program in _SPEAKING and len(pipeline) == 1):
            continue
        lookup = None if any(command.is_silent for command in pipeline) else _pipeline_lookup(pipeline)
        if lookup is None:
            return None
        found.append(_in_folder(lookup, folder))
    if len({lookup.kind for lookup in found}) != 1:
        return None
    return replace(found[0], is_mixed=True) if speaks or len(found) > 1 else found[0]


def _in_folder(look: ShellLookup, folder: str) -> ShellLookup:
    """The look after a change of folder: files of the same name in two folders are two."""
    if not folder or not look.path or look.kind != "read":
        return look
    if _UNKNOWN.search(folder) or "-" in folder.split("/"):
        return ShellLookup(look.kind)
    return replace(look, path=posixpath.normpath(posixpath.join(folder, look.path)))


def _pipelines(commands: Sequence[SimpleCommand]) -> list[list[SimpleCommand]]:
    lines: list[list[SimpleCommand]] = []
    for command in commands:
        if command.is_piped and lines:
            lines[-1].append(command)
        else:
            lines.append([command])
    return lines


def _pipeline_lookup(pipeline: Sequence[SimpleCommand]) -> ShellLookup | None:
    first, *filters = pipeline
    program, words = first.program, first.words[1:]
    if program == "git" and words:
        program, words = f"git {words[0]}", words[1:]
        lookup = _GIT[program](words) if program in _GIT else None
    elif program in _SEARCHES:
        lookup = _search(words)
    else:
        lookup = _LOOKUPS[program](words) if program in _LOOKUPS else None
    for command in filters:
        lookup = _filtered(lookup, command) if lookup else None
    return lookup


def _filtered(lookup: ShellLookup, command: SimpleCommand) -> ShellLookup | None:
    """What is left of a lookup after the next command of a pipe."""
    words = command.words[1:]
    if command.program in _PASSING:
        return lookup
    if command.program in _SEARCHES:
        searched = _search(words)
        if searched is None or searched.path:
            return None
        # Of what a search or a listing found, it leaves less of the same.
        return ShellLookup("grep", lookup.path, pattern=searched.pattern) if lookup.kind == "read" else lookup
    if command.program in ("sort", "uniq"):
        return None if lookup.kind == "read" else lookup
    if lookup.kind != "read":
        return lookup if command.program in ("head", "tail", "sed", "cut") else None
    line_filter = {"head": _head, "tail": _tail, "sed": _sed}.get(command.program)
    cut = line_filter([*words, "-"]) if line_filter else None
    return _within(lookup, cut) if cut else None


def _within(lookup: ShellLookup, cut: ShellLookup) -> ShellLookup:
    """The lines that `cut` names, of those that `lookup` shows."""
    if lookup.is_mixed:
        return lookup
    if not cut.path or lookup.first == FROM_END:
        return ShellLookup("read")
    start = max(lookup.first, 1)
    if cut.first == FROM_END:
        # How many lines there are before the last ones, only the file tells.
        return replace(lookup, first=FROM_END, last=0, is_mixed=True)
    first = start + max(cut.first, 1) - 1
    ends = [end for end in (lookup.last, start + cut.last - 1 if cut.last else 0) if end]
    return replace(lookup, first=first, last=min(ends, default=0), is_mixed=lookup.is_mixed or cut.is_mixed)


def _files(words: Sequence[str]) -> list[str]:
    return [word for word in words if word == "-" or not word.startswith("-")]


def _first_path(words: Sequence[str]) -> str:
    return words[0] if words and not _UNKNOWN.search(words[0]) else ""


def _read(
    files: Sequence[str], first: int = 0, last: int = 0, *, is_mixed: bool = False
) -> ShellLookup | None:
    """A read of lines of the first file; its path is left out where it is a pattern or a variable."""
    if not files:
        return None
    if path := _first_path(files):
        return ShellLookup("read", path, first, last, is_mixed=is_mixed or len(files) > 1)
    return ShellLookup("read")


def _cat(words: Sequence[str]) -> ShellLookup | None:
    return _read(_files(words))


def _nl(words: Sequence[str]) -> ShellLookup | None:
    """Options of `nl` may be apart from their values, as in `nl -b a file`."""
    return _read(_files(words)[-1:])


def _count(words: Sequence[str]) -> tuple[str, int, list[str]] | None:
    """Sign, number and files of `head` or `tail`; None where an option says something else."""
    rest = list(words)
    if not rest or not rest[0].startswith("-") or rest[0] == "-":
        return "", DEFAULT_LINES, rest
    option = f"-n {rest.pop(1)}" if rest[0] in ("-n", "--lines") and len(rest) > 1 else rest[0]
    found = _LINE_COUNT.fullmatch(option)
    files = rest[1:]
    if not found or any(word.startswith("-") and word != "-" for word in files):
        return None
    return found[1], int(found[2]), files


def _head(words: Sequence[str]) -> ShellLookup | None:
    counted = _count(words)
    if counted is None or counted[0] or not counted[1] or len(counted[2]) != 1:
        return ShellLookup("read")
    return _read(counted[2], 1, counted[1])


def _tail(words: Sequence[str]) -> ShellLookup | None:
    counted = _count(words)
    if counted is None or len(counted[2]) != 1:
        return ShellLookup("read")
    sign, lines, files = counted
    return _read(files, max(lines, 1)) if sign else _read(files, FROM_END)


def _sed(words: Sequence[str]) -> ShellLookup | None:
    """`sed -n` with numbers of lines; any other use of it may change what is printed, or a file."""
    options = [word for word in words if word.startswith("-") and word != "-"]
    if not options or any(option not in ("-n", "-E", "-r", "-e", "--quiet") for option in options):
        return None
    plain = _files(words)
    if ("-n" not in options and "--quiet" not in options) or len(plain) < 2:
        return None
    script, *files = plain
    pieces = [piece for piece in re.split(r"[;\n]\s*", script.strip()) if piece]
    spans = [_SED_LINES.fullmatch(piece) for piece in pieces]
    if not pieces or "-e" in options or len(files) > 1 or not all(spans):
        prints = re.fullmatch(r"[^{}]*p", script) and not re.search(r"\bw\b|[wsd]/", script)
        return ShellLookup("read") if prints else None
    found = spans[0]
    assert found is not None
    first, last = int(found[1]), int(found[1])
    if found[3]:
        last = 0 if found[3] == "$" else first + int(found[3]) if found[2] else int(found[3])
    return _read(files, first, last, is_mixed=len(spans) > 1)


def _search(words: Sequence[str]) -> ShellLookup | None:
    pattern, plain, is_listing = "", list[str](), False
    rest = iter(words)
    for word in rest:
        is_listing = is_listing or word == "--files"
        if word in _WITH_VALUE:
            value = next(rest, "")
            pattern = pattern or (value if word in ("-e", "--regexp") else "")
        elif not word.startswith("-"):
            plain.append(word)
    if is_listing:
        return ShellLookup("glob", plain[0] if plain else "")
    if not pattern and plain:
        pattern = plain.pop(0)
    return (
        ShellLookup("grep", _first_path(plain), pattern=pattern, is_mixed=len(plain) > 1) if pattern else None
    )


def _ls(words: Sequence[str]) -> ShellLookup | None:
    return ShellLookup("ls", _first_path(_files(words)))


def _find(words: Sequence[str]) -> ShellLookup | None:
    if _ACTING.intersection(words):
        return None
    named = (words[n + 1] for n, word in enumerate(words[:-1]) if word in ("-name", "-iname", "-path"))
    path = "" if words[:1] and words[0].startswith("-") else _first_path(words)
    return ShellLookup("glob", path, pattern=next(named, ""))


def _fd(words: Sequence[str]) -> ShellLookup | None:
    plain = _files(words)
    if _ACTING.intersection(words):
        return None
    return ShellLookup("glob", plain[1] if len(plain) > 1 else "", pattern=plain[0] if plain else "")


def _git_show(words: Sequence[str]) -> ShellLookup | None:
    """A file as it was at a revision: its path begins with that, for it is not the file of now."""
    plain = _files(words)
    return _read(plain) if len(plain) == 1 and re.fullmatch(r"[^:\s]+:[^:\s].*", plain[0]) else None


def _git_diff(words: Sequence[str]) -> ShellLookup | None:
    """What changed in files that the command names: not the lines of any of them."""
    files = list(words[words.index("--") + 1 :]) if "--" in words else []
    is_short = any(word.startswith(("--stat", "--name", "--check", "--quiet", "--short")) for word in words)
    return _read(files, is_mixed=True) if files and not is_short else None


def _git_files(words: Sequence[str]) -> ShellLookup | None:
    plain = _files(words)
    return ShellLookup("glob", pattern=plain[0] if plain else "")


_Reader = Callable[[Sequence[str]], ShellLookup | None]
_LOOKUPS: dict[str, _Reader] = {
    "cat": _cat, "bat": _cat, "less": _cat, "more": _cat, "nl": _nl, "head": _head, "tail": _tail, "sed": _sed,
    "ls": _ls, "tree": _ls, "find": _find, "fd": _fd,
}  # fmt: skip
_GIT: dict[str, _Reader] = {
    "git show": _git_show,
    "git diff": _git_diff,
    "git grep": _search,
    "git ls-files": _git_files,
}
