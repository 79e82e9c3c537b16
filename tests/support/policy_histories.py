"""Random histories as a policy is handed them, and requests in the shape that the validator reads."""

from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import json

from holdfast.errors import ContextOverflow
from holdfast.events import AssistantReplied, ToolReturned, UserSaid
from holdfast.lab.policy import NamedPolicy, PolicyReply, Task
from holdfast.lab.scored_message import MessageCounter
from holdfast.messages import Image, Text, ToolCall, joined_text
from holdfast.packing.validator import check
from holdfast.tokenizers import load_tokenizer
from holdfast.wire.content_blocks import WireDict
from support.logs import AgentWork


@cache
def counter() -> MessageCounter:
    return MessageCounter(load_tokenizer())


def count(messages: Sequence[WireDict]) -> int:
    return counter().total(messages)


def history(seed: int, steps: int = 24) -> list[WireDict]:
    """Random agent work as messages: every call answered, pictures in user messages only."""
    events = AgentWork(seed, steps=steps, faults=False).events
    return [message for event in events for message in _messages(event)]


def _messages(event: object) -> Iterator[WireDict]:
    if isinstance(event, UserSaid):
        pictures = [p for p in event.parts if isinstance(p, Image)]
        text = joined_text(event.parts)
        parts = [{"type": "text", "text": line} for line in text.split("\n")]
        yield {"role": "user", "content": [*parts, *map(_picture, pictures)] if pictures else text}
    elif isinstance(event, ToolReturned):
        yield {"role": "tool", "tool_call_id": event.call_id, "content": joined_text(event.parts)}
    elif isinstance(event, AssistantReplied):
        calls = [p for p in event.parts if isinstance(p, ToolCall)]
        thought = [p for p in event.parts if not isinstance(p, Text | ToolCall)]
        text = joined_text(event.parts) or ("" if calls else "done")
        message: WireDict = {"role": "assistant", "content": text}
        if thought:
            message["reasoning"] = thought[0].text
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
            ]
        yield message


def _picture(image: Image) -> WireDict:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}


def requests(
    plan: NamedPolicy, messages: Sequence[WireDict], budget: int
) -> Iterator[tuple[list[WireDict], object]]:
    """What a policy is handed before each reply, and what it answers: messages, or what it raised."""
    policy = plan.start(Task(budget, count))
    past: list[WireDict] = []
    for message in messages:
        if message["role"] == "assistant":
            yield list(past), answer(policy, past)
        past.append(message)


def answer(policy, past: Sequence[WireDict]) -> object:
    try:
        sent = policy.pack(past, None)
    except ContextOverflow as error:
        return error
    return list(sent.messages) if isinstance(sent, PolicyReply) else list(sent)


def broken_rules(messages: Sequence[WireDict]) -> list[str]:
    """Rules that OpenAI, or a strict server, would see broken; an empty pack breaks none."""
    nested = [_nested(message) for message in messages]
    return sorted({v.rule for v in check(nested, "openai")}) if nested else []


def _nested(message: WireDict) -> WireDict:
    if "tool_calls" not in message:
        return message
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.encode(call["arguments"]).decode()},
        }
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
