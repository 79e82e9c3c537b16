"""The picker: something is chosen from a list by arrows or by typing, for every command that has a menu.

Rule: it fits the screen, however small, and what is typed only narrows the list. Nothing is done before Enter, and
Esc leaves everything as it was.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from holdfast.agents.outcomes import Menu, MenuItem
from holdfast.terminal.safe_text import one_line, sanitize, truncate
from holdfast.terminal.widgets import ResponsiveWidget

OTHER_ROWS = 8
"""Rows of the screen that are left for the rest: border, words, keys, status line, and some of the session."""
LEAST_ROWS, MOST_ROWS = 3, 20
WHOLE_LABEL = 34
"""Cells of a label that are shown, whatever is left for the rest: names of models differ at their end."""
LEAST_ABOUT = 8
KEYS = "↑↓ moves · Enter chooses · Esc leaves · type to search"


def match_items(typed: str, items: Sequence[MenuItem]) -> list[MenuItem]:
    """The items that have all typed words, those whose label begins with them first."""
    words = typed.lower().split()
    found = [one for one in items if all(word in f"{one.label} {one.about}".lower() for word in words)]
    return sorted(found, key=lambda one: not one.label.lower().startswith(typed.strip().lower()))


class MenuRows(ResponsiveWidget):
    def __init__(self, menu: Menu, choose: Callable[[], None]) -> None:
        super().__init__(id="rows")
        self._menu = menu
        self._choose = choose
        self._typed = ""
        self.items: Sequence[MenuItem] = menu.items
        self._mark = next((n for n, one in enumerate(menu.items) if one.is_now), 0)
        self._first = 0

    @property
    def chosen(self) -> str:
        """The command that stands at the mark; empty if there is none."""
        if self.items:
            return self.items[self._mark].line
        return f"{self._menu.other}{self._typed}" if self._menu.other and self._typed else ""

    @property
    def rows(self) -> int:
        """How many items are shown at once."""
        room = max(LEAST_ROWS, self.app.size.height - OTHER_ROWS)
        return max(1, min(len(self._menu.items), room, MOST_ROWS))

    def search(self, typed: str) -> None:
        self._typed = typed.strip()
        self.items = match_items(typed, self._menu.items)
        self._mark = 0
        self.changed()

    def move(self, by: int, *, wraps: bool = False) -> None:
        last = len(self.items) - 1
        at = self._mark + by
        self._mark = at % (last + 1) if wraps and self.items else max(0, min(at, last))
        self.changed()

    def on_click(self, event: events.Click) -> None:
        if self._first + event.y < len(self.items):
            self._mark = self._first + event.y
            self._choose()

    def content_at(self, width: int) -> Content:
        self._first = max(0, min(self._first, self._mark, len(self.items) - self.rows))
        self._first = max(self._first, self._mark - self.rows + 1)
        shown = self.items[self._first : self._first + self.rows]
        lines = [self._line(one, width) for one in shown]
        if not self.items:
            lines = [Content.styled(truncate(self._nothing(), width), "dim")]
        # As high as before, so that nothing jumps while words are typed.
        return Content("\n").join([*lines, *[Content()] * (self.rows - len(lines))])

    def _nothing(self) -> str:
        about = self._menu.other_about
        if self.chosen:
            return f"Enter: {about} “{one_line(self._typed)}”"
        return f"type what to {about}" if about else "nothing matches"

    def _line(self, item: MenuItem, width: int) -> Content:
        about = " · ".join(filter(None, ("now" if item.is_now else "", one_line(item.about))))
        rest = max((cell_len(one_line(one.about)) + 6 * one.is_now for one in self._menu.items), default=0)
        labels = max((cell_len(one_line(one.label)) for one in self._menu.items), default=0)
        column = max(1, min(labels, max(width - rest - 4, width * 3 // 5, min(width - 2, WHOLE_LABEL))))
        label = truncate(one_line(item.label), column)
        room = width - column - 4
        pad = " " * (column - cell_len(label) + 2) if room >= LEAST_ABOUT else ""
        is_chosen = bool(self.items) and item is self.items[self._mark]
        sign, style = ("› ", "reverse") if is_chosen else ("  ", "")
        told = truncate(about, room) if room >= LEAST_ABOUT else ""
        return Content.assemble(sign, (label, style), pad, (told, "dim"))


class Picker(Vertical):
    """**Contract:** `answer` is set once, to a command or to nothing; then the picker can be removed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+p", "move(-1)", show=False),
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("escape", "give('')", show=False),
    ]

    def __init__(self, menu: Menu) -> None:
        super().__init__(classes="panel -picker")
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.border_title = Content(one_line(menu.title))
        self._about = menu.about
        self._rows = MenuRows(menu, self._take)

    def compose(self) -> ComposeResult:
        if self._about:
            yield Static(Content.styled(sanitize(self._about), "dim"), id="about", markup=False)
        yield Input(placeholder=KEYS, id="typed", compact=True)
        yield self._rows

    def on_mount(self) -> None:
        self.query_one("#typed", Input).focus()

    def on_resize(self) -> None:
        self._rows.changed()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._rows.search(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._take()

    def action_move(self, by: int) -> None:
        self._rows.move(by, wraps=True)

    def action_page(self, by: int) -> None:
        self._rows.move(by * self._rows.rows)

    def action_give(self, line: str) -> None:
        if not self.answer.done():
            self.answer.set_result(line)

    def _take(self) -> None:
        if chosen := self._rows.chosen:
            self.action_give(chosen)
