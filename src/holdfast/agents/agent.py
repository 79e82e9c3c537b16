"""Asking a model, while somebody may interrupt.

Rule: what came before an interruption is kept as text or not at all; half a call and half a thought are no use.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from holdfast.agents.limits import RunLimits, Spent, reached_limit
from holdfast.agents.notices import (
    FoldMade,
    Reminded,
    Replied,
    StepBegan,
    SummaryBegan,
    SummaryMade,
    Watch,
    unwatched,
)
from holdfast.agents.outcomes import Ask, Stop
from holdfast.agents.tool_results import (
    DEFAULT_KEPT_DATA,
    KeptData,
    RepeatGuard,
    ResultRecorder,
    repeat_reminder,
)
from holdfast.compaction.compact import BackgroundCompaction, Compaction, compact
from holdfast.compaction.plan import plan_compaction
from holdfast.events import AssistantReplied, Folded, OverflowReported, UsageReported, UserSaid
from holdfast.messages import Text, ToolCall, Usage
from holdfast.models.catalogue import ModelEntry, request_cost
from holdfast.models.errors import Overflowed
from holdfast.models.model import (
    Model,
    ModelReply,
    ModelRequest,
    ReplyCompleted,
    RetryScheduled,
    TextDelta,
)
from holdfast.packing.layers import Pack
from holdfast.packing.pack import pack
from holdfast.session import Session
from holdfast.tools.call import CallFinished, CallStarted
from holdfast.tools.toolbox import Toolbox

MAX_TOKENS = 16_000
"""Room for a reply; less where the catalogue knows that a model writes less."""


class RequestSettings(Struct, frozen=True, kw_only=True):
    """How a model is asked: its entry in the catalogue, the room for a reply and for thinking."""

    entry: ModelEntry = ModelEntry()
    max_tokens: int = MAX_TOKENS
    thinking_tokens: int = 0

    def request(self, pack: Pack) -> ModelRequest:
        most = self.entry.max_output
        return ModelRequest(
            messages=pack.messages,
            tools=pack.tools,
            layer_ends=pack.layer_ends,
            max_tokens=min(self.max_tokens, most) if most else self.max_tokens,
            thinking_tokens=self.thinking_tokens,
        )


class StreamedReply:
    """A reply as it comes. `text` is what has come so far, `reply` is there when it is whole."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.text = ""
        self.reply: ModelReply | None = None

    async def follow(self, model: Model, request: ModelRequest) -> None:
        async for came in model.stream(request):
            match came:
                case TextDelta(text=text):
                    self.text += text
                case RetryScheduled():
                    self.text = ""
                case ReplyCompleted(reply=reply):
                    self.reply = reply
            self._watch(came)


