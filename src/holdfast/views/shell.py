"""What shell commands do to files: which of them only look, and what the others change.

Rule: nothing is run and no file system asked. What depends on a variable or a pattern is left out, and no command
can make the reading fail; it takes linear time.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from holdfast.tool_use.shell_commands import LONGEST, SimpleCommand, simple_commands

ShellEffect = Literal["written", "changed", "deleted"]

_PATH = re.compile(r"(?=.*\w)[^\s$`*?{}<>|;&()\"'\[\]=,:]{1,300}")
_PATCHED = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+?)(?=\\n|\\r|\n|\r|\"|$)", re.MULTILINE)
_MOVED = re.compile(r"\*\*\* Move to: (.+?)(?=\\n|\\r|\n|\r|\"|$)", re.MULTILINE)
_OPENED = re.compile(r"""\bopen\(\s*['"]([^'"\n]{1,300})['"]\s*,\s*['"][wax]""")
_WRITTEN = re.compile(
    r"""\bPath\(\s*['"]([^'"\n]{1,300})['"]\s*\)\.write_|\bwriteFile(?:Sync)?\(\s*['"]([^'"\n]{1,300})['"]"""
)
_MAY_CHANGE = re.compile(
    r">|\b(?:rm|unlink|mv|cp|tee|touch|create|g?sed|perl|curl|wget)\b|\*\*\* |open\(|[wW]rite"
)
_LOOKING = frozenset(
    """
    cat less more head tail nl grep egrep rg ag find fd ls tree wc stat file which type pwd echo printf jq cut sort
    uniq awk column diff cmp true test [ sleep cd date env printenv whoami uname du df ps xxd hexdump strings od
    """.split()
)
_LOOKING_INTO = {
    "git": frozenset(
        "diff log show blame status grep branch ls-tree ls-files rev-parse cat-file reflog".split()
    ),
    "gh": frozenset("view list diff status checks".split()),
}
"""What some programs are told to do when they only look."""
_PATCH_EFFECTS: dict[str, ShellEffect] = {"Update": "changed", "Add": "written", "Delete": "deleted"}


class FileEffect(Struct, frozen=True, gc=False):
    """What a command does to a file. `written` leaves a new file, whether or not there was one."""

    path: str
    effect: ShellEffect


def only_reads(script: str) -> bool:
    """Whether a script only looks at things and changes none."""
    first = script.split(None, 1)
    if not first or not (_known(first[0]) in _LOOKING or first[0] in ("git", "gh", "sed")):
        return False
    return all(not command.outputs and _is_look(command) for command in simple_commands(script))


def _is_look(command: SimpleCommand) -> bool:
    words = command.words[1:]
    if command.program in _LOOKING_INTO:
        return any(word in _LOOKING_INTO[command.program] for word in words[:2])
    if command.program == "sed":
        return not _edited_in_place(words, [word for word in words if word and not word.startswith("-")])
    return command.program in _LOOKING


def _known(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def file_effects(script: str, *, is_failed: bool = False) -> Iterator[FileEffect]:
    """The files that a script changes, in order. Of one that failed, its last command did nothing."""
    folder = ""
    commands = simple_commands(script) if _MAY_CHANGE.search(script, 0, LONGEST) else []
    for command in commands[:-1] if is_failed else commands:
        if command.program == "cd" and len(command.words) > 1 and _is_path(command.words[1]):
            folder = posixpath.join(folder, command.words[1])
            continue
        for effect in _effects_of(command):
            if _is_path(effect.path):
                yield FileEffect(posixpath.normpath(posixpath.join(folder, effect.path)), effect.effect)
    if not is_failed:
        yield from patched_files(script)
        yield from (FileEffect(_joined(folder, path), "written") for path in _by_program(script))


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def patched_files(script: str) -> Iterator[FileEffect]:
    """Files of a patch in the text, also of one in another language's string."""
    if "*** " in script:
        yield from (FileEffect(m[2].strip(), _PATCH_EFFECTS[m[1]]) for m in _PATCHED.finditer(script))
        yield from (FileEffect(m[1].strip(), "written") for m in _MOVED.finditer(script))


def _by_program(script: str) -> Iterator[str]:
    """Files that a program in the script opens to write."""
    if "open(" in script:
        yield from (path for path in _OPENED.findall(script) if _is_path(path))
    if "rite" in script:
        yield from (path for pair in _WRITTEN.findall(script) for path in pair if path and _is_path(path))


def _effects_of(command: SimpleCommand) -> Iterator[FileEffect]:
    for path, added in command.outputs:
        if not path.startswith("/dev/"):
            yield FileEffect(path, "changed" if added else "written")
    words = command.words[1:]
    program = command.program
    if program == "git" and words and words[0] in ("mv", "rm"):
        program, words = words[0], words[1:]
    plain = [word for word in words if word and not word.startswith("-")]
    match program:
        case "rm" | "unlink" if "--cached" not in words:
            yield from (FileEffect(path, "deleted") for path in plain)
        case "mv" | "cp" if len(plain) > 1:
            yield from _moved(plain, is_copy=program == "cp")
        case "tee":
            yield from (FileEffect(path, "changed" if "-a" in words else "written") for path in plain)
        case "touch" | "create":
            yield from (FileEffect(path, "written") for path in plain)
        case "sed" | "perl" | "gsed":
            yield from (FileEffect(path, "changed") for path in _edited_in_place(words, plain))
        case "curl" | "wget":
            yield from (FileEffect(path, "written") for path in _saved(words))
        case _:
            pass


def _moved(plain: list[str], *, is_copy: bool) -> Iterator[FileEffect]:
    *sources, target = plain
    into = len(sources) > 1 or target.endswith("/") or target in (".", "..")
    for source in sources:
        if not is_copy:
            yield FileEffect(source, "deleted")
        name = posixpath.basename(source.rstrip("/"))
        yield FileEffect(posixpath.join(target, name) if into else target, "written")


def _edited_in_place(words: list[str], plain: list[str]) -> list[str]:
    """Files after the script of `sed -i` or `perl -i`; none where it only prints."""
    options = [word for word in words if word.startswith("-") and not word.startswith("--")]
    if not any("i" in option for option in options) and "--in-place" not in words:
        return []
    # Each `-e` is followed by a script; where there is none, the first word is one.
    scripts = {words[n + 1] for n, word in enumerate(words[:-1]) if word in ("-e", "-f")} or set(plain[:1])
    return [word for word in plain if word not in scripts]


def _saved(words: list[str]) -> list[str]:
    return [words[n + 1] for n, word in enumerate(words[:-1]) if word in ("-o", "-O", "--output")]


def _is_path(word: str) -> bool:
    return bool(_PATH.fullmatch(word)) and word not in ("-", ".", "..", "/")
