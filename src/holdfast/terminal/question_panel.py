"""The panel with a question of the agent and its options.

Rule: a question may stay unanswered, and the agent is told so.
"""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from holdfast.terminal.asking_panel import AskingPanel, reserved_rows
from holdfast.terminal.interface import ChoiceAnswer, ChoiceQuestion
from holdfast.terminal.safe_text import one_line, sanitize


class QuestionPanel(AskingPanel[ChoiceAnswer]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "scroll_question(-3)", show=False),
        Binding("pagedown", "scroll_question(3)", show=False),
        Binding("space", "mark", show=False),
        Binding("enter", "take", show=False),
        Binding("o", "write", show=False),
        Binding("s", "skip", show=False),
    ]

    def __init__(self, choice: ChoiceQuestion, place: str) -> None:
        super().__init__("question", f"question{place}")
        self._choice = choice
        self._at = 0
        self._marked: set[int] = set()

    def compose(self) -> ComposeResult:
        choice = self._choice
        mark = "Space marks · " if choice.multiple else ""
        keys = f"1-{len(choice.options)} or Enter chooses · {mark}o own words · s no answer"
        with VerticalScroll(id="asked", can_focus=False):
            yield Static(Content.styled(sanitize(choice.question), "bold"), markup=False)
        with VerticalScroll(id="options", can_focus=False):
            for n in range(len(choice.options)):
                yield Static(self._option(n), markup=False)
        yield Static(Content.styled(keys, "dim"), id="keys", markup=False)
        yield Input(placeholder="In your own words. Enter sends, Esc goes back.", id="words")

    async def _on_key(self, event: events.Key) -> None:
        number = int(event.key) if event.key.isdecimal() else 0
        if self.has_focus and 1 <= number <= len(self._choice.options):
            event.stop()
            self.action_move(number - 1 - self._at)
            if self._choice.multiple:
                self.action_mark()
            else:
                self.action_take()

    def action_move(self, by: int) -> None:
        self._at = (self._at + by) % len(self._choice.options)
        self._show()

    def action_mark(self) -> None:
        if self._choice.multiple:
            self._marked ^= {self._at}
            self._show()

    def action_take(self) -> None:
        picked = sorted(self._marked) if self._choice.multiple and self._marked else [self._at]
        self.give(ChoiceAnswer(tuple(self._choice.options[n][0] for n in picked)))

    def action_skip(self) -> None:
        self.give(ChoiceAnswer())

    def in_words(self, words: str) -> ChoiceAnswer:
        return ChoiceAnswer(tuple(self._choice.options[n][0] for n in sorted(self._marked)), words)

    def action_scroll_question(self, by: int) -> None:
        self.query_one("#asked").scroll_relative(y=by, animate=False)

    def on_resize(self) -> None:
        """The keys and the chosen option stay on the screen, however long question and options are."""
        asked, options = self.query_one("#asked"), self.query_one("#options")
        # A question has fewer keys than an approval, and gives no reason.
        room = max(4, self.screen.size.height - reserved_rows(self.screen) + 3)
        least = min(room // 2, len(self._choice.options))
        asked.styles.max_height = room - least
        options.styles.max_height = room - min(asked.virtual_size.height, room - least)
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        shown = self.query("#options Static").results(Static)
        for n, option in enumerate(shown):
            option.update(self._option(n))
            if n == self._at:
                option.scroll_visible(animate=False)

    def _option(self, n: int) -> Content:
        label, about = self._choice.options[n]
        box = ("[x] " if n in self._marked else "[ ] ") if self._choice.multiple else ""
        sign, style = ("› ", "reverse") if n == self._at else ("  ", "")
        told = f"  {one_line(about)}" if about else ""
        return Content.assemble(sign, (f"{n + 1} {box}{one_line(label)}", style), (told, "dim"))
