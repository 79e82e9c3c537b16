"""The shell of a session: a folder that stays from one command to the next, and the running commands.

Rule: one command at a time in the foreground, each in its own bash with a clean environment. The folder is inside
the workspace before and after; a `cd` that leads out is undone and reported. Everything that was started here is
ended here.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Self

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.tools.access import Access
from holdfast.tools.envelope import ToolError
from holdfast.tools.shell.command_output import CommandOutput
from holdfast.tools.shell.hidden_files import hidden_paths
from holdfast.tools.shell.processes import RUN_MARK, clean_environment, find_family, kill_family
from holdfast.tools.shell.repository_guard import GuardState, look_before, names_git, put_back
from holdfast.tools.shell.running_command import KILL_WAIT, SCRIPT, CommandEnding, ShellJob, StopCause
from holdfast.tools.shell.sandbox import Sandbox, SandboxScope, SessionNetwork, Unconfined
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import WorkspacePath

LONGEST_COMMAND = 100_000
"""Bytes of a command; the system does not accept a much longer argument."""

FOLDER_PREFIX = "holdfast-shell-"
LOCK_FILE = "lock"
LIVE_SECONDS = 0.25
"""Seconds between two looks at what a running command has printed."""
UNLOCKED = 3600.0
"""Seconds after which a folder without a lock belongs to nobody; before, it may be about to get one."""

_ID = re.compile(r"b(\d{1,9})")


class ShellFolder:
    """The folder where a shell keeps the output of its commands, and their temporary files.

    It is created when first needed and removed when the shell is closed, garbage-collected, or the interpreter
    ends. The folder of a killed process is removed by the next one: a folder belongs to the process that holds its
    lock, and the system releases the locks of dead processes.

    **Contract:** `remove` may be called at any time; a later use creates the folder again.
    """

    def __init__(self) -> None:
        self._removal: weakref.finalize[[Path, int, int], ShellFolder] | None = None
        self._path = Path()

    @property
    def path(self) -> Path:
        if not (self._removal and self._removal.alive):
            remove_abandoned_folders(tempfile.gettempdir())
            self._path = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX)).resolve()
            lock = os.open(self._path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._removal = weakref.finalize(self, _remove, self._path, lock, os.getpid())
        return self._path

    def remove(self) -> None:
        if self._removal:
            self._removal()


class ShellLimits(Struct, frozen=True):
    """Settings of a shell. Output larger than `text_bytes` is shown in excerpts; at `output_bytes` a command is
    stopped, so that it does not fill the disk. `grace` is the number of seconds between the request to end and the
    kill."""

    text_bytes: int = 1_000_000
    output_bytes: int = 4_000_000_000
    grace: float = 2.0


class Shell:
    """**Contract:** `close` ends everything that still runs and removes all output."""

    def __init__(
        self,
        *,
        sandbox: Sandbox | None = None,
        access: Access = "write",
        hidden: Iterable[str] = (),
        folders: Iterable[str] = (),
        limits: ShellLimits | None = None,
        environment: Mapping[str, str] | None = None,
        passes: Iterable[str] = (),
    ) -> None:
        self.sandbox: Sandbox = sandbox or Unconfined()
        self.access: Access = access
        self.is_access_fixed = False
        """Whether nobody can raise the access, as in plan mode."""
        self.hidden = hidden_paths(hidden)
        self.frozen: tuple[str, ...] = ()
        """Paths in the workspace that commands cannot change, where the sandbox can hold that."""
        self._folders = tuple(folders)
        """Folders besides the workspace that commands may write in."""
        self._network: SessionNetwork | None = None
        self.limits = limits or ShellLimits()
        self._longest_end = self.limits.grace + KILL_WAIT + 1
        """Seconds within which a process that is asked to end has ended, or is out of reach."""
        self._environment = clean_environment(os.environ if environment is None else environment, passes)
        bash = shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin:" + os.environ.get("PATH", ""))
        if not bash:
            raise InputError("there is no `bash` here, which the tool Bash runs")
        self._bash = bash
        self._folder = ShellFolder()
        self._token = secrets.token_hex(8)
        self._count = 0
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self.cwd = "."
        """The folder of the next command, relative to the first root."""
        self.jobs: dict[str, ShellJob] = {}
        self._foreground: ShellJob | None = None
        """The command that a call waits for."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """Where the output of its commands and their temporary files are."""
        return self._folder.path

    def restore(self, data: Mapping[str, Json]) -> None:
        """Take over an earlier result of Bash: the folder, and that its id is used."""
        cwd, output = data.get("cwd"), data.get("output")
        if isinstance(cwd, str) and cwd:
            self.cwd = cwd
        if isinstance(output, str) and (number := _ID.fullmatch(output)):
            self._count = max(self._count, int(number[1]))

    def place(self, workspace: Workspace) -> WorkspacePath:
        """The folder that the next command starts in; the root if it is gone."""
        try:
            with workspace.open_directory(self.cwd) as directory:
                return directory.place
        except ToolError:
            self.cwd = "."
            return workspace.locate(".")

    def start(
        self,
        command: str,
        workspace: Workspace,
        *,
        seconds: float = 0.0,
        may_use_git: bool = False,
    ) -> ShellJob:
        """Start a command in the shell's folder; `seconds` is how long it may run, 0 for no limit. With
        `may_use_git`, one that names Git may write to a repository."""
        expect_command(command)
        self._count += 1
        name = f"b{self._count}"
        place = self.place(workspace)
        # ACCESS_DENIED if a root was replaced: a sandbox would open whatever is there now.
        for root in workspace.roots:
            with workspace.open_directory(root):
                pass
        temporary = self._folder.path / "tmp"
        temporary.mkdir(mode=0o700, exist_ok=True)
        folders = (os.path.realpath(folder) for folder in self._folders if Path(folder).is_dir())
        scope = SandboxScope(
            (*workspace.roots, *folders),
            place.path,
            str(temporary),
            access=self.access,
            hidden=self.hidden,
            frozen=self.frozen,
            names_git=may_use_git and names_git(command),
            network_pid=self._shared_network() if self.access in ("read", "write") else 0,
        )
        bash = [self._bash, "--noprofile", "--norc", "-c", SCRIPT, "bash", command]
        mark = f"{self._token}.{name}."
        job = self.jobs[name] = ShellJob(
            name,
            command,
            self.sandbox.arguments(bash, scope),
            folder=place.path,
            environment={
                **self._environment,
                **self.sandbox.environment(scope),
                "PWD": place.path,
                RUN_MARK: mark,
            },
            mark=mark,
            output=CommandOutput(self._folder.path, name, self.limits.output_bytes),
            seconds=seconds,
            grace=self.limits.grace,
        )
        return job

    def _shared_network(self) -> int:
        """The process that holds the network of this session open; 0 if the sandbox has none to share."""
        if self._network and not self._network.is_open:
            self._network.close()
            self._network = None
        if self._network is None:
            self._network = self.sandbox.open_network()
        return self._network.pid if self._network else 0

    @property
    def background(self) -> list[ShellJob]:
        """The jobs that run while no call waits for them."""
        return [job for job in self.jobs.values() if job is not self._foreground and job.is_running]

    async def run(
        self,
        command: str,
        workspace: Workspace,
        *,
        seconds: float,
        printed: Callable[[CommandOutput], None] = lambda _: None,
    ) -> tuple[ShellJob, CommandEnding, str]:
        """Run a command to its end, and say what its `cd` did. `printed` is told when there is more output, a few
        times a second. A cancellation ends it with everything it started; the ending says so, and what it printed
        is kept."""
        # A lock of this loop: a shell may outlive a loop, a lock may not.
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:
            self._turn = (loop, asyncio.Lock())
        async with self._turn[1]:
            before = look_before(workspace.roots) if self._holds_git else GuardState()
            job = self._foreground = self.start(command, workspace, seconds=seconds, may_use_git=True)
            ended = asyncio.wrap_future(job.ended)
            try:
                await _followed(job, ended, printed)
            except asyncio.CancelledError:
                job.stop("cancelled")
                await asyncio.wait([ended], timeout=self._longest_end)
                if not ended.done():
                    raise
            finally:
                self._foreground = None
                undone = put_back(before)
            ending = ended.result()
            return job, ending, "\n".join(filter(None, [self._move(ending, workspace), *undone]))

    @property
    def _holds_git(self) -> bool:
        return self.sandbox.state == "holds" and self.access in ("write", "network")

    def _move(self, ending: CommandEnding, workspace: Workspace) -> str:
        """Follow a command's `cd`. Returns what to say about it; empty if the folder is the same."""
        before = self.place(workspace)
        if not ending.folder or ending.folder == before.path:
            return ""
        try:
            with workspace.open_directory(ending.folder) as directory:
                place = directory.place
        except ToolError as error:
            return f"The working directory is still `{before.shown}`: {error.message}."
        cwd = (place.inner or ".") if place.root == workspace.roots[0] else place.path
        if not _is_text(cwd):
            return f"The working directory is still `{before.shown}`: the name of the new one is not UTF-8."
        self.cwd = cwd
        return f"Working directory: {place.shown}"

    def job(self, name: str) -> ShellJob:
        if job := self.jobs.get(name.strip()):
            return job
        known = ", ".join(f"`{one}`" for one in self.jobs) or "none"
        raise ToolError(
            "NOT_FOUND",
            f"there is no output `{name[:40]}`",
            hint=f"Outputs end with the session that started them; there are: {known}",
        )

    def stop(self, job: ShellJob, why: StopCause = "stopped") -> bool:
        """End a job and what it left behind, and wait for the end. Returns whether anything of it was still
        running."""
        was_running = not job.is_over or bool(find_family(job.mark))
        job.stop(why)
        job.join(self._longest_end)
        kill_family(job.mark)
        return was_running

    def forget(self, job: ShellJob) -> None:
        """Drop a finished job whose output is in a result as a whole."""
        job.join(self._longest_end)
        del self.jobs[job.id]
        job.output.remove()

    def stop_all(self) -> None:
        """End everything that still runs, and wait for the end."""
        for job in self.jobs.values():
            job.stop("stopped")
        for job in self.jobs.values():
            job.join(self._longest_end)
        kill_family(f"{self._token}.")

    def close(self) -> None:
        self.stop_all()
        if self._network:
            self._network.close()
        for job in self.jobs.values():
            job.output.close()
        self.jobs.clear()
        self._folder.remove()


