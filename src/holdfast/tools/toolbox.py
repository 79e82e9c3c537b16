"""The tools of an agent, and how the calls of one reply are run.

Rule: results come back in the order of the calls, one for each, whatever becomes of the others. Read-only calls run
in parallel; any other call waits for those before it and runs alone.
"""

import asyncio
import difflib
import json
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import describe_value
from holdfast.messages import ToolCall, ToolDefinition
from holdfast.tools.breaker import Breaker
from holdfast.tools.call import (
    CallAnswer,
    CallFinished,
    CallGate,
    CallListener,
    CallNotice,
    CallReported,
    CallSettings,
    CallStarted,
    cancel_task,
    describe_exception,
    not_started_result,
    replace_surrogates,
    report_news,
    run_call,
)
from holdfast.tools.envelope import ToolError, ToolResult, error_result
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

INSTEAD = {
    "Read": ("Bash", "`sed -n`"),
    "Grep": ("Bash", "`grep -rn`"),
    "Glob": ("Bash", "`find`"),
    "LS": ("Bash", "`ls`"),
    "Edit": ("Write", "the whole text of the file"),
    "MultiEdit": ("Edit", "one change at a time"),
}
"""Which tool can do the work of one whose circuit is open, and how."""

Prepare = Callable[[ToolResult], Coroutine[None, None, None]]
"""**Contract:** awaited with each result before anyone is told of it. It raises nothing and changes no result."""

_log = logging.getLogger(__name__)


