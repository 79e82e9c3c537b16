"""An agent: a session, the model it asks, the tools it runs, and a budget.

Rule: everything it remembers is in the log. The agent itself holds only what one run needs: what was spent, which
calls repeat, whether someone interrupts. Of an interrupted reply only its text is kept, never half a call.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from holdfast.agents.agent_arguments import check_arguments
from holdfast.agents.agent_tools import AgentTool, agent_tools, session_recall_tool
from holdfast.agents.limits import RunBudget, RunLimits, time_limit_stop
from holdfast.agents.message_queue import MessageQueue
from holdfast.agents.model_choice import billed_model, model_profile, named_model
from holdfast.agents.model_requests import (
    RequestSettings,
    run_in_thread,
    run_unless_interrupted,
    running_loop,
)
from holdfast.agents.notices import (
    FoldMade,
    Notice,
    Reminded,
    Replied,
    StepBegan,
    SummaryBegan,
    SummaryMade,
    Watch,
    unwatched,
)
from holdfast.agents.outcomes import Ask, Done, Stop
from holdfast.agents.session_gate import Approve, FunctionApprover, SessionGate
from holdfast.agents.tool_results import (
    DEFAULT_KEPT_DATA,
    KeptData,
    RepeatGuard,
    ResultRecorder,
    load_scanner_for,
    redact_ahead,
    repeat_reminder,
)
from holdfast.compaction.compact import BackgroundCompaction, Compaction, compact
from holdfast.compaction.plan import plan_compaction
from holdfast.effort import Effort
from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Folded, SystemSet, ToolsSet, UsageReported, UserSaid
from holdfast.messages import Image, Text, ToolCall, Usage, joined_text
from holdfast.models.catalogue import ModelEntry, request_cost
from holdfast.models.model import (
    Model,
    ModelReply,
    ReplyCompleted,
    RetryScheduled,
    TextDelta,
)
from holdfast.packing.layers import Pack
from holdfast.packing.pack import pack
from holdfast.recall import RECALL_TOOL
from holdfast.session import Session
from holdfast.store import Store
from holdfast.tools.call import CallFinished, CallGate, CallNotice, CallSettings, CallStarted
from holdfast.tools.permissions.tool_rules import Permissions
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

_log = logging.getLogger(__name__)

current_call: ContextVar[str] = ContextVar("current_call", default="")
"""The id of the call that runs. It is set when a call starts, and the tool that runs inherits it."""


class RunInterrupted(Exception):
    """The run has to stop now: a person wants it, or its time is over."""


class Agent:
    """An agent: the model it asks, the tools it may call, and a session with its log.

    `model` is a name such as "anthropic/claude-opus-5", whose window and price are looked up, or a model of your
    own; without one it is that of `HOLDFAST_MODEL`. Tools are functions, with or without `@tool`; Recall is added.
    Without a `session` it begins a new one, in `store` if that is given. `approve` is asked before each call of a
    tool that is not read-only. `limits` end a run that would go too far, and `watch` is told of everything that
    happens.

    The others are for agents with folders and rules of their own: `workspace` is what tools for files may touch,
    `gate` decides about calls in place of `approve`, `budget` counts what several runs spend together. `summarizer`
    writes the summaries if the model itself does not. `compacts_in_background` lets a summary be written while the
    agent works; a server that answers one request at a time cannot do that.
    """

    def __init__(
        self,
        model: Model | str = "",
        tools: Iterable[AgentTool] = (),
        *,
        system: str = "",
        session: Session | None = None,
        store: Store | Path | str | None = None,
        approve: Approve | None = None,
        limits: RunLimits | None = None,
        watch: Watch = unwatched,
        workspace: Workspace | None = None,
        gate: CallGate | None = None,
        request_settings: RequestSettings | None = None,
        call_settings: CallSettings | None = None,
        summarizer: Model | None = None,
        compacts_in_background: bool = True,
        budget: RunBudget | None = None,
        kept_data: KeptData = DEFAULT_KEPT_DATA,
    ) -> None:
        check_arguments(
            model=model,
            system=system,
            session=session,
            store=store,
            limits=limits,
            approve=approve,
            watch=watch,
        )
        own_tools = agent_tools(tools)
        self.model, entry, is_local = (
            named_model(model) if isinstance(model, str) else (model, ModelEntry(), False)
        )
        self._settings = request_settings or RequestSettings(entry=entry)
        if limits and limits.dollars and self.model_entry.price is None and not is_local:
            raise InputError(
                f"the price of `{self.model.name}` is not known, so a limit in dollars cannot be kept",
                hint="limit steps or tokens instead",
            )
        self.session = session or _new_session(self.model, self.model_entry, system, store)
        workspace = workspace or Workspace()
        if approve is not None and gate is None:
            gate = SessionGate(Permissions(), FunctionApprover(approve), self.session, workspace)
        if not any(tool.name == RECALL_TOOL.name for tool in own_tools):
            own_tools.append(session_recall_tool(self.session))
        prepare = partial(redact_ahead, self.session)
        self.toolbox = Toolbox(own_tools, workspace, gate=gate, settings=call_settings, prepare=prepare)
        self._system = system
        self._set_up_session()
        self.budget = budget or RunBudget(limits)
        self.watch = watch
        self.is_running = False
        self._summarizer = summarizer or self.model
        self._background = BackgroundCompaction(
            self.session, self._summarizer, model_window=self.model_entry.window
        )
        self._compacts_in_background = compacts_in_background and not is_local
        self._interrupt = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the run."""
        self._is_time_over = False
        self._repeats = RepeatGuard()
        self._kept_data = kept_data
        self._queue = MessageQueue()
        self.before_end: Callable[[Done], Coroutine[Any, Any, None]] | None = None
        """Awaited before a run ends by itself; the run goes on if it says something."""

    def _set_up_session(self) -> None:
        """Record this agent's prompt and tools, unless the session has them: another agent may have used it."""
        known = self.session.window.transcript
        # Recall comes last, as in every session.
        definitions = tuple(sorted(self.toolbox.definitions, key=lambda tool: tool.name == RECALL_TOOL.name))
        for given, stored in (
            (SystemSet(self._system or known.system), SystemSet(known.system)),
            (ToolsSet(definitions), ToolsSet(known.tools)),
        ):
            # What the log has is redacted.
            if given != stored and self.session.log.stored(given) != stored:
                self.session.record(given)

    @property
    def last_reply(self) -> str:
        """What the model said last."""
        steps = self.session.window.transcript.steps
        return joined_text(steps[-1].message.parts) if steps else ""

    @property
    def model_entry(self) -> ModelEntry:
        """The catalogue's entry of the model: its window and its price."""
        return self._settings.entry

    @property
    def effort(self) -> Effort:
        """How much the model thinks before it replies; may be set between two steps."""
        return self.model_entry.effort_for(self._settings.effort)

    @effort.setter
    def effort(self, effort: Effort) -> None:
        self._settings = replace(self._settings, effort=effort)

    def say(self, text: str, *reminders: str, images: Sequence[Image] = ()) -> None:
        """What a person says, with images and reminders. May be called while the agent works."""
        if not isinstance(text, str):
            raise InputError(f"the agent is told a `{type(text).__name__}`, not a text", hint="pass a `str`")
        self._queue.add(text, reminders, images)
        if not self.is_running:
            self.record_messages()

    def take_back(self, text: str) -> bool:
        """Take back the newest message with this text; False if there is none, or it is in the log already."""
        return self._queue.take_back(text)

    def record_messages(self) -> bool:
        """Record what was said meanwhile; says whether there was anything."""
        self.session.record(*(said := self._queue.take()))
        return bool(said)

    def interrupt(self) -> None:
        """End the run as soon as the log is valid: the text of a reply so far is kept, and tools are stopped.

        Without a run, the next one ends as it begins. May be called from another thread, or from a signal handler.
        """
        interrupt = self._interrupt
        if self._loop is None or self._loop is running_loop():
            interrupt.set()
        # Read again: a run may have begun meanwhile.
        if (loop := self._loop) is not None:
            # It wakes a loop that waits, which a signal handler or another thread does not do otherwise.
            with suppress(RuntimeError):  # The run has ended meanwhile, and its loop is closed.
                loop.call_soon_threadsafe(interrupt.set)

    @contextmanager
    def running(self) -> Iterator[None]:
        """A new run: its budget starts here, and its time limit interrupts it. However it ends, nothing that was
        said is lost."""
        self._loop = asyncio.get_running_loop()
        self._is_time_over = False
        self._repeats = RepeatGuard()
        self.budget.begin()
        left = self.budget.seconds_left
        timer = self._loop.call_later(max(left, 0.0), self._end_time) if left is not None else None
        self.is_running = True
        try:
            self._set_up_session()
            yield
        finally:
            if timer:
                timer.cancel()
            self.is_running, self._loop = False, None
            # A new event: it belongs to the event loop that waits for it, and the next run may have another.
            self._interrupt = asyncio.Event()
            self.record_messages()

    def _end_time(self) -> None:
        self._is_time_over = True
        self.interrupt()

    def stopped(self) -> Stop | None:
        """Why no further step may begin; None if one may."""
        if self._is_time_over:
            return time_limit_stop(self.budget.limits)
        if self._interrupt.is_set():
            return Stop("interrupted", "interrupted", "send a message to continue")
        return self.budget.reached()

    def _notify(self, notice: Notice) -> None:
        """Tell the observer. What it raises is logged, and the run continues."""
        try:
            self.watch(notice)
        except Exception:
            _log.exception("the function given as `watch` failed at %s", type(notice).__name__)

    async def hears_more(self, end: Done) -> bool:
        """Record what was said meanwhile, also by `before_end`; whether there was anything."""
        if self.before_end and not self._queue:
            await run_unless_interrupted(self._interrupt, self.before_end(end))
        return self.record_messages()

    def remind(self, text: str) -> None:
        self.session.record(UserSaid((Text(text),), "reminder"))
        self._notify(Reminded(text))

    async def ask(self) -> ModelReply:
        """The model's reply to the log as it is now, not yet recorded. Raises `RunInterrupted`, a `ModelError`, or
        `ContextOverflow` if nothing more can be folded."""
        # Off the event loop: folding a large log takes a while, and a terminal must go on painting.
        fold, packed = await run_in_thread(self._pack)
        if fold is not None:
            self._notify(FoldMade(fold))
        self.budget.add_step()
        sizes = (packed.tokens, packed.trigger, packed.budget)
        self._notify(StepBegan(self.budget.spent.steps, *sizes, most=self.budget.limits.steps))
        pieces: list[str] = []
        replies: list[ModelReply] = []

        async def follow() -> None:
            async for event in self.model.stream(self._settings.request(packed)):
                match event:
                    case TextDelta(text=piece):
                        pieces.append(piece)
                    case RetryScheduled():
                        pieces.clear()
                    case ReplyCompleted(reply=reply):
                        replies.append(reply)
                self._notify(event)
            for reply in replies:
                await load_scanner_for(self.session, AssistantReplied(reply.parts))

        try:
            is_complete = await run_unless_interrupted(self._interrupt, follow())
        except asyncio.CancelledError:
            # Ctrl-C, for example.
            self._record_unfinished(pieces)
            raise
        if not is_complete:
            self._record_unfinished(pieces)
            raise RunInterrupted
        assert replies, "a model's stream ended without its reply"
        return replies[-1]

    def _record_unfinished(self, pieces: Sequence[str]) -> None:
        if (text := "".join(pieces)).strip():
            self.session.record(AssistantReplied((Text(text),), self.model.name, stop="interrupted"))

    def _pack(self) -> tuple[Folded | None, Pack]:
        fold = self.session.make_room()
        return fold, pack(self.session.window.view())

    def record_reply(self, reply: ModelReply) -> None:
        self.session.record(
            AssistantReplied(
                reply.parts, billed_model(self.model, self.model_entry, reply), reply.usage, reply.stop
            )
        )
        self._spend(reply)

    def record_empty_reply(self, reply: ModelReply, purpose: str) -> None:
        """Record only what an empty reply cost: no provider takes an empty message back."""
        self.session.record(
            UsageReported(reply.usage or Usage(0), billed_model(self.model, self.model_entry, reply), purpose)
        )
        self._spend(reply)

    def _spend(self, reply: ModelReply) -> None:
        dollars = request_cost(self.model_entry, reply.usage) if reply.usage else None
        self.budget.add_reply(reply.usage, dollars)
        self._notify(Replied(reply, dollars))

    async def run_tools(self, calls: Sequence[ToolCall]) -> Stop | None:
        """Run the calls and record each result as it arrives. A `Stop` if the agent goes in circles."""
        recorder = ResultRecorder(self.session, calls, self._kept_data)

        def on_call(notice: CallNotice) -> None:
            if isinstance(notice, CallStarted):
                current_call.set(notice.call.id)
            elif isinstance(notice, CallFinished) and not recorder.record(notice):
                self.interrupt()
            self._notify(notice)

        results = await self.toolbox.run_calls(calls, stop=self._interrupt, listener=on_call)
        recorder.check()
        for call, result in zip(calls, results, strict=True):
            match self._repeats.saw(call, result.envelope.text, is_read_only=self.toolbox.only_reads(call)):
                case "remind":
                    self.remind(repeat_reminder(call))
                case "stop":
                    said = f"{call.name} was called once more with the same arguments and the same result"
                    return Stop("loop", said, "tell it what to do instead")
        return None

    def take_summary(self) -> Ask | None:
        """Record a summary that was written in the background, if it is ready; else start one, if one is due."""
        done = self._background.finish()
        if done is not None:
            return self._summarized(done)
        if self._compacts_in_background and self._background.start():
            self._notify(SummaryBegan(waits=False))
        return None

    @property
    def waits_for_summary(self) -> bool:
        return not self._compacts_in_background and plan_compaction(self.session.window.view()) is not None

    async def summarize(self) -> Ask | None:
        """Write the summary that is due, now. An interruption leaves it unwritten."""
        self._notify(SummaryBegan(waits=True))
        window = self.model_entry.window
        made: list[Compaction | None] = []

        async def write() -> None:
            made.append(await compact(self.session, self._summarizer, manual=False, model_window=window))

        is_written = await run_unless_interrupted(self._interrupt, write())
        done = made[0] if is_written else None
        return self._summarized(done) if done is not None else None

    def _summarized(self, done: Compaction) -> Ask | None:
        for attempt in done.written.attempts:
            if attempt.usage:
                self.budget.add_reply(attempt.usage, request_cost(self.model_entry, attempt.usage))
        self._notify(SummaryMade(done))
        return Ask("; ".join(done.notes)) if done.asks else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the models and cancel a summary that is being written. The session's log stays open."""
        self._background.cancel()
        await self.model.aclose()
        if self._summarizer is not self.model:
            await self._summarizer.aclose()


def _new_session(model: Model, entry: ModelEntry, system: str, store: Store | Path | str | None) -> Session:
    """A session within the model's window, with folds that pay at its prices."""
    return Session(profile=model_profile(entry), system=system, tools=None, model=model.name, store=store)
