"""Panels that ask a person: to approve a call, or to answer a question of the agent. One at a time.

Rule: nothing is approved by accident. Keys pressed just after a panel appeared go to the prompt, and the change is
shown before it can be allowed. A question may stay unanswered, and the agent is told so. Whoever asks gets an
answer or is cancelled; then the panel is gone.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from holdfast.terminal.cards import diff_totals, is_diff, render_diff
from holdfast.terminal.interface import ApprovalDecision, ApprovalRequest, ChoiceAnswer, ChoiceQuestion
from holdfast.terminal.safe_text import one_line, sanitize

GRACE = 0.6
"""Seconds in which a key still belongs to what was being typed."""
ROUND_IT = {"-tiny": 11, "-short": 15, "-tall": 25}
"""Rows that a diff leaves for the rest, by the height of the screen: keys and status, on more rows
prompt and the end of the session, on many also todos."""


class StrayKey(Message):
    """A key that was pressed too early to be an answer."""

    def __init__(self, character: str) -> None:
        super().__init__()
        self.character = character


class ApprovalPanel(Vertical):
    """**Contract:** `verdict` is set once, or cancelled by the task that waits for it."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "allow('once')", show=False),
        Binding("a", "allow('log')", show=False),
        Binding("p", "allow('pattern')", show=False),
        Binding("n", "deny", show=False),
        Binding("up,k", "scroll_diff(-1)", show=False),
        Binding("down,j", "scroll_diff(1)", show=False),
        Binding("pageup", "scroll_diff(-10)", show=False),
        Binding("pagedown,space", "scroll_diff(10)", show=False),
    ]

    def __init__(self, approval: ApprovalRequest, grace: float = GRACE) -> None:
        super().__init__(classes="panel -approval")
        self._approval = approval
        self._until = time.monotonic() + grace
        self.verdict: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()
        self.border_title = Content(f"{approval.name} {one_line(approval.about)}".strip())

    def compose(self) -> ComposeResult:
        asked = self._approval
        yield Static(_reason(asked), id="reason", markup=False)
        if asked.diff or asked.trouble:
            with VerticalScroll(id="change", can_focus=False):
                yield Static(_change(asked), markup=False)
        yield Static(_approval_keys(asked), id="keys", markup=False)
        yield Input(placeholder="Why not? The model reads this. Enter denies, Esc goes back.", id="why")

    def on_mount(self) -> None:
        self.query_one("#why").display = False
        self.focus()

    def on_resize(self) -> None:
        """The keys stay on the screen, however long the diff is."""
        for change in self.query("#change"):
            taken = next((rows for name, rows in ROUND_IT.items() if self.screen.has_class(name)), 0)
            change.styles.max_height = max(3, self.screen.size.height - taken)

    async def _on_key(self, event: events.Key) -> None:
        if time.monotonic() < self._until and event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self.post_message(StrayKey(event.character))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """No key is an answer in the first moment, nor while a reason is typed."""
        return time.monotonic() >= self._until and not self.query_one("#why").display

    def action_allow(self, decision: Literal["once", "log", "pattern"]) -> None:
        if decision == "pattern" and not self._approval.pattern:
            return
        self._answer(ApprovalDecision(decision))

    def action_deny(self) -> None:
        why = self.query_one("#why", Input)
        why.display = True
        why.focus()

    def action_scroll_diff(self, by: int) -> None:
        for change in self.query("#change"):
            change.scroll_relative(y=by, animate=False)

    def close_input(self) -> bool:
        """Close the line for the reason; whether it was open."""
        why = self.query_one("#why", Input)
        if not why.display:
            return False
        why.display = False
        self.focus()
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer(ApprovalDecision("deny", event.value.strip()))

    def _answer(self, verdict: ApprovalDecision) -> None:
        if not self.verdict.done():
            self.verdict.set_result(verdict)


def _reason(asked: ApprovalRequest) -> Content:
    by = f" by the sub-agent for “{one_line(asked.by)}”" if asked.by else ""
    lines = [Content(f"Asked{by} because {sanitize(asked.reason)}.")] if asked.reason else []
    if asked.denied_before:
        why = "" if asked.denied_before == "-" else f": {one_line(asked.denied_before)}"
        lines.append(Content.styled(f"You denied the same before{why}.", "$warning"))
    if asked.name == "Bash":
        lines.insert(0, Content.styled(f"$ {sanitize(asked.about)}", "bold"))
    return Content("\n").join(lines)


