"""One running command: its shell is started, its output written to disk, and its end brought about.

Rule: a thread of its own is the only one that touches the process. The command has ended when its shell has. What
the shell left running is reported, and its output is still written. A time limit or a request ends everything that
the command started. A caller may stop waiting at any time; `stop` only asks, and does not wait.

Each stream has a pipe, so that it is known which lines are stderr. They are read in the order of writing as long as
the system tells it (`write_order.py`), and then in the order in which they became ready, each to its end.
"""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import threading
import time
from concurrent.futures import Future
from typing import Literal

from msgspec import Struct

from holdfast.numbers import count_noun, format_size
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
from holdfast.tools.shell.write_order import PIPE, CommandPipe, Piece, WriteOrder, read_pipe

StopCause = Literal["", "timeout", "stopped", "user", "cancelled", "full"]

EXIT_GRACE = 0.25
"""Seconds that processes have to end after their shell, before they are reported as still running."""
KILL_WAIT = 1.0
"""Seconds after a kill within which the pipe should close."""
REPORT_FD = 187
"""The descriptor to which a shell reports its folder gets at least this number, which no script uses."""
SCRIPT = (
    "_holdfast=$1; shift; trap '{ set +x; builtin pwd -P >&REPORT; } 2>/dev/null' EXIT; eval \"$_holdfast\""
)
"""What bash runs, followed by the command: it reports its last folder, also after `exit` and `set -e`."""


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


