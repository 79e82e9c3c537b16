"""A connection to one server: made when needed, made again when lost, and never waited for without an end.

Rule: whatever a server does or fails to do, a call ends in time with an answer or a `ToolError`. A server that
keeps failing is left alone for a while, each time longer. Of the reasons why an attempt ended only the first
counts, since the others follow from it.

What the SDK opens must be closed by the task that opened it. So each connection has its own task, which opens the
session, waits until it is over, and closes it.
"""

import asyncio
import contextlib
import importlib
import logging
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Protocol

import msgspec

from holdfast.errors import HoldfastError
from holdfast.messages import Json
from holdfast.tools.breaker import Breaker, BreakerRules
from holdfast.tools.call import describe_exception
from holdfast.tools.envelope import ToolError
from holdfast.tools.mcp.server_config import Server
from holdfast.tools.mcp.tool_names import RemoteTool


class McpSession(Protocol):
    async def list_tools(self) -> list[RemoteTool]: ...

    async def call(self, tool: str, arguments: dict[str, Json]) -> dict[str, Json]: ...


class ConnectionAttempt:
    def __init__(self) -> None:
        self.session: McpSession | None = None
        self.reason = ""
        self.decided = asyncio.Event()
        self.over = asyncio.Event()
        self.tools_changed = asyncio.Event()
        """The server says that its tools have changed, or the connection is over."""

    def open(self, session: McpSession) -> None:
        self.session = session
        self.decided.set()

    def end(self, reason: str) -> None:
        self.reason = self.reason or reason.rstrip(".")
        self.over.set()
        self.decided.set()
        self.tools_changed.set()


MCP_BREAKER = BreakerRules(failures=3, pause=15.0, longest=600.0)
SECONDS_TO_CLOSE = 10.0
SECONDS_BETWEEN_LISTS = 1.0
"""Between two listings of the tools of a server that keeps saying that they changed."""
SECONDS_FOR_REASON = 0.2

_log = logging.getLogger(__name__)


class ServerUnavailable(HoldfastError):
    """The server cannot be used now; the message says why."""


class ServerLost(ServerUnavailable):
    """The server disappeared during a call."""


