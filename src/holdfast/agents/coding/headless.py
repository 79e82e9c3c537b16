"""A run without a screen: one request goes in, one result comes out, and notices tell what happens meanwhile.

Rule: a run always ends with a result, and its log can be resumed, even if a signal ended the run. An answer that
must fit a schema is validated; a schema may not refer to anything outside its file, and nothing is fetched.
"""

import asyncio
import json
import os
import re
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.coding.coding_session import CodingSession, OpenedSession, open_coding_session
from holdfast.agents.limits import Spent, time_limit_stop
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Ask, Done, End, Stop
from holdfast.agents.spending import spent_by
from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.models.model import Model
from holdfast.tools.ask_user import Responder

MOST_PROBLEMS = 5
LONGEST_PROBLEM = 300
T = TypeVar("T")
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


class OutputSchema:
    """The JSON Schema of an answer. **Contract:** made once per run; `read` is pure."""

    def __init__(self, schema: Json, where: str) -> None:
        # Loaded late: few runs need the validator, and loading it takes a tenth of a second.
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # noqa: PLC0415
        from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # noqa: PLC0415
        from referencing import Registry  # noqa: PLC0415

        kind: Any = validator_for(schema)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            place = "/".join(map(str, error.path)) or "the top"
            raise InputError(
                f"{where} is not a JSON Schema: {error.message}", hint=f"look at {place}"
            ) from None
        self._validator = kind(schema, registry=Registry())
        self._where = where
        self._text = json.dumps(schema, ensure_ascii=False, sort_keys=True)

    @property
    def request(self) -> str:
        """What the model is told at the beginning."""
        return (
            "Your last message, when the work is done, must be one JSON value that is valid against the JSON "
            f"Schema below: the JSON alone, without any words or code fences around it.\n{self._text}"
        )

    def again(self, problems: list[str]) -> str:
        """What the model is told about an invalid answer."""
        listed = "\n".join(f"- {problem}" for problem in problems)
        return (
            f"Your answer is not valid against the JSON Schema:\n{listed}\nAnswer again with the JSON alone."
        )

    def read(self, text: str) -> tuple[Json, list[str]]:
        """The value of an answer, and what is wrong with it. A code fence around it is accepted."""
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

        fenced = _FENCE.search(text)
        try:
            value = json.loads((fenced[1] if fenced else text).strip())
        except ValueError as error:
            return None, [f"it is not JSON: {error}"]
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
    except OSError as error:
        hint = "check the path; the file holds a JSON Schema"
        raise InputError(f"the schema `{path}` cannot be read: {error.strerror}", hint=hint) from None
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON: {error}", hint="a schema is a JSON object") from None
    if not isinstance(schema, dict | bool):
        raise InputError(f"{path} is not a JSON Schema", hint="a schema is a JSON object")
    return OutputSchema(schema, str(path))


