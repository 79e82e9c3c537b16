"""One call of a tool: timed, stopped on request, and answered whatever happens.

Rule: every call gets a result. This is the only place that may catch any exception; it becomes INTERNAL_ERROR for
the model, a traceback in the program's log, and a failure of the tool for the breaker.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from holdfast.messages import Json, ToolCall
from holdfast.tools.breaker import BreakerRules
from holdfast.tools.envelope import ToolError, ToolResult, error_result
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

LONGEST_MESSAGE = 500
"""Characters of an exception's message that a model reads."""

_log = logging.getLogger(__name__)


CallGate = Callable[[ToolCall, Tool], Coroutine[Any, Any, ToolResult | None]]
"""**Contract:** asked once before each call, for one call at a time; a result or an exception is a refusal."""


AfterCall = Callable[[ToolCall, ToolResult], Coroutine[Any, Any, None]]
"""**Contract:** awaited after each call that was made, once the listener knows its result, before the calls that
wait for it."""


class CallStarted(Struct, frozen=True):
    call: ToolCall


class CallFinished(Struct, frozen=True):
    call: ToolCall
    result: ToolResult
    seconds: float


class LiveOutput(Struct, frozen=True):
    """What a running command has printed so far: its end, from the beginning of a line, and how much there is."""

    text: str
    lines: int
    size: int


class JobEnded(Struct, frozen=True):
    """A background job is over; `sentence` says how."""

    id: str
    command: str
    exit_code: int
    sentence: str


class CallReported(Struct, frozen=True):
    """News of a call between its start and its end, or of the job that it left running."""

    call: ToolCall
    news: LiveOutput | JobEnded


CallNotice = CallStarted | CallReported | CallFinished
CallListener = Callable[[CallNotice], None]
"""**Contract:** is told of every finished call exactly once, also of those that were refused or interrupted."""


def unreported(_: LiveOutput | JobEnded) -> None:
    """Nobody listens."""


report_news: ContextVar[Callable[[LiveOutput | JobEnded], None]] = ContextVar(
    "report_news", default=unreported
)
"""How the call that runs reports news. **Contract:** called on the loop's own thread, with little at a time."""


class CallSettings(Struct, frozen=True):
    """`seconds` is how long a call may take; `seconds_by_tool` overrides it by name or pattern, 0 for no limit.

    There is no limit for tools that keep time themselves, and for the one that waits for a person. `after_call`
    follows each call.
    """

    parallel: int = 8
    seconds: float = 120.0
    seconds_by_tool: dict[str, float] = field(
        default_factory=lambda: {"Bash": 0.0, "BashOutput": 0.0, "AskUser": 0.0, "Mcp*": 0.0, "mcp__*": 0.0}
    )
    seconds_to_stop: float = 5.0
    breaker: BreakerRules = BreakerRules()
    after_call: AfterCall | None = None

    def limit(self, tool: str) -> float | None:
        """Seconds that a call of this tool may take; the first matching name or pattern decides."""
        fitting = (s for pattern, s in self.seconds_by_tool.items() if fnmatchcase(tool, pattern))
        return next(fitting, self.seconds) or None


class CallAnswer(Struct, frozen=True):
    """`outcome` is what a call says about its tool: `unknown` if it never reached the tool or was interrupted."""

    result: ToolResult
    outcome: Literal["worked", "failed", "unknown"]
    reason: str = ""
    is_cancelled: bool = False


async def run_call(tool: Tool, call: ToolCall, workspace: Workspace, settings: CallSettings) -> CallAnswer:
    """Run a tool until it ends or its time is over. When cancelled, the tool is given time to stop."""
    limit = settings.limit(tool.name)
    work = asyncio.create_task(tool.run(call.arguments, workspace), name=f"tool {tool.name}")
    try:
        await asyncio.wait({work}, timeout=limit)
    except asyncio.CancelledError:
        await cancel_task(work, f"the tool {tool.name}", settings.seconds_to_stop)
        has_ended = work.done() and not work.cancelled() and work.exception() is None
        result = work.result() if has_ended else interrupted_result(tool)
        return CallAnswer(result, "unknown", is_cancelled=True)
    if not work.done():
        is_cancelled = await cancel_task(work, f"the tool {tool.name}", settings.seconds_to_stop)
        reason = f"it did not end within {limit:g} s"
        error = ToolError("TIMEOUT", f"{tool.name} was stopped: {reason}", hint="Ask for less at once")
        return CallAnswer(error_result(error, {"tool": tool.name}), "failed", reason, is_cancelled)
    try:
        result = work.result()
    except (Exception, asyncio.CancelledError) as error:
        _log.exception("the tool %s failed", tool.name)
        reason = describe_exception(error)
        failure = ToolError(
            "INTERNAL_ERROR",
            f"{tool.name} itself failed: {reason}",
            hint="This is a fault of the tool, not of your arguments; try another way",
        )
        return CallAnswer(error_result(failure, {"tool": tool.name}), "failed", reason)
    fault = result.envelope.error
    refused = fault is not None and fault.code in ("INVALID_PARAM", "CIRCUIT_OPEN")
    return CallAnswer(result, "unknown" if refused else "worked")


async def cancel_task(work: asyncio.Task[Any], what: str, seconds: float) -> bool:
    """Cancel a task and wait for its end, but not forever: a task that does not stop is left behind. Returns
    whether we were cancelled meanwhile: the task is being stopped already, and its result is still wanted."""
    is_cancelled = False
    work.cancel()
    until = time.monotonic() + seconds
    while not work.done() and (left := until - time.monotonic()) > 0:
        try:
            await asyncio.wait({work}, timeout=left)
        except asyncio.CancelledError:
            is_cancelled = True
    if not work.done():
        _log.warning("%s does not stop and is left behind", what)
    # The exception of an abandoned task is retrieved, so that asyncio does not complain.
    work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return is_cancelled


def interrupted_result(tool: Tool) -> ToolResult:
    changed = "nothing was changed" if tool.is_read_only else "what it did is uncertain"
    hint = "" if tool.is_read_only else "Look at the state of things before you try again"
    error = ToolError("EXECUTION_ERROR", f"{tool.name} was interrupted before it ended; {changed}", hint=hint)
    return error_result(error, {"tool": tool.name, "interrupted": True})


def not_started_result(call: ToolCall) -> ToolResult:
    why = f"{call.name} was not started: the run was interrupted before it; nothing was done"
    return error_result(ToolError("EXECUTION_ERROR", why), {"tool": call.name, "interrupted": True})


def describe_exception(error: BaseException) -> str:
    """An exception's type and message."""
    message = " ".join(str(error).split())[:LONGEST_MESSAGE]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def replace_surrogates(result: ToolResult) -> ToolResult:
    """The result without lone surrogates, which cannot be written to a log."""
    try:
        msgspec.json.encode(result)
    except UnicodeEncodeError:
        return msgspec.convert(without_surrogates(msgspec.to_builtins(result)), ToolResult)
    return result


def without_surrogates(value: Json) -> Json:
    """JSON whose texts can be written to a log."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [without_surrogates(item) for item in value]
        case dict():
            return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
        case _:
            return value