class ServerConnection:
    def __init__(
        self, name: str, server: Server, environment: Mapping[str, str], rules: BreakerRules
    ) -> None:
        self.name = name
        self.server = server
        self.tools: tuple[RemoteTool, ...] = ()
        self._environment = environment
        self._rules = rules
        self._breaker = Breaker()
        self._attempt: ConnectionAttempt | None = None
        self._tasks: dict[asyncio.Task[None], ConnectionAttempt] = {}
        self._is_closed = False

    @property
    def trouble(self) -> str:
        """Why the server cannot be used now; empty if it can, or has not been tried."""
        return self._attempt.reason if self._attempt and self._attempt.over.is_set() else ""

    @property
    def is_starting(self) -> bool:
        """Whether it is not yet known if the server can be used."""
        return bool(self._attempt and not self._attempt.decided.is_set())

    @property
    def is_open(self) -> bool:
        return bool(self._attempt and self._attempt.session and not self._attempt.over.is_set())

    def start(self) -> None:
        """Begin to connect in the background, unless that has already been done."""
        if self._is_closed or (self._attempt and not self._attempt.over.is_set()):
            return
        self._attempt = ConnectionAttempt()
        task = asyncio.create_task(self._keep(self._attempt), name=f"MCP server {self.name}")
        self._tasks[task] = self._attempt
        task.add_done_callback(self._tasks.pop)

    async def ready(self) -> None:
        """Wait until it is known whether the server can be used."""
        if self._attempt:
            await self._attempt.decided.wait()

    async def retry(self) -> None:
        """Try again to connect to a server that never listed its tools, unless its breaker is open."""
        if self.tools or not self.trouble or self._is_closed:
            await self.ready()
            return
        try:
            self._breaker = self._breaker.admit(time.monotonic(), self._rules, self.name)
        except ToolError:
            return
        self.start()
        try:
            await self.ready()
        except asyncio.CancelledError:
            self._breaker = self._breaker.released()
            raise
        if self.trouble:
            self._fail(self.trouble)
        else:
            self._breaker = self._breaker.worked()

    async def call(self, tool: str, arguments: dict[str, Json]) -> dict[str, Json]:
        """The server's answer, as the wire's JSON."""
        try:
            msgspec.json.encode(arguments)
        except UnicodeEncodeError:
            raise ToolError(
                "INVALID_PARAM",
                "the arguments contain half a character (a lone surrogate), which cannot be sent",
                hint="Write whole characters",
            ) from None
        what = f"the MCP server `{self.name}`"
        hint = "Continue without it, or try again later"
        self._breaker = self._breaker.admit(time.monotonic(), self._rules, what, hint)
        try:
            answer = await self._ask(tool, arguments)
        except ServerUnavailable as error:
            self._fail(error.message)
            did = "Whether it did what was asked is uncertain. " if isinstance(error, ServerLost) else ""
            hint = f"{did}The next call connects to it again"
            raise ToolError(
                "EXECUTION_ERROR", f"{what} cannot be used: {error.message}", hint=hint
            ) from error
        except TimeoutError:
            reason = f"it did not answer within {self.server.call_seconds:g} s"
            self._fail(reason)
            raise ToolError(
                "TIMEOUT",
                f"{what} was disconnected: {reason}",
                hint="Whether it did what was asked is uncertain",
            ) from None
        except ToolError:
            self._breaker = self._breaker.worked()
            raise
        except asyncio.CancelledError:
            self._breaker = self._breaker.released()
            raise
        self._breaker = self._breaker.worked()
        return answer

    def _fail(self, reason: str) -> None:
        self._breaker = self._breaker.failed(time.monotonic(), reason)
        if self._breaker.state(time.monotonic(), self._rules) != "closed" and self._attempt:
            # The call that is let through after the pause must meet a fresh process.
            self._attempt.end(f"it was given up: {reason}")

    async def _ask(self, tool: str, arguments: dict[str, Json]) -> dict[str, Json]:
        self.start()
        attempt = self._attempt
        if self._is_closed or attempt is None:
            raise ServerUnavailable("it was closed")
        await attempt.decided.wait()
        if attempt.session is None or attempt.over.is_set():
            raise ServerUnavailable(attempt.reason)
        request = asyncio.create_task(attempt.session.call(tool, arguments))
        # Retrieved, so that asyncio does not complain.
        request.add_done_callback(lambda done: done.cancelled() or done.exception())
        over = asyncio.create_task(attempt.over.wait())
        try:
            limit = self.server.call_seconds
            await asyncio.wait({request, over}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if request.done():
                return request.result()
            raise ServerLost(attempt.reason) if over.done() else TimeoutError
        except (ToolError, TimeoutError, ServerUnavailable):
            raise
        except Exception as error:  # The boundary to the SDK: after any error the connection is dead.
            # The task may know more: for the SDK every failure is a closed connection.
            await asyncio.wait({over}, timeout=SECONDS_FOR_REASON)
            attempt.end(_cause(error))
            raise ServerLost(attempt.reason) from error
        finally:
            over.cancel()
            request.cancel()

    async def _keep(self, attempt: ConnectionAttempt) -> None:
        """Open one connection, wait until it is over, and close it."""
        try:
            # The SDK takes more than a second to load, which must not count against the server.
            sdk = await asyncio.to_thread(importlib.import_module, "holdfast.tools.mcp.sdk_session")
            await self._keep_open(attempt, sdk)
        except ImportError as error:
            attempt.end(f"{describe_exception(error)}; install holdfast with its extra `mcp`")
        # The boundary to the SDK: a server that cannot be reached ends only this task.
        except Exception as error:
            _log.info("MCP server %s: %s", self.name, describe_exception(error), exc_info=error)
            attempt.end(_cause(error))
        finally:
            attempt.end("the connection was ended")

    async def _keep_open(self, attempt: ConnectionAttempt, sdk: ModuleType) -> None:
        seconds = self.server.start_seconds
        # It fires before the limit below: what that cancels ends too, but is not the reason.
        late = f"it did not answer within {seconds:g} s when it was started"
        timer = asyncio.get_running_loop().call_later(seconds, attempt.end, late)
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(seconds):
                    opening = sdk.open_mcp_session(self.name, self.server, self._environment, attempt)
                    session: McpSession = await stack.enter_async_context(opening)
                    self.tools = await self._listed(session, attempt)
                timer.cancel()
                attempt.open(session)
                await self._follow(session, attempt)
        finally:
            timer.cancel()

    async def _follow(self, session: McpSession, attempt: ConnectionAttempt) -> None:
        """Until the session is over, ask for the tools again when the server says that they changed."""
        while True:
            await attempt.tools_changed.wait()
            attempt.tools_changed.clear()
            if attempt.over.is_set():
                return
            asking = asyncio.create_task(self._listed(session, attempt))
            over = asyncio.create_task(attempt.over.wait())
            seconds = self.server.call_seconds
            await asyncio.wait({asking, over}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                self.tools = asking.result()
            asking.cancel()
            # A server that says so all the time is not asked every time.
            await asyncio.wait({over}, timeout=SECONDS_BETWEEN_LISTS)
            over.cancel()

    async def _listed(self, session: McpSession, attempt: ConnectionAttempt) -> tuple[RemoteTool, ...]:
        """Its tools. An error is recorded before the session is closed, since that ends the process and would look
        like the reason."""
        try:
            return tuple(await session.list_tools())
        except Exception as error:
            attempt.end(_cause(error))
            raise

    async def close(self) -> None:
        """End the connection and its process. A server that has not answered yet is not waited for."""
        self._is_closed = True
        tasks = set(self._tasks)
        for task, attempt in self._tasks.items():
            if attempt.session is None:
                task.cancel()
            attempt.end("it was closed")
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=SECONDS_TO_CLOSE)
            for task in late:
                task.cancel()
            if late:  # They kill what does not end.
                await asyncio.wait(late, timeout=SECONDS_TO_CLOSE)


def _cause(error: BaseException) -> str:
    """What went wrong, unwrapped from exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HoldfastError):
        return error.message
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"`{error.filename}` does not exist"
    return describe_exception(error)
