"""A run without a screen: one request in, one outcome out, and news of what happens on the way.

Rule: it always ends with a result, and the log behind it can be continued, also where a signal ended it.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.coding.desk import Desk, last_words
from holdfast.agents.coding.setup import Opened, open_desk
from holdfast.agents.coding.wish import Wish
from holdfast.agents.limits import Limits, Spent, reached
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.outcomes import Ask, Done, End, Stop
from holdfast.agents.output_schema import OutputSchema
from holdfast.events import AssistantReplied, Entry, UsageReported
from holdfast.messages import Json
from holdfast.models import catalogue
from holdfast.models.billing import bill
from holdfast.models.protocol import Model
from holdfast.tools.around.ask_user import Respondent

MOST_CORRECTIONS = 2
"""How often an answer that does not fit its schema is asked for again."""
UNFIT = "schema"
"""The outcome of an answer that never fitted."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Errand(Struct, frozen=True):
    """What is to be done. Without a prompt the log is gone on with; `data` is what came with it, such as stdin."""

    prompt: str = ""
    data: str = ""
    schema: OutputSchema | None = None


class Result(Struct, frozen=True, kw_only=True):
    """What came of it. `outcome` is `done`, `ask`, `schema`, or why it stopped; `value` is the validated answer."""

    outcome: str
    text: str
    sentence: str = ""
    hint: str = ""
    value: Json = None
    spent: Spent = Spent()
    is_priced: bool = False
    seconds: float = 0.0
    log: str = ""
    model: str = ""
    files: tuple[str, ...] = ()
    signal: int = 0
    """The signal that ended it, 0 if none did."""


class Signals:
    """Interrupts the agent at the first signal, and cancels everything at the second or where no agent runs."""

    def __init__(self) -> None:
        self.came = 0
        self.agent: Agent | None = None
        self._task = asyncio.current_task()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Only the main thread may ask for signals; elsewhere none are caught."""
        numbers = SIGNALS if threading.current_thread() is threading.main_thread() else ()
        loop = asyncio.get_running_loop()
        for number in numbers:
            loop.add_signal_handler(number, self._take, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def settle(self) -> bool:
        """After a cancellation: whether a signal was its cause, so that the task may go on."""
        if self.came and self._task is not None:
            self._task.uncancel()
        return bool(self.came)

    def _take(self, number: int) -> None:
        is_first, self.came = not self.came, number
        if is_first and self.agent is not None and self.agent.is_running:
            self.agent.interrupt()
        elif self._task is not None:
            self._task.cancel()


async def run_errand(
    wish: Wish,
    errand: Errand,
    *,
    respondent: Respondent | None = None,
    watch: Watch = unwatched,
    began: Callable[[Opened], None] = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> Result:
    """Do it, from opening to closing. `began` is told when all is open. Nobody is asked for approval: what no rule
    allows is denied. Raises the errors of `holdfast.errors` that keep a run from beginning."""
    signals = Signals()
    with signals.caught():
        try:
            opened = await open_desk(wish, respondent=respondent, watch=watch, env=env, model=model)
        except asyncio.CancelledError:
            if not signals.settle():
                raise
            return Result(outcome="interrupted", text="", sentence="interrupted", signal=signals.came)
        try:
            began(opened)
            signals.agent = opened.desk.agent
            return await _result(opened.desk, errand, signals)
        finally:
            await opened.close()


async def _result(desk: Desk, errand: Errand, signals: Signals) -> Result:
    began, entries = time.monotonic(), desk.session.log.info.entries
    bench = desk.bench
    made, left = len(bench.files.made), len(bench.left)
    value: Json = None
    end: End | Unfit
    try:
        end, value = await _work(desk, errand)
    except asyncio.CancelledError:
        if not signals.settle():
            raise
        end = Stop("interrupted", "interrupted")
    entry = desk.agent.asking.entry
    outcome, sentence, hint = _in_words(end)
    return Result(
        outcome=outcome,
        text=end.text if isinstance(end, Done) else last_words(desk),
        sentence=sentence,
        hint=hint,
        value=value,
        spent=spent_in(desk.session.log.entries(entries), entry),
        is_priced=entry.price is not None,
        seconds=time.monotonic() - began,
        log=desk.session.log.id,
        model=desk.agent.model.name,
        files=tuple(dict.fromkeys(bench.paths_changed(made, left))),
        signal=signals.came,
    )


class Unfit(Struct, frozen=True):
    """The last answer does not fit the schema, and it will not be asked for again."""

    problems: tuple[str, ...]


async def _work(desk: Desk, errand: Errand) -> tuple[End | Unfit, Json]:
    """The end, and the value of an answer that fits its schema."""
    if errand.prompt:
        desk.hear(errand.prompt)
    if errand.data:
        # Said beside the prompt and not in it: an `@` in data mentions nothing.
        desk.agent.say(f"<stdin>\n{errand.data}\n</stdin>")
    if errand.schema is None:
        return await desk.go_on(), None
    desk.agent.remind(errand.schema.request)
    return await _fitting(desk, errand.schema)


async def _fitting(desk: Desk, schema: OutputSchema) -> tuple[End | Unfit, Json]:
    """Runs until an answer fits, within the limits that hold for all of them together."""
    for tries_left in reversed(range(MOST_CORRECTIONS + 1)):
        began = time.monotonic()
        end = await desk.go_on()
        if not isinstance(end, Done):
            return end, None
        value, problems = schema.read(end.text)
        if not problems:
            return end, value
        seconds, limits, spent = time.monotonic() - began, desk.agent.limits, desk.agent.spent
        if not tries_left or reached(limits, spent, seconds):
            break
        # None of them can come to 0, which would be no limit: it would have been reached.
        desk.agent.limits = Limits(
            limits.steps - spent.steps if limits.steps else 0,
            limits.dollars - spent.dollars if limits.dollars else 0.0,
            limits.seconds - seconds if limits.seconds else 0.0,
        )
        desk.agent.remind(schema.again(problems))
    return Unfit(tuple(problems)), None


def spent_in(entries: Sequence[Entry], entry: catalogue.Entry) -> Spent:
    """What the replies among these entries took, summaries and sub-agents with them."""
    spent = Spent()
    for one in entries:
        match one.event:
            case AssistantReplied(usage=usage):
                spent = spent.and_step().and_reply(usage, bill(entry, usage) if usage else None)
            case UsageReported(usage=usage):
                spent = spent.and_reply(usage, bill(entry, usage))
    return spent


def _in_words(end: End | Unfit) -> tuple[str, str, str]:
    match end:
        case Done():
            return "done", "", ""
        case Ask(question=question):
            return "ask", question, "`holdfast resume` goes on with it"
        case Stop(reason=reason, sentence=sentence, hint=hint):
            return reason, sentence, hint
        case Unfit(problems=problems):
            return UNFIT, f"the answer is not valid against the schema: {problems[0]}", ""