class Toolbox:
    """**Contract:** `definitions` are the same bytes every time, since they are in the cached part of a request.
    Only the breakers change."""

    def __init__(
        self,
        tools: Iterable[Tool],
        workspace: Workspace,
        *,
        gate: CallGate | None = None,
        settings: CallSettings | None = None,
        prepare: Prepare | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        given = list(tools)
        self._tools = {tool.name: tool for tool in sorted(given, key=lambda tool: tool.name)}
        assert len(self._tools) == len(given), "two tools have the same name"
        self.workspace = workspace
        self.definitions: tuple[ToolDefinition, ...] = tuple(t.definition for t in self._tools.values())
        self.settings = settings or CallSettings()
        self._gate = gate
        self._prepare = prepare
        self._clock = clock
        self._breakers: dict[str, Breaker] = {}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def find(self, name: str) -> Tool:
        """The tool with this name; NOT_FOUND suggests the nearest."""
        if name in self._tools:
            return self._tools[name]
        by_lower = {known.lower(): known for known in self._tools}
        near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
        like = f"Did you mean `{by_lower[near[0]]}`? " if near else ""
        raise ToolError(
            "NOT_FOUND", f"there is no tool `{name[:100]}`", hint=f"{like}There are: {', '.join(self._tools)}"
        )

    async def run_calls(
        self,
        calls: Sequence[ToolCall],
        *,
        stop: asyncio.Event | None = None,
        listener: CallListener | None = None,
    ) -> list[ToolResult]:
        """A result for every call, in their order. When `stop` is set, running calls are cancelled and the others
        are not started; each still gets its result. Cancelling this coroutine does the same, and the listener is
        told of every result first."""
        run = [_Running(call, listener) for call in calls]
        work = asyncio.create_task(self._run_all(run))
        cancelled = await _ended(work, stop)
        for one in run:
            if one.result is None:
                self._finish(one, not_started_result(one.call), 0.0)
        if cancelled:
            raise cancelled
        if not work.cancelled():
            work.result()
        return [one.result for one in run if one.result]

    async def _run_all(self, run: "list[_Running]") -> None:
        beside = asyncio.Semaphore(self.settings.parallel)
        for only_reads, some in groupby(run, key=lambda one: self.only_reads(one.call)):
            if not only_reads:
                for one in some:
                    if tool := await self._admitted(one):
                        await self._run_one(tool, one, beside)
                continue
            async with asyncio.TaskGroup() as group:
                for one in some:
                    if tool := await self._admitted(one):
                        group.create_task(self._run_one(tool, one, beside))

    def only_reads(self, call: ToolCall) -> bool:
        """Whether a call may run in parallel with others; one that cannot be made changes nothing."""
        tool = self._tools.get(call.name)
        return tool is None or bool(call.raw) or tool.is_read_only

    async def _admitted(self, one: "_Running") -> Tool | None:
        """The tool of a call that may be made; any other call gets its refusal here."""
        try:
            tool = self.find(one.call.name)
            if one.call.raw:
                raise _unreadable(one.call)
            refused = await self._pass_gate(one.call, tool)
        except ToolError as error:
            refused = error_result(error, {"tool": one.call.name[:100]})
        if refused is None:
            return tool
        self._finish(one, refused, 0.0)
        return None

    async def _pass_gate(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        """The gate's refusal, if it refuses. A gate that is interrupted lets nothing through, even if it still
        answers."""
        if self._gate is None:
            return None
        asked = asyncio.create_task(self._gate(call, tool), name=f"gate before {tool.name}")
        try:
            await asyncio.wait({asked})
        except asyncio.CancelledError:
            await cancel_task(asked, f"the gate before {tool.name}", self.settings.seconds_to_stop)
            raise
        try:
            return asked.result()
        except (Exception, asyncio.CancelledError) as error:
            _log.exception("the gate failed at a call of %s", call.name)
            raise ToolError(
                "INTERNAL_ERROR",
                f"whether {call.name} may be called could not be decided: {describe_exception(error)}",
            ) from error

    async def _run_one(self, tool: Tool, one: "_Running", beside: asyncio.Semaphore) -> None:
        async with beside:
            started = self._clock()
            one.tell(CallStarted(one.call))
            report_news.set(lambda news: one.tell(CallReported(one.call, news)))
            answer = await self._guarded(tool, one.call)
            seconds = self._clock() - started
            try:
                if self._prepare is not None:
                    await self._prepare(answer.result)
            finally:  # An interruption now does not cost the result.
                result = self._finish(one, answer.result, seconds)
            if answer.is_cancelled:
                raise asyncio.CancelledError
            if self.settings.after_call:
                await self.settings.after_call(one.call, result)

    def _finish(self, one: "_Running", result: ToolResult, seconds: float) -> ToolResult:
        stats = {"seconds": round(seconds, 3)} | result.envelope.stats
        one.result = replace_surrogates(replace(result, envelope=replace(result.envelope, stats=stats)))
        one.tell(CallFinished(one.call, one.result, seconds))
        return one.result

    async def _guarded(self, tool: Tool, call: ToolCall) -> CallAnswer:
        """A call behind the breaker of its tool."""
        name, rules = tool.name, self.settings.breaker
        breaker = self._breakers.get(name, Breaker())
        other, how = INSTEAD.get(name, ("", ""))
        instead = f"use {other} with {how}" if other in self._tools else "find another way"
        try:
            self._breakers[name] = breaker.admit(self._clock(), rules, name, f"Until then {instead}")
        except ToolError as error:
            return CallAnswer(error_result(error, {"tool": name}), "unknown")
        answer = await run_call(tool, call, self.workspace, self.settings)
        # Other calls of the same tool may have ended meanwhile, so the newest breaker counts.
        newest = self._breakers[name]
        match answer.outcome:
            case "worked":
                self._breakers[name] = newest.worked()
            case "failed":
                self._breakers[name] = newest.failed(self._clock(), answer.reason)
            case "unknown":
                self._breakers[name] = newest.released()
        return answer


class _Running(Struct):
    """A call, and its result as soon as there is one."""

    call: ToolCall
    listener: CallListener | None = None
    result: ToolResult | None = None

    def tell(self, news: CallNotice) -> None:
        if self.listener is None:
            return
        try:
            self.listener(news)
        except Exception:  # A closed terminal must not cost a result.
            _log.exception("a listener failed at %s", type(news).__name__)


async def _ended(work: asyncio.Task[None], stop: asyncio.Event | None) -> asyncio.CancelledError | None:
    """Wait until the work has ended: by itself, by `stop`, or by a cancellation, which is returned."""
    stopping = {asyncio.create_task(stop.wait())} if stop else set()
    cancelled = None
    waiting = {work, *stopping}
    while not work.done():
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError as error:
            cancelled = error
        work.cancel()
        waiting = {work}
    for task in stopping:
        task.cancel()
    return cancelled


def _unreadable(call: ToolCall) -> ToolError:
    """What is wrong with arguments that are not a JSON object, and where."""
    try:
        wrong = f"they are {describe_value(json.loads(call.raw))}"
    except json.JSONDecodeError as error:
        wrong = f"{error.msg} at line {error.lineno} column {error.colno}, of {len(call.raw)} characters"
    except (RecursionError, ValueError):
        wrong = "they cannot be read"
    return ToolError(
        "INVALID_PARAM",
        f"the arguments of {call.name} are not a JSON object: {wrong}",
        hint="Write one whole JSON object; if it was cut off because it was long, send it in smaller parts",
    )
