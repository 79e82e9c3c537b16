"""The panel that asks whether a call may be made, and for which calls that holds.

Rule: nothing is approved by accident. Keys pressed just after the panel appeared go to the prompt, and what would
change or run is shown before it can be allowed.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from holdfast.terminal.asking_panel import AskingPanel, reserved_rows
from holdfast.terminal.cards import is_diff, render_diff
from holdfast.terminal.interface import ApprovalDecision, ApprovalRequest, KeptIn
from holdfast.terminal.safe_text import one_line, sanitize, truncate

LONGEST_SCOPE = 48
"""Cells of the commands that an answer holds for in this session: the whole command is shown above the keys."""
SHORT_ROWS = 7
"""Rows that a reason and keys take without pushing anything off a screen."""
WHERE_RESERVED = 7
"""Rows that a rule leaves when it is asked where it is kept: keys, border, status line, a row of the session."""
MOST_ROWS = 400
"""Lines of a change that are shown at first."""


@dataclass
class StrayKey(Message):
    """A key that was pressed too early to be an answer."""

    character: str


class ApprovalPanel(AskingPanel[ApprovalDecision]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "allow('once')", show=False),
        Binding("a", "allow('log')", show=False),
        Binding("p", "always", show=False),
        Binding("e", "keep('everywhere')", show=False),
        Binding("t", "keep('project')", show=False),
        Binding("n", "write", show=False),
        Binding("o", "open_change", show=False),
        Binding("up,k", "scroll_change(-1)", show=False),
        Binding("down,j", "scroll_change(1)", show=False),
        Binding("pageup", "scroll_change(-10)", show=False),
        Binding("pagedown,space", "scroll_change(10)", show=False),
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
        # Apart from the reason, which is cut on a small screen: rules can always be read to their end.
        with VerticalScroll(id="where", can_focus=False):
            yield Static(Content.styled(f"Where is this kept? {_rules(asked)}", "bold"), markup=False)
        yield Static(_approval_keys(asked), id="keys", markup=False)
        yield Input(placeholder="Why not? The model reads this. Enter denies, Esc goes back.", id="words")

    def on_mount(self) -> None:
        super().on_mount()
        # What was typed before there was anything to answer may arrive only now.
        self._until = time.monotonic() + self._grace

    def on_resize(self) -> None:
        """The keys stay on the screen, however long the change, the command or a rule is."""
        height = self.screen.size.height
        self.query_one("#where").styles.max_height = max(3, height - WHERE_RESERVED)
        shown = [part for part in self.query("#reason, #where, #keys") if part.display]
        more = max(0, sum(part.size.height for part in shown) - SHORT_ROWS)
        for change in self.query("#change"):
            change.styles.max_height = max(3, height - reserved_rows(self.screen) - more)
        self.call_after_refresh(self._tell_more)

    def _tell_more(self) -> None:
        is_more = any(part.display and part.max_scroll_y for part in self.query(VerticalScroll))
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
        self.call_after_refresh(self.on_resize)

    def action_open_change(self) -> None:
        """Show the whole change."""
        for change in self.query("#change Static").results(Static):
            change.update(_change(self._approval))
            self.call_after_refresh(self._tell_more)

    def action_scroll_change(self, by: int) -> None:
        for part in self.query(VerticalScroll):
            part.scroll_relative(y=by, animate=False)

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
    scope = _scope(asked, asked.session_scope)
    scope = truncate(scope, LONGEST_SCOPE) if asked.name == "Bash" else scope
    lines = [("y", "yes, this once"), ("a", f"yes, in this session: {scope}")]
    if asked.offered_rules:
        rules = _rules(asked)
        # Said once where it is long: both together would push keys off the screen.
        rules = "the same" if rules == scope and len(rules) > LONGEST_SCOPE else rules
        lines.append(("p", f"yes, {'always' if asked.places else 'in this session'}: {rules}"))
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
