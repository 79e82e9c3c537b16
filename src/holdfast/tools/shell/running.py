"""One command that runs: a thread of its own, and what others may ask of it.

Rule: the thread alone touches the process, whatever loop or thread asks, and lives as long as it does. Waiting for
the end may be given up at any time; ending it is asked for, and never waited for here.
"""

import contextlib
import os
import threading
from concurrent.futures import Future

from holdfast.tools.envelope import ToolError
from holdfast.tools.shell.life import Ending, Launch, Life, Why
from holdfast.tools.shell.outputs import Output


class Running:
    """**Contract:** `ended` gets its result once, from the thread; a ToolError where nothing could be started."""

    def __init__(self, launch: Launch, output: Output, errors: Output | None = None) -> None:
        self.launch = launch
        self.output = output
        self.errors = errors
        self.ended: Future[Ending] = Future()
        # From now on nobody who waits for it can cancel it.
        self.ended.set_running_or_notify_cancel()
        self._wish: Why = ""
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._live, name=f"shell {launch.mark}", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether nothing is written down any more."""
        return not self._thread.is_alive()

    def stop(self, why: Why) -> None:
        """Begin to end it; the first reason stands."""
        with self._lock:
            self._wish = self._wish or why
            if self._wake_writer >= 0:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_writer, b"x")

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _live(self) -> None:
        life = Life(self.launch, self._wake_reader, self._wished, self.ended.set_result)
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

    def _wished(self) -> Why:
        return self._wish
