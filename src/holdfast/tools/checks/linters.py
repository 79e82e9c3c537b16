"""Linters and type checkers as a review runs them: once for all changed files, with the names of rules.

Rule: only what the project itself configures is run, with its own program first. A linter gets no option that
changes files or needs the network.
"""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from holdfast.tools.checks.checkers import (
    CHECKERS,
    TEMPORARY,
    find_config,
    find_program,
    folders_above,
)
from holdfast.tools.checks.linter_output import (
    LintReader,
    read_bandit,
    read_clippy,
    read_eslint,
    read_go_vet,
    read_mypy,
    read_ruff,
    read_semgrep,
    read_tsc,
)
from holdfast.tools.workspace import Workspace

MOST_NAMES = 50_000
"""Bytes of file names in one command."""

_CHECKERS = {checker.name: checker for checker in CHECKERS}
_PYTHON = _CHECKERS["ruff"].suffixes
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", *_CHECKERS["tsc"].suffixes, ".vue", ".svelte")
_ENDINGS = ("js", "mjs", "cjs", "ts", "mts", "cts")
_ESLINT_CONFIGS = (
    *((f"eslint.config.{ending}", "") for ending in _ENDINGS),
    *((f".eslintrc{ending}", "") for ending in (".js", ".cjs", ".json", ".yml", ".yaml", "")),
    ("package.json", '"eslintConfig"'),
)
_SEMGREP_PLACES = " ".join(
    f"{name}={TEMPORARY}/semgrep.{number}"
    for number, name in enumerate(("SEMGREP_SETTINGS_FILE", "SEMGREP_LOG_FILE", "SEMGREP_VERSION_CACHE_PATH"))
)


class Linter(Struct, frozen=True):
    """`arguments` may name the `{files}`, their `{folders}` and the `{config}`, from the folder of the
    configuration. `codes` are those with which it ends after its work is done."""

    name: str
    suffixes: tuple[str, ...]
    """Of the files it looks at; empty for all."""
    configs: tuple[tuple[str, str], ...]
    arguments: str
    read: LintReader
    program: str = ""
    """Where it is not the name."""
    before: str = ""
    codes: tuple[int, ...] = (0, 1)


LINTERS = (
    Linter(
        "ruff",
        _PYTHON,
        _CHECKERS["ruff"].configs,
        "check --no-cache --no-fix --quiet --force-exclude --output-format=json {files}",
        read_ruff,
    ),
    Linter(
        "bandit",
        (".py",),
        (
            *((name, "") for name in ("bandit.yaml", "bandit.yml", ".bandit.yaml", ".bandit.yml", ".bandit")),
            ("pyproject.toml", "[tool.bandit"),
        ),
        "-q -f json {config} {files}",
        read_bandit,
    ),
    Linter(
        "mypy",
        _PYTHON,
        _CHECKERS["mypy"].configs,
        "--no-pretty --no-color-output --no-error-summary --hide-error-context --show-error-codes "
        f"--cache-dir {TEMPORARY}/mypy {{files}}",
        read_mypy,
        before=_CHECKERS["mypy"].before,
    ),
    Linter(
        "semgrep",
        (),
        (
            (".semgrep.yml", "rules:"),
            (".semgrep.yaml", "rules:"),
            ("semgrep.yml", "rules:"),
            ("semgrep.yaml", "rules:"),
        ),
        "scan --json --quiet --metrics=off --disable-version-check --no-autofix {config} {files}",
        read_semgrep,
        before=f"mkdir -p {TEMPORARY}; {_SEMGREP_PLACES} ",
    ),
    Linter("eslint", _SCRIPTS, _ESLINT_CONFIGS, "--format json {files}", read_eslint),
    Linter(
        "tsc",
        _CHECKERS["tsc"].suffixes,
        _CHECKERS["tsc"].configs,
        _CHECKERS["tsc"].arguments,
        read_tsc,
        codes=(0, 1, 2),
    ),
    Linter(
        "clippy",
        _CHECKERS["cargo"].suffixes,
        _CHECKERS["cargo"].configs,
        # Called as a program of its own, its first argument is its name.
        "clippy --quiet --offline --message-format json",
        read_clippy,
        program="cargo-clippy",
        before=_CHECKERS["cargo"].before,
        codes=(0, 101),
    ),
    Linter(
        "go",
        _CHECKERS["go"].suffixes,
        _CHECKERS["go"].configs,
        "vet {folders}",
        read_go_vet,
        before=_CHECKERS["go"].before,
        codes=(0, 1, 2),
    ),
)


class LinterCall(Struct, frozen=True):
    """One run of a linter in a folder; `command` is empty if the linter is not installed."""

    linter: Linter
    folder: str
    command: str


def linter_calls(linter: Linter, paths: Sequence[str], workspace: Workspace) -> Iterator[LinterCall]:
    """How a linter is run on files, by their paths from the first root: once for each configuration."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        is_its = not linter.suffixes or path.endswith(linter.suffixes)
        if is_its and (found := find_config(path, linter.configs, workspace)):
            groups.setdefault(found, []).append(str(PurePosixPath(path).relative_to(found[0])))
    for (folder, config), files in groups.items():
        program = find_program(linter.program or linter.name, folder, workspace)
        if not program:
            yield LinterCall(linter, folder, "")
            continue
        # Not by `format`: the words of a shell have braces of their own.
        command = linter.arguments.replace("{config}", _config_option(linter, config))
        for part in _parts(files) if "{files}" in command else [files]:
            folders = dict.fromkeys(f"./{PurePosixPath(file).parent}" for file in part)
            whole = command.replace("{folders}", shlex.join(folders))
            # From `./`, so that no name is taken for an option.
            whole = whole.replace("{files}", shlex.join(f"./{file}" for file in part))
            yield LinterCall(linter, folder, f"{linter.before}{shlex.quote(program)} {whole}")


def _config_option(linter: Linter, config: str) -> str:
    if linter.name == "semgrep":
        return f"--config {config}"
    # By that name it has another form.
    return f"--ini {config}" if config == ".bandit" else f"-c {config}"


def _parts(files: Sequence[str]) -> Iterator[list[str]]:
    """Files in runs whose names fit into one command."""
    part: list[str] = []
    size = 0
    for file in files:
        length = len(shlex.quote(file).encode()) + 3
        if part and size + length > MOST_NAMES:
            yield part
            part, size = [], 0
        part.append(file)
        size += length
    if part:
        yield part


def printed_path(printed: str, folder: str, root: str, known: set[str]) -> str:
    """Which of the known files a linter means that ran in a folder; empty if none. Some write paths from the top of
    a project that is above."""
    for above in (folder, *folders_above(folder)):
        full = os.path.normpath(os.path.join(root, above, printed))  # noqa: PTH118 - not a file yet
        if (path := full.removeprefix(f"{root.rstrip('/')}/")) in known:
            return path
    return ""
