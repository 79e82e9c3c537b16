"""The first screen of somebody who has no model yet.

Rule: three lines say what to do, what was found, and what can be seen without any of it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol, get_args

from msgspec.structs import replace

from holdfast.agents.coding.startup import OpenedSession, open_coding_session
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
from holdfast.tools.permissions import ApprovalAnswer, ApprovalQuestion, Approver, PermissionMode
from holdfast.tools.toolbox import Toolbox
from holdfast.views import User, path


def welcome_text(trouble: ConfigError) -> str:
    """What to do, as Markdown; of any other mistake in the configuration, what it is."""
    if not isinstance(trouble, NoModel):
        return "\n\n".join(filter(None, (f"**Not yet:** {trouble.message}.", trouble.hint)))
    lines = [
        f"**To begin:** {trouble.message}; here: `/model provider/name`.",
        f"**Found:** {trouble.found}.",
        f"**Without a model:** leave with Ctrl+D; {trouble.hint}.",
    ]
    return "\n\n".join(lines)


# A talk over a desk: the half of the terminal that knows the agent.
#
# Rule: it is loaded after the first paint and in a thread; nothing that is painted first imports it.

CHANGES = frozenset({"Edit", "MultiEdit", "Write"})
OFFER = "This folder has no rules for an agent: `/init` has it write `code_law.md`."
RECENT = 40
"""Items at the end of a transcript among which something that was just said is looked for."""


class OpenAgent(Protocol):
    async def __call__(
        self, *, approver: Approver, respondent: Responder, watch: Watch, target: SessionTarget
    ) -> OpenedSession: ...


def agent_opener(wish: AgentOptions) -> OpenAgent:
    """How the desk of a wish is made; the target says which talk and which model now."""

    async def make(
        *, approver: Approver, respondent: Responder, watch: Watch, target: SessionTarget
    ) -> OpenedSession:
        wanted = replace(wish, log=target.log, goes_on=target.goes_on, model=target.model or wish.model)
        return await open_coding_session(wanted, approver=approver, respondent=respondent, watch=watch)

    return make


async def open_screen_session(
    make: OpenAgent, stage: SessionDisplay, target: SessionTarget
) -> "AgentScreenSession":
    """A talk over a new desk, which asks the person on the stage."""
    person = _Person(stage)
    opened = await make(approver=person, respondent=person, watch=person.watch, target=target)
    talk = await asyncio.to_thread(AgentScreenSession, opened, stage, person)
    if await asyncio.to_thread(offers_init, talk.desk):
        note_init_offer(talk.desk)
        talk.notes = (*talk.notes, OFFER)
    return talk


class AgentScreenSession:
    def __init__(self, opened: OpenedSession, stage: SessionDisplay, person: "_Person") -> None:
        self.desk = opened.desk
        self._close = opened.close
        self._stage = stage
        self._following = EventView(stage, self._bill)
        self.notes: Sequence[str] = opened.notes
        store = self.desk.session.store
        file = store.path if isinstance(store, SqliteStore) else None
        self.history = file.with_name(f"{file.name}.prompts") if file else None
        self.log = self.desk.session.log.id
        self._root = self.desk.workspace.roots[0]
        self._branch = current_branch(self._root)
        self._spent = Spent()
        self._used = 0
        self._read()
        person.talk = self

    @property
    def mode(self) -> str:
        return self.desk.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self.desk.mode = next(known for known in get_args(PermissionMode) if known == mode)

    def earlier(self) -> list[Piece]:
        return earlier_pieces(path(self.desk.session.log.entries()))

    def figures(self) -> StatusFigures:
        session, spent, step = self.desk.session, self._spent, self._following.step
        is_priced = self.desk.agent.asking.entry.price is not None
        return StatusFigures(
            model=self.desk.agent.model.name,
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
        return tuple(TodoLine(todo.content, todo.status) for todo in self.desk.bench.todos.written)

    def commands(self) -> Sequence[tuple[str, str]]:
        return [(command.usage, command.about) for command in COMMANDS.values()]

    async def say(self, text: str) -> RunEnding:
        return self._ending(await self.desk.say(text))

    async def go_on(self) -> RunEnding:
        return self._ending(await self.desk.go_on())

    def hear(self, text: str) -> str:
        return self.desk.hear(text).text

    def has_heard(self, texts: Sequence[str]) -> Sequence[bool]:
        items = self.desk.session.window.transcript.items[-RECENT:]
        heard = {joined_text(item.message.parts) for item in items if isinstance(item, User)}
        return [text in heard or not self.desk.agent.is_running for text in texts]

    def interrupt(self) -> None:
        self.desk.agent.interrupt()

    async def command(self, line: str) -> CommandReply:
        shown = await run_command(self.desk, line)
        self._read()
        return CommandReply(shown.text, shown.open_log, shown.model, shown.say, shown.is_reread, shown.draft)

    async def aclose(self) -> None:
        await self._close()

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        """The person's word on a call. What it would change is tried first, without changing anything."""
        who = waiting_sub_agent.get()
        task = who.call if who else ""
        self._following.wait(question.call, is_over=False, task=task)
        try:
            verdict = await self._stage.approve(await self._approval(question, who))
        finally:
            self._following.wait(question.call, is_over=True, task=task)
        return ApprovalAnswer(verdict.decision, verdict.reason)

    async def _approval(self, question: ApprovalQuestion, who: WaitingSubAgent | None) -> ApprovalRequest:
        call = question.call
        diff, trouble = await self._tried(call, who.toolbox if who else self.desk.agent.toolbox)
        return ApprovalRequest(
            name=call.name,
            about=str(call.arguments.get("command", "")) or describe_call(call.arguments),
            reason=question.reason,
            pattern=question.pattern,
            for_log=question.for_log,
            denied_before=question.denied_before,
            diff=diff
            or ("" if call.name in CHANGES or call.name == "Bash" else _written_out(call.arguments)),
            trouble=trouble,
            by=who.title if who else "",
        )

    async def _tried(self, call: ToolCall, toolbox: Toolbox) -> tuple[str, str]:
        """What a change would be, and why it cannot be told."""
        if call.name not in CHANGES:
            return "", ""
        result = await toolbox.find(call.name).run({**call.arguments, "dry_run": True}, self.desk.workspace)
        return ("", f"It would fail. {result.shown}") if result.is_error else (result.shown, "")

    def watch(self, notice: Notice) -> None:
        for usage, dollars in spent_with(notice, self._bill):
            self._spent = self._spent.and_reply(usage, dollars)
        if isinstance(notice, StepBegan | Replied | CallFinished):
            # Now and not when it is shown: between two of these the window may be in use by another thread.
            self._used = self._size()
        self._following(notice)

    def _ending(self, end: End) -> RunEnding:
        self._following.ended()
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
                is_trouble = reason in ("model", "overflow", "empty")
                return RunEnding(end.sentence, end.hint, "error" if is_trouble else "warning")

    def _bill(self, usage: Usage) -> float | None:
        return request_cost(self.desk.agent.asking.entry, usage)

    def _size(self) -> int:
        session = self.desk.session
        return max(0, estimate_request(session.window) - session.profile.reply_room)

    def _read(self) -> None:
        """Take from the log what the figures need."""
        agent, spent = self.desk.agent, Spent()
        lookup = price_lookup(load_catalogue(), [(agent.model.name, agent.asking.entry)])
        for one in path(self.desk.session.log.entries()):
            if isinstance(one.event, AssistantReplied | UsageReported) and (usage := one.event.usage):
                known = lookup(one.event.model)
                spent = spent.and_reply(usage, request_cost(known, usage) if known else None)
        self._spent = spent
        self._used = self._size()


class _Person:
    """The person before the screen, as the desk knows them; the talk that asks is there a little later."""

    def __init__(self, stage: SessionDisplay) -> None:
        self._stage = stage
        self.talk: AgentScreenSession | None = None

    def watch(self, notice: Notice) -> None:
        if self.talk:
            self.talk.watch(notice)

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        assert self.talk, "nothing runs before the talk is open"
        return await self.talk.approve(question)

    async def answer(self, questions: Sequence[Asked]) -> Sequence[UserReply]:
        choices = [
            ChoiceQuestion(
                asked.question, tuple((o.label, o.description) for o in asked.options), asked.multiple
            )
            for asked in questions
        ]
        return [UserReply(one.labels, one.text) for one in await self._stage.choose(choices)]


def _written_out(arguments: Mapping[str, object]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in arguments.items())
