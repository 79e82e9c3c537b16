"""A question of the agent, with options to choose from and room for words of one's own.

Rule: every question can be left unanswered, and the agent learns that nobody chose.
"""

import asyncio
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from holdfast.terminal.plain import neutral, one_line
from holdfast.terminal.values import Choice, Chosen


class QuestionPanel(Vertical):
    """**Contract:** `chosen` is set once, or cancelled by whoever waits for it."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("space", "mark", show=False),
        Binding("enter", "take", show=False),
        Binding("o", "own", show=False),
        Binding("s", "skip", show=False),
    ]

    def __init__(self, choice: Choice, place: str = "") -> None:
        super().__init__(classes="panel -question")
        self._choice = choice
        self._at = 0
        self._marked: set[int] = set()
        self.chosen: asyncio.Future[Chosen] = asyncio.get_running_loop().create_future()
        self.border_title = Content(f"question{place}")

    def compose(self) -> ComposeResult:
        yield Static(Content.styled(neutral(self._choice.question), "bold"), markup=False)
        yield Static(id="options", markup=False)
        yield Static(_keys(self._choice), id="keys", markup=False)
        yield Input(placeholder="In your own words. Enter sends, Esc goes back.", id="own")

    def on_mount(self) -> None:
        self.query_one("#own").display = False
        self._show()
        self.focus()

    async def _on_key(self, event: events.Key) -> None:
        number = int(event.key) if event.key.isdecimal() else 0
        if self.has_focus and 1 <= number <= len(self._choice.options):
            event.stop()
            self._at = number - 1
            self._show()
            if self._choice.multiple:
                self.action_mark()
            else:
                self.action_take()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return not self.query_one("#own").display

    def action_move(self, by: int) -> None:
        self._at = (self._at + by) % len(self._choice.options)
        self._show()

    def action_mark(self) -> None:
        if self._choice.multiple:
            self._marked ^= {self._at}
            self._show()

    def action_take(self) -> None:
        picked = sorted(self._marked) if self._choice.multiple and self._marked else [self._at]
        self._settle(Chosen(tuple(self._choice.options[n][0] for n in picked)))

    def action_own(self) -> None:
        own = self.query_one("#own", Input)
        own.display = True
        own.focus()

    def action_skip(self) -> None:
        self._settle(Chosen())

    def take_back(self) -> bool:
        """Leave the line for one's own words. Whether it was open."""
        own = self.query_one("#own", Input)
        if not own.display:
            return False
        own.display = False
        self.focus()
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        labels = tuple(self._choice.options[n][0] for n in sorted(self._marked))
        self._settle(Chosen(labels, event.value.strip()))

    def _settle(self, chosen: Chosen) -> None:
        if not self.chosen.done():
            self.chosen.set_result(chosen)

    def _show(self) -> None:
        lines = []
        for n, (label, about) in enumerate(self._choice.options):
            box = ("[x] " if n in self._marked else "[ ] ") if self._choice.multiple else ""
            sign, style = ("› ", "reverse") if n == self._at else ("  ", "")
            told = f"  {one_line(about)}" if about else ""
            lines.append(Content.assemble(sign, (f"{n + 1} {box}{one_line(label)}", style), (told, "dim")))
        self.query_one("#options", Static).update(Content("\n").join(lines))


def _keys(choice: Choice) -> Content:
    mark = "Space marks · " if choice.multiple else ""
    return Content.styled(
        f"1-{len(choice.options)} or Enter chooses · {mark}o own words · s no answer", "dim"
    )
