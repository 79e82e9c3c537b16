"""The line that says that something is going on, for how long, and which keys end it.

Rule: its timer runs only while something does.
"""

import time
from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer

from holdfast.terminal.laid import Laid
from holdfast.terminal.plain import fitted


class Activity(Laid):
    def __init__(self, tick: Callable[[], None]) -> None:
        super().__init__(id="activity")
        self.display = False
        self._tick = tick
        self._timer: Timer | None = None
        self._since = 0.0
        self._what = ""
        self._keys = ""

    def begin(self, what: str, keys: str) -> None:
        """Something is going on from now; a second call only changes the words."""
        self._what, self._keys = what, keys
        if self._timer is None:
            self._since = time.monotonic()
            self._timer = self.set_interval(1.0, self._go_on)
        self.display = True
        self.changed()

    def end(self) -> None:
        if self._timer:
            self._timer.stop()
            self._timer = None
        self.display = False

    def _go_on(self) -> None:
        self.changed()
        self._tick()

    def content_at(self, width: int) -> Content:
        seconds = int(time.monotonic() - self._since)
        took = f"{seconds // 60} min {seconds % 60:02d} s" if seconds >= 60 else f"{seconds} s"
        rest = f" · {took} · {self._keys}" if self._keys else f" · {took}"
        return Content.assemble(
            ("● ", "bold $primary"), fitted(self._what, width - len(rest) - 2), (rest, "dim")
        )
