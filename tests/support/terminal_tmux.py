"""A real terminal for a test: tmux on a socket of its own, keys go in, the screen is read."""

import os
import shlex
import shutil
import subprocess
import time

TMUX = shutil.which("tmux")


class Tmux:
    """A command in a terminal, of 80 by 24 unless said otherwise. `code` is what it ended with, once it did."""

    def __init__(self, folder, command, size=(80, 24), **env):
        # Not the socket of the one before, whose server may still be ending.
        self._socket = folder / f"tmux{len(list(folder.glob('tmux*')))}"
        self._ended = folder / "ended"
        self._ended.unlink(missing_ok=True)
        variables = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in env.items())
        line = f"env {variables} {shlex.join(map(str, command))}; echo $? > {self._ended}; exec cat"
        self._run("-f", os.devnull, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), line)

    def _run(self, *arguments):
        command = [TMUX, "-S", self._socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def screen(self, *options):
        return self._run("capture-pane", "-p", *options)

    def press(self, *keys):
        self._run("send-keys", *keys)

    def type(self, text):
        self._run("send-keys", "-l", text)

    def until(self, condition, seconds=60.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.05)
        raise AssertionError(f"it did not come about; the screen says:\n{self.screen()}")

    def shows(self, *texts):
        self.until(lambda: all(text in self.screen() for text in texts))

    @property
    def code(self):
        self.until(lambda: self._ended.exists() and self._ended.read_text().strip())
        return int(self._ended.read_text())

    def close(self):
        self._run("kill-server")
