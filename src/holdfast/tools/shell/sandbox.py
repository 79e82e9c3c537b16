"""What commands cannot do, whatever they are: a sandbox of the operating system, where there is one.

Rule: a sandbox is used only after it has held once, in a test that tries to get out. `describe` tells the person
and the model what holds, also where nothing does. Every mount closes something; what it names may change at any
moment, so nothing is opened here.

Bubblewrap gives a read-only world, a private `/tmp`, its own process ids, and one network for all commands of a
session that leads nowhere else. Landlock, in the kernel, only refuses; docs/tools.md says what it cannot hold.
Neither protects you later: a program in the workspace that you run then may be one that a command left there.
"""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.tools.access import Access, SandboxChoice, SandboxState
from holdfast.tools.shell import launch
from holdfast.tools.shell.hidden_files import present
from holdfast.tools.shell.repository_guard import read_only, repository_mounts

MOST_SOCKETS = 200
_PRIVATE = ("/run/", "/var/run/", "/tmp/", "/dev/", "/proc/")  # noqa: S108 - the sandbox has its own
_DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom tty".split())
"""Devices that may be written to. Terminals are not among them, since the person's are there too."""
PROBE_SECONDS = 10


class SandboxScope(Struct, frozen=True):
    """Where a command works and what it may touch."""

    roots: tuple[str, ...]
    folder: str
    """Where it starts."""
    temporary: str
    """The folder of its temporary files, which it may always write to."""
    access: Access = "write"
    hidden: tuple[str, ...] = ()
    """Files and folders that it cannot read; they need not exist."""
    frozen: tuple[str, ...] = ()
    """Files in the roots that it cannot change, where the sandbox can keep single files so."""
    names_git: bool = False
    """Whether the command itself names Git, and so may write to a repository."""
    network_pid: int = 0
    """A process whose network it shares; 0 for a network of its own."""


class Sandbox(Struct, frozen=True):
    """**Contract:** `arguments` wraps a command line whose first word is an absolute path. The first sentence of
    `describe` says where commands write and whether there is a network: a short definition of Bash has no more."""

    name: ClassVar[str]

    @property
    def state(self) -> SandboxState:
        return "holds"

    def describe(self, access: Access = "write") -> str:
        raise NotImplementedError

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:
        raise NotImplementedError

    def environment(self, scope: SandboxScope) -> dict[str, str]:  # noqa: ARG002 - for others
        return {}

    def open_network(self) -> "SessionNetwork | None":
        """One network for all commands of a session; None where each has to do without."""
        return None


def _launch_command(options: Iterable[str], command: list[str]) -> list[str]:
    return [sys.executable, "-I", "-S", launch.__file__, *options, "--", *command]


class Unconfined(Sandbox, frozen=True):
    """No sandbox. `missing` says why none was found, if one was wanted."""

    name = "none"
    missing: str = ""

    @property
    def state(self) -> SandboxState:
        return "missing" if self.missing else "off"

    def describe(self, access: Access = "write") -> str:  # noqa: ARG002 - for others
        why = f" ({self.missing})" if self.missing else ""
        return f"No sandbox{why}: commands can do all that the user who runs them can."

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:  # noqa: ARG002 - for others
        return _launch_command((), command) if sys.platform == "linux" else command


class Landlock(Sandbox, frozen=True):
    name = "landlock"
    version: int

    @property
    def state(self) -> SandboxState:
        # Before the third version files anywhere can be truncated, and without a filter their metadata changed.
        return "holds" if self.version >= 3 and launch.can_filter() else "missing"

    def describe(self, access: Access = "write") -> str:
        where = "only in `$TMPDIR`" if access == "read" else "only in the workspace and `$TMPDIR`"
        summary = f"Sandbox (Landlock): commands write {where}"
        if access == "network":
            return f"{summary}; the network is open. Files with secrets cannot be read."
        if launch.can_filter():
            return f"{summary}; there is no network, not even loopback. Files with secrets cannot be read."
        if self.version >= 4:
            return f"{summary}; TCP connections and servers are refused. UDP and Unix sockets are not."
        return f"{summary}; the network is open, since this kernel's Landlock cannot close it."

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:
        if scope.access == "full":
            return Unconfined().arguments(command, scope)
        roots = scope.roots if scope.access != "read" else ()
        options = [f"write={path}" for path in (*roots, scope.temporary, *_DEVICES)]
        options += [f"read={path}" for path in (*_all_but(present(scope.hidden)), "/proc/self")]
        options += ["close=metadata"] if scope.access == "read" else []
        options += ["close=network"] if scope.access != "network" else []
        return _launch_command(options, command)

    def environment(self, scope: SandboxScope) -> dict[str, str]:
        return {"TMPDIR": scope.temporary} if scope.access != "full" else {}


