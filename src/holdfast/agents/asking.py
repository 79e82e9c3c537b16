"""Asking a model, while somebody may interrupt.

Rule: what came before an interruption is kept as text or not at all; half a call and half a thought are no use.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from msgspec import Struct

from holdfast.agents.notices import Watch
from holdfast.models.catalogue import Entry
from holdfast.models.protocol import Done, Model, Reply, Request, Retried, TextCame
from holdfast.packing.layers import Pack

MAX_TOKENS = 16_000
"""Room for a reply; less where the catalogue knows that a model writes less."""


class Asking(Struct, frozen=True, kw_only=True):
    """How a model is asked: its entry in the catalogue, the room for a reply and for thinking."""

    entry: Entry = Entry()
    max_tokens: int = MAX_TOKENS
    thinking_tokens: int = 0

    def request(self, pack: Pack) -> Request:
        most = self.entry.max_output
        return Request(
            messages=pack.messages,
            tools=pack.tools,
            layer_ends=pack.layer_ends,
            max_tokens=min(self.max_tokens, most) if most else self.max_tokens,
            thinking_tokens=self.thinking_tokens,
        )


class Streamed:
    """A reply as it comes. `text` is what has come so far, `reply` is there when it is whole."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.text = ""
        self.reply: Reply | None = None

    async def follow(self, model: Model, request: Request) -> None:
        async for came in model.stream(request):
            match came:
                case TextCame(text=text):
                    self.text += text
                case Retried():
                    self.text = ""
                case Done(reply=reply):
                    self.reply = reply
            self._watch(came)


async def until(interrupt: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
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
