"""One running command: its shell is started, its output written to disk, and its end brought about.

Rule: a thread of its own is the only one that touches the process. The command has ended when its shell has. What
the shell left running is reported, and its output is still written. A time limit or a request ends everything that
the command started. A caller may stop waiting at any time; `stop` only asks, and does not wait.

Both streams go through one pipe, so that they keep the order in which they were written; two pipes would lose it.
"""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Literal

from msgspec import Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.shell.command_output import CommandOutput
from holdfast.tools.shell.processes import (
    ShellProcess,
    find_family,
    in_session,
    kill_family,
    send,
    send_group,
)

StopCause = Literal["", "timeout", "stopped", "cancelled", "full"]

LINGER = 0.25
"""Seconds that processes have to end after their shell, before they are reported as still running."""
LAST_WAIT = 1.0
"""Seconds after a kill within which the pipe should close."""
CHUNK = 256 << 10
PIPE = 1 << 20
REPORT_FD = 187
"""The descriptor to which a shell reports its folder gets at least this number, which no script uses."""
SCRIPT = (
    "_holdfast=$1; shift; trap '{ set +x; builtin pwd -P >&REPORT; } 2>/dev/null' EXIT; eval \"$_holdfast\""
)
"""What bash runs, followed by the command: it reports its last folder, also after `exit` and `set -e`."""


