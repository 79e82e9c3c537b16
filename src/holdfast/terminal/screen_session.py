"""The session behind the screen: the half of the terminal that knows the agent.

Rule: it is loaded in a thread after the first paint; nothing that is painted first imports it.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import get_args

from holdfast.agents.coding.coding_session import OpenedSession, open_coding_session
from holdfast.agents.coding.task import WaitingSubAgent, waiting_sub_agent
from holdfast.agents.commands import (
    COMMANDS,
    listed_commands,
    note_init_offer,
    offers_init,
    run_command,
)
from holdfast.agents.commands.cost import lookup_for
from holdfast.agents.limits import Spent
from holdfast.agents.model_choice import NoModel
from holdfast.agents.notices import Notice, Replied, StepBegan
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import CommandAnswer, End, Stop
from holdfast.agents.spending import measure_spending
from holdfast.agents.tool_results import load_scanner_for
from holdfast.effort import Effort
from holdfast.errors import ConfigError
from holdfast.events import UserSaid
from holdfast.messages import Text, Usage, joined_text
from holdfast.models.catalogue import request_cost
from holdfast.packing.folding.trigger import estimate_request
from holdfast.store_places import files_beside
from holdfast.terminal.cards import OWN, describe_call
from holdfast.terminal.event_view import EventView, earlier_pieces, finish_own_card, spent_with
from holdfast.terminal.interface import (
    ApprovalRequest,
    CallCard,
    ChoiceQuestion,
    Piece,
    SessionDisplay,
    StatusFigures,
    TodoLine,
)
from holdfast.terminal.safe_text import one_line
from holdfast.terminal.status_line import current_branch
from holdfast.tools.ask_user import UserQuestion, UserReply
from holdfast.tools.call import CallNotice, CallReported, LiveOutput
from holdfast.tools.permissions.gate import ApprovalAnswer, ApprovalQuestion
from holdfast.tools.permissions.tool_rules import PermissionMode
from holdfast.views import User, path

CHANGES = frozenset({"Edit", "MultiEdit", "Write"})
OFFER = "This folder has no rules for an agent; `/init` lets it write `code_law.md`."
RECENT = 40
"""Items at the end of a transcript in which a recent message is looked for."""


async def open_screen_session(
    display: SessionDisplay,
    options: AgentOptions,
    make: Callable[..., Awaitable[OpenedSession]] = open_coding_session,
) -> "AgentScreenSession":
    session = AgentScreenSession(display)
    opened = await make(options, approver=session, responder=session, watch=session.watch)
    await asyncio.to_thread(session.attach, opened)
    if await asyncio.to_thread(offers_init, session.coding):
        note_init_offer(session.coding)
        session.notes = (*session.notes, OFFER)
    # Left out of later garbage collections: to go through all that is loaded stops the screen for 30 ms. What was
    # left out before, such as a session that was closed, is looked at once more.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    return session


class AgentScreenSession:
    """A session that asks the person on the screen. **Contract:** `attach` is called before anything else."""

    def __init__(self, display: SessionDisplay) -> None:
        self._display = display
        self._event_view = EventView(display, self._bill)
        self._spent = Spent()
        self._is_open = False
        self._is_saying = False

    def attach(self, opened: OpenedSession) -> None:
        self.coding = opened.coding
        self.aclose = opened.close
        self.notes: Sequence[str] = opened.notes
        place = self.coding.session.store.place
        file = files_beside(place) if place else None
        self.history = file.with_name(f"{file.name}.prompts") if file else None
        self.log = self.coding.session.log.id
        self._branch = current_branch(self.coding.workspace.roots[0])
        self._read()
        self._is_open = True

    @property
    def mode(self) -> str:
        return self.coding.gate.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self.coding.gate.mode = next(known for known in get_args(PermissionMode) if known == mode)

    def earlier(self) -> list[Piece]:
        return earlier_pieces(path(self.coding.session.log.entries()))

    def figures(self) -> StatusFigures:
        session, spent, step = self.coding.session, self._spent, self._event_view.step
        is_priced = self.coding.agent.model_entry.price is not None
        return StatusFigures(
            model=self.coding.agent.model.name,
            branch=self._branch,
            mode=self.mode,
            effort=self.coding.agent.effort if self.coding.agent.model_entry.levels else "",
            used=self._used,
            trigger=step.trigger if step else session.profile.trigger,
            window=step.window if step else session.profile.window,
            cached=spent.usage.cache_read / spent.usage.prompt if spent.usage.prompt else None,
            dollars=spent.dollars if is_priced or spent.dollars or not spent.unpriced else None,
            is_partly_priced=bool(spent.unpriced),
            jobs=len(self.coding.tool_state.shell.background),
        )

    def todos(self) -> Sequence[TodoLine]:
        return tuple(TodoLine(todo.content, todo.status) for todo in self.coding.tool_state.todos.written)

    def commands(self) -> Sequence[tuple[str, str]]:
        return listed_commands(self.coding)

    async def say(self, text: str) -> End:
        self._is_saying = True
        try:
            await load_scanner_for(self.coding.session, UserSaid((Text(text),)))
            return self._ended(await self.coding.say(text))
        finally:
            self._is_saying = False

    def add_message(self, text: str) -> str:
        return self.coding.add_message(text).text

    def take_back(self, text: str) -> bool:
        return self.coding.take_back(text)

    def has_read(self, texts: Sequence[str]) -> Sequence[bool]:
        items = self.coding.session.window.transcript.items[-RECENT:]
        heard = {joined_text(item.message.parts) for item in items if isinstance(item, User)}
        return [text in heard or not self.coding.agent.is_running for text in texts]

    async def run_own_command(self, command: str) -> None:
        card = CallCard(OWN, one_line(command), "running", started=time.monotonic())
        self._display.add(card)

        def listen(news: CallNotice) -> None:
            if isinstance(news, CallReported) and isinstance(news.news, LiveOutput):
                card.live, card.live_lines = news.news.text, news.news.lines
                self._display.change(card)

        result = await self.coding.run_own_command(command, listen)
        finish_own_card(card, joined_text(result.parts), is_error=result.is_error)
        card.seconds = time.monotonic() - card.started
        self._display.change(card)
        self._read()

    def interrupt(self) -> None:
        if not self.coding.interrupt() and self._is_saying:
            # The run may still have to begin; it ends as it begins then.
            self.coding.agent.interrupt()

    def next_effort(self) -> Effort | None:
        agent = self.coding.agent
        levels = agent.model_entry.levels
        if not levels:
            return None
        agent.effort = levels[(levels.index(agent.effort) + 1) % len(levels)]
        return agent.effort

    def waits(self, name: str) -> bool:
        return name not in COMMANDS or COMMANDS[name].waits

    async def command(self, line: str) -> CommandAnswer:
        answer = await run_command(self.coding, line)
        if not self.coding.agent.is_running:
            self._read()
        return answer

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        """Ask the person about a call. A dry run shows first what it would change."""
        who = waiting_sub_agent.get()
        task = who.call if who else ""
        self._event_view.wait(question.call, is_over=False, task=task)
        try:
            verdict = await self._display.approve(await self._approval(question, who))
        finally:
            self._event_view.wait(question.call, is_over=True, task=task)
        return ApprovalAnswer(verdict.decision, verdict.reason, place=verdict.place)

    async def _approval(self, question: ApprovalQuestion, who: WaitingSubAgent | None) -> ApprovalRequest:
        call, diff, trouble = question.call, "", ""
        counts = {"lines_added": 0, "lines_removed": 0}
        if call.name in CHANGES:
            tool = (who.toolbox if who else self.coding.agent.toolbox).find(call.name)
            result = await tool.run({**call.arguments, "dry_run": True}, self.coding.workspace)
            diff, trouble = ("", f"It would fail. {result.shown}") if result.is_error else (result.shown, "")
            data = result.envelope.data
            counts = {name: number for name in counts if isinstance(number := data.get(name), int)}
        elif call.name != "Bash":
            diff = "\n".join(f"{name}: {value}" for name, value in call.arguments.items())
        return ApprovalRequest(
            name=call.name,
            about=str(call.arguments.get("command", "")) or describe_call(call.arguments),
            reason=question.reason,
            offered_rules=question.offered_rules,
            places=tuple((place.name, place.file) for place in question.places),
            session_scope=question.session_scope,
            denied_before=question.denied_before,
            diff=diff,
            added=counts.get("lines_added", 0),
            removed=counts.get("lines_removed", 0),
            trouble=trouble,
            by=who.title if who else "",
        )

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserReply]:
        choices = [
            ChoiceQuestion(
                asked.question, tuple((o.label, o.description) for o in asked.options), asked.multiple
            )
            for asked in questions
        ]
        return [UserReply(one.labels, one.text) for one in await self._display.choose(choices)]

    def watch(self, notice: Notice) -> None:
        if not self._is_open:
            return
        for usage, dollars in spent_with(notice, self._bill):
            self._spent = self._spent.with_reply(usage, dollars)
        if isinstance(notice, StepBegan | Replied):
            # Now, not when it is shown: between these notices another thread may use the window.
            self._used = self._size()
        self._event_view(notice)

    def _ended(self, end: End) -> End:
        self._event_view.ended()
        self._used = self._size()
        if isinstance(end, Stop) and end.reason == "interrupted":
            # No usage was reported for the reply that was interrupted: what is known is less than what it cost.
            self._read()
        self._branch = current_branch(self.coding.workspace.roots[0])
        return end

    def _bill(self, usage: Usage) -> float | None:
        return request_cost(self.coding.agent.model_entry, usage)

    def _size(self) -> int:
        session = self.coding.session
        return max(0, estimate_request(session.window.view()) - session.profile.reply_room)

    def _read(self) -> None:
        """Read from the log what the figures need."""
        total = measure_spending(self.coding.session.log.entries(), lookup_for(self.coding)).total
        unpriced = total.unpriced + total.unreported
        self._spent = Spent(usage=total.usage, dollars=total.dollars, unpriced=unpriced)
        self._used = self._size()


def welcome_text(trouble: ConfigError) -> str:
    """The first screen of somebody without a model, as Markdown; or what else is wrong with the configuration."""
    if not isinstance(trouble, NoModel):
        return "\n\n".join(filter(None, (f"**Configuration error:** {trouble.message}.", trouble.hint)))
    return (
        f"**To begin:** {trouble.message}; here: `/model provider/name`.\n\n**Found:** {trouble.found}.\n\n"
        f"**Without a model:** leave with Ctrl+D; {trouble.hint}."
    )
