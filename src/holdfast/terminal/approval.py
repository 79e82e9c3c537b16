"""A call that waits for a person's word: what it would do, why it is asked about, and four keys.

Rule: nothing is approved by accident. Keys that come while the panel has just appeared go to the prompt, and what
would change is seen before it is allowed.
"""

import asyncio
import time
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from holdfast.terminal.diffs import diff_content, is_diff, totals
from holdfast.terminal.plain import neutral, one_line
from holdfast.terminal.values import Approval, Verdict

GRACE = 0.6
"""Seconds in which a key is still meant for what was typed before."""
ROUND_IT = {"-tiny": 11, "-short": 15, "-tall": 25}
"""Rows that a diff leaves to what stands round it, by the height of the screen: keys and status, on more rows
prompt and the end of the talk, on many also todos."""


class Stray(Message):
    """A key that came too early to be an answer."""

    def __init__(self, character: str) -> None:
        super().__init__()
        self.character = character


class ApprovalPanel(Vertical):
    """**Contract:** `verdict` is set once, or cancelled by whoever waits for it."""

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

    def __init__(self, approval: Approval, grace: float = GRACE) -> None:
        super().__init__(classes="panel -approval")
        self._approval = approval
        self._until = time.monotonic() + grace
        self.verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self.border_title = Content(f"{approval.name} {one_line(approval.about)}".strip())

    def compose(self) -> ComposeResult:
        asked = self._approval
        yield Static(_reason(asked), id="reason", markup=False)
        if asked.diff or asked.trouble:
            with VerticalScroll(id="change", can_focus=False):
                yield Static(_change(asked), markup=False)
        yield Static(_keys(asked), id="keys", markup=False)
        yield Input(placeholder="Why not? The model reads it. Enter denies, Esc goes back.", id="why")

    def on_mount(self) -> None:
        self.query_one("#why").display = False
        self.focus()

    def on_resize(self) -> None:
        """The keys must stay on the screen, however long the diff is."""
        for change in self.query("#change"):
            taken = next((rows for name, rows in ROUND_IT.items() if self.screen.has_class(name)), 0)
            change.styles.max_height = max(3, self.screen.size.height - taken)

    async def _on_key(self, event: events.Key) -> None:
        if time.monotonic() < self._until and event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self.post_message(Stray(event.character))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Too early, no key is an answer; while a reason is typed, none is either."""
        return time.monotonic() >= self._until and not self.query_one("#why").display

    def action_allow(self, decision: Literal["once", "log", "pattern"]) -> None:
        if decision == "pattern" and not self._approval.pattern:
            return
        self._settle(Verdict(decision))

    def action_deny(self) -> None:
        why = self.query_one("#why", Input)
        why.display = True
        why.focus()

    def action_scroll_diff(self, by: int) -> None:
        for change in self.query("#change"):
            change.scroll_relative(y=by, animate=False)

    def take_back(self) -> bool:
        """Leave the line for the reason. Whether it was open."""
        why = self.query_one("#why", Input)
        if not why.display:
            return False
        why.display = False
        self.focus()
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._settle(Verdict("deny", event.value.strip()))

    def _settle(self, verdict: Verdict) -> None:
        if not self.verdict.done():
            self.verdict.set_result(verdict)


def _reason(asked: Approval) -> Content:
    by = f" by the sub-agent for “{one_line(asked.by)}”" if asked.by else ""
    lines = [Content(f"Asked{by} because {neutral(asked.reason)}.")] if asked.reason else []
    if asked.denied_before:
        why = "" if asked.denied_before == "-" else f": {one_line(asked.denied_before)}"
        lines.append(Content.styled(f"You denied the same before{why}.", "$warning"))
    if asked.name == "Bash":
        lines.insert(0, Content.styled(f"$ {neutral(asked.about)}", "bold"))
    return Content("\n").join(lines)


def _change(asked: Approval) -> Content:
    if asked.trouble:
        return Content.styled(neutral(asked.trouble), "$warning")
    if not is_diff(asked.diff):
        return Content(neutral(asked.diff))
    return Content("\n").join([Content.styled(totals(asked.diff), "dim"), diff_content(asked.diff)])


def _keys(asked: Approval) -> Content:
    lines = [("y", "yes, this once")]
    lines.append(("a", f"yes, in this talk: {one_line(asked.for_log)}"))
    if asked.pattern and asked.pattern != asked.for_log:
        lines.append(("p", f"yes, by rule: {one_line(asked.pattern)}"))
    lines.append(("n", "no, and say why"))
    return Content("\n").join(Content.assemble((f" {key} ", "reverse"), f" {text}") for key, text in lines)
