"""The model of the tour: it says what it was told to say, and knows of the repository only what it is sent.

Rule: no network, no key, no chance. Everything around it is real: the loop, the tools, the packing, the log.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from holdfast.agents.tour.script import BEATS, Beat
from holdfast.messages import AssistantPart, Text, ToolCall, ToolMessage, Usage
from holdfast.models.catalogue import Entry, Price
from holdfast.models.protocol import Came, Done, Reply, Request, TextCame
from holdfast.models.scripted import CHARACTERS_A_TOKEN

PROVIDER = "tour"
PACED, PLAIN = f"{PROVIDER}/paced", f"{PROVIDER}/plain"
"""For a person who looks on, and for a pipe."""
WINDOW = 13_000
ENTRY = Entry(
    name=PACED,
    window=WINDOW,
    price=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
    cache_seconds=300,
)
"""Prices as if: so that the status line has something to count."""
PIECE = 6
SECONDS_A_PIECE = 0.02


class TourModel:
    """Goes through the script, a beat for each request; what was said last it says again when all is told."""

    def __init__(self, name: str = PLAIN) -> None:
        self.name = name
        self._seconds = SECONDS_A_PIECE if name == PACED else 0.0
        self._sent = b""

    async def stream(self, request: Request) -> AsyncIterator[Came]:
        reply = self._reply(request)
        for piece in re.findall(rf".{{1,{PIECE}}}", reply.text, re.DOTALL):
            yield TextCame(piece)
            await asyncio.sleep(self._seconds)
        yield Done(reply)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _reply(self, request: Request) -> Reply:
        if not request.tools:  # A summary is asked for, and the rules write it.
            return Reply(parts=(), stop="end", usage=Usage(0), model=self.name)
        beat = BEATS[min(_beats_told(request), len(BEATS) - 1)]
        parts = _parts(beat)
        calls = any(isinstance(part, ToolCall) for part in parts)
        reply = Reply(parts=parts, stop="calls" if calls else "end", model=self.name)
        return replace(reply, usage=self._usage(request, reply))

    def _usage(self, request: Request, reply: Reply) -> Usage:
        """Counted as a provider with a prefix cache would: what begins as the last request did was kept."""
        sent = msgspec.json.encode((request.tools, request.messages))
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(sent, self._sent, strict=False)))
        self._sent = sent
        tokens = [
            size // CHARACTERS_A_TOKEN for size in (len(sent), len(msgspec.json.encode(reply.parts)), same)
        ]
        return Usage(tokens[0], tokens[1], cache_read=tokens[2], cache_write=tokens[0] - tokens[2])


def _beats_told(request: Request) -> int:
    """How far the script is: the newest call in the request names its beat. Folded steps are gone, so they are not
    counted."""
    numbers = [
        int(message.call_id.split("_")[1])
        for message in request.messages
        if isinstance(message, ToolMessage) and message.call_id.startswith("tour_")
    ]
    return max(numbers, default=-1) + 1


def _parts(beat: Beat) -> tuple[AssistantPart, ...]:
    number = BEATS.index(beat)
    calls = [
        ToolCall(f"tour_{number}_{place}", name, arguments)
        for place, (name, arguments) in enumerate(beat.calls)
    ]
    return (Text(beat.says), *calls)
