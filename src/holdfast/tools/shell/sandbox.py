"""What commands cannot do, whatever they are: a sandbox of the operating system, where there is one.

Rule: a sandbox is used only after it has run once. `description` tells the person and the model what holds, also
where nothing does. Every mount closes something; what it names may change at any moment, so nothing is opened here,
and what is gone when the sandbox starts is no reason to fail.

Bubblewrap gives a read-only world, the roots to write in, a private `/tmp`, its own process ids and no network.
Landlock, in the kernel, only refuses: writes outside the roots and TCP, but not UDP and not `.git`. Neither
protects you later: a program in the workspace that you run then may be one that a command left there.
"""

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.tools.commands.reader import read_script
from holdfast.tools.commands.syntax import UnreadableScript
from holdfast.tools.commands.walk import does_name
from holdfast.tools.shell import launch

GIT_PROGRAMS = frozenset(
    "git gh jj hub gt tig lazygit pre-commit lefthook git-lfs git-town git-cliff".split()
)
"""A command must name one of these programs to write to `.git`."""
_GUARDED = ("hooks", "config", "config.worktree")
"""Parts of a repository that no command may write: they name programs that Git runs."""
MOST_MODULES = 200
MOST_SOCKETS = 200
_HIDDEN = ("/run/", "/var/run/", "/tmp/", "/dev/", "/proc/")  # noqa: S108 - the sandbox has its own


def names_git(command: str) -> bool:
    """Whether a command itself names Git; for one that cannot be read, whether it contains the word."""
    try:
        return does_name(read_script(command), GIT_PROGRAMS)
    except UnreadableScript:
        return "git" in command


def closed_kernel() -> list[str]:
    """Kernel settings, which root could change without any capability: `core_pattern` alone names a program that
    runs outside."""
    paths = []
    for name in sorted(name for name in os.listdir("/proc") if not name.isdigit()):  # noqa: PTH208
        with contextlib.suppress(OSError):
            mode = os.lstat(f"/proc/{name}").st_mode
            # What could be written; folders always count.
            if stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and mode & 0o222):
                paths.append(f"/proc/{name}")
    return _read_only(paths)


def closed_sockets(roots: Sequence[str]) -> list[str]:
    """Sockets of programs outside, in places that the sandbox shows: a read-only file system does not prevent
    connecting, and some of these programs run what they are told."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - not a file
            rows = [row.rstrip("\n").split(None, 7) for row in file]
    except OSError:
        return []
    bound = {row[7] for row in rows if len(row) == 8 and row[7].startswith("/")}
    own = tuple(f"{root}/" for root in roots)
    open_to_us = []
    for path in sorted(path for path in bound if not path.startswith((*_HIDDEN, *own))):
        with contextlib.suppress(OSError, ValueError):
            # Without write permission nobody can connect, and bubblewrap would fail on what it cannot reach.
            if stat.S_ISSOCK(os.lstat(path).st_mode) and os.access(path, os.W_OK):
                open_to_us.append(path)
    return [word for path in open_to_us[:MOST_SOCKETS] for word in ("--ro-bind", "/dev/null", path)]


def closed_repository(root: str, *, is_named: bool) -> list[str]:
    """The repository of a root: read-only, except for commands that name Git, and then all but what names programs.

    The folder itself is always mounted, since a mount point can be neither moved nor removed; so is the file that a
    worktree has instead.
    """
    git = os.path.join(root, ".git")  # noqa: PTH118 - bytes in names
    if not (is_named and os.path.isdir(git)):  # noqa: PTH112
        return _read_only([git])
    inner = [os.path.join(folder, name) for folder in (git, *_modules(git)) for name in _GUARDED]  # noqa: PTH118
    return ["--bind", git, git, *_read_only(inner)]


def _modules(git: str) -> Iterator[str]:
    """Repositories of submodules, which have their own settings and hooks."""
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


WantedSandbox = Literal["auto", "bubblewrap", "landlock", "off"]
"""`auto` takes the best available, or none; a name is required to work."""

PROBE_SECONDS = 10
_DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom tty".split())
"""Devices that may be written to. Terminals are not among them, since the person's are there too."""


class SandboxScope(Struct, frozen=True):
    """Where a command works: the roots, the folder it starts in, and a folder for temporary files."""

    roots: tuple[str, ...]
    folder: str
    temporary: str
    names_git: bool = False
    """Whether the command itself names Git, and so may write to a repository."""


