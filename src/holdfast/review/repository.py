"""A git repository that is only read, and never trusted.

Rule: nothing that the repository names is run. Its hooks, file watcher, external diffs, text converters, filters
and transports are off, variables that point git elsewhere are not passed on, and what a user wrote is never taken
for an option.
"""

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.errors import InputError, NotFound

SECONDS = 120.0
MOST_OUTPUT = 256 * 1024 * 1024
BIG_FILE = 8 * 1024 * 1024
"""git treats larger files as binary and compares them without loading them."""

_SAFE = (
    *("--no-pager", "--no-optional-locks", "--literal-pathspecs"),
    *("-c", "core.pager=cat", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotepath=false", "-c", f"core.bigFileThreshold={BIG_FILE}"),
    # A partial clone would fetch missing objects.
    *("-c", "protocol.allow=never", "-c", "diff.external=", "-c", "diff.trustExitCode=false"),
)
_FILTER = re.compile(rb"filter\..*\.(?:clean|smudge|process|required)", re.DOTALL)


class Repository(Struct, frozen=True):
    """`top` is the folder that paths of a diff are relative to; None if the repository has no working tree.
    `overrides` are settings that replace the repository's own."""

    folder: Path
    top: Path | None
    git_folder: Path
    overrides: Mapping[str, str] = {}

    @property
    def working_tree(self) -> Path:
        if self.top is None:
            raise InputError(
                f"`{self.folder}` has no working tree: it is a bare repository", hint="name a commit"
            )
        return self.top

    def run(self, *arguments: str, stdin: bytes = b"", most: int = MOST_OUTPUT) -> bytes:
        """What git writes to stdout. **Contract:** raises `InputError` with git's message if it fails."""
        output = self.try_run(*arguments, stdin=stdin, most=most)
        if output.code:
            raise InputError(f"git {arguments[0]} failed in `{self.folder}`: {output.error}")
        return output.out

    def try_run(self, *arguments: str, stdin: bytes = b"", most: int = MOST_OUTPUT) -> "GitOutput":
        folder = self.top or self.folder
        return _run(folder, arguments, stdin, most, {**self._index(), **_settings(self.overrides)})

    def commit(self, revision: str) -> str:
        """The full id of a commit that a user named."""
        if revision.startswith("-"):
            raise InputError(f"`{revision}` cannot be a revision: it begins with `-`")
        output = self.try_run("rev-parse", "--verify", "--quiet", f"{revision or 'HEAD'}^{{commit}}")
        if output.code or not (commit := output.out.decode("ascii", "replace").strip()):
            raise NotFound(f"there is no revision `{revision or 'HEAD'}` in `{self.folder}`")
        return commit

    def empty_tree(self) -> str:
        """What a first commit is compared with. Its id depends on the hash that the repository uses."""
        return self.run("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()

    def _index(self) -> Mapping[str, str]:
        """Inside a hook, `git commit -a` uses an index of its own: the one that will be committed."""
        named = os.environ.get("GIT_INDEX_FILE", "")
        if not named:
            return {}
        place = Path(os.path.normpath((self.top or self.folder) / named))
        return {"GIT_INDEX_FILE": str(place)} if place.is_relative_to(self.git_folder) else {}


class GitOutput(Struct, frozen=True):
    code: int
    out: bytes
    error: str


def open_repository(folder: Path) -> Repository:
    """**Contract:** raises `InputError` if the folder is not in a repository, or if that has its files
    elsewhere."""
    found = locate_repository(folder)
    return Repository(folder, found.top, found.git_folder, _disabled_filters(found))


def locate_repository(folder: Path) -> Repository:
    """The repository of a folder, only to learn where it is: its filters are not disabled yet."""
    if not folder.is_dir():
        raise NotFound(f"`{folder}` is not a folder")
    output = _run(folder, ["rev-parse", "--absolute-git-dir", "--show-toplevel"], b"", 65536, {})
    lines = os.fsdecode(output.out).split("\n")
    if len(lines) < 2:
        raise InputError(
            f"`{folder}` is not in a readable git repository: {output.error}",
            hint="a file that contains a diff can be reviewed without a repository",
        )
    top = Path(lines[1]) if not output.code and lines[1] else None
    if top is not None and not ((top / ".git").exists() and folder.resolve().is_relative_to(top.resolve())):
        # Its configuration may name any folder as the working tree.
        raise InputError(f"the repository of `{folder}` has its files elsewhere, in `{top}`")
    return Repository(folder, top, Path(lines[0]))


def _disabled_filters(repository: Repository) -> dict[str, str]:
    """Filters are programs that git runs on the files it compares. Those in the user's own configuration stay.
    Names are matched here as bytes: git's own pattern skips names that are not UTF-8."""
    output = repository.try_run("config", "--list", "--show-scope", "--name-only", "-z")
    words = output.out.split(b"\0")
    own = {
        os.fsdecode(name)
        for scope, name in zip(words[::2], words[1::2], strict=False)
        if scope in (b"local", b"worktree") and _FILTER.fullmatch(name)
    }
    return {name: "false" if name.endswith(".required") else "" for name in sorted(own)}


def _settings(overrides: Mapping[str, str]) -> dict[str, str]:
    """Through the environment: with `-c` a name ends at its first `=`, and the name of a filter may contain one."""
    settings = {"GIT_CONFIG_COUNT": str(len(overrides))}
    for at, (name, value) in enumerate(overrides.items()):
        settings |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return settings


def _run(folder: Path, words: Sequence[str], stdin: bytes, most: int, more: Mapping[str, str]) -> GitOutput:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", **more}
    command = ["git", *_SAFE, *words]
    # Into a file: it may be more than fits in memory.
    with tempfile.TemporaryFile() as out:
        try:
            process = subprocess.Popen(  # noqa: S603 -- git with settings that run nothing of the repository's
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError:
            raise InputError("`git` was not found", hint="install git") from None
        # `communicate` with a timeout polls, which for many short runs takes longer than the runs.
        late = threading.Timer(SECONDS, process.kill)
        late.daemon = True
        began = time.monotonic()
        late.start()
        with process:
            try:
                _, error = process.communicate(stdin)
            finally:
                late.cancel()
                process.kill()
        if process.returncode < 0 and time.monotonic() - began >= SECONDS:
            raise InputError(f"git did not finish within {SECONDS:.0f} seconds in `{folder}`")
        if out.seek(0, os.SEEK_END) > most:
            raise InputError(
                f"git's output in `{folder}` is larger than {most // 2**20} MiB",
                hint="review fewer files or commits at once",
            )
        out.seek(0)
        return GitOutput(process.returncode, out.read(), error.decode("utf-8", "replace").strip()[:500])
