"""A git repository that is asked, never told, and never trusted.

Rule: nothing that the repository names is run. Its hooks, file watcher, external diffs, text converters, filters
and transports are off, variables that point git elsewhere are not passed on, and what a person wrote never stands
where an option could.
"""

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from holdfast.errors import InputError, NotFound

SECONDS = 120.0
MOST_OUTPUT = 256 * 1024 * 1024
BIG_FILE = 8 * 1024 * 1024
"""Files above are binary to git, which then compares them without holding them in memory."""

_SAFE = (
    *("--no-pager", "--no-optional-locks", "--literal-pathspecs"),
    *("-c", "core.pager=cat", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotepath=false", "-c", f"core.bigFileThreshold={BIG_FILE}"),
    # A clone without all objects would fetch what it lacks.
    *("-c", "protocol.allow=never", "-c", "diff.external=", "-c", "diff.trustExitCode=false"),
)
_FILTER = re.compile(rb"filter\..*\.(?:clean|smudge|process|required)", re.DOTALL)


class Repository(Struct, frozen=True):
    """`top` is the folder that paths of a diff begin in; None where the repository has no working tree. `overrides`
    are settings that git hears instead of the repository's own."""

    folder: Path
    top: Path | None
    git_folder: Path
    overrides: Mapping[str, str] = {}

    @property
    def working_tree(self) -> Path:
        if self.top is None:
            raise InputError(f"`{self.folder}` is a repository without a working tree.", hint="name a commit")
        return self.top

    def ask(self, *arguments: str, stdin: bytes = b"", most: int = MOST_OUTPUT) -> bytes:
        """What git answers. **Contract:** raises `InputError` with git's own words where it fails."""
        answer = self.try_asking(*arguments, stdin=stdin, most=most)
        if answer.code:
            raise InputError(f"git {arguments[0]} failed in `{self.folder}`: {answer.said}")
        return answer.out

    def try_asking(self, *arguments: str, stdin: bytes = b"", most: int = MOST_OUTPUT) -> "GitOutput":
        folder = self.top or self.folder
        return _run(folder, arguments, stdin, most, {**self._index(), **_settings(self.overrides)})

    def commit(self, revision: str) -> str:
        """The full id of a commit that a person named."""
        if revision.startswith("-"):
            raise InputError(f"`{revision}` cannot be a revision: it begins with `-`.")
        answer = self.try_asking("rev-parse", "--verify", "--quiet", f"{revision or 'HEAD'}^{{commit}}")
        if answer.code or not (found := answer.out.decode("ascii", "replace").strip()):
            raise NotFound(f"There is no revision `{revision or 'HEAD'}` in `{self.folder}`.")
        return found

    def empty_tree(self) -> str:
        """What a first commit is compared with. Its id depends on the kind of hash the repository uses."""
        return self.ask("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()

    def _index(self) -> Mapping[str, str]:
        """Inside a hook, `git commit -a` names an index of its own: the one that will be committed."""
        named = os.environ.get("GIT_INDEX_FILE", "")
        if not named:
            return {}
        place = Path(os.path.normpath((self.top or self.folder) / named))
        return {"GIT_INDEX_FILE": str(place)} if place.is_relative_to(self.git_folder) else {}


class GitOutput(Struct, frozen=True):
    code: int
    out: bytes
    said: str


def open_repository(folder: Path) -> Repository:
    """**Contract:** raises `InputError` where the folder is in no repository, or in one of another folder."""
    plain = locate_repository(folder)
    return Repository(folder, plain.top, plain.git_folder, _without_filters(plain))


def locate_repository(folder: Path) -> Repository:
    """The repository of a folder, to learn where it is and not to be asked: its filters are not off yet."""
    if not folder.is_dir():
        raise NotFound(f"`{folder}` is no folder.")
    answer = _run(folder, ["rev-parse", "--absolute-git-dir", "--show-toplevel"], b"", 65536, {})
    lines = os.fsdecode(answer.out).split("\n")
    if len(lines) < 2:
        raise InputError(
            f"`{folder}` is in no git repository that can be read: {answer.said}",
            hint="a file that holds a diff can be reviewed without one",
        )
    top = Path(lines[1]) if not answer.code and lines[1] else None
    if top is not None and not ((top / ".git").exists() and folder.resolve().is_relative_to(top.resolve())):
        # Its settings may name any folder as its working tree.
        raise InputError(f"The repository of `{folder}` has its files elsewhere, in `{top}`.")
    return Repository(folder, top, Path(lines[0]))


def _without_filters(repository: Repository) -> dict[str, str]:
    """Filters are programs that git runs on files it compares. Those of the person's own settings stay. Names are
    bytes and matched here: git's own pattern passes over what is no UTF-8."""
    answer = repository.try_asking("config", "--list", "--show-scope", "--name-only", "-z")
    words = answer.out.split(b"\0")
    own = {
        os.fsdecode(name)
        for scope, name in zip(words[::2], words[1::2], strict=False)
        if scope in (b"local", b"worktree") and _FILTER.fullmatch(name)
    }
    return {name: "false" if name.endswith(".required") else "" for name in sorted(own)}


def _settings(overrides: Mapping[str, str]) -> dict[str, str]:
    """By the environment: `-c` takes a name to end at its first `=`, and the name of a filter may have one."""
    settings = {"GIT_CONFIG_COUNT": str(len(overrides))}
    for at, (name, value) in enumerate(overrides.items()):
        settings |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return settings


def _run(folder: Path, words: Sequence[str], stdin: bytes, most: int, more: Mapping[str, str]) -> GitOutput:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", **more}
    command = ["git", *_SAFE, *words]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 -- git with settings that run nothing of the repository's
                command, cwd=folder, env=environment, stdin=given, stdout=out, stderr=said
            )
        except FileNotFoundError:
            raise InputError("There is no `git` on this machine.", hint="install git") from None
        if (code := _wait(process)) is None:
            raise InputError(f"git did not answer within {SECONDS:.0f} seconds in `{folder}`.")
        if out.tell() > most or _size(out) > most:
            raise InputError(
                f"git's answer in `{folder}` is larger than {most // 2**20} MiB.",
                hint="review fewer files or commits at once",
            )
        return GitOutput(code, _content(out), _content(said).decode("utf-8", "replace").strip()[:500])


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit code; None where it took too long. `wait` with a timeout only looks now and then whether it has
    ended, which for many short runs takes longer than the runs."""
    began = time.monotonic()
    late = threading.Timer(SECONDS, process.kill)
    late.daemon = True
    late.start()
    try:
        code = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        late.cancel()
    return None if code < 0 and time.monotonic() - began >= SECONDS else code


def _size(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