MOST_CORRECTIONS = 2
"""How often an answer that does not fit its schema is asked for again."""
INVALID_ANSWER = "schema"
"""The outcome if no answer fitted the schema."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class HeadlessRequest(Struct, frozen=True):
    """What to do. Without a prompt the log is continued as it is. `data` comes with the prompt, such as stdin."""

    prompt: str = ""
    data: str = ""
    schema: OutputSchema | None = None


class RunResult(Struct, frozen=True, kw_only=True):
    """`outcome` is `done`, `ask`, `schema`, or why the run stopped. `value` is the validated answer."""

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
    notes: tuple[str, ...] = ()
    """What the person should know that was not known when the run began, such as a server that failed later."""
    signal: int = 0
    """The signal that ended the run, or 0."""


class SignalHandler:
    """The first signal interrupts the agent. The second, or one while no agent runs, cancels everything."""

    def __init__(self) -> None:
        self.came = 0
        self.agent: Agent | None = None
        self._task = asyncio.current_task()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Only the main thread can handle signals; in others none are caught."""
        numbers = SIGNALS if threading.current_thread() is threading.main_thread() else ()
        loop = asyncio.get_running_loop()
        for number in numbers:
            loop.add_signal_handler(number, self._take, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def absorb(self) -> bool:
        """After a cancellation: says whether a signal caused it. If so, the task may go on."""
        if self.came and self._task is not None:
            self._task.uncancel()
        return bool(self.came)

    async def unless_cancelled(self, work: Awaitable[T]) -> T | None:
        """What the work returns; None if a signal cancelled it."""
        try:
            return await work
        except asyncio.CancelledError:
            if not self.absorb():
                raise
            return None

    def _take(self, number: int) -> None:
        is_first, self.came = not self.came, number
        if is_first and self.agent is not None and self.agent.is_running:
            self.agent.interrupt()
        elif self._task is not None:
            self._task.cancel()


async def run_headless(
    options: AgentOptions,
    request: HeadlessRequest,
    *,
    responder: Responder | None = None,
    watch: Watch = unwatched,
    began: Callable[[OpenedSession], None] = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> RunResult:
    """One run from opening to closing. `began` is called when everything is open. Nobody is asked for approval:
    what no rule allows is denied. Raises the errors of `holdfast.errors` that keep a run from starting."""
    signals = SignalHandler()
    began_at = time.monotonic()
    with signals.caught():
        opened = await signals.unless_cancelled(
            open_coding_session(options, responder=responder, watch=watch, env=env, model=model)
        )
        if opened is None:
            return RunResult(outcome="interrupted", text="", sentence="interrupted", signal=signals.came)
        try:
            began(opened)
            signals.agent = opened.coding.agent
            signals.agent.budget.count_together(began_at)
            result = await _run(opened.coding, request, signals)
            return replace(result, notes=opened.late_notes())
        finally:
            await opened.close()


async def _run(coding: CodingSession, request: HeadlessRequest, signals: SignalHandler) -> RunResult:
    log, state, agent = coding.session.log, coding.tool_state, coding.agent
    began, before = time.monotonic(), log.info.entries
    edits, irreversible = len(state.files.edits), len(state.irreversible)
    done = await signals.unless_cancelled(_work(coding, request))
    end, value, problem = done or (Stop("interrupted", "interrupted"), None, "")
    changed = [one.path for one in state.files.edits[edits:]]
    changed += [one.path for one in state.irreversible[irreversible:]]
    outcome, sentence, hint = "done", "", ""
    if isinstance(end, Stop):
        outcome, sentence, hint = end.reason, end.sentence, end.hint
    elif isinstance(end, Ask):
        outcome, sentence, hint = "ask", end.question, "`holdfast resume` continues it"
    elif problem:
        outcome, sentence = INVALID_ANSWER, f"the answer is not valid against the schema: {problem}"
    return RunResult(
        outcome=outcome,
        text=end.text if isinstance(end, Done) and not problem else agent.last_reply,
        sentence=sentence,
        hint=hint,
        value=value,
        spent=spent_by(log.entries(before), agent.model_entry, coding.sub_agent_models),
        is_priced=agent.model_entry.price is not None,
        seconds=time.monotonic() - began,
        log=log.id,
        model=agent.model.name,
        files=tuple(dict.fromkeys(changed)),
        signal=signals.came,
    )


async def _work(coding: CodingSession, request: HeadlessRequest) -> tuple[End, Json, str]:
    """The end, the value of an answer that fits its schema, and what is wrong with one that does not."""
    data = (f"<stdin>\n{request.data}\n</stdin>",) if request.data else ()
    if (request.prompt or data) and (stop := await _hear(coding, request.prompt, data)):
        return stop, None, ""
    if request.schema is None:
        return await coding.continue_run(), None, ""
    coding.agent.remind(request.schema.request)
    return await _run_until_valid(coding, request.schema)


async def _hear(coding: CodingSession, text: str, data: Sequence[str]) -> Stop | None:
    """Say a prompt or the text of an own command, with data, unless a hook blocks it or takes all the time left."""
    if own := coding.own_commands.parse(text):
        command, arguments = own
        text, coding.effort_once = command.expand(arguments), command.effort
    budget = coding.agent.budget
    try:
        async with asyncio.timeout(budget.seconds_left):
            return await coding.hear(text, attached=data)
    except TimeoutError:
        return time_limit_stop(budget.limits)


async def _run_until_valid(coding: CodingSession, schema: OutputSchema) -> tuple[End, Json, str]:
    """Run until an answer is valid, within limits for all runs together."""
    budget = coding.agent.budget
    for tries_left in reversed(range(MOST_CORRECTIONS + 1)):
        end = await coding.continue_run()
        if not isinstance(end, Done):
            return end, None, ""
        value, problems = schema.read(end.text)
        if not problems:
            return end, value, ""
        if not tries_left or budget.reached():
            break
        coding.agent.remind(schema.again(problems))
    return end, None, problems[0]
