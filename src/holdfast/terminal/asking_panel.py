"""What all panels that ask a person share: keys to answer with, and a line for the person's own words.

Rule: no key is an answer while words are typed.
"""

import asyncio
from typing import Generic, TypeVar

from textual.containers import Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.widgets import Input

from holdfast.terminal.interface import ApprovalDecision, ChoiceAnswer

T = TypeVar("T", ApprovalDecision, ChoiceAnswer)

RESERVED_ROWS = {"-tiny": 9, "-short": 15, "-tall": 25}
"""Rows that a change or a question leaves for the rest, by the height of the screen: keys and status, on more rows
prompt and the end of the session, on many also todos."""


def reserved_rows(screen: DOMNode) -> int:
    return next((rows for name, rows in RESERVED_ROWS.items() if screen.has_class(name)), 0)


class AskingPanel(Vertical, Generic[T]):
    """Keys to answer with, and a line for the person's own words, which is hidden until it is asked for.

    **Contract:** `answer` is set once, or cancelled by the task that waits for it.
    """

    can_focus = True

    def __init__(self, kind: str, title: str) -> None:
        super().__init__(classes=f"panel -{kind}")
        self.answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.border_title = Content(title)

    def in_words(self, words: str) -> T:
        """The answer that the words of the person are."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._line.display = False
        self.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """No key is an answer while words are typed."""
        return not self._line.display

    def action_write(self) -> None:
        self._show_line(is_open=True)
        self._line.focus()

    def close_input(self) -> bool:
        """Close the line for words; whether it was open."""
        if is_open := self._line.display:
            self._show_line(is_open=False)
            self.focus()
        return is_open

    def _show_line(self, *, is_open: bool) -> None:
        # In place of the keys, which answer nothing while one types: a small screen has no room for both.
        self._line.display = is_open
        self.query_one("#keys").display = not is_open

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.give(self.in_words(event.value.strip()))

    def give(self, answer: T) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    @property
    def _line(self) -> Input:
        return self.query_one("#words", Input)
