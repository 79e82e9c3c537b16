"""A model that replies from a script: for tests, demos and documentation.

Rule: the same script gives the same events, piece by piece; no clock, no randomness, no network.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.messages import AssistantPart, Text, Thinking, ToolCall, Usage
from holdfast.models.errors import ModelError
from holdfast.models.model import (
    ArgumentsDelta,
    CallAnnounced,
    ModelReply,
    ModelRequest,
    ReplyCompleted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

ScriptedReply = str | ModelReply | Sequence[AssistantPart] | ModelError
"""One turn of a script: a text, a whole reply, its parts, or the error that is raised."""

CHARS_PER_TOKEN = 4


class ScriptedModel:
    """Gives its replies one after the other, and keeps the requests.

    A reply may also be a function of the request. A request after the last reply is an error of the test, unless
    `repeat_last` is set.
    """

    def __init__(
        self,
        *replies: ScriptedReply | Callable[[ModelRequest], ScriptedReply],
        name: str = "scripted/model",
        repeat_last: bool = False,
        piece: int = 8,
    ) -> None:
        for at, reply in enumerate(replies):
            if not callable(reply):
                _check_reply(reply, at)
        assert replies, "a script has at least one reply"
        assert piece > 0, "a piece has at least one character"
        self.name = name
        self.requests: list[ModelRequest] = []
        self._replies = replies
        self._repeat_last = repeat_last
        self._piece = piece

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        reply = self._next(request)
        for event in _pieces(reply, self._piece):
            yield event
            await asyncio.sleep(0)  # Other tasks run between two pieces, as with a network.
        yield ReplyCompleted(reply)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _next(self, request: ModelRequest) -> ModelReply:
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
        _check_reply(said, at)
        if isinstance(said, ModelError):
            raise said
        if isinstance(said, ModelReply):
            reply = said
        else:
            parts = (Text(said),) if isinstance(said, str) else tuple(said)
            calls = any(isinstance(part, ToolCall) for part in parts)
            reply = ModelReply(parts=parts, stop="calls" if calls else "end")
        sizes = [len(msgspec.json.encode(v)) for v in ((request.messages, request.tools), reply.parts)]
        usage = reply.usage or Usage(*(size // CHARS_PER_TOKEN for size in sizes))
        return replace(reply, usage=usage, model=reply.model or self.name)


def _check_reply(reply: object, at: int) -> None:
    if isinstance(reply, str | ModelReply | ModelError):
        return
    if isinstance(reply, Sequence) and all(isinstance(part, AssistantPart) for part in reply):
        return
    raise InputError(
        f"reply {at} of the script is no reply of a model",
        hint='a reply is a text or a list of calls, one after the other: `ScriptedModel([ToolCall(…)], "Done.")`',
    )


def _pieces(reply: ModelReply, size: int) -> Iterator[StreamEvent]:
    calls = 0
    for part in reply.parts:
        match part:
            case Text(text=text):
                yield from map(TextDelta, _cut(text, size))
            case Thinking(text=text):
                yield from map(ThinkingDelta, _cut(text, size))
            case ToolCall():
                yield CallAnnounced(calls, part.id, part.name)
                written = part.raw or msgspec.json.encode(part.arguments).decode()
                yield from (ArgumentsDelta(calls, text) for text in _cut(written, size))
                calls += 1


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))
