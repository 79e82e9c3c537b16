"""A command in a pseudo-terminal of its own: bytes go in, what it sends is read, and its attributes can be seen."""

import os
import pty
import select
import signal
import struct
import termios
import time
from fcntl import ioctl

DEADLINE = 60.0
"""Seconds after which a test fails; nothing waits for so long on a machine that is only busy."""


class Pty:
    """**Contract:** `close` ends the process if it has not ended."""

    def __init__(self, command, cwd, width=80, height=24, **env):
        self.end, self._inner = pty.openpty()
        ioctl(self._inner, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = self.attributes()
        self.sent = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.end)
            os.login_tty(self._inner) if hasattr(os, "login_tty") else _login(self._inner)
            os.chdir(cwd)
            os.execve(command[0], [str(part) for part in command], {**os.environ, **_texts(env)})
        self._code = None

    def attributes(self):
        return termios.tcgetattr(self._inner)

    def write(self, raw):
        os.write(self.end, raw)

    def read_until(self, wanted, seconds=DEADLINE):
        until = time.monotonic() + seconds
        while wanted not in self.sent:
            if not select.select([self.end], [], [], max(0.0, until - time.monotonic()))[0]:
                raise AssertionError(f"{wanted!r} did not come: {self.sent[-2000:]!r}")
            self.sent += os.read(self.end, 65_536)

    def code(self, seconds=DEADLINE):
        """What it ended with; all that it sent has been read then."""
        until = time.monotonic() + seconds
        while self._code is None and time.monotonic() < until:
            # Asked before the last read: what was sent before the end is read after it.
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
            while select.select([self.end], [], [], 0 if pid else 0.02)[0]:
                self.sent += os.read(self.end, 65_536)
        assert self._code is not None, f"it did not end: {self.sent[-2000:]!r}"
        return self._code

    def close(self):
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.end)
        os.close(self._inner)


def _texts(env):
    return {name: str(value) for name, value in env.items()}


def _login(inner):
    os.setsid()
    ioctl(inner, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(inner, number)