async def _followed(
    job: ShellJob, ended: "asyncio.Future[CommandEnding]", printed: Callable[[CommandOutput], None]
) -> None:
    """Wait for the end of a job, and tell of its output meanwhile."""
    seen = 0
    while not (await asyncio.wait([ended], timeout=LIVE_SECONDS))[0]:
        if job.output.size != seen:
            seen = job.output.size
            printed(job.output)


def expect_command(command: str) -> None:
    """INVALID_PARAM for a command that no shell can be given."""
    if not command.strip():
        raise ToolError("INVALID_PARAM", "`command` of Bash is empty")
    if "\0" in command:
        raise ToolError(
            "INVALID_PARAM",
            "`command` contains a NUL character",
            hint="Write it as `\\0` for the program that needs it",
        )
    if not _is_text(command):
        raise ToolError("INVALID_PARAM", "`command` contains half a character (a lone surrogate)")
    if (size := len(command.encode())) > LONGEST_COMMAND:
        raise ToolError(
            "INVALID_PARAM",
            f"`command` has {size:,} bytes, and at most {LONGEST_COMMAND:,} are allowed",
            hint="Write a script with Write and run that",
        )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _remove(path: Path, lock: int, owner: int) -> None:
    # A forked process runs the same finalizers, but does not own the folder.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@cache
def remove_abandoned_folders(place: str) -> None:
    """Remove the folders of killed processes; once per process."""
    for path in Path(place).glob(f"{FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_left(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_left(path: Path) -> bool:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return False
    try:
        lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - status.st_mtime > UNLOCKED
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
