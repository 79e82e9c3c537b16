"""The session behind the screen: the half of the terminal that knows the agent.

Rule: it is loaded in a thread after the first paint; nothing that is painted first imports it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol, get_args

from msgspec.structs import replace

from holdfast.agents.coding.coding_session import OpenedSession, open_coding_session
from holdfast.agents.coding.task import WaitingSubAgent, waiting_sub_agent
from holdfast.agents.commands import COMMANDS, note_init_offer, offers_init, run_command
from holdfast.agents.limits import Spent
from holdfast.agents.model_choice import NoModel
from holdfast.agents.notices import Notice, Replied, StepBegan, Watch
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Ask, Done, End, Stop
from holdfast.agents.spending import price_lookup
from holdfast.errors import ConfigError
from holdfast.events import AssistantReplied, UsageReported
from holdfast.messages import ToolCall, Usage, joined_text
from holdfast.models.catalogue import load_catalogue, request_cost
from holdfast.packing.folding.trigger import estimate_request
from holdfast.store import SqliteStore
from holdfast.terminal.cards import describe_call
from holdfast.terminal.event_view import EventView, earlier_pieces, spent_with
from holdfast.terminal.interface import (
    ApprovalRequest,
    ChoiceQuestion,
    CommandReply,
    Piece,
    RunEnding,
    SessionDisplay,
    SessionTarget,
    StatusFigures,
    TodoLine,
)
from holdfast.terminal.status_line import current_branch
from holdfast.tools.ask_user import Responder, UserReply
from holdfast.tools.ask_user import UserQuestion as Asked
from holdfast.tools.call import CallFinished
from holdfast.tools.permissions.gate import ApprovalAnswer, ApprovalQuestion, Approver
from holdfast.tools.permissions.tool_rules import PermissionMode
from holdfast.tools.toolbox import Toolbox
from holdfast.views import User, path

CHANGES = frozenset({"Edit", "MultiEdit", "Write"})
OFFER = "This folder has no rules for an agent; `/init` lets it write `code_law.md`."
RECENT = 40
"""Items at the end of a transcript in which a recent message is looked for."""


class OpenAgent(Protocol):
    async def __call__(
        self, *, approver: Approver, respondent: Responder, watch: Watch, target: SessionTarget
    ) -> OpenedSession: ...


def agent_opener(options: AgentOptions) -> OpenAgent:
    """How the agent is opened; the target says which session and which model."""

    async def make(
        *, approver: Approver, respondent: Responder, watch: Watch, target: SessionTarget
    ) -> OpenedSession:
        wanted = replace(
            options, log=target.log, resumes_newest=target.goes_on, model=target.model or options.model
        )
        return await open_coding_session(wanted, approver=approver, respondent=respondent, watch=watch)

    return make


async def open_screen_session(
    make: OpenAgent, display: SessionDisplay, target: SessionTarget
) -> "AgentScreenSession":
    """Open a session that asks the person on the screen."""
    person = _Person(display)
    opened = await make(approver=person, respondent=person, watch=person.watch, target=target)
    session = await asyncio.to_thread(AgentScreenSession, opened, display, person)
    if await asyncio.to_thread(offers_init, session.coding):
        note_init_offer(session.coding)
        session.notes = (*session.notes, OFFER)
    return session


class AgentScreenSession:
    def __init__(self, opened: OpenedSession, display: SessionDisplay, person: "_Person") -> None:
        self.coding = opened.coding
        self._close = opened.close
        self._display = display
        self._event_view = EventView(display, self._bill)
        self.notes: Sequence[str] = opened.notes
        store = self.coding.session.store
        file = store.path if isinstance(store, SqliteStore) else None
        self.history = file.with_name(f"{file.name}.prompts") if file else None
        self.log = self.coding.session.log.id
        self._root = self.coding.workspace.roots[0]
        self._branch = current_branch(self._root)
        self._spent = Spent()
        self._used = 0
        self._read()
        person.session = self

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
            used=self._used,
            trigger=step.trigger if step else session.profile.trigger,
            window=step.window if step else session.profile.window,
            cached=spent.usage.cache_read / spent.usage.prompt if spent.usage.prompt else None,
            dollars=spent.dollars if is_priced or spent.dollars or not spent.unpriced else None,
            is_partly_priced=bool(spent.unpriced),
        )

    def todos(self) -> Sequence[TodoLine]:
        return tuple(TodoLine(todo.content, todo.status) for todo in self.coding.tool_state.todos.written)

    def commands(self) -> Sequence[tuple[str, str]]:
        return [(command.usage, command.about) for command in COMMANDS.values()]

    async def say(self, text: str) -> RunEnding:
        return self._ending(await self.coding.say(text))

    async def continue_run(self) -> RunEnding:
        return self._ending(await self.coding.go_on())

    def add_message(self, text: str) -> str:
        return self.coding.hear(text).text

    def has_read(self, texts: Sequence[str]) -> Sequence[bool]:
        items = self.coding.session.window.transcript.items[-RECENT:]
        heard = {joined_text(item.message.parts) for item in items if isinstance(item, User)}
        return [text in heard or not self.coding.agent.is_running for text in texts]

    def interrupt(self) -> None:
        self.coding.agent.interrupt()

    async def command(self, line: str) -> CommandReply:
        shown = await run_command(self.coding, line)
        self._read()
        return CommandReply(shown.text, shown.open_log, shown.model, shown.say, shown.is_reread, shown.draft)

    async def aclose(self) -> None:
        await self._close()

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        """Ask the person about a call. A dry run shows first what it would change."""
        who = waiting_sub_agent.get()
        task = who.call if who else ""
        self._event_view.wait(question.call, is_over=False, task=task)
        try:
            verdict = await self._display.approve(await self._approval(question, who))
        finally:
            self._event_view.wait(question.call, is_over=True, task=task)
        return ApprovalAnswer(verdict.decision, verdict.reason)

    async def _approval(self, question: ApprovalQuestion, who: WaitingSubAgent | None) -> ApprovalRequest:
        call = question.call
        diff, trouble = await self._dry_run(call, who.toolbox if who else self.coding.agent.toolbox)
        return ApprovalRequest(
            name=call.name,
            about=str(call.arguments.get("command", "")) or describe_call(call.arguments),
            reason=question.reason,
            pattern=question.pattern,
            for_log=question.for_log,
            denied_before=question.denied_before,
            diff=diff
            or ("" if call.name in CHANGES or call.name == "Bash" else _format_arguments(call.arguments)),
            trouble=trouble,
            by=who.title if who else "",
        )

    async def _dry_run(self, call: ToolCall, toolbox: Toolbox) -> tuple[str, str]:
        """What a call would change, or why it would fail."""
        if call.name not in CHANGES:
            return "", ""
        result = await toolbox.find(call.name).run({**call.arguments, "dry_run": True}, self.coding.workspace)
        return ("", f"It would fail. {result.shown}") if result.is_error else (result.shown, "")

    def watch(self, notice: Notice) -> None:
        for usage, dollars in spent_with(notice, self._bill):
            self._spent = self._spent.and_reply(usage, dollars)
        if isinstance(notice, StepBegan | Replied | CallFinished):
            # Now, not when it is shown: between these notices another thread may use the window.
            self._used = self._size()
        self._event_view(notice)

    def _ending(self, end: End) -> RunEnding:
        self._event_view.ended()
        self._used = self._size()
        self._branch = current_branch(self._root)
        match end:
            case Done():
                return RunEnding()
            case Ask(question=question):
                return RunEnding(question, tone="warning")
            case Stop(reason="interrupted"):
                return RunEnding("interrupted", end.hint, is_interrupted=True)
            case Stop(reason=reason):
                is_error = reason in ("model", "overflow", "empty")
                return RunEnding(end.sentence, end.hint, "error" if is_error else "warning")

    def _bill(self, usage: Usage) -> float | None:
        return request_cost(self.coding.agent.model_entry, usage)

    def _size(self) -> int:
        session = self.coding.session
        return max(0, estimate_request(session.window.view()) - session.profile.reply_room)

    def _read(self) -> None:
        """Read from the log what the figures need."""
        agent, spent = self.coding.agent, Spent()
        lookup = price_lookup(load_catalogue(), [(agent.model.name, agent.model_entry)])
        for one in path(self.coding.session.log.entries()):
            if isinstance(one.event, AssistantReplied | UsageReported) and (usage := one.event.usage):
                known = lookup(one.event.model)
                spent = spent.and_reply(usage, request_cost(known, usage) if known else None)
        self._spent = spent
        self._used = self._size()


class _Person:
    """The person at the screen, as the agent knows them. The session is set when it is open."""

    def __init__(self, display: SessionDisplay) -> None:
        self._display = display
        self.session: AgentScreenSession | None = None

    def watch(self, notice: Notice) -> None:
        if self.session:
            self.session.watch(notice)

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        assert self.session, "nothing runs before the session is open"
        return await self.session.approve(question)

    async def answer(self, questions: Sequence[Asked]) -> Sequence[UserReply]:
        choices = [
            ChoiceQuestion(
                asked.question, tuple((o.label, o.description) for o in asked.options), asked.multiple
            )
            for asked in questions
        ]
        return [UserReply(one.labels, one.text) for one in await self._display.choose(choices)]


def _format_arguments(arguments: Mapping[str, object]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in arguments.items())


def welcome_text(trouble: ConfigError) -> str:
    """The first screen of somebody without a model, as Markdown; or what else is wrong with the configuration."""
    if not isinstance(trouble, NoModel):
        return "\n\n".join(filter(None, (f"**Configuration error:** {trouble.message}.", trouble.hint)))
    lines = [
        f"**To begin:** {trouble.message}; here: `/model provider/name`.",
        f"**Found:** {trouble.found}.",
        f"**Without a model:** leave with Ctrl+D; {trouble.hint}.",
    ]
    return "\n\n".join(lines)
