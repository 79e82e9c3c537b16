"""Linters and type checkers: which of them a file has, how they are called, and what their output says.

Rule: only what the project itself configures is called. A finding is new if there was none of the same file and
words before; its line does not count, since an edit moves lines.
"""

import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import PurePosixPath

from msgspec import Struct, field

from holdfast.errors import ConfigError, describe_value, suggest
from holdfast.line_ranges import LineRange
from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.search.path_patterns import BadGlob, glob_pattern
from holdfast.tools.workspace import Workspace

LARGEST_CONFIG = 1_000_000
LONGEST_LINE = 400
"""Characters of a finding."""
PLACES = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Folders of a project that have its programs."""

_FINDING = re.compile(
    r"(?:vet: )?(?:\./)?([^\s:(][^:(]{0,300})(?::(\d+)(?::(\d+))?:|\((\d+),(\d+)\):) *(\S.*)"
)
_NUMBERED = re.compile(r"\bline \d+")
TEMPORARY = '"${TMPDIR:-$HOME/.cache}"/holdfast-checks'


class Checker(Struct, frozen=True):
    """`configs` are files that say that a project uses it, each with words that must be in it. `plain` is the
    command as a person would write it, and as rules see it; `arguments` are those that it is run with. Both may
    name the `{file}` or its `{folder}`, from the folder of the configuration."""

    name: str
    suffixes: tuple[str, ...]
    configs: tuple[tuple[str, str], ...]
    plain: str
    arguments: str
    before: str = ""
    """What stands before the program."""
    is_quick: bool = False
    """Whether it looks at one file only, so that it can be run before every edit as well."""


CHECKERS = (
    Checker(
        "ruff",
        (".py", ".pyi"),
        (("ruff.toml", ""), (".ruff.toml", ""), ("pyproject.toml", "[tool.ruff")),
        "ruff check {file}",
        "check --no-cache --no-fix --quiet --output-format=concise -- {file}",
        is_quick=True,
    ),
    Checker(
        "mypy",
        (".py", ".pyi"),
        (
            *(("mypy.ini", ""), (".mypy.ini", ""), ("pyproject.toml", "[tool.mypy"), ("setup.cfg", "[mypy")),
            ("tox.ini", "[mypy"),
        ),
        "mypy {file}",
        "--no-pretty --no-color-output --no-error-summary --hide-error-context --cache-dir "
        f"{TEMPORARY}/mypy -- {{file}}",
        # It fails on a cache that it cannot write, and takes long without one.
        before=f"[ -e {TEMPORARY}/mypy ] || {{ mkdir -p {TEMPORARY}; cp -r .mypy_cache {TEMPORARY}/mypy; }} "
        "2>/dev/null; ",
    ),
    Checker(
        "tsc",
        (".ts", ".tsx", ".mts", ".cts"),
        (("tsconfig.json", ""),),
        "tsc --noEmit -p .",
        "--noEmit --pretty false -p .",
    ),
    Checker(
        "cargo",
        (".rs",),
        (("Cargo.toml", ""),),
        "cargo check",
        "check --quiet --offline --message-format short",
        before=f"CARGO_TARGET_DIR={TEMPORARY}/cargo ",
    ),
    Checker(
        "go",
        (".go",),
        (("go.mod", ""),),
        "go vet ./{folder}",
        "vet ./{folder}",
        before=f"GOCACHE={TEMPORARY}/go ",
    ),
)


class CheckSettings(Struct, frozen=True):
    """A `[checks]` table. `seconds` is how long all checks may take before an edit, and again after it; with 0 none
    are run. `commands` are the project's own, by a pattern of files."""

    seconds: float = 5.0
    skip: tuple[str, ...] = ()
    commands: dict[str, str] = field(default_factory=dict)


class FileCheck(Struct, frozen=True):
    """A check of one file: the command, the folder in which it runs, and the command as people see it."""

    name: str
    command: str
    folder: str
    plain: str
    spellings: tuple[str, ...]
    """The command as rules spell it; with the program's place too, where that is not the one of `PATH`."""
    is_quick: bool = False
    needs_file: bool = True
    """Whether the command names the file, so that it has nothing to look at before the file is there."""


class CheckFinding(Struct, frozen=True):
    path: str
    line: int
    text: str
    spelled: str
    """The whole line."""

    @property
    def key(self) -> tuple[str, str]:
        return self.path, _NUMBERED.sub("line", self.text)


