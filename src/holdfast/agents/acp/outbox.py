"""What is on its way to the editor, in order.

Rule: nothing that is put here waits for the editor, so that the agent never does. Text that streams is sent in
pieces of a few hundredths of a second, not token by token.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator

from acp.helpers import text_block
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

PAUSE = 0.03
"""Seconds in which updates are collected."""

SessionUpdate = (
    AgentMessageChunk
    | AgentPlanUpdate
    | AgentThoughtChunk
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | CurrentModeUpdate
    | SessionInfoUpdate
    | ToolCallProgress
    | ToolCallStart
    | UsageUpdate
    | UserMessageChunk
)
SendUpdate = Callable[[SessionUpdate], Awaitable[None]]

_log = logging.getLogger(__name__)


class Outbox:
    def __init__(self, send: SendUpdate) -> None:
        self._send = send
        self._waiting: list[SessionUpdate] = []
        self._sending = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def put(self, *updates: SessionUpdate) -> None:
        self._waiting += updates
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_later(), name="updates to the editor")

    async def flush(self) -> None:
        """Send what waits, before something that must come after it."""
        async with self._sending:
            waiting, self._waiting = self._waiting, []
            for update in _joined(waiting):
                try:
                    await self._send(update)
                except ConnectionError:
                    return  # The editor is gone; everything is in the log.

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._waiting.clear()

    async def _send_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(PAUSE)
            try:
                await self.flush()
            except Exception:  # An update that cannot be sent must not stop those after it.
                _log.exception("an update could not be sent to the editor")


def _joined(updates: Iterable[SessionUpdate]) -> Iterator[SessionUpdate]:
    """The updates, with texts that follow each other as one."""
    last: AgentMessageChunk | AgentThoughtChunk | None = None
    for update in updates:
        if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            if last is not None and type(update) is type(last):
                last.content = text_block(_text(last) + _text(update))
                continue
            if last is not None:
                yield last
            last = update
            continue
        if last is not None:
            yield last
        last = None
        yield update
    if last is not None:
        yield last


def _text(chunk: AgentMessageChunk | AgentThoughtChunk) -> str:
    assert isinstance(chunk.content, TextContentBlock), "we send texts only"
    return chunk.content.text
