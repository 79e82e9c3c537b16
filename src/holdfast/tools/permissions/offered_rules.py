"""The rules that are offered to a person who is asked about a command, such as `Bash(python3 -m pytest:*)`.

Rule: a rule is never as wide as a program that runs any other. Where nobody can tell which words of a command
matter, the rule is the whole command; where even that would run whatever comes in, there is none.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from itertools import takewhile

from holdfast.tools.access import Access
from holdfast.tools.permissions.plain_commands import NotPlainError, PlainCommand, split_commands
from holdfast.tools.permissions.reading_commands import program_list

MOST_RULES = 3
"""Rules that are offered at once, for the parts of a command."""

_IN_ENVIRONMENT = re.compile(r"(?:\./)?[\w.-]+/\.?bin/([\w.-]+)")
"""A program of a project's own environment: `.venv/bin/pytest`, `node_modules/.bin/jest`."""
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_IN_LINE = re.compile(r"-\w*[cem]")
"""Options before a script in the command itself, or before a module."""
_SECONDS = re.compile(r"[\d.]+[smhd]?")


def rules_for(
    command: str,
    access: Access | None = None,
    *,
    is_held: bool = True,
    needs_rule: Callable[[PlainCommand], bool] = lambda _: True,
) -> tuple[str, ...]:
    """The rules that would allow a command and its like, one for each part that needs one; empty where there are
    none.

    A program with sub-commands is named with its sub-command, one of a list alone, and any other command as a
    whole. So is one with full access, which nothing holds, and without a sandbox one whose name says little.
    """
    try:
        commands = split_commands(command)
    except NotPlainError:
        return ()
    parts = [one for one in commands if len(commands) == 1 or needs_rule(one)]
    rules = [_rule(one, access, is_held=is_held, is_alone=len(commands) == 1) for one in parts]
    found = tuple(dict.fromkeys(rules))
    return found if all(found) and len(found) <= MOST_RULES else ()


def _rule(command: PlainCommand, access: Access | None, *, is_held: bool, is_alone: bool) -> str:
    texts = command.texts
    length = naming_words(texts) if access != "full" else 0
    length = 0 if length == 1 and not is_held else length
    if any(word.has_glob for word in command.words[: length or None]):
        return ""
    if not length and not _may_be_whole(texts, is_alone=is_alone):
        return ""
    level = f" with {access}" if access else ""
    return f"Bash({shlex.join(texts[:length])}:*){level}" if length else f"Bash({shlex.join(texts)}){level}"


def _may_be_whole(words: Sequence[str], *, is_alone: bool) -> bool:
    """Whether a rule may be a whole command: it does the same each time, and not what it is given to run."""
    program = _program(words[0])
    if program in program_list("passes_on"):
        return False
    if inner := _timed(words):
        return _may_be_whole(inner, is_alone=is_alone)
    if program in program_list("interpreters"):
        # Without a script it runs what comes in through a pipe.
        options = [*takewhile(lambda word: word.startswith("-"), words[1:])]
        has_script = not options or any(_IN_LINE.fullmatch(option) for option in options)
        return has_script and len(words) > 1 + len(options) and not {"-", "-s"} & {*words}
    return is_alone or program not in program_list("builtins")


def naming_words(words: Sequence[str]) -> int:
    """How many words name what a command does; 0 if only all of them do."""
    if not words:
        return 0
    if inner := _timed(words):
        return _behind(words, len(words) - len(inner))
    program = _program(words[0])
    if program in program_list("alone"):
        return 1
    if program in ("python", "pypy"):
        is_module = words[1:2] == ["-m"] and len(words) > 2
        return (3 if words[2] in program_list("modules") else _behind(words, 2)) if is_module else 0
    if program in program_list("package_runners"):
        return 2 if len(words) > 1 and words[1] in program_list("alone") else 0
    return _sub_command_words(words) if words[0] in program_list("subcommands") else 0


def _sub_command_words(words: Sequence[str]) -> int:
    if len(words) < 2 or words[1].startswith(("-", "+")) or "=" in words[1]:
        return 0
    if " ".join(words[:2]) in _joined_words("wide_subcommands"):
        return 0
    if not {words[0], words[1], " ".join(words[:2])} & _joined_words("groups"):
        return 0 if _runs_others(words[1]) else 2
    if len(words) < 3 or words[2].startswith("-") or " ".join(words[1:3]) in ("compose run", "compose exec"):
        return 0
    return _behind(words, 2) if _runs_others(words[2]) else 3


def _runs_others(word: str) -> bool:
    """Whether a word names a program that runs others: `pnpm node` and `pnpm exec node` are the same."""
    lists = ("interpreters", "passes_on", "timers", "package_runners", "may_run")
    return any(_program(word) in program_list(name) for name in lists)


def _behind(words: Sequence[str], at: int) -> int:
    """The words up to those that name the command that begins at `at`."""
    inner = naming_words(words[at:])
    return at + inner if inner else 0


def _timed(words: Sequence[str]) -> Sequence[str]:
    """The command behind `time` or `timeout 60`; empty if there is none."""
    if words[0] not in program_list("timers"):
        return ()
    at = 2 if words[0] == "timeout" else 1
    if at == 2 and not (len(words) > 1 and _SECONDS.fullmatch(words[1])):
        return ()
    return () if words[at : at + 1] and words[at].startswith("-") else words[at:]


def _program(word: str) -> str:
    """The name of a program, without the folder of a project's environment and the version of an interpreter."""
    found = _IN_ENVIRONMENT.fullmatch(word)
    name = found[1] if found else word
    bare = _VERSION.sub("", name)
    return bare if bare in program_list("interpreters") else name


def _joined_words(name: str) -> frozenset[str]:
    return frozenset(word.replace("+", " ") for word in program_list(name))
