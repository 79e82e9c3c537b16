"""The repository of a workspace, guarded: a command must not write what names programs that Git runs.

Rule: what is there is mounted read-only; what is not there cannot be, and is removed again after the command.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator

from msgspec import Struct

_GIT = re.compile(r"(?<![\w.-])(?:git|gh|jj|hub|gt|tig|lazygit|pre-commit|lefthook)(?![\w/.-])")
"""A command must name one of these programs to write to `.git`."""
_GUARDED = ("hooks", "config", "config.worktree", "commondir")
"""Parts of a repository that no command may write: they name programs that Git runs."""
_MODULE_PATH = re.compile(r"(?m)^\s*path\s*=\s*(\S.*?)\s*$")
MOST_INNER = 200
MOST_LISTED = 1 << 20


def names_git(command: str) -> bool:
    """Whether a command contains the name of Git, or of a program that works on repositories."""
    return bool(_GIT.search(command))


def repository_mounts(root: str, *, is_named: bool) -> list[str]:
    """The repository of a root: read-only, except for commands that name Git, and then all but what names programs.

    The folder itself is always mounted, since a mount point can be neither moved nor removed; so is the file that a
    worktree has instead.
    """
    git = os.path.join(root, ".git")  # noqa: PTH118 - bytes in names
    submodules = read_only(os.path.join(root, path, ".git") for path in _submodules(root))  # noqa: PTH118
    if not (is_named and os.path.isdir(git)):  # noqa: PTH112
        return [*read_only([git]), *submodules]
    words = ["--bind", git, git, *submodules]
    for folder in (git, *_inner_repositories(git)):
        # Each folder on the way is a mount point: a folder that only contains one could be moved with it.
        for place in _way(git, folder):
            words += ["--bind", place, place]
        words += read_only(os.path.join(folder, name) for name in _GUARDED)  # noqa: PTH118
    return words


class GuardState(Struct, frozen=True):
    """What of a repository cannot be mounted: parts that are not there, and those that are links."""

    missing: tuple[str, ...] = ()
    links: dict[str, str] = {}


def look_before(roots: Iterable[str]) -> GuardState:
    """The parts that name programs which a command could make or replace."""
    missing, links = list[str](), dict[str, str]()
    for git in (os.path.join(root, ".git") for root in roots):  # noqa: PTH118
        if not os.path.isdir(git):  # noqa: PTH112
            continue
        folders = (git, *_inner_repositories(git))
        paths = [os.path.join(folder, name) for folder in folders for name in _GUARDED]  # noqa: PTH118
        for path in (git, *paths):
            if os.path.islink(path):  # noqa: PTH114
                links[path] = os.readlink(path)  # noqa: PTH115
            elif not os.path.lexists(path):
                missing.append(path)
    return GuardState(tuple(missing), links)


def put_back(before: GuardState) -> list[str]:
    """Undo what a command did to such parts. Returns a sentence for each."""
    made = [path for path in before.missing if os.path.lexists(path)]
    said = [f"(`{path}` {_removed(path)}: it names programs that Git runs.)" for path in made]
    for path, target in before.links.items():
        is_same = os.path.islink(path) and os.readlink(path) == target  # noqa: PTH114, PTH115
        if not is_same:
            how = _removed(path)
            with contextlib.suppress(OSError):
                os.symlink(target, path)  # noqa: PTH211
            said.append(f"(`{path}`, a link that was replaced, {how} and put back.)")
    return said


def _removed(path: str) -> str:
    """Remove a file or a folder, whatever mode its own folder has now; what came of it."""
    with contextlib.suppress(OSError):
        parent = os.path.dirname(path)  # noqa: PTH120
        os.chmod(parent, os.stat(parent).st_mode | 0o700)  # noqa: PTH101, PTH116
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)  # noqa: PTH108
    return "could not be removed" if os.path.lexists(path) else "was removed"


def _inner_repositories(git: str) -> Iterator[str]:
    """Repositories of submodules and of worktrees, which have their own settings and hooks."""
    number = 0
    for top in ("modules", "worktrees"):
        for folder, folders, names in os.walk(os.path.join(git, top)):  # noqa: PTH118
            if "HEAD" in names:
                folders.clear()
                number += 1
                yield folder
            if number == MOST_INNER:
                return


def _submodules(root: str) -> list[str]:
    """The folders of submodules: the file in each points to a repository, and could point to another one."""
    try:
        with open(os.path.join(root, ".gitmodules"), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
            found = _MODULE_PATH.findall(file.read(MOST_LISTED))
    except OSError:
        return []
    return [path for path in found[:MOST_INNER] if ".." not in path.split("/") and not path.startswith("/")]


def _way(git: str, folder: str) -> list[str]:
    """The folders from a repository down to one in it."""
    inner = os.path.relpath(folder, git)
    parts = [] if inner == "." else inner.split("/")
    return [os.path.join(git, *parts[: at + 1]) for at in range(len(parts))]  # noqa: PTH118


def read_only(paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in ("--ro-bind-try", path, path)]
