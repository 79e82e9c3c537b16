"""A model that says what it was told to say: for tests, demos and documents.

Rule: the same script gives the same events, piece by piece; no clock, no chance, no network.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.messages import AssistantPart, Text, Thinking, ToolCall, Usage
from holdfast.models.errors import ModelError
from holdfast.models.protocol import (
    ArgumentsCame,
    CallBegan,
    Came,
    Done,
    Reply,
    Request,
    TextCame,
    ThinkingCame,
)

Scripted = str | Reply | Sequence[AssistantPart] | ModelError
"""One turn of a script: a text, a whole reply, its parts, or the error that is raised."""

CHARACTERS_A_TOKEN = 4


class ScriptedModel:
    """Gives its replies one after the other, and keeps the requests it was asked.

    A reply may also be a function of the request. After the last one it fails, because a test that asks more often
    than it says is wrong; with `repeat_last` the last one is given again and again.
    """

    def __init__(
        self,
        *replies: Scripted | Callable[[Request], Scripted],
        name: str = "scripted/model",
        repeat_last: bool = False,
        piece: int = 8,
    ) -> None:
        assert replies, "a script has at least one reply"
        assert piece > 0, "a piece has at least one character"
        self.name = name
        self.requests: list[Request] = []
        self._replies = replies
        self._repeat_last = repeat_last
        self._piece = piece

    @property
    def left(self) -> int:
        """How many replies have not been given yet."""
        return max(0, len(self._replies) - len(self.requests))

    async def stream(self, request: Request) -> AsyncIterator[Came]:
        reply = self._next(request)
        for came in _pieces(reply, self._piece):
            yield came
            await asyncio.sleep(0)  # Others get their turn between two pieces, as with a network.
        yield Done(reply)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _next(self, request: Request) -> Reply:
        at = len(self.requests)
        self.requests.append(request)
        if self._repeat_last:
            at = min(at, len(self._replies) - 1)
        assert at < len(self._replies), (
            f"`{self.name}` was asked {at + 1} times, but its script has {len(self._replies)} replies; "
            "add one, or set `repeat_last=True`"
        )
        scripted = self._replies[at]
        said = scripted(request) if callable(scripted) else scripted
        if isinstance(said, ModelError):
            raise said
        reply = said if isinstance(said, Reply) else _reply(said)
        usage = reply.usage or _rough_usage(request, reply)
        return replace(reply, usage=usage, model=reply.model or self.name)


def _reply(said: str | Sequence[AssistantPart]) -> Reply:
    parts = (Text(said),) if isinstance(said, str) else tuple(said)
    calls = any(isinstance(part, ToolCall) for part in parts)
    return Reply(parts=parts, stop="calls" if calls else "end")


def _rough_usage(request: Request, reply: Reply) -> Usage:
    sent = msgspec.json.encode((request.messages, request.tools))
    return Usage(len(sent) // CHARACTERS_A_TOKEN, len(msgspec.json.encode(reply.parts)) // CHARACTERS_A_TOKEN)


def _pieces(reply: Reply, size: int) -> Iterator[Came]:
    calls = 0
    for part in reply.parts:
        match part:
            case Text(text=text):
                yield from map(TextCame, _cut(text, size))
            case Thinking(text=text):
                yield from map(ThinkingCame, _cut(text, size))
            case ToolCall():
                yield CallBegan(calls, part.id, part.name)
                written = part.raw or msgspec.json.encode(part.arguments).decode()
                yield from (ArgumentsCame(calls, text) for text in _cut(written, size))
                calls += 1


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))
