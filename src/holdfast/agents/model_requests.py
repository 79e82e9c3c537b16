"""Requests to a model: what they carry besides the pack, and how one is broken off.

Rule: what was interrupted has ended when this returns, so that nothing of it arrives later.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.effort import Effort
from holdfast.models.catalogue import ModelEntry
from holdfast.models.model import ModelRequest
from holdfast.packing.layers import Pack
from holdfast.tools.call import cancel_task

T = TypeVar("T")
MAX_TOKENS = 16_000
"""Room for a reply; the catalogue may know a lower limit."""


class RequestSettings(Struct, frozen=True, kw_only=True):
    """The model's entry in the catalogue, the room for a reply, how much to think, and the temperature; None as its
    provider recommends."""

    entry: ModelEntry = ModelEntry()
    max_tokens: int = MAX_TOKENS
    effort: Effort | None = None
    temperature: float | None = None

    def request(self, pack: Pack) -> ModelRequest:
        window, most = self.entry.window, self.entry.max_output
        max_tokens = min(self.max_tokens, most) if most else self.max_tokens
        # An eighth more than counted: the provider may count more than we do.
        left = window - pack.tokens * 9 // 8
        return ModelRequest(
            messages=pack.messages,
            tools=pack.tools,
            layer_ends=pack.layer_ends,
            max_tokens=max_tokens,
            room_left=max(left, max_tokens) if window else 0,
            effort=self.entry.effort_for(self.effort),
            temperature=self.temperature,
        )


async def run_in_thread(work: Callable[[], T]) -> T:
    """What the work returns, which a thread does meanwhile. When cancelled, it is waited for: what it works on, the
    window of a session, may be used by one thread at a time."""
    doing = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait({doing})
        raise


SECONDS_TO_STOP = 5.0
"""How long to wait for a request that was cancelled."""


async def run_unless_interrupted(interrupt: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work until it ends or is interrupted. Says whether it ended; what it raises is raised."""
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
            # Wait until the connection is closed, so that nothing arrives after the interruption.
            await cancel_task(doing, "a request to the model", SECONDS_TO_STOP)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
