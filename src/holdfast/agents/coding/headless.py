"""An answer that a program reads: JSON that is valid against a schema.

Rule: what is handed on was validated. A schema that leads out of its file is refused; nothing is fetched.
"""

import asyncio
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.coding.coding_session import CodingSession, last_reply
from holdfast.agents.coding.startup import OpenedSession, open_coding_session
from holdfast.agents.limits import RunLimits, Spent, reached_limit
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Ask, Done, End, Stop
from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Entry, UsageReported
from holdfast.messages import Json
from holdfast.models import catalogue
from holdfast.models.catalogue import request_cost
from holdfast.models.model import Model
from holdfast.tools.ask_user import Responder

MOST_PROBLEMS = 5
LONGEST_PROBLEM = 300
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


class OutputSchema:
    """**Contract:** made once per run; `read` is pure."""

    def __init__(self, schema: Json, where: str) -> None:
        # Loaded late: only a run that asks for it needs the validator, and it takes a tenth of a second.
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # noqa: PLC0415
        from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # noqa: PLC0415
        from referencing import Registry  # noqa: PLC0415

        kind: Any = validator_for(schema)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            place = "/".join(map(str, error.path)) or "the top"
            raise InputError(f"{where} is no JSON Schema: {error.message}", hint=f"look at {place}") from None
        self._validator = kind(schema, registry=Registry())
        self._where = where
        self._text = json.dumps(schema, ensure_ascii=False, sort_keys=True)

    @property
    def request(self) -> str:
        """What the model is told before it begins."""
        return (
            "Your last message, when the work is done, must be one JSON value that is valid against the JSON "
            f"Schema below: the JSON alone, without any words or code fences around it.\n{self._text}"
        )

    def again(self, problems: list[str]) -> str:
        """What the model is told of an answer that will not do."""
        listed = "\n".join(f"- {problem}" for problem in problems)
        return (
            f"Your answer is not valid against the JSON Schema:\n{listed}\nAnswer again with the JSON alone."
        )

    def read(self, text: str) -> tuple[Json, list[str]]:
        """The value of an answer, and what is wrong with it; a fence around it is forgiven."""
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

        fenced = _FENCE.search(text)
        try:
            value = json.loads((fenced[1] if fenced else text).strip())
        except ValueError as error:
            return None, [f"it is no JSON: {error}"]
        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: error.json_path)
        except Unresolvable as error:
            raise InputError(
                f"{self._where} refers to `{error.ref}`, which is not in it",
                hint="write it out under `$defs`",
            ) from None
        return value, [f"{e.json_path}: {e.message}"[:LONGEST_PROBLEM] for e in errors[:MOST_PROBLEMS]]


def load_schema(path: Path) -> OutputSchema:
    try:
        schema = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the schema {path} cannot be read: {error}") from None
    if not isinstance(schema, dict | bool):
        raise InputError(f"{path} is no JSON Schema", hint="a schema is an object")
    return OutputSchema(schema, str(path))


# A run without a screen: one request in, one outcome out, and news of what happens on the way.
#
# Rule: it always ends with a result, and the log behind it can be continued, also where a signal ended it.

MOST_CORRECTIONS = 2
"""How often an answer that does not fit its schema is asked for again."""
UNFIT = "schema"
"""The outcome of an answer that never fitted."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class HeadlessRequest(Struct, frozen=True):
    """What is to be done. Without a prompt the log is gone on with; `data` is what came with it, such as stdin."""

    prompt: str = ""
    data: str = ""
    schema: OutputSchema | None = None


class RunResult(Struct, frozen=True, kw_only=True):
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


class SignalHandler:
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


async def run_headless(
    wish: AgentOptions,
    errand: HeadlessRequest,
    *,
    respondent: Responder | None = None,
    watch: Watch = unwatched,
    began: Callable[[OpenedSession], None] = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> RunResult:
    """Do it, from opening to closing. `began` is told when all is open. Nobody is asked for approval: what no rule
    allows is denied. Raises the errors of `holdfast.errors` that keep a run from beginning."""
    signals = SignalHandler()
    with signals.caught():
        try:
            opened = await open_coding_session(wish, respondent=respondent, watch=watch, env=env, model=model)
        except asyncio.CancelledError:
            if not signals.settle():
                raise
            return RunResult(outcome="interrupted", text="", sentence="interrupted", signal=signals.came)
        try:
            began(opened)
            signals.agent = opened.desk.agent
            return await _result(opened.desk, errand, signals)
        finally:
            await opened.close()


async def _result(desk: CodingSession, errand: HeadlessRequest, signals: SignalHandler) -> RunResult:
    began, entries = time.monotonic(), desk.session.log.info.entries
    bench = desk.bench
    made, left = len(bench.files.made), len(bench.left)
    value: Json = None
    end: End | _Unfit
    try:
        end, value = await _work(desk, errand)
    except asyncio.CancelledError:
        if not signals.settle():
            raise
        end = Stop("interrupted", "interrupted")
    entry = desk.agent.asking.entry
    outcome, sentence, hint = _in_words(end)
    return RunResult(
        outcome=outcome,
        text=end.text if isinstance(end, Done) else last_reply(desk),
        sentence=sentence,
        hint=hint,
        value=value,
        spent=spent_by(desk.session.log.entries(entries), entry),
        is_priced=entry.price is not None,
        seconds=time.monotonic() - began,
        log=desk.session.log.id,
        model=desk.agent.model.name,
        files=tuple(dict.fromkeys(bench.paths_changed(made, left))),
        signal=signals.came,
    )


class _Unfit(Struct, frozen=True):
    """The last answer does not fit the schema, and it will not be asked for again."""

    problems: tuple[str, ...]


async def _work(desk: CodingSession, errand: HeadlessRequest) -> tuple[End | _Unfit, Json]:
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


async def _fitting(desk: CodingSession, schema: OutputSchema) -> tuple[End | _Unfit, Json]:
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
        if not tries_left or reached_limit(limits, spent, seconds):
            break
        # None of them can come to 0, which would be no limit: it would have been reached.
        desk.agent.limits = RunLimits(
            limits.steps - spent.steps if limits.steps else 0,
            limits.dollars - spent.dollars if limits.dollars else 0.0,
            limits.seconds - seconds if limits.seconds else 0.0,
        )
        desk.agent.remind(schema.again(problems))
    return _Unfit(tuple(problems)), None


def spent_by(entries: Sequence[Entry], entry: catalogue.ModelEntry) -> Spent:
    """What the replies among these entries took, summaries and sub-agents with them."""
    spent = Spent()
    for one in entries:
        match one.event:
            case AssistantReplied(usage=usage):
                spent = spent.and_step().and_reply(usage, request_cost(entry, usage) if usage else None)
            case UsageReported(usage=usage):
                spent = spent.and_reply(usage, request_cost(entry, usage))
    return spent


def _in_words(end: End | _Unfit) -> tuple[str, str, str]:
    match end:
        case Done():
            return "done", "", ""
        case Ask(question=question):
            return "ask", question, "`holdfast resume` goes on with it"
        case Stop(reason=reason, sentence=sentence, hint=hint):
            return reason, sentence, hint
        case _Unfit(problems=problems):
            return UNFIT, f"the answer is not valid against the schema: {problems[0]}", ""
