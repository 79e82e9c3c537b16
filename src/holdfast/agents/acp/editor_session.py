"""A session of the coding agent in an editor.

Rule: whatever ends a prompt, its updates are sent before its answer, and the log can be resumed. One prompt runs
at a time. Whatever a person must decide is asked in the editor.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from acp.helpers import update_agent_message_text, update_agent_thought_text, update_tool_call
from acp.interfaces import Client
from acp.schema import (
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PromptResponse,
    SessionInfoUpdate,
    StopReason,
)
from msgspec.structs import replace

from holdfast.agents.acp.event_updates import (
    CallIds,
    EventUpdates,
    asked_call,
    earlier_updates,
    session_usage,
    turn_usage,
)
from holdfast.agents.acp.outbox import Outbox, SessionUpdate
from holdfast.agents.acp.prompts import EditorPrompt, PromptBlock, read_prompt
from holdfast.agents.acp.questions import approval_reason, ask_approval, ask_form, ask_question
from holdfast.agents.acp.session_options import (
    EFFORT,
    ELSEWHERE,
    MODE,
    MODEL,
    command_line,
    command_name,
    config_options,
    mode_state,
    offered_commands,
    offered_models,
)
from holdfast.agents.acp.tool_calls import call_title, edit_diff
from holdfast.agents.agent import current_call
from holdfast.agents.coding.coding_session import CodingSession, OpenedSession, open_coding_session
from holdfast.agents.coding.task import waiting_sub_agent
from holdfast.agents.commands import run_command
from holdfast.agents.notices import Notice
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Ask, CommandAnswer, Done, End, RunStopReason
from holdfast.agents.sessions import first_words
from holdfast.errors import HoldfastError, InputError, suggest
from holdfast.messages import Json
from holdfast.tools.ask_user import UserQuestion, UserReply
from holdfast.tools.permissions.gate import ApprovalAnswer, ApprovalQuestion
from holdfast.tools.permissions.tool_rules import PermissionMode
from holdfast.views import path

SECONDS_TO_END = 10.0
"""How long an interrupted run may take to write down what it did."""

IN_THE_EDITOR = "Your editor begins, opens and leaves sessions; this command is for a terminal."

_STOP_REASONS: dict[RunStopReason, StopReason] = {
    "interrupted": "cancelled",
    "refused": "refusal",
    "blocked": "refusal",
    "overflow": "max_tokens",
    "steps": "max_turn_requests",
    "cost": "max_turn_requests",
    "time": "max_turn_requests",
    "loop": "max_turn_requests",
}
"""What the protocol calls the reasons for which a run stops. Any other is an error."""

_log = logging.getLogger(__name__)


class RunFailed(HoldfastError):
    """The model gave no answer."""


class EditorSession:
    """**Contract:** `open` comes first. `id` is what the editor calls it, also if a damaged log was replaced."""

    def __init__(
        self,
        client: Client,
        options: AgentOptions,
        servers: Mapping[str, Json],
        env: Mapping[str, str],
        *,
        has_forms: bool = False,
    ) -> None:
        self.id = options.log
        self._client = client
        self._options = options
        self._servers = servers
        self._env = env
        self._has_forms = has_forms
        self._outbox = Outbox(self._send)
        self._ids = CallIds()
        self._turn: asyncio.Task[Any] | None = None
        """The request that is being answered; with a prompt there is work for it."""
        self._work: asyncio.Task[StopReason] | None = None
        self._notes: dict[str, bool] = {}
        """What the person should know of how the session was opened, and whether they were told."""
        self._is_command = False
        self._is_cancelled = False
        self._model_names: dict[str, str] = {}
        """By the name that is shown, how a person asked for a model: it may hold an address."""
        self._events: EventUpdates | None = None

    async def open(self) -> None:
        await self._open(self._options)
        self.id = self.id or self.coding.session.log.id

    async def _open(self, options: AgentOptions) -> None:
        opened = await open_coding_session(
            options, approver=self, responder=self, watch=self._watch, env=self._env, servers=self._servers
        )
        self._opened: OpenedSession = opened
        self.coding: CodingSession = opened.coding
        self._model_names.setdefault(self.coding.agent.model.name, options.model)
        self._options = replace(options, log=self.coding.session.log.id)
        self._note(opened.notes)
        self._events = EventUpdates(self.coding, self._ids)

    async def close(self) -> None:
        """Let what runs come to its end first, so that the log is whole."""
        self.cancel()
        if self._turn is not None:
            await asyncio.wait({self._turn}, timeout=SECONDS_TO_END)
        await self._outbox.close()
        await self._opened.close()

    # What the editor is told.

    def offers(self) -> dict[str, Any]:
        """What can be chosen, for the answer in which the editor learns of the session. The commands follow it."""
        self._outbox.put(offered_commands(self.coding))
        return {"modes": mode_state(self.coding), "config_options": self.options()}

    async def replay(self) -> None:
        """Send all that was said and done before."""
        entries = path(self.coding.session.log.entries())
        for update in earlier_updates(entries, self.coding, self._ids):
            self._outbox.put(update)
        self._outbox.put(session_usage(self.coding))
        await self._outbox.flush()

    def options(self) -> list[Any]:
        return config_options(self.coding, self._env)

    def _watch(self, notice: Notice) -> None:
        if self._events is not None:
            self._outbox.put(*self._events.of(notice))

    async def _send(self, update: SessionUpdate) -> None:
        await self._client.session_update(session_id=self.id, update=update)

    # What the editor asks for.

    async def prompt(self, blocks: Sequence[PromptBlock]) -> PromptResponse:
        self._expect_idle()
        takes_images = self.coding.agent.model_entry.images
        given = read_prompt(blocks, self.coding.workspace.roots[0], takes_images=takes_images)
        log = self.coding.session.log
        before, is_first = log.info.entries, not self.coding.session.window.transcript.rounds
        self._is_cancelled = False
        self._turn = asyncio.current_task()
        self._work = asyncio.create_task(self._run(given), name="prompt")
        try:
            reason = await self._work
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise
            reason = "cancelled"
        finally:
            if is_first and given.text.strip() and not self._command(given):
                title = first_words(given.text)
                self._outbox.put(SessionInfoUpdate(session_update="session_info_update", title=title))
            self._outbox.put(*self._running().ended(), session_usage(self.coding))
            try:
                await self._outbox.flush()
            finally:
                self._turn = self._work = None
        usage = turn_usage(self.coding, before)
        return PromptResponse(stop_reason="cancelled" if self._is_cancelled else reason, usage=usage)

    def _expect_idle(self) -> None:
        if self._turn is not None:
            raise InputError("this session is at work", hint="cancel it, or wait for its end")

    def cancel(self) -> None:
        """End what runs; what it did so far stays in the log."""
        if self._work is None or self._work.done():
            return
        self._is_cancelled = True
        if self._is_command:
            self._work.cancel()
        elif not self.coding.interrupt():
            # The run may still have to begin; it ends as it begins then.
            self.coding.agent.interrupt()

    async def set_option(self, name: str, value: str | bool) -> None:
        match name:
            case "mode":
                self.coding.gate.mode = _known_mode(value)
                self._outbox.put(*self._chosen())
            case "effort":
                self._set_effort(value)
            case "model":
                await self._set_model(str(value))
            case _:
                raise InputError(f"there is no option `{name}`", hint=suggest(name, (MODE, MODEL, EFFORT)))

    def _set_effort(self, value: str | bool) -> None:
        agent = self.coding.agent
        for level in agent.model_entry.levels:
            if level == value:
                agent.effort = level
                self._options = replace(self._options, effort=level)
                return
        raise InputError(
            f"`{agent.model.name}` has no level `{value}`", hint=suggest(str(value), agent.model_entry.levels)
        )

    async def _set_model(self, name: str) -> None:
        self._expect_idle()
        offered = offered_models(self.coding, self._env)
        if name not in {*offered, *self._model_names}:
            raise InputError(f"there is no model `{name}` to choose", hint=suggest(name, offered))
        if name == self.coding.agent.model.name:
            return
        self._turn = asyncio.current_task()
        try:
            await self._reopen(self._model_names.get(name, name))
        finally:
            self._turn = None

    async def _reopen(self, model: str) -> None:
        """The same session with another model. If that cannot be opened, all stays as it is."""
        before, mode = self._opened, self.coding.gate.mode
        events, self._events = self._events, None
        try:
            await self._open(replace(self._options, model=model, mode=mode))
        except BaseException:
            self._events = events
            raise
        await before.close()

    def _chosen(self) -> tuple[SessionUpdate, SessionUpdate]:
        """What is chosen now, in both forms that editors know."""
        mode = self.coding.gate.mode
        return (
            CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode),
            ConfigOptionUpdate(session_update="config_option_update", config_options=self.options()),
        )

    # A prompt.

    async def _run(self, given: EditorPrompt) -> StopReason:
        self._tell_notes()
        if line := self._command(given):
            if command_name(line) in ELSEWHERE:
                self._outbox.put(update_agent_message_text(IN_THE_EDITOR))
                return "end_turn"
            self._is_command = True
            try:
                answer = await run_command(self.coding, line)
                await self._show(answer)
            except HoldfastError as error:
                self._outbox.put(update_agent_message_text(str(error)))
                return "end_turn"
            finally:
                self._is_command = False
            if not answer.say:
                return "end_turn"
            given = replace(given, text=answer.say)
        return self._stop_reason(await self.coding.say(given.text, *given.attached, images=given.images))

    def _command(self, given: EditorPrompt) -> str:
        return command_line(given, self.coding.own_commands)

    async def _show(self, answer: CommandAnswer) -> None:
        text = "\n\n".join(filter(None, (answer.text, answer.draft)))
        if text:
            self._outbox.put(update_agent_message_text(text))
        if answer.model:
            await self._reopen(answer.model)
        if answer.effort:
            self._options = replace(self._options, effort=answer.effort)
        self._outbox.put(*self._chosen())

    def _note(self, notes: Iterable[str]) -> None:
        for note in notes:
            if note not in self._notes:
                _log.warning("%s", note)
                self._notes[note] = False

    def _tell_notes(self) -> None:
        """In a turn, since an editor shows nothing before it."""
        for note, is_told in self._notes.items():
            if not is_told:
                self._outbox.put(update_agent_thought_text(f"[{note}]\n\n"))
                self._notes[note] = True

    def _stop_reason(self, end: End) -> StopReason:
        self._note(self._opened.late_notes())
        self._tell_notes()
        match end:
            case Done():
                return "end_turn"
            case Ask(question=question):
                self._outbox.put(update_agent_message_text(f"\n\n{question}"))
                return "end_turn"
        reason = _STOP_REASONS.get(end.reason)
        if reason is None:
            raise RunFailed(end.sentence, hint=end.hint)
        if reason != "cancelled":
            self._outbox.put(update_agent_message_text(f"\n\n[{end.sentence}. {end.hint}]"))
        return reason

    # What the agent asks the person.

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        """Ask about a call, or on the call of a task about what its sub-agent wants to do."""
        events, who, call = self._running(), waiting_sub_agent.get(), question.call
        task = events.running(who.call) if who else None
        if who is None or task is None:
            one, updates = events.shown(call)
            self._outbox.put(*updates)
            title, diff = one.title, await asyncio.to_thread(events.diff, one)
        else:
            one, title = task, f"{who.title}: {call_title(call.name, call.arguments)}"
            diff = await asyncio.to_thread(edit_diff, call, self.coding.workspace)
        await self._outbox.flush()
        asked = asked_call(one, [*diff, approval_reason(question)], title)
        answer = await ask_approval(self._client, self.id, asked, question)
        if task is not None:
            self._outbox.put(update_tool_call(task.id, title=task.title, status="in_progress"))
        return answer

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserReply]:
        shown = self._running().running(current_call.get())
        await self._outbox.flush()
        id_ = shown.id if shown else current_call.get()
        if self._has_forms:
            return await ask_form(self._client, self.id, id_, questions)
        return [await ask_question(self._client, self.id, id_, question) for question in questions]

    def _running(self) -> EventUpdates:
        assert self._events is not None, "an agent runs in an open session"
        return self._events


def _known_mode(value: str | bool) -> PermissionMode:
    modes: tuple[PermissionMode, ...] = get_args(PermissionMode)
    for mode in modes:
        if mode == value:
            return mode
    raise InputError(f"there is no mode `{value}`", hint=suggest(str(value), modes))
