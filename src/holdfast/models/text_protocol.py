"""Tool calling for models that have none: tools in the system message, actions and observations in the history.

Rule: from outside, such a model looks like any other. A reply in the wrong form is never acted upon: the model is
told what is wrong with it, a few times, and then it is a `BadReply`.
"""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
from msgspec.structs import astuple, replace

from holdfast.messages import AssistantMessage, AssistantPart, Text, Thinking, ToolCall, Usage, UserMessage
from holdfast.models.errors import BadReply, ModelError
from holdfast.models.model import (
    ArgumentsDelta,
    CallAnnounced,
    Model,
    ModelReply,
    ModelRequest,
    ReplyCompleted,
    RetryScheduled,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from holdfast.models.text_format import (
    FORMS,
    FormatFault,
    TextAction,
    TextAnswer,
    read_reply,
    request_as_text,
)

MAX_ECHO = 2_000
"""Characters of a faulty reply that are shown to the model again."""


class TextProtocolModel:
    """Uses the text protocol with a model that has no tool calling.

    A request without tools is sent with its history as text, and its reply is passed on. With tools, a reply can be
    read only when it is whole: its text comes in one piece, and a correction is a `RetryScheduled`.
    """

    def __init__(self, model: Model, max_corrections: int = 2) -> None:
        assert max_corrections >= 0, "the number of corrections cannot be negative"
        self._model = model
        self._tries = max_corrections + 1

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        sent = request_as_text(request)
        if not request.tools:
            async with _closing(self._model.stream(sent)) as events:
                async for event in events:
                    yield event
            return
        usage: Usage | None = None
        for tried in range(1, self._tries + 1):
            reply: ModelReply | None = None
            async with _closing(self._model.stream(sent), used=usage) as events:
                async for event in events:
                    if isinstance(event, ReplyCompleted):
                        reply = event.reply
                    elif isinstance(event, ThinkingDelta | RetryScheduled):
                        yield event
            assert reply is not None, "a model's stream ended without its reply"
            usage = _added(usage, reply.usage)
            reply = replace(reply, usage=usage)
            if reply.stop == "refused":
                yield ReplyCompleted(reply)
                return
            said = _read(reply, request)
            if not isinstance(said, FormatFault):
                for event in _events(reply, said, sent):
                    yield event
                return
            if tried == self._tries:
                error = BadReply(
                    f"`{self.name}` did not keep to the text protocol in {tried} tries: {said.sentence}",
                    hint="a larger model may keep to it; one with tool calling needs no text protocol",
                )
                error.usage = usage
                raise error
            yield RetryScheduled(0.0, f"the reply was not of the text protocol: {said.sentence}")
            sent = _corrected(sent, said)

    async def aclose(self) -> None:
        await self._model.aclose()


@asynccontextmanager
async def _closing(
    stream: AsyncIterator[StreamEvent], used: Usage | None = None
) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """The stream of the model inside, closed as soon as nobody reads ours any more. Its error carries what the
    attempts before it used."""
    try:
        yield stream
    except ModelError as error:
        error.usage = _added(used, error.usage)
        raise
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _read(reply: ModelReply, request: ModelRequest) -> TextAction | TextAnswer | FormatFault:
    if reply.calls:
        return FormatFault(f"a tool was called in another way than by text: write {FORMS}", reply.text)
    said = read_reply(reply.text, [tool.name for tool in request.tools])
    if isinstance(said, FormatFault) and reply.stop == "length":
        return FormatFault(f"it was cut off at its longest, so be brief ({said.sentence})", said.kept)
    return said


def _corrected(sent: ModelRequest, fault: FormatFault) -> ModelRequest:
    """The request with the faulty reply, without invented observations, and what is wrong with it."""
    echo = fault.kept if len(fault.kept) <= MAX_ECHO else fault.kept[:MAX_ECHO] + "…"
    words = (
        f"Your reply was not accepted: {fault.sentence}. Nothing was run. "
        f"Reply again: `Thought: …`, then {FORMS}."
    )
    turn = (AssistantMessage((Text(echo or "(nothing)"),)), UserMessage((Text(words),)))
    return replace(sent, messages=(*sent.messages, *turn))


def _events(reply: ModelReply, said: TextAction | TextAnswer, sent: ModelRequest) -> Iterator[StreamEvent]:
    """The reply as any model would have given it. A thought before an answer is thinking, not part of the
    answer."""
    parts: list[AssistantPart] = [part for part in reply.parts if isinstance(part, Thinking)]
    if isinstance(said, TextAnswer):
        if said.thought:
            parts.append(Thinking(said.thought))
            yield ThinkingDelta(said.thought)
        parts.append(Text(said.answer))
        yield TextDelta(said.answer)
        yield ReplyCompleted(replace(reply, parts=tuple(parts)))
        return
    if said.thought:
        parts.append(Text(said.thought))
        yield TextDelta(said.thought)
    # The id depends only on the request and the reply.
    seen = hashlib.sha256(msgspec.json.encode((sent.messages, reply.text))).hexdigest()
    call = ToolCall(f"call_{seen[:16]}", said.name, said.arguments)
    yield CallAnnounced(0, call.id, call.name)
    yield ArgumentsDelta(0, msgspec.json.encode(call.arguments).decode())
    yield ReplyCompleted(replace(reply, parts=(*parts, call), stop="calls"))


def _added(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return one or other
    return Usage(*(a + b for a, b in zip(astuple(one), astuple(other), strict=True)))
