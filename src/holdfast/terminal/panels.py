"""Panels that ask a person: to approve a call, or to answer a question of the agent. One at a time.

Rule: nothing is approved by accident. Keys pressed just after a panel appeared go to the prompt, and the change is
shown before it can be allowed. A question may stay unanswered, and the agent is told so. Every request gets an
answer or is cancelled; then the panel is gone.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.widgets import Input, Static

from holdfast.terminal.cards import is_diff, render_diff
from holdfast.terminal.interface import (
    ApprovalDecision,
    ApprovalRequest,
    ChoiceAnswer,
    ChoiceQuestion,
    KeptIn,
)
from holdfast.terminal.safe_text import one_line, sanitize, truncate

T = TypeVar("T", ApprovalDecision, ChoiceAnswer)

GRACE = 0.6
"""Seconds in which a key still belongs to what was being typed."""
LONGEST_SCOPE = 48
"""Cells of what an answer holds for in this session; more would push the keys off the screen."""
MOST_ROWS = 400
"""Lines of a change that are shown at first."""
RESERVED_ROWS = {"-tiny": 9, "-short": 15, "-tall": 25}
"""Rows that a change or a question leaves for the rest, by the height of the screen: keys and status, on more rows
prompt and the end of the session, on many also todos."""


@dataclass
class StrayKey(Message):
    """A key that was pressed too early to be an answer."""

    character: str


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


class ApprovalPanel(AskingPanel[ApprovalDecision]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "allow('once')", show=False),
        Binding("a", "allow('log')", show=False),
        Binding("p", "always", show=False),
        Binding("e", "keep('everywhere')", show=False),
        Binding("t", "keep('project')", show=False),
        Binding("n", "write", show=False),
        Binding("o", "open_diff", show=False),
        Binding("up,k", "scroll_diff(-1)", show=False),
        Binding("down,j", "scroll_diff(1)", show=False),
        Binding("pageup", "scroll_diff(-10)", show=False),
        Binding("pagedown,space", "scroll_diff(10)", show=False),
    ]

    def __init__(self, approval: ApprovalRequest, grace: float) -> None:
        super().__init__("approval", f"{approval.name} {one_line(approval.about)}".strip())
        self._approval = approval
        self._grace = grace
        self._until = time.monotonic() + grace
        self._asks_where = False
        """Whether the person said yes for good, and is asked where that is kept."""

    def compose(self) -> ComposeResult:
        asked = self._approval
        yield Static(_reason(asked), id="reason", markup=False)
        if asked.diff or asked.trouble or asked.name == "Bash":
            with VerticalScroll(id="change", can_focus=False):
                yield Static(_change(asked, MOST_ROWS), markup=False)
        # Apart from the reason, which is cut on a small screen: rules are always shown whole.
        where = Content.styled(f"Where is this kept? {_rules(asked)}", "bold")
        yield Static(where, id="where", markup=False)
        yield Static(_approval_keys(asked), id="keys", markup=False)
        yield Input(placeholder="Why not? The model reads this. Enter denies, Esc goes back.", id="words")

    def on_mount(self) -> None:
        super().on_mount()
        # What was typed before there was anything to answer may arrive only now.
        self._until = time.monotonic() + self._grace

    def on_resize(self) -> None:
        """The keys stay on the screen, however long the change or the command is."""
        for change in self.query("#change"):
            change.styles.max_height = max(3, self.screen.size.height - reserved_rows(self.screen))
            self.call_after_refresh(self._tell_more)

    def _tell_more(self) -> None:
        is_more = any(change.max_scroll_y for change in self.query("#change"))
        self.border_subtitle = "↑↓ shows the rest" if is_more else ""

    async def _on_key(self, event: events.Key) -> None:
        if time.monotonic() < self._until and event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            # Somebody is typing: an answer needs a moment of silence.
            self._until = time.monotonic() + self._grace
            self.post_message(StrayKey(event.character))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No key is an answer before a moment of silence."""
        is_answer = action not in ("allow", "write") or not self._asks_where
        return time.monotonic() >= self._until and is_answer and super().check_action(action, parameters)

    def action_allow(self, decision: Literal["once", "log"]) -> None:
        self.give(ApprovalDecision(decision))

    def action_always(self) -> None:
        """Yes for good; if there is more than one place for it, ask which."""
        places = [name for name, _ in self._approval.places]
        if not self._approval.offered_rules:
            return
        if len(places) < 2 or self._asks_where:
            first: KeptIn = "folder" if "folder" in places or not places else places[0]
            self.give(ApprovalDecision("pattern", place=first))
        else:
            self._ask_where(is_asked=True)

    def action_keep(self, place: KeptIn) -> None:
        if self._asks_where and place in dict(self._approval.places):
            self.give(ApprovalDecision("pattern", place=place))

    def close_input(self) -> bool:
        """Go back to the first question, or close the line for words."""
        if was_asked := self._asks_where:
            self._ask_where(is_asked=False)
        return was_asked or super().close_input()

    def _ask_where(self, *, is_asked: bool) -> None:
        self._asks_where = is_asked
        self.set_class(is_asked, "-where")
        keys = _place_keys(self._approval) if is_asked else _approval_keys(self._approval)
        self.query_one("#keys", Static).update(keys)

    def action_open_diff(self) -> None:
        """Show the whole change."""
        for change in self.query("#change Static").results(Static):
            change.update(_change(self._approval))
            self.call_after_refresh(self._tell_more)

    def action_scroll_diff(self, by: int) -> None:
        for change in self.query("#change"):
            change.scroll_relative(y=by, animate=False)

    def in_words(self, words: str) -> ApprovalDecision:
        return ApprovalDecision("deny", words)


