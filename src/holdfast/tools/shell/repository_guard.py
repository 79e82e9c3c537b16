"""The repository of a workspace, guarded: a command must not write what names programs that Git runs.

Rule: what is there is mounted read-only; what is not there cannot be, and is removed again after the command.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator

_GIT = re.compile(r"(?<![\w.-])(?:git|gh|jj|hub|gt|tig|lazygit|pre-commit|lefthook)(?![\w/.-])")
"""A command must name one of these programs to write to `.git`."""
_GUARDED = ("hooks", "config", "config.worktree", "commondir")
"""Parts of a repository that no command may write: they name programs that Git runs."""
MOST_INNER = 200


def names_git(command: str) -> bool:
    """Whether a command contains the name of Git, or of a program that works on repositories."""
    return bool(_GIT.search(command))


def repository_mounts(root: str, *, is_named: bool) -> list[str]:
    """The repository of a root: read-only, except for commands that name Git, and then all but what names programs.

    The folder itself is always mounted, since a mount point can be neither moved nor removed; so is the file that a
    worktree has instead.
    """
    git = os.path.join(root, ".git")  # noqa: PTH118 - bytes in names
    if not (is_named and os.path.isdir(git)):  # noqa: PTH112
        return read_only([git])
    words = ["--bind", git, git]
    for folder in (git, *_inner_repositories(git)):
        # Each folder on the way is a mount point: a folder that only contains one could be moved with it.
        for place in _way(git, folder):
            words += ["--bind", place, place]
        words += read_only(os.path.join(folder, name) for name in _GUARDED)  # noqa: PTH118
    return words


def missing_guards(roots: Iterable[str]) -> list[str]:
    """Parts of the roots' repositories that name programs and are not there."""
    gits = [os.path.join(root, ".git") for root in roots]  # noqa: PTH118
    paths = [os.path.join(git, name) for git in gits if os.path.isdir(git) for name in _GUARDED]  # noqa: PTH112, PTH118
    return [path for path in paths if not os.path.lexists(path)]


def remove_planted(paths: Iterable[str]) -> list[str]:
    """Remove the parts that a command has made all the same. Returns them."""
    found = [path for path in paths if os.path.lexists(path)]
    for path in found:
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108
    return found


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


def _way(git: str, folder: str) -> list[str]:
    """The folders from a repository down to one in it."""
    inner = os.path.relpath(folder, git)
    parts = [] if inner == "." else inner.split("/")
    return [os.path.join(git, *parts[: at + 1]) for at in range(len(parts))]  # noqa: PTH118


def read_only(paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in ("--ro-bind-try", path, path)]
