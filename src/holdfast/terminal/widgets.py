"""Small widgets around the transcript: activity, status, todos and suggestions.

Rule: each is laid out once for a width and a state, however often it is measured and painted. A timer runs only
while something goes on. The todo panel takes a few lines, and what is being done is always among them.
"""

import time
from collections.abc import Callable, Sequence
from os.path import commonprefix

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget

from holdfast.terminal.candidates import Candidate
from holdfast.terminal.interface import StatusFigures, TodoLine
from holdfast.terminal.safe_text import one_line, truncate
from holdfast.terminal.status_line import BETWEEN, status_parts


class ResponsiveWidget(Widget):
    """A widget whose content depends on its width. **Contract:** call `changed` when `content_at` would differ."""

    _rendered: tuple[int, Content] | None = None

    def content_at(self, width: int) -> Content:
        raise NotImplementedError

    def changed(self) -> None:
        before, self._rendered = self._rendered, None
        width = self.content_size.width
        # Arranging the whole screen costs far more than a repaint, and is only needed for a new height.
        if before and width and before[1].get_height({}, width) == self._at(width).get_height({}, width):
            self.refresh()
        else:
            self.clear_cached_dimensions()
            # A layout may have measured it since the last change, and Textual would not measure it again.
            self._box_model_cache.clear()
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return self._at(width).get_height({}, width) if width else 0

    def render(self) -> RenderResult:
        return self._at(self.content_size.width)

    def _at(self, width: int) -> Content:
        if self._rendered is None or self._rendered[0] != width:
            self._rendered = (width, self.content_at(width))
        return self._rendered[1]


class ActivityLine(ResponsiveWidget):
    def __init__(self, tick: Callable[[], None]) -> None:
        super().__init__(id="activity", classes="-idle")
        self._tick = tick
        self._timer: Timer | None = None
        self._since = 0.0
        self._what = ""
        self._keys = ""

    def begin(self, what: str, keys: str) -> None:
        """Show that something is going on; a second call only changes the text."""
        self._what, self._keys = what, keys
        if self._timer is None:
            self._since = time.monotonic()
            self._timer = self.set_interval(1.0, self._go_on)
        self.remove_class("-idle")
        self.changed()

    def end(self) -> float:
        """Show nothing; how many seconds something went on."""
        self.add_class("-idle")
        if self._timer is None:
            return 0.0
        self._timer.stop()
        self._timer = None
        return time.monotonic() - self._since

    def _go_on(self) -> None:
        self.changed()
        self._tick()

    def content_at(self, width: int) -> Content:
        seconds = int(time.monotonic() - self._since)
        took = f"{seconds // 60} min {seconds % 60:02d} s" if seconds >= 60 else f"{seconds} s"
        rest = f" · {took} · {self._keys}" if self._keys else f" · {took}"
        what = truncate(self._what, width - len(rest) - 2)
        return Content.assemble(("● ", "bold $primary"), what, (rest, "dim"))


_STYLES = {"plan": "$primary", "ask": "", "edit": "$warning", "auto": "bold $error"}


class StatusBar(ResponsiveWidget):
    def __init__(self, figures: StatusFigures) -> None:
        super().__init__(id="status")
        self.figures = figures

    def show(self, figures: StatusFigures) -> None:
        if figures != self.figures:
            self.figures = figures
            self.changed()

    def content_at(self, width: int) -> Content:
        return render_status(self.figures, width)


def render_status(figures: StatusFigures, width: int) -> Content:
    is_full = figures.trigger and figures.used >= figures.trigger
    styles = {"mode": _STYLES.get(figures.mode, ""), "context": "$warning" if is_full else ""}
    parts = status_parts(figures, width)
    return Content(BETWEEN).join(Content.styled(text, styles.get(name, "")) for name, text in parts)


MOST_TODOS = 6

SIGNS = {
    "pending": ("[ ]", ""),
    "in_progress": ("[>]", "bold"),
    "completed": ("[x]", "dim"),
    "cancelled": ("[-]", "dim"),
}


class TodoPanel(ResponsiveWidget):
    def __init__(self) -> None:
        super().__init__(id="todos")
        self.add_class("-empty")
        self._todos: Sequence[TodoLine] = ()

    def show(self, todos: Sequence[TodoLine]) -> None:
        if todos == self._todos:
            return
        self._todos = todos
        self.set_class(all(todo.status in ("completed", "cancelled") for todo in todos), "-empty")
        self.changed()

    def content_at(self, width: int) -> Content:
        return render_todos(self._todos, width)


def render_todos(todos: Sequence[TodoLine], width: int) -> Content:
    kept = [todo for todo in todos if todo.status != "cancelled"]
    done = sum(todo.status == "completed" for todo in kept)
    # The todo that is being done or comes next, with its neighbours.
    at = next((n for n, todo in enumerate(todos) if todo.status in ("in_progress", "pending")), 0)
    first = max(0, min(at - 1, len(todos) - MOST_TODOS))
    shown = todos[first : first + MOST_TODOS]
    left = len(todos) - len(shown)
    head = f"todos {done}/{len(kept)}" + (f", {left} not shown" if left else "")
    lines = [Content.styled(head, "dim")]
    for todo in shown:
        sign, style = SIGNS[todo.status]
        lines.append(Content.styled(f"{sign} {truncate(one_line(todo.content), width - 4)}", style))
    return Content("\n").join(lines)


MOST_SUGGESTIONS, LEAST_SUGGESTIONS = 8, 4
SHORT = 20
"""A screen with fewer rows shows the fewest suggestions: prompt and status line need the room."""


class SuggestionList(ResponsiveWidget):
    def __init__(self) -> None:
        super().__init__(id="suggestions")
        self.display = False
        self._candidates: Sequence[Candidate] = ()
        self._place = 0

    @property
    def chosen(self) -> Candidate | None:
        return self._candidates[self._place] if self._candidates else None

    @property
    def common_start(self) -> str:
        """What all of several candidates begin with; nothing once a person has moved to another."""
        several = self._candidates if len(self._candidates) > 1 and not self._place else ()
        return commonprefix([one.text for one in several])  # noqa: RUF071 - not paths

    def offer(self, candidates: Sequence[Candidate]) -> None:
        if candidates != self._candidates:
            self._candidates = candidates
            self._place = 0
            self.display = bool(candidates)
            self.changed()

    def move(self, by: int) -> None:
        self._place = (self._place + by) % max(1, len(self._candidates))
        self.changed()

    def content_at(self, width: int) -> Content:
        texts = [one_line(one.text) for one in self._candidates]
        column = min(max(map(cell_len, texts), default=0), width - 2)
        rows = MOST_SUGGESTIONS if self.app.size.height >= SHORT else LEAST_SUGGESTIONS
        first = max(0, self._place - rows + 1)
        lines = []
        for n, text in list(enumerate(texts))[first : first + rows]:
            one = self._candidates[n]
            pad = " " * (column - cell_len(text) + 2)
            room = width - column - 6
            about = truncate(one_line(one.about), room) if one.about and room > 10 else ""
            sign, style = ("› ", "reverse") if n == self._place else ("  ", "")
            lines.append(Content.assemble(sign, (truncate(text, width - 2), style), pad, (about, "dim")))
        return Content("\n").join(lines)