def parse_checks(table: Mapping[str, Json], where: str) -> CheckSettings:
    known = ("seconds", "skip", "commands")
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: unknown key `checks.{key}`", hint=suggest(key, known))
    seconds, skip, commands = table.get("seconds", 5.0), table.get("skip", []), table.get("commands", {})
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not isfinite(seconds) or seconds < 0:
        raise ConfigError(
            f"{where}: `checks.seconds` should be a number of at least 0, found {describe_value(seconds)}"
        )
    if not isinstance(skip, list) or not all(isinstance(one, str) for one in skip):
        raise ConfigError(f"{where}: `checks.skip` should be a list of names, found {describe_value(skip)}")
    names = [checker.name for checker in CHECKERS]
    if wrong := next((one for one in skip if one not in names), ""):
        raise ConfigError(f"{where}: `checks.skip` names no check `{wrong}`", hint=suggest(wrong, names))
    if not isinstance(commands, dict) or not all(isinstance(one, str) for one in commands.values()):
        raise ConfigError(
            f"{where}: `checks.commands` should be a table of commands, found {describe_value(commands)}",
            hint='such as `"*.py" = "pylint --output-format=parseable {file}"`',
        )
    for pattern in commands:
        try:
            glob_pattern(pattern)
        except BadGlob as error:
            raise ConfigError(f"{where}: `checks.commands`: `{pattern}` is wrong: {error}") from None
    return CheckSettings(float(seconds), tuple(skip), commands)


def checks_of(path: str, settings: CheckSettings, workspace: Workspace) -> Iterator[FileCheck]:
    """The checks of a file, by its path from the first root: its project's own commands and what is configured in
    its folder or above."""
    for pattern, command in settings.commands.items():
        if glob_pattern(pattern).fullmatch(path):
            written = command.replace("{file}", shlex.quote(path))
            name = (shlex.split(command) or ["check"])[0] if command.strip() else "check"
            yield FileCheck(name, written, ".", written, (written,), needs_file="{file}" in command)
    for checker in CHECKERS:
        if checker.name in settings.skip or not path.endswith(checker.suffixes):
            continue
        found = find_config(path, checker.configs, workspace)
        if found and (program := find_program(checker.name, found[0], workspace)):
            yield _file_check(checker, path, found[0], program, workspace.roots[0])


def _file_check(checker: Checker, path: str, folder: str, program: str, root: str) -> FileCheck:
    file = PurePosixPath(path).relative_to(folder)
    parent = "" if str(file.parent) == "." else shlex.quote(str(file.parent))
    places = {"file": shlex.quote(str(file)), "folder": parent}

    def filled(words: str) -> str:
        # Not by `format`, since a shell has braces of its own; and in one go, since names may have them too.
        return re.sub(r"\{(file|folder)\}", lambda named: places[named[1]], words)

    plain = filled(checker.plain)
    spellings = [plain]
    if program != shutil.which(checker.name):
        spellings.append(shlex.quote(os.path.relpath(program, root)) + plain.removeprefix(checker.name))
    return FileCheck(
        checker.name,
        f"{checker.before}{shlex.quote(program)} {filled(checker.arguments)}",
        folder,
        plain,
        tuple(spellings),
        is_quick=checker.is_quick,
        needs_file="{file}" in checker.arguments,
    )


def folders_above(path: str) -> Iterator[str]:
    """The folders of a file or a folder, from the one that it is in to the root."""
    return (str(folder) for folder in PurePosixPath(path).parents)


def find_config(
    path: str, configs: Iterable[tuple[str, str]], workspace: Workspace
) -> tuple[str, str] | None:
    """The folder and the name of the configuration that a file has, the nearest one."""
    for folder in folders_above(path):
        for name, words in configs:
            if (text := _text(folder, name, workspace)) is not None and words in text:
                return folder, name
    return None


def _text(folder: str, name: str, workspace: Workspace) -> str | None:
    try:
        with workspace.open_file(f"{folder}/{name}") as opened:
            return opened.file.read(LARGEST_CONFIG).decode("utf-8", "replace")
    except (ToolError, OSError):
        return None


def find_program(name: str, folder: str, workspace: Workspace) -> str:
    """Where a program is: in the project, else on the path; empty if nowhere."""
    root = workspace.roots[0]
    for above in (folder, *folders_above(folder)):
        for place in PLACES:
            candidate = os.path.normpath(f"{root}/{above}/{place}/{name}")
            if os.access(candidate, os.X_OK):
                return candidate
    return shutil.which(name) or ""


def read_findings(printed: str) -> list[CheckFinding]:
    """The findings in an output: lines with a file, a line and words. Notes explain others and are left out."""
    found = []
    for row in printed.splitlines():
        match = _FINDING.match(row[:LONGEST_LINE].strip())
        if match and not match[6].startswith(("note:", "help:")):
            line = int((match[2] or match[4])[:9])
            found.append(CheckFinding(match[1], line, match[6], row[:LONGEST_LINE].strip()))
    return found


def new_findings(
    before: Iterable[CheckFinding], after: Sequence[CheckFinding], ranges: Sequence[LineRange]
) -> list[CheckFinding]:
    """What was not there before. Of several with the same words, those in the lines that the edit wrote are new."""
    known = Counter(finding.key for finding in before)
    fresh = set[int]()
    for number in sorted(range(len(after)), key=lambda n: (_is_in(after[n].line, ranges), n)):
        key = after[number].key
        if known[key]:
            known[key] -= 1
        else:
            fresh.add(number)
    return [after[number] for number in sorted(fresh)]


def _is_in(line: int, ranges: Sequence[LineRange]) -> bool:
    return any(first <= line <= last for first, last in ranges)
