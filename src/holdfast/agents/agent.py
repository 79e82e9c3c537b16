"""An agent: a talk in a log, a model that is asked, tools that are run, and limits.

Rule: what it remembers is in the log. Of its own it has only what a run needs until it ends: what was spent, what
repeats, whether someone interrupts.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from holdfast.agents.asking import Asking, Streamed, until
from holdfast.agents.limits import Limits, Spent, reached
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
from holdfast.agents.repeats import Repeats, reminder
from holdfast.agents.results import USUAL, Remembered, Results
from holdfast.compacting import Beside, Compaction, compact
from holdfast.compaction.plan import plan_compaction
from holdfast.events import AssistantReplied, Folded, OverflowReported, UsageReported, UserSaid
from holdfast.messages import Text, ToolCall, Usage
from holdfast.models.billing import bill
from holdfast.models.errors import Overflowed
from holdfast.models.protocol import Model, Reply
from holdfast.packing.layers import Pack
from holdfast.packing.pack import pack
from holdfast.session import Session
from holdfast.tools.calling import CallFinished, CallStarted
from holdfast.tools.toolbox import Toolbox

BROKEN_OFF = "interrupted"


class Interrupted(Exception):
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
        asking: Asking | None = None,
        summarizer: Model | None = None,
        is_beside: bool = True,
        limits: Limits | None = None,
        remembered: Remembered = USUAL,
        watch: Watch = unwatched,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = session
        self.model = model
        self.toolbox = toolbox
        self.asking = asking or Asking()
        self.limits = limits or Limits()
        self.watch = watch
        self.spent = Spent()
        self._summarizer = summarizer or model
        self._beside = Beside(session, self._summarizer, model_window=self.asking.entry.window)
        self._is_beside = is_beside
        self._clock = clock
        self._began = clock()
        self._interrupt = asyncio.Event()
        self._repeats = Repeats()
        self._remembered = remembered
        self._results = Results(session, ())
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
        self._repeats = Repeats()
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
        return reached(self.limits, self.spent, self._clock() - self._began)

    def remind(self, text: str) -> None:
        self.session.record(UserSaid((Text(text),), "reminder"))
        self.watch(Reminded(text))

    async def ask(self) -> Reply:
        """The model's reply to the log as it stands, not yet recorded. Raises `Interrupted`, a `ModelError`, or
        `ContextOverflow` where nothing more may give way."""
        # Off the event loop: a fold of a large log takes a while, and a terminal must go on painting.
        fold, packed = await asyncio.to_thread(self._packed)
        if fold is not None:
            self.watch(FoldMade(fold))
        self.spent = self.spent.and_step()
        sizes = (packed.tokens, packed.trigger, packed.budget)
        self.watch(StepBegan(self.spent.steps, *sizes, most=self.limits.steps))
        streamed = Streamed(self.watch)
        if not await until(self._interrupt, streamed.follow(self.model, self.asking.request(packed))):
            if streamed.text.strip():
                self.session.record(
                    AssistantReplied((Text(streamed.text),), self.model.name, stop=BROKEN_OFF)
                )
            raise Interrupted
        assert streamed.reply is not None, "a model's stream ended without its reply"
        return streamed.reply

    def _packed(self) -> tuple[Folded | None, Pack]:
        fold = self.session.make_room()
        return fold, pack(self.session.window)

    def keep(self, reply: Reply) -> None:
        self.session.record(AssistantReplied(reply.parts, reply.model, reply.usage, reply.stop))
        self._spend(reply)

    def drop(self, reply: Reply, purpose: str) -> None:
        """A reply that says nothing: no provider takes an empty message back, so only what it cost is kept."""
        self.session.record(UsageReported(reply.usage or Usage(0), reply.model, purpose))
        self._spend(reply)

    def charge(self, usage: Usage, model: str, purpose: str) -> None:
        """What was spent for this agent by another, such as a sub-agent."""
        self.session.record(UsageReported(usage, model, purpose))
        self.spent = self.spent.and_reply(usage, bill(self.asking.entry, usage))

    def _spend(self, reply: Reply) -> None:
        dollars = bill(self.asking.entry, reply.usage) if reply.usage else None
        self.spent = self.spent.and_reply(reply.usage, dollars)
        self.watch(Replied(reply, dollars))

    def overflowed(self, error: Overflowed) -> None:
        """The provider knows better what fits: the next pack makes room."""
        self.session.record(OverflowReported(error.limit, error.message))

    async def run_tools(self, calls: Sequence[ToolCall]) -> Stop | None:
        """Run them and record their results; a `Stop` if the agent goes in circles."""
        self._results = results = Results(self.session, calls, self._remembered)
        done = await self.toolbox.run_calls(calls, stop=self._interrupt)
        results.check()
        for call, result in zip(calls, done, strict=True):
            match self._repeats.saw(call, result.envelope.text, is_read_only=self.toolbox.only_reads(call)):
                case "point":
                    self.remind(reminder(call))
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
        return not self._is_beside and plan_compaction(self.session.window) is not None

    async def sum_up(self) -> Ask | None:
        """Write a summary now, which is due."""
        self.watch(SummaryBegan(waits=True))
        window = self.asking.entry.window
        done = await compact(self.session, self._summarizer, manual=False, model_window=window)
        return self._told(done) if done is not None else None

    def _told(self, done: Compaction) -> Ask | None:
        for attempt in done.written.attempts:
            if attempt.usage:
                self.spent = self.spent.and_reply(attempt.usage, bill(self.asking.entry, attempt.usage))
        self.watch(SummaryMade(done))
        return Ask("; ".join(done.notes)) if done.asks else None

    async def aclose(self) -> None:
        """Let go of models and of a summary that is being written. The log stays open: it is the session's."""
        self._beside.cancel()
        await self.model.aclose()
        if self._summarizer is not self.model:
            await self._summarizer.aclose()