def _reason(asked: ApprovalRequest) -> Content:
    by = f" by the sub-agent for “{one_line(asked.by)}”" if asked.by else ""
    lines = [Content(f"Asked{by} because {sanitize(asked.reason).rstrip('.')}.")] if asked.reason else []
    if asked.denied_before:
        why = "" if asked.denied_before == "-" else f": {one_line(asked.denied_before)}"
        lines.append(Content.styled(f"You denied the same before{why}.", "$warning"))
    return Content("\n").join(lines)


def _change(asked: ApprovalRequest, most: int = 0) -> Content:
    """What would change or run; with `most`, the first rows of it and the key that opens the rest."""
    if asked.name == "Bash":
        return Content.styled(f"$ {sanitize(asked.about)}", "bold")
    if asked.trouble:
        return Content.styled(sanitize(asked.trouble), "$warning")
    if not is_diff(asked.diff):
        return Content(sanitize(asked.diff))
    totals = f"+{asked.added:,} -{asked.removed:,}"
    if most and asked.diff.count("\n") > most + 2:
        totals += f" · the first {most} lines of the change; o opens the whole"
    return Content("\n").join([Content.styled(totals, "dim"), render_diff(asked.diff, most)])


def _approval_keys(asked: ApprovalRequest) -> Content:
    scope = truncate(_scope(asked, asked.session_scope), LONGEST_SCOPE)
    lines = [("y", "yes, this once"), ("a", f"yes, in this session: {scope}")]
    if asked.offered_rules:
        lines.append(("p", f"yes, {'always' if asked.places else 'in this session'}: {_rules(asked)}"))
    lines.append(("n", "no, and say why"))
    return _keys(lines)


def _place_keys(asked: ApprovalRequest) -> Content:
    """Where a rule can be kept. The same key twice is for this folder, as the first of them says."""
    keys = {
        "folder": ("p", "for me, in this folder"),
        "everywhere": ("e", "for me, everywhere"),
        "project": ("t", "for everyone in this project"),
    }
    lines = [(keys[name][0], f"{keys[name][1]}: {one_line(file)}") for name, file in asked.places]
    return Content("\n").join([_keys(lines), Content.styled("Esc goes back", "dim")])


def _rules(asked: ApprovalRequest) -> str:
    return " and ".join(_scope(asked, rule) for rule in asked.offered_rules)


def _scope(asked: ApprovalRequest, rule: str) -> str:
    """A rule, or a word for the command that is shown above."""
    whole = f"Bash({asked.about})"
    is_whole = asked.name == "Bash" and rule.startswith(whole)
    return f"this very command{rule.removeprefix(whole)}" if is_whole else one_line(rule)


def _keys(lines: Sequence[tuple[str, str]]) -> Content:
    return Content("\n").join(Content.assemble((f" {key} ", "reverse"), f" {text}") for key, text in lines)


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


class PanelArea(Vertical):
    def __init__(self, then: Callable[[], None], grace: float) -> None:
        """`then` is called when no question is open any more."""
        super().__init__(id="panels")
        self._then = then
        self._grace = grace
        self._one_by_one = asyncio.Lock()

    @property
    def panel(self) -> "AskingPanel[Any] | None":
        found = self.query_children(AskingPanel)
        return found.last() if found else None

    async def approve(self, asked: ApprovalRequest) -> ApprovalDecision:
        async with self._one_by_one:
            return await self._answer(ApprovalPanel(asked, self._grace))

    async def choose(self, choices: Sequence[ChoiceQuestion]) -> Sequence[ChoiceAnswer]:
        chosen: list[ChoiceAnswer] = []
        async with self._one_by_one:
            for n, choice in enumerate(choices, start=1):
                place = f" {n} of {len(choices)}" if len(choices) > 1 else ""
                chosen.append(await self._answer(QuestionPanel(choice, place)))
        return chosen

    async def _answer(self, panel: AskingPanel[T]) -> T:
        self.mount(panel)
        self.screen.add_class("-asking")
        self.app.bell()
        try:
            return await panel.answer
        finally:
            # Not if the screen is gone, and the panel with it.
            if self.is_attached:
                panel.remove()
                self.screen.remove_class("-asking")
                self._then()