class Sandbox(Struct, frozen=True):
    """**Contract:** `arguments` wraps a command line whose first word is an absolute path. The first sentence of
    `description` says where commands write and whether there is a network; a short definition of Bash has no
    more."""

    name: ClassVar[str]

    @property
    def description(self) -> str:
        raise NotImplementedError

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:
        raise NotImplementedError

    def environment(self, scope: SandboxScope) -> dict[str, str]:  # noqa: ARG002 - for others
        return {}


def _launcher(flags: str, paths: list[str], command: list[str]) -> list[str]:
    return [sys.executable, "-I", "-S", launch.__file__, flags, str(len(paths)), *paths, *command]


class Unconfined(Sandbox, frozen=True):
    """No sandbox. `missing` says why none was found, if one was wanted."""

    name = "none"
    missing: str = ""

    @property
    def description(self) -> str:
        why = f" ({self.missing})" if self.missing else ""
        return f"No sandbox{why}: commands can do all that the user who runs them can."

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:  # noqa: ARG002 - for others
        return _launcher("-", [], command) if sys.platform == "linux" else command


class Landlock(Sandbox, frozen=True):
    name = "landlock"
    version: int
    with_network: bool = False

    @property
    def description(self) -> str:
        summary = "Sandbox (Landlock): commands write only in the workspace and `$TMPDIR`"
        if self.with_network:
            return f"{summary}; the network is open."
        if self.version >= 4:
            return f"{summary}; TCP connections and servers are refused. UDP and Unix sockets are not."
        return f"{summary}; the network is open, since this kernel's Landlock cannot close it."

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:
        flags = "w" if self.with_network else "wn"
        return _launcher(flags, [*scope.roots, scope.temporary, *_DEVICES], command)

    def environment(self, scope: SandboxScope) -> dict[str, str]:
        return {"TMPDIR": scope.temporary}


class Bubblewrap(Sandbox, frozen=True):
    name = "bubblewrap"
    program: str
    with_network: bool = False

    @property
    def description(self) -> str:
        net = "the network is open" if self.with_network else "no network but loopback"
        return (
            f"Sandbox (bubblewrap): commands write only in the workspace and a private `/tmp`; {net}. "
            "Everything else is read-only; only commands that name `git` themselves may write to `.git`, and "
            "none to its config or hooks. Processes that a command leaves running end with it."
        )

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:
        words = [self.program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        # Services have their sockets there, and a read-only file system does not close them.
        words += ["--tmpfs", "/run", "--ro-bind-try", "/run/current-system", "/run/current-system"]
        words += ["--bind", scope.temporary, "/tmp"]  # noqa: S108 - the private one
        words += [*closed_kernel(), *closed_sockets(scope.roots)]
        for root in scope.roots:
            words += ["--bind", root, root]
        for root in scope.roots:
            words += closed_repository(root, is_named=scope.names_git)
        words += "--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-user-try".split()
        words += [] if self.with_network else ["--unshare-net"]
        return [*words, "--cap-drop", "ALL", "--die-with-parent", "--chdir", scope.folder, "--", *command]

    def environment(self, scope: SandboxScope) -> dict[str, str]:  # noqa: ARG002 - the protocol's
        return {"TMPDIR": "/tmp"}  # noqa: S108 - the private one


def find_sandbox(wanted: WantedSandbox = "auto", *, with_network: bool = False) -> Sandbox:
    """The sandbox that works here. InputError if a required one does not."""
    if wanted == "off":
        return Unconfined()
    program, version = shutil.which("bwrap"), launch.landlock_version()
    # Best first; None if it is not installed.
    found: dict[str, Sandbox | None] = {
        "bubblewrap": Bubblewrap(program, with_network) if program else None,
        "landlock": Landlock(version, with_network) if version else None,
    }
    missing = []
    for name, sandbox in found.items():
        if wanted not in ("auto", name):
            continue
        trouble = _trouble(sandbox) if sandbox else "not installed"
        if sandbox and not trouble:
            return sandbox
        missing.append(f"{name}: {trouble}")
    if wanted == "auto":
        return Unconfined("; ".join(missing))
    raise InputError(f"the sandbox `{wanted}` does not work here: {'; '.join(missing)}")


def _trouble(sandbox: Sandbox) -> str:
    """Why a sandbox does not work here; empty if it does."""
    program = shutil.which("true") or "/bin/true"
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path(folder).resolve())
        command = sandbox.arguments([program], SandboxScope((root,), root, root))
        try:
            done = subprocess.run(  # noqa: S603 - a fixed command
                command, capture_output=True, timeout=PROBE_SECONDS, check=False, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    message = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
    return (message or f"it ended with code {done.returncode}") if done.returncode else ""