def _change(asked: ApprovalRequest) -> Content:
    if asked.trouble:
        return Content.styled(sanitize(asked.trouble), "$warning")
    if not is_diff(asked.diff):
        return Content(sanitize(asked.diff))
    return Content("\n").join([Content.styled(diff_totals(asked.diff), "dim"), render_diff(asked.diff)])


def _approval_keys(asked: ApprovalRequest) -> Content:
    lines = [("y", "yes, this once")]
    lines.append(("a", f"yes, in this session: {one_line(asked.for_log)}"))
    if asked.pattern and asked.pattern != asked.for_log:
        lines.append(("p", f"yes, by rule: {one_line(asked.pattern)}"))
    lines.append(("n", "no, and say why"))
    return Content("\n").join(Content.assemble((f" {key} ", "reverse"), f" {text}") for key, text in lines)


class QuestionPanel(Vertical):
    """**Contract:** `chosen` is set once, or cancelled by the task that waits for it."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("space", "mark", show=False),
        Binding("enter", "take", show=False),
        Binding("o", "own", show=False),
        Binding("s", "skip", show=False),
    ]

    def __init__(self, choice: ChoiceQuestion, place: str = "") -> None:
        super().__init__(classes="panel -question")
        self._choice = choice
        self._at = 0
        self._marked: set[int] = set()
        self.chosen: asyncio.Future[ChoiceAnswer] = asyncio.get_running_loop().create_future()
        self.border_title = Content(f"question{place}")

    def compose(self) -> ComposeResult:
        yield Static(Content.styled(sanitize(self._choice.question), "bold"), markup=False)
        yield Static(id="options", markup=False)
        yield Static(_question_keys(self._choice), id="keys", markup=False)
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
        self._answer(ChoiceAnswer(tuple(self._choice.options[n][0] for n in picked)))

    def action_own(self) -> None:
        own = self.query_one("#own", Input)
        own.display = True
        own.focus()

    def action_skip(self) -> None:
        self._answer(ChoiceAnswer())

    def close_input(self) -> bool:
        """Close the line for other words; whether it was open."""
        own = self.query_one("#own", Input)
        if not own.display:
            return False
        own.display = False
        self.focus()
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        labels = tuple(self._choice.options[n][0] for n in sorted(self._marked))
        self._answer(ChoiceAnswer(labels, event.value.strip()))

    def _answer(self, chosen: ChoiceAnswer) -> None:
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


def _question_keys(choice: ChoiceQuestion) -> Content:
    mark = "Space marks · " if choice.multiple else ""
    return Content.styled(
        f"1-{len(choice.options)} or Enter chooses · {mark}o own words · s no answer", "dim"
    )


class PanelArea(Vertical):
    def __init__(self, then: Callable[[], None], grace: float) -> None:
        """`then` is called when no question is open any more."""
        super().__init__(id="asked")
        self._then = then
        self._grace = grace
        self._one_by_one = asyncio.Lock()

    @property
    def panel(self) -> ApprovalPanel | QuestionPanel | None:
        found = self.query_children(".panel")
        return found.last() if found else None  # type: ignore[return-value]

    async def approve(self, asked: ApprovalRequest) -> ApprovalDecision:
        async with self._one_by_one:
            panel = ApprovalPanel(asked, self._grace)
            with self._shown(panel):
                return await panel.verdict

    async def choose(self, choices: Sequence[ChoiceQuestion]) -> Sequence[ChoiceAnswer]:
        chosen: list[ChoiceAnswer] = []
        async with self._one_by_one:
            for n, choice in enumerate(choices, start=1):
                panel = QuestionPanel(choice, f" {n} of {len(choices)}" if len(choices) > 1 else "")
                with self._shown(panel):
                    chosen.append(await panel.chosen)
        return chosen

    @contextmanager
    def _shown(self, panel: ApprovalPanel | QuestionPanel) -> Iterator[None]:
        self.mount(panel)
        self.screen.add_class("-asking")
        self.app.bell()
        try:
            yield
        finally:
            # Not if the screen is gone, and the panel with it.
            if self.is_attached:
                panel.remove()
                self.screen.remove_class("-asking")
                self._then()