async def run_unless_interrupted(interrupt: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work, unless somebody interrupts. Whether it was done; what it raises is raised."""
    doing = asyncio.create_task(work)
    waiting = asyncio.create_task(interrupt.wait())
    try:
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            doing.result()
            return True
        return False
    finally:
        waiting.cancel()
        if not doing.done():
            doing.cancel()
            # Until a connection is closed, so that nothing comes after the interruption.
            await asyncio.wait({doing})


# An agent: a talk in a log, a model that is asked, tools that are run, and limits.
#
# Rule: what it remembers is in the log. Of its own it has only what a run needs until it ends: what was spent, what
# repeats, whether someone interrupts.

INTERRUPTED = "interrupted"


class RunInterrupted(Exception):
    """A person wants it to stop now."""


class Agent:
    """`summarizer` writes the summaries, where that is not the model itself. `is_beside` lets one be written while
    the agent goes on, which a server that answers one request at a time cannot do."""

    def __init__(
        self,
        session: Session,
        model: Model,
        toolbox: Toolbox,
        *,
        asking: RequestSettings | None = None,
        summarizer: Model | None = None,
        is_beside: bool = True,
        limits: RunLimits | None = None,
        remembered: KeptData = DEFAULT_KEPT_DATA,
        watch: Watch = unwatched,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = session
        self.model = model
        self.toolbox = toolbox
        self.asking = asking or RequestSettings()
        self.limits = limits or RunLimits()
        self.watch = watch
        self.spent = Spent()
        self._summarizer = summarizer or model
        self._beside = BackgroundCompaction(session, self._summarizer, model_window=self.asking.entry.window)
        self._is_beside = is_beside
        self._clock = clock
        self._began = clock()
        self._interrupt = asyncio.Event()
        self._repeats = RepeatGuard()
        self._remembered = remembered
        self._results = ResultRecorder(session, ())
        toolbox.listener = self._hear_of_call
        self.is_running = False
        self._said: list[UserSaid] = []
        """What was said while it works: it comes in between two steps, since the reply that is being written knows
        nothing of it."""

    def say(self, text: str, *reminders: str) -> None:
        """What a person says, with reminders that belong to it; also while the agent works."""
        said = UserSaid((Text(text),))
        self._said += [said, *(UserSaid((Text(more),), "reminder") for more in reminders)]
        if not self.is_running:
            self.hear()

    def hear(self) -> bool:
        """Take in what was said meanwhile. Whether there was anything."""
        said, self._said = self._said, []
        self.session.record(*said)
        return bool(said)

    def interrupt(self) -> None:
        """End the run as soon as the log is valid: a reply stays as far as its text came, a tool is ended."""
        self._interrupt.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """A new run: its limits count from here. However it ends, nothing that was said is lost."""
        # A new one: an event belongs to the loop that waits for it, and the next run may have another.
        self._interrupt = asyncio.Event()
        self._repeats = RepeatGuard()
        self.spent = Spent()
        self._began = self._clock()
        self.is_running = True
        try:
            yield
        finally:
            self.is_running = False
            self.hear()

    def stopped(self) -> Stop | None:
        """Why no further step may begin, if so."""
        if self._interrupt.is_set():
            return Stop("interrupted", "interrupted", "say more to go on")
        return reached_limit(self.limits, self.spent, self._clock() - self._began)

    def remind(self, text: str) -> None:
        self.session.record(UserSaid((Text(text),), "reminder"))
        self.watch(Reminded(text))

    async def ask(self) -> ModelReply:
        """The model's reply to the log as it stands, not yet recorded. Raises `RunInterrupted`, a `ModelError`, or
        `ContextOverflow` where nothing more may give way."""
        # Off the event loop: a fold of a large log takes a while, and a terminal must go on painting.
        fold, packed = await asyncio.to_thread(self._packed)
        if fold is not None:
            self.watch(FoldMade(fold))
        self.spent = self.spent.and_step()
        sizes = (packed.tokens, packed.trigger, packed.budget)
        self.watch(StepBegan(self.spent.steps, *sizes, most=self.limits.steps))
        streamed = StreamedReply(self.watch)
        if not await run_unless_interrupted(
            self._interrupt, streamed.follow(self.model, self.asking.request(packed))
        ):
            if streamed.text.strip():
                self.session.record(
                    AssistantReplied((Text(streamed.text),), self.model.name, stop=INTERRUPTED)
                )
            raise RunInterrupted
        assert streamed.reply is not None, "a model's stream ended without its reply"
        return streamed.reply

    def _packed(self) -> tuple[Folded | None, Pack]:
        fold = self.session.make_room()
        return fold, pack(self.session.window.view())

    def keep(self, reply: ModelReply) -> None:
        self.session.record(AssistantReplied(reply.parts, reply.model, reply.usage, reply.stop))
        self._spend(reply)

    def drop(self, reply: ModelReply, purpose: str) -> None:
        """A reply that says nothing: no provider takes an empty message back, so only what it cost is kept."""
        self.session.record(UsageReported(reply.usage or Usage(0), reply.model, purpose))
        self._spend(reply)

    def charge(self, usage: Usage, model: str, purpose: str) -> None:
        """What was spent for this agent by another, such as a sub-agent."""
        self.session.record(UsageReported(usage, model, purpose))
        self.spent = self.spent.and_reply(usage, request_cost(self.asking.entry, usage))

    def _spend(self, reply: ModelReply) -> None:
        dollars = request_cost(self.asking.entry, reply.usage) if reply.usage else None
        self.spent = self.spent.and_reply(reply.usage, dollars)
        self.watch(Replied(reply, dollars))

    def overflowed(self, error: Overflowed) -> None:
        """The provider knows better what fits: the next pack makes room."""
        self.session.record(OverflowReported(error.limit, error.message))

    async def run_tools(self, calls: Sequence[ToolCall]) -> Stop | None:
        """Run them and record their results; a `Stop` if the agent goes in circles."""
        self._results = results = ResultRecorder(self.session, calls, self._remembered)
        done = await self.toolbox.run_calls(calls, stop=self._interrupt)
        results.check()
        for call, result in zip(calls, done, strict=True):
            match self._repeats.saw(call, result.envelope.text, is_read_only=self.toolbox.only_reads(call)):
                case "point":
                    self.remind(repeat_reminder(call))
                case "stop":
                    said = f"{call.name} was called once more with the same arguments and the same result"
                    return Stop("loop", said, "tell it what to do instead")
        return None

    def _hear_of_call(self, news: CallStarted | CallFinished) -> None:
        if isinstance(news, CallFinished) and not self._results.take(news):
            self.interrupt()
        self.watch(news)

    def take_summary(self) -> Ask | None:
        """Record the summary that was written beside, if it is ready; else begin one, if one is due."""
        done = self._beside.finish()
        if done is not None:
            return self._told(done)
        if self._is_beside and self._beside.start():
            self.watch(SummaryBegan(waits=False))
        return None

    @property
    def waits_for_summary(self) -> bool:
        return not self._is_beside and plan_compaction(self.session.window.view()) is not None

    async def sum_up(self) -> Ask | None:
        """Write a summary now, which is due."""
        self.watch(SummaryBegan(waits=True))
        window = self.asking.entry.window
        done = await compact(self.session, self._summarizer, manual=False, model_window=window)
        return self._told(done) if done is not None else None

    def _told(self, done: Compaction) -> Ask | None:
        for attempt in done.written.attempts:
            if attempt.usage:
                self.spent = self.spent.and_reply(
                    attempt.usage, request_cost(self.asking.entry, attempt.usage)
                )
        self.watch(SummaryMade(done))
        return Ask("; ".join(done.notes)) if done.asks else None

    async def aclose(self) -> None:
        """Let go of models and of a summary that is being written. The log stays open: it is the session's."""
        self._beside.cancel()
        await self.model.aclose()
        if self._summarizer is not self.model:
            await self._summarizer.aclose()