class LaunchSpec(Struct, frozen=True):
    """A command line and everything needed to start it."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    mark: str
    seconds: float = 0.0
    """How long it may run; 0 for no limit."""
    grace: float = 2.0
    """Seconds between the request to end and the kill."""


class CommandEnding(Struct, frozen=True):
    code: int
    signal: int = 0
    why: StopCause = ""
    folder: str = ""
    """The last folder of the shell, as it reports; empty if it could not."""
    left: tuple[str, ...] = ()
    """Names of programs that are still running."""
    is_held: bool = False
    """Something still holds the output open, and may print."""
    seconds: float = 0.0


class CommandLoop:
    """The state of the thread that executes `run`: the open pipes, and how far the ending has come."""

    def __init__(
        self,
        launch: LaunchSpec,
        wake: int,
        wish: Callable[[], StopCause],
        settle: Callable[[CommandEnding], None],
    ) -> None:
        self.launch = launch
        self.wake = wake
        self.wish = wish
        self.settle = settle
        self.began = time.monotonic()
        self.pipes: dict[int, CommandOutput] = {}
        self.poller = select.poll()
        self.known: list[ShellProcess] = []
        self.why: StopCause = ""
        self.kill_at = 0.0
        self.killed_at = 0.0
        self.exited_at = 0.0
        self.is_settled = False

    def run(self, output: CommandOutput, errors: CommandOutput | None) -> None:
        self._start(output, errors)
        self.poller.register(self.wake, select.POLLIN)
        with _exit_of(self.process) as exit_fd:
            if exit_fd >= 0:
                self.poller.register(exit_fd, select.POLLIN)
            # A killed process keeps no pipe open, unless it is out of reach.
            while not self.is_settled or (self.pipes and not self.killed_at):
                ready = [fd for fd, _ in self.poller.poll(self._pause(exit_fd))]
                for fd in ready:
                    if fd in self.pipes:
                        self._pump(fd)
                    elif fd == self.wake:
                        os.read(self.wake, 64)
                self._look(exit_fd, ready)
                self._end(time.monotonic())
        for fd in list(self.pipes):
            self._close(fd)

    def _start(self, output: CommandOutput, errors: CommandOutput | None) -> None:
        out = self._pipe(output)
        err = self._pipe(errors) if errors else out
        self.report, given = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        report = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, REPORT_FD)
        os.close(given)
        try:
            self.process = subprocess.Popen(  # noqa: S603 - running commands is what this is for
                [_reporting(word, report) for word in self.launch.arguments],
                cwd=self.launch.folder,
                env=self.launch.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=(report,),
                start_new_session=True,
            )
        except OSError:
            os.close(self.report)
            for fd in list(self.pipes):
                self._close(fd)
            raise
        finally:
            for fd in {out, err, report}:
                os.close(fd)

    def _pipe(self, output: CommandOutput) -> int:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reader, False)
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE)
        self.pipes[reader] = output
        self.poller.register(reader, select.POLLIN)
        return writer

    def _pause(self, exit_fd: int) -> float | None:
        """Milliseconds until something is due; None to wait for an event."""
        now = time.monotonic()
        due = []
        if self.killed_at:
            due.append(self.killed_at + LAST_WAIT)
        elif self.why:
            # Checked in between: processes that have ended need not be waited for.
            due.append(min(self.kill_at, now + 0.05))
        elif self.launch.seconds and not self.exited_at:
            due.append(self.began + self.launch.seconds)
        if self.exited_at and not self.is_settled:
            due.append(now + 0.02)
        if exit_fd < 0 and not self.exited_at:
            due.append(now + 0.02)
        return max(0.0, (min(due) - now) * 1000) + 1 if due else None

    def _pump(self, fd: int) -> None:
        try:
            chunk = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self.pipes[fd].add(chunk)
        else:
            self._close(fd)

    def _close(self, fd: int) -> None:
        del self.pipes[fd]
        self.poller.unregister(fd)
        os.close(fd)

    def _look(self, exit_fd: int, ready: list[int]) -> None:
        """Whether the shell has ended. Its session is listed while its process id is still its own."""
        if self.exited_at or (exit_fd >= 0 and exit_fd not in ready):
            return
        if exit_fd >= 0:
            self.poller.unregister(exit_fd)
            self.known += in_session(self.process.pid)
        if self.process.poll() is not None:
            self.exited_at = time.monotonic()

    def _end(self, now: float) -> None:
        if not self.why and (reason := self._reason(now)):
            self.why = reason
            self._terminate(now)
        if self.why and not self.killed_at and (now >= self.kill_at or not self._family()):
            kill_family(self.launch.mark, self._leader, self.known)
            self.killed_at = time.monotonic()
        if self.exited_at and not self.is_settled:
            self._settle(now)

    def _reason(self, now: float) -> StopCause:
        """Why it must end now; empty if it need not."""
        if wished := self.wish():
            return wished
        if self.launch.seconds and not self.exited_at and now >= self.began + self.launch.seconds:
            return "timeout"
        return "full" if any(output.trouble for output in self.pipes.values()) else ""

    @property
    def _leader(self) -> int:
        return 0 if self.exited_at else self.process.pid

    def _family(self) -> list[ShellProcess]:
        """Which processes still run; only the shell if the system does not tell.

        A process that was seen once is remembered: during an `exec` it has no mark.
        """
        found = find_family(self.launch.mark, self._leader, self.known)
        self.known = list({(one.pid, one.started): one for one in (*self.known, *found)}.values())
        return found if found or self.exited_at else [ShellProcess(self.process.pid, 0, 0, 0, 0, "")]

    def _terminate(self, now: float) -> None:
        self.kill_at = now + self.launch.grace
        members = self._family()
        if self._leader:
            send_group(self._leader, signal.SIGTERM)
        send([one for one in members if one.group != self._leader], signal.SIGTERM)

    def _settle(self, now: float) -> None:
        """Give the result when all output has arrived or the wait for it is over."""
        if self.why and not self.killed_at:
            return
        is_late = now >= (self.killed_at + LAST_WAIT if self.why else self.exited_at + LINGER)
        if self.pipes and not is_late:
            return
        left = [] if self.why else find_family(self.launch.mark, 0, self.known)
        if left and not is_late:
            return
        code = self.process.returncode
        self.is_settled = True
        self.settle(
            CommandEnding(
                code=code if code >= 0 else 128 - code,
                signal=max(-code, 0),
                why=self.why,
                folder=_reported(self.report),
                left=tuple(sorted({one.name for one in left})),
                is_held=bool(self.pipes) and not self.why,
                seconds=now - self.began,
            )
        )


def _reporting(word: str, report: int) -> str:
    return word.replace("REPORT", str(report)) if word == SCRIPT else word


def _reported(fd: int) -> str:
    try:
        raw = os.read(fd, 8192)
    except BlockingIOError:
        raw = b""
    os.close(fd)
    return os.fsdecode(raw.removesuffix(b"\n"))


@contextlib.contextmanager
def _exit_of(process: "subprocess.Popen[bytes]") -> Iterator[int]:
    """A descriptor that becomes readable when the process ends; -1 if the system has none."""
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        fd = -1
    try:
        yield fd
    finally:
        if fd >= 0:
            os.close(fd)


class RunningCommand:
    """**Contract:** `ended` gets its result once, from the thread; a ToolError if nothing could be started."""

    def __init__(
        self, launch: LaunchSpec, output: CommandOutput, errors: CommandOutput | None = None
    ) -> None:
        self.launch = launch
        self.output = output
        self.errors = errors
        self.ended: Future[CommandEnding] = Future()
        # From now on a waiter cannot cancel it.
        self.ended.set_running_or_notify_cancel()
        self._wish: StopCause = ""
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._live, name=f"shell {launch.mark}", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether no more output is written."""
        return not self._thread.is_alive()

    def stop(self, why: StopCause) -> None:
        """Begin to end it; the first reason counts."""
        with self._lock:
            self._wish = self._wish or why
            if self._wake_writer >= 0:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_writer, b"x")

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _live(self) -> None:
        life = CommandLoop(self.launch, self._wake_reader, self._wished, self.ended.set_result)
        try:
            life.run(self.output, self.errors)
        except OSError as error:
            trouble = ToolError("EXECUTION_ERROR", f"the shell could not be started: {error}")
            if not self.ended.done():
                self.ended.set_exception(trouble)
        finally:
            if not self.ended.done():
                self.ended.set_exception(ToolError("INTERNAL_ERROR", "the command was lost"))
            with self._lock:
                os.close(self._wake_reader)
                os.close(self._wake_writer)
                self._wake_writer = -1

    def _wished(self) -> StopCause:
        return self._wish