def _all_but(hidden: Sequence[str]) -> Iterator[str]:
    """Paths that together hold every file but the hidden ones and those about processes. Links are left out: what
    they lead to has a path of its own."""
    closed = (*hidden, "/proc/1")
    waiting = ["/"]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                is_process = folder == "/proc" and entry.name.isdigit()
                if entry.is_symlink() or is_process or entry.path in closed:
                    continue
                if any(path.startswith(f"{entry.path}/") for path in closed):
                    waiting.append(entry.path)
                else:
                    yield entry.path


class Bubblewrap(Sandbox, frozen=True):
    name = "bubblewrap"
    program: str

    def describe(self, access: Access = "write") -> str:
        where = (
            "only in a private `/tmp`" if access == "read" else "only in the workspace and a private `/tmp`"
        )
        reached = "the network is open" if access == "network" else "no network but loopback"
        return (
            f"Sandbox (bubblewrap): commands write {where}; {reached}. Everything else is read-only, and files "
            "with secrets are hidden; only commands that name `git` themselves and run in the foreground may write "
            "to `.git`, and none to its config or hooks. The commands of this session share loopback: a server in "
            "the background can be reached. Processes that a command leaves running end with it."
        )

    def arguments(self, command: list[str], scope: SandboxScope) -> list[str]:
        if scope.access == "full":
            return Unconfined().arguments(command, scope)
        words = [self.program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        # Services have their sockets there, and a read-only file system does not close them.
        words += ["--tmpfs", "/run", "--ro-bind-try", "/run/current-system", "/run/current-system"]
        words += ["--bind", scope.temporary, "/tmp"]  # noqa: S108 - the private one
        programs = program_folders()
        words += [*read_only(programs), *kernel_mounts(), *socket_mounts(scope.roots, programs)]
        hidden = present(scope.hidden)
        above_roots = [path for path in hidden if any(root.startswith(f"{path}/") for root in scope.roots)]
        words += hiding_mounts(above_roots)
        for root in scope.roots:
            words += ["--ro-bind" if scope.access == "read" else "--bind", root, root]
        for root in scope.roots if scope.access != "read" else ():
            words += repository_mounts(root, is_named=scope.names_git)
        words += read_only(scope.frozen)
        words += hiding_mounts(path for path in hidden if path not in above_roots)
        words += "--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-user-try".split()
        if scope.access != "network" and not scope.network_pid:
            words.append("--unshare-net")
        words += ["--cap-drop", "ALL", "--die-with-parent", "--chdir", scope.folder, "--", *command]
        is_shared = scope.network_pid and scope.access != "network"
        return _launch_command([f"join={scope.network_pid}"], words) if is_shared else words

    def environment(self, scope: SandboxScope) -> dict[str, str]:
        return {"TMPDIR": "/tmp"} if scope.access != "full" else {}  # noqa: S108 - the private one

    def open_network(self) -> "SessionNetwork | None":
        return SessionNetwork(self.program)


_HOLDER = "--dev-bind / / --unshare-user-try --unshare-net --cap-drop ALL --die-with-parent".split()


class SessionNetwork:
    """A network with nothing but loopback, held open by a process that waits until `close`."""

    def __init__(self, program: str) -> None:
        read_end, write_end = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a fixed command
                [program, *_HOLDER, "--info-fd", str(write_end), "--", shutil.which("cat") or "/bin/cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                pass_fds=(write_end,),
            )
        finally:
            os.close(write_end)
        with open(read_end, "rb") as said:  # noqa: PTH123 - a descriptor
            try:
                self.pid: int = msgspec.json.decode(said.read())["child-pid"]
                self._wait_until_ready()
            except (msgspec.DecodeError, KeyError, TypeError, OSError):
                self.close()
                raise OSError("a network for the session could not be made") from None

    def _wait_until_ready(self) -> None:
        """Its number is told before its namespaces are set up, and a command that enters then may start nothing.
        When the program in them answers, they are."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        if not self._process.stdout.read(1):
            raise OSError

    @property
    def is_open(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def kernel_mounts() -> list[str]:
    """Kernel settings, which root could change without any capability: `core_pattern` alone names a program that
    runs outside."""
    paths = []
    for name in sorted(name for name in os.listdir("/proc") if not name.isdigit()):  # noqa: PTH208
        with contextlib.suppress(OSError):
            mode = os.lstat(f"/proc/{name}").st_mode
            # What could be written; folders always count.
            if stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and mode & 0o222):
                paths.append(f"/proc/{name}")
    return read_only(paths)


def program_folders() -> list[str]:
    """Programs of the path that the private `/tmp` would hide: the folders of their environments."""
    folders = set()
    for place in os.environ.get("PATH", "").split(os.pathsep):
        above, name = os.path.split(os.path.realpath(place))
        # A program in `bin` may need what is beside it; all of `/tmp` is not that.
        folders.add(above if name == "bin" and above != "/tmp" else f"{above}/{name}")  # noqa: S108
    return sorted(folder for folder in folders if folder.startswith("/tmp/"))  # noqa: S108


def socket_mounts(roots: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Sockets of programs outside, in places that the sandbox shows: a read-only file system does not prevent
    connecting, and some of these programs run what they are told."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - not a file
            rows = [row.rstrip("\n").split(None, 7) for row in file]
    except OSError:
        return []
    bound = {row[7] for row in rows if len(row) == 8 and row[7].startswith("/")}
    own = tuple(f"{root}/" for root in roots)
    shown_too = tuple(f"{folder}/" for folder in shown)
    seen = {path for path in bound if path.startswith(shown_too) or not path.startswith(_PRIVATE)}
    open_to_us = []
    for path in sorted(path for path in seen if not path.startswith(own)):
        with contextlib.suppress(OSError, ValueError):
            # Without write permission nobody can connect, and bubblewrap would fail on what it cannot reach.
            if stat.S_ISSOCK(os.lstat(path).st_mode) and os.access(path, os.W_OK):
                open_to_us.append(path)
    return hiding_mounts(open_to_us[:MOST_SOCKETS])


def hiding_mounts(paths: Iterable[str]) -> list[str]:
    """Folders that look empty, and files and sockets with nothing behind them."""
    words: list[str] = []
    for path in paths:
        words += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]  # noqa: PTH112
    return words


def find_sandbox(wanted: SandboxChoice = "auto") -> Sandbox:
    """The sandbox that holds here. InputError if a required one does not."""
    if wanted == "off":
        return Unconfined()
    program, version = shutil.which("bwrap"), launch.landlock_version()
    # Best first; None if it is not installed.
    found: dict[str, Sandbox | None] = {
        "bubblewrap": Bubblewrap(program) if program else None,
        "landlock": Landlock(version) if version else None,
    }
    missing = []
    for name, sandbox in found.items():
        if wanted not in ("auto", name):
            continue
        trouble = self_test(sandbox) if sandbox else "not installed"
        if sandbox and not trouble:
            return sandbox
        missing.append(f"{name}: {trouble}")
    if wanted == "auto":
        return Unconfined("; ".join(missing))
    raise InputError(f"the sandbox `{wanted}` does not work here: {'; '.join(missing)}")


_PROBE = """
cd root && echo > inside && [ -e inside ] || echo "nothing can be written in the workspace"
(echo > ../outside) 2>/dev/null && echo "a file outside was written"
(read -r line < ../hidden && [ -n "$line" ]) 2>/dev/null && echo "a hidden file was read"
(: > /dev/tcp/127.0.0.1/"$1") 2>/dev/null && echo "a server outside was reached"
exit 0
"""


def self_test(sandbox: Sandbox) -> str:
    """Why a sandbox does not hold here; empty if it does. A command in it tries to get out."""
    bash = shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin:" + os.environ.get("PATH", ""))
    if not bash:
        return "there is no `bash` to try it with"
    with contextlib.ExitStack() as stack:
        # Not below `/tmp`, which bubblewrap replaces.
        place = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None  # noqa: S108
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place))).resolve()
        (top / "root").mkdir()
        (top / "temporary").mkdir()
        (top / "hidden").write_text("secret\n")
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        scope = SandboxScope(
            (str(top / "root"),), str(top), str(top / "temporary"), hidden=(str(top / "hidden"),)
        )
        port = str(server.getsockname()[1])
        command = [bash, "--noprofile", "--norc", "-c", _PROBE, "bash", port]
        try:
            done = subprocess.run(  # noqa: S603 - a fixed command
                sandbox.arguments(command, scope),
                capture_output=True,
                timeout=PROBE_SECONDS,
                check=False,
                stdin=subprocess.DEVNULL,
                cwd=top,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    escaped = done.stdout.decode("utf-8", "replace").strip().replace("\n", ", ")
    message = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
    return escaped or ((message or f"it ended with code {done.returncode}") if done.returncode else "")
