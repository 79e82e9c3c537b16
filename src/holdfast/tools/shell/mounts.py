"""What bubblewrap lays over the world that a command sees, besides the roots: words of its command line.

Rule: everything here closes something. What is looked at may change at any moment, so nothing is opened here, and
what is gone when the sandbox starts is no reason to fail.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence

from holdfast.tools.commands.inner import does_name
from holdfast.tools.commands.reader import read_script
from holdfast.tools.commands.syntax import Unreadable

GIT_PROGRAMS = frozenset(
    "git gh jj hub gt tig lazygit pre-commit lefthook git-lfs git-town git-cliff".split()
)
"""Programs that a command has to name so that it may write to `.git`."""
_GUARDED = ("hooks", "config", "config.worktree")
"""Parts of a repository that nobody writes to: they name programs that Git runs."""
MOST_MODULES = 200
MOST_SOCKETS = 200
_HIDDEN = ("/run/", "/var/run/", "/tmp/", "/dev/", "/proc/")  # noqa: S108 - the sandbox has its own


def names_git(command: str) -> bool:
    """Whether a command says itself that it works with Git; one that cannot be read, whether it holds the word."""
    try:
        return does_name(read_script(command), GIT_PROGRAMS)
    except Unreadable:
        return "git" in command


def closed_kernel() -> list[str]:
    """Settings of the kernel, which root could change without any capability: with `core_pattern` alone a program
    is named that runs outside."""
    with os.scandir("/proc") as found:
        names = [entry.name for entry in found if not entry.name.isdigit() and _is_writable(entry)]
    return _read_only(f"/proc/{name}" for name in sorted(names))


def _is_writable(entry: "os.DirEntry[str]") -> bool:
    """Whether somebody could write there; of a folder nobody asks."""
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and bool(mode & 0o222))


def closed_sockets(roots: Sequence[str]) -> list[str]:
    """Sockets of programs outside, in places that the sandbox shows: a read-only file system does not keep anybody
    from connecting, and behind some stands a program that runs what it is told."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - not a file
            rows = [row.rstrip("\n").split(None, 7) for row in file]
    except OSError:
        return []
    bound = {row[7] for row in rows if len(row) == 8 and row[7].startswith("/")}
    own = tuple(f"{root}/" for root in roots)
    open_to_us = [
        path for path in sorted(bound) if not path.startswith((*_HIDDEN, *own)) and _is_socket(path)
    ]
    return [word for path in open_to_us[:MOST_SOCKETS] for word in ("--ro-bind", "/dev/null", path)]


def _is_socket(path: str) -> bool:
    try:
        is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
    # What we may not write to nobody connects to; and bubblewrap would stumble over what it cannot reach.
    return is_socket and os.access(path, os.W_OK)


def closed_repository(root: str, *, is_named: bool) -> list[str]:
    """The repository of a root: read-only but for commands that name Git, and then all but what names programs.

    The folder itself is mounted in any case, since what is mounted on can be neither moved aside nor removed; so is
    the file that a worktree has in its place.
    """
    git = os.path.join(root, ".git")  # noqa: PTH118 - bytes in names
    if not (is_named and os.path.isdir(git)):  # noqa: PTH112
        return _read_only([git])
    inner = [os.path.join(folder, name) for folder in (git, *_modules(git)) for name in _GUARDED]  # noqa: PTH118
    return ["--bind", git, git, *_read_only(inner)]


def _modules(git: str) -> Iterator[str]:
    """Repositories of submodules, which have settings and hooks of their own."""
    number = 0
    for folder, folders, names in os.walk(os.path.join(git, "modules")):  # noqa: PTH118
        if "HEAD" in names:
            folders.clear()
            number += 1
            yield folder
        if number == MOST_MODULES:
            return


def _read_only(paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in ("--ro-bind-try", path, path)]