class ShellJob:
    """A command that was started, with the id under which its output is read. Its thread waits for the pipes.

    **Contract:** `ended` gets its result once, from the thread; a ToolError if nothing could be started.
    """

    def __init__(
        self,
        job_id: str,
        command: str,
        arguments: list[str],
        *,
        folder: str,
        environment: dict[str, str],
        mark: str,
        output: CommandOutput,
        seconds: float = 0.0,
        grace: float = 2.0,
    ) -> None:
        """`seconds` is how long it may run, 0 for no limit; `grace` is the time between the request to end and the
        kill."""
        self.id = job_id
        self.command = command
        self.folder = folder
        self.mark = mark
        self.output = output
        self.is_end_read = False
        """Whether the model knows how it ended."""
        self.ended: Future[CommandEnding] = Future()
        # From now on a waiter cannot cancel it.
        self.ended.set_running_or_notify_cancel()
        self._seconds = seconds
        self._grace = grace
        self._began = time.monotonic()
        self._pipes: dict[int, bool] = {}
        """The open pipes, and whether each is that of stderr."""
        # It lists what is ready in the order in which it became so; `poll` does not.
        self._poller = select.epoll()
        self._order: WriteOrder | None = None
        self._known: list[ShellProcess] = []
        self._requested_stop: StopCause = ""
        self._why: StopCause = ""
        self._kill_at = 0.0
        self._killed_at = 0.0
        self._exited_at = 0.0
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._lock = threading.Lock()
        self._thread = threading.Thread(
            target=self._run_thread, args=(arguments, environment), name=f"shell {mark}", daemon=True
        )
        self._thread.start()

    @property
    def ending(self) -> CommandEnding | None:
        return self.ended.result() if self.ended.done() and not self.ended.exception() else None

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        return self.ending.seconds if self.ending else time.monotonic() - self._began

    @property
    def is_running(self) -> bool:
        """Whether it runs, or something of it that holds its output."""
        # The thread alone does not tell: it lives a moment longer than the result.
        return self.ending.is_held and not self.is_over if self.ending else not self.ended.done()

    @property
    def size_words(self) -> str:
        return f"{count_noun(self.output.lines, 'line')}, {format_size(self.output.size)}"

    @property
    def is_over(self) -> bool:
        """Whether no more output is written."""
        return not self._thread.is_alive()

    def stop(self, why: StopCause) -> None:
        """Begin to end it; the first reason counts."""
        with self._lock:
            self._requested_stop = self._requested_stop or why
            if self._wake_writer >= 0:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_writer, b"x")

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run_thread(self, arguments: list[str], environment: dict[str, str]) -> None:
        try:
            self._start(arguments, environment)
            self._follow()
        except OSError as error:
            trouble = ToolError("EXECUTION_ERROR", f"the shell could not be started: {error}")
            if not self.ended.done():
                self.ended.set_exception(trouble)
        finally:
            if not self.ended.done():
                self.ended.set_exception(ToolError("INTERNAL_ERROR", "the shell ended unexpectedly"))
            self._poller.close()
            with self._lock:
                os.close(self._wake_reader)
                os.close(self._wake_writer)
                self._wake_writer = -1

    def _follow(self) -> None:
        """Write the output until the command has ended and nobody holds a pipe open."""
        self._poller.register(self._wake_reader, select.EPOLLIN)
        exit_fd = -1
        with contextlib.suppress(AttributeError, OSError):
            # Readable when the process ends; not every system has one.
            exit_fd = os.pidfd_open(self._process.pid)
            self._poller.register(exit_fd, select.EPOLLIN)
        try:
            # A killed process keeps no pipe open, unless it is out of reach.
            while not self.ended.done() or (self._pipes and not self._killed_at):
                ready = [fd for fd, _ in self._poller.poll(self._pause(exit_fd))]
                if pipes := [fd for fd in ready if fd in self._pipes]:
                    self._keep(self._pieces(pipes))
                if self._wake_reader in ready:
                    os.read(self._wake_reader, 64)
                self._check_exit(exit_fd, ready)
                self._stop_if_due(time.monotonic())
        finally:
            if exit_fd >= 0:
                os.close(exit_fd)
            self._end_order()
        for fd in list(self._pipes):
            self._close(fd)

    def _start(self, arguments: list[str], environment: dict[str, str]) -> None:
        out, err = CommandPipe(), CommandPipe()
        for pipe in (out, err):
            self._pipes[pipe.reader] = pipe is err
            self._poller.register(pipe.reader, select.EPOLLIN)
        self._report, given = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        report = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, REPORT_FD)
        os.close(given)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - running commands is what this is for
                [word.replace("REPORT", str(report)) if word == SCRIPT else word for word in arguments],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out.writer,
                stderr=err.writer,
                pass_fds=(report,),
                start_new_session=True,
            )
        except OSError:
            os.close(self._report)
            for fd in list(self._pipes):
                self._close(fd)
            raise
        finally:
            for fd in (out.writer, err.writer, report):
                os.close(fd)
        # Not before: a process inherits which signals are blocked.
        if out.has_packets and err.has_packets:
            with contextlib.suppress(OSError):
                self._order = WriteOrder(self._pipes)
        for pipe in (out, err):
            pipe.open(self._order.room if self._order else PIPE)

    def _pause(self, exit_fd: int) -> float | None:
        """Seconds until something is due; None to wait for an event."""
        now = time.monotonic()
        due = []
        if self._killed_at:
            due.append(self._killed_at + KILL_WAIT)
        elif self._why:
            # Checked in between: processes that have ended need not be waited for.
            due.append(min(self._kill_at, now + 0.05))
        elif self._seconds and not self._exited_at:
            due.append(self._began + self._seconds)
        if self._exited_at and not self.ended.done():
            due.append(now + 0.02)
        if exit_fd < 0 and not self._exited_at:
            due.append(now + 0.02)
        return max(0.0, min(due) - now) + 0.001 if due else None

    def _pieces(self, ready: list[int]) -> list[Piece]:
        """What was written to the pipes, of which these are ready."""
        pieces: list[Piece] = []
        if self._order:
            pieces = self._order.take()
            if not self._order.is_on:
                self._end_order()
        if not pieces:
            read = ((fd, read_pipe(fd)) for fd in ready)
            pieces = [(fd, chunk) for fd, chunk in read if chunk is not None]
        return pieces

    def _keep(self, pieces: list[Piece]) -> None:
        self.output.add_in_order([(chunk, self._pipes[fd]) for fd, chunk in pieces])
        for fd in {fd for fd, chunk in pieces if not chunk}:
            self._close(fd)

    def _end_order(self) -> None:
        if self._order:
            self._order.close()
            self._order = None

    def _close(self, fd: int) -> None:
        del self._pipes[fd]
        self._poller.unregister(fd)
        os.close(fd)

    def _check_exit(self, exit_fd: int, ready: list[int]) -> None:
        """Whether the shell has ended. Its session is listed while its process id is still its own."""
        if self._exited_at or (exit_fd >= 0 and exit_fd not in ready):
            return
        if exit_fd >= 0:
            self._poller.unregister(exit_fd)
            self._known += in_session(self._process.pid)
        if self._process.poll() is not None:
            self._exited_at = time.monotonic()

    def _stop_if_due(self, now: float) -> None:
        if not self._why and (reason := self._reason(now)):
            self._why = reason
            self._kill_at = now + self._grace
            members = self._family()
            if self._leader:
                send_group(self._leader, signal.SIGTERM)
            send([one for one in members if one.group != self._leader], signal.SIGTERM)
        if self._why and not self._killed_at and (now >= self._kill_at or not self._family()):
            kill_family(self.mark, self._leader, self._known)
            self._killed_at = time.monotonic()
        if self._exited_at and not self.ended.done():
            self._finish(now)

    def _reason(self, now: float) -> StopCause:
        """Why it must end now; empty if it need not."""
        if self._requested_stop:
            return self._requested_stop
        if self._seconds and not self._exited_at and now >= self._began + self._seconds:
            return "timeout"
        return "full" if self._pipes and self.output.trouble else ""

    @property
    def _leader(self) -> int:
        return 0 if self._exited_at else self._process.pid

    def _family(self) -> list[ShellProcess]:
        """Which processes still run; only the shell if the system does not tell.

        A process that was seen once is remembered: during an `exec` it has no mark.
        """
        found = find_family(self.mark, self._leader, self._known)
        self._known = list({(one.pid, one.started): one for one in (*self._known, *found)}.values())
        return found if found or self._exited_at else [ShellProcess(self._process.pid, 0, 0, 0, 0, "")]

    def _finish(self, now: float) -> None:
        """Give the result when all output has arrived or the wait for it is over."""
        if self._why and not self._killed_at:
            return
        is_late = now >= (self._killed_at + KILL_WAIT if self._why else self._exited_at + EXIT_GRACE)
        if self._pipes and not is_late:
            return
        left = [] if self._why else find_family(self.mark, 0, self._known)
        if left and not is_late:
            return
        folder = ""
        with contextlib.suppress(BlockingIOError):
            folder = os.fsdecode(os.read(self._report, 8192).removesuffix(b"\n"))
        os.close(self._report)
        code = self._process.returncode
        self.ended.set_result(
            CommandEnding(
                code=code if code >= 0 else 128 - code,
                signal=max(-code, 0),
                why=self._why,
                folder=folder,
                left=tuple(sorted({one.name for one in left})),
                is_held=bool(self._pipes) and not self._why,
                seconds=now - self._began,
            )
        )
