"""Lists of messages in the shape of Bedrock's Converse API, which Strands Agents has for all providers.

Rule: what has no place in our messages, such as a document, is sent with its message as long as that is sent as it
was; a fold leaves its name.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence

import msgspec

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Event, ToolReturned, UserSaid
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserPart,
)
from holdfast.wire.content_blocks import (
    SIGNATURE,
    CallNames,
    WireDict,
    is_gemini_thinking,
    origin_of,
    tool_call,
)
from holdfast.wire.foreign_json import Losses, obj


class ConverseTranslation:
    """Messages as events, and ours as messages."""

    def read(self, messages: Sequence[WireDict]) -> Iterator[tuple[Sequence[WireDict], list[Event]]]:
        names = CallNames()
        for at, message in enumerate(messages):
            events = self._events(_checked(message, at), names)
            for event in events:
                names.note(event)
            yield [message], events

    def write(self, message: Message) -> list[WireDict]:
        assert not isinstance(message, SystemMessage), "the system prompt is no message here"
        if isinstance(message, AssistantMessage):
            content = list(_reply_blocks(message.parts))
            return [{"role": "assistant", "content": content}] if content else []
        content = [block for part in message.parts for block in _user_block(part)]
        if isinstance(message, ToolMessage):
            status = "error" if message.error else "success"
            result = {"toolUseId": message.call_id, "status": status, "content": content}
            content = [{"toolResult": result}]
        return [{"role": "user", "content": content}] if content else []

    def _events(self, message: WireDict, names: CallNames) -> list[Event]:
        content = message["content"]
        if message["role"] == "assistant":
            usage = obj(obj(message.get("metadata")).get("usage"))
            parts = tuple(part for block in content for part in _reply_parts(block))
            return [AssistantReplied(parts, usage=_usage(usage))]
        results = [_returned(block["toolResult"], names) for block in content if "toolResult" in block]
        # Results may be in the order in which the tools finished, and a pack has them as they were called.
        calls = [*names.unanswered]
        results.sort(key=lambda one: calls.index(one.call_id) if one.call_id in calls else len(calls))
        said = tuple(part for block in content if "toolResult" not in block for part in _user_parts(block))
        return [*results, *([UserSaid(said, origin=origin_of(said))] if said else [])]


def _checked(message: object, at: int) -> WireDict:
    what = f"a `{type(message).__name__}`"
    if isinstance(message, dict):
        role, content = message.get("role"), message.get("content")
        if role in ("user", "assistant") and isinstance(content, list) and all(map(obj, content)):
            return message
        what = f"a dict with the role {role!r} and the content of type `{type(content).__name__}`"
    raise InputError(
        f"message {at} is {what}, not a message in the shape of the Converse API",
        hint='a message is {"role": "user", "content": [{"text": "…"}]}',
    )


def _returned(result: WireDict, names: CallNames) -> ToolReturned:
    call_id = str(result.get("toolUseId"))
    parts = tuple(part for block in result.get("content") or () for part in _user_parts(block))
    return ToolReturned(call_id, names.get(call_id, ""), parts, error=result.get("status") == "error")


def _user_parts(block: WireDict) -> Iterator[UserPart]:
    match block:
        case {"text": str(text)} | {"guardContent": {"text": {"text": str(text)}}} if text.strip():
            yield Text(text)
        case {"json": value}:
            yield Text(msgspec.json.encode(value, enc_hook=str).decode())
        case {"image": {"format": kind, "source": {"bytes": bytes(data)}}}:
            yield Image(f"image/{kind}", data=b64encode(data).decode())
        case {"image": {"format": kind, "source": {"location": {"uri": uri}}}}:
            yield Image(f"image/{kind}", url=uri)
        case {"text": _} | {"cachePoint": _}:
            return
        case _:
            # It is sent as it is, as long as its message is; a fold leaves the name.
            yield from (Text(_named(kind, value)) for kind, value in block.items())


def _named(kind: str, value: object) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _user_block(part: UserPart) -> list[WireDict]:
    if isinstance(part, Text):
        return [{"text": part.text}] if part.text.strip() else []
    source = {"location": {"type": "s3", "uri": part.url}} if part.url else {"bytes": b64decode(part.data)}
    return [{"image": {"format": part.media_type.removeprefix("image/"), "source": source}}]


def _reply_parts(block: WireDict) -> Iterator[AssistantPart]:
    match block:
        case {"toolUse": call}:
            if signature := call.get("reasoningSignature"):
                yield Thinking(redacted=msgspec.json.encode({SIGNATURE: signature}).decode())
            yield tool_call(call.get("toolUseId"), call.get("name"), call.get("input"), Losses())
        case {"reasoningContent": {"reasoningText": said}}:
            yield Thinking(said.get("text") or "", signature=said.get("signature") or "")
        case {"reasoningContent": {"redactedContent": bytes(data)}}:
            yield Thinking(redacted=b64encode(data).decode())
        case {"citationsContent": {"content": cited}}:
            yield Text("".join(one.get("text", "") for one in cited))
        case _:
            yield from (part for part in _user_parts(block) if isinstance(part, Text))


def _reply_blocks(parts: Sequence[AssistantPart]) -> Iterator[WireDict]:
    signature: WireDict = {}
    for part in parts:
        if isinstance(part, ToolCall):
            value = {"raw": part.raw} if part.raw else part.arguments
            yield {"toolUse": {"toolUseId": part.id, "name": part.name, "input": value, **signature}}
            signature = {}
        elif isinstance(part, Text):
            yield from _user_block(part)
        elif is_gemini_thinking(part):
            signature = {"reasoningSignature": msgspec.json.decode(part.redacted)[SIGNATURE]}
        elif part.redacted:
            yield {"reasoningContent": {"redactedContent": b64decode(part.redacted)}}
        else:
            signed = {"signature": part.signature} if part.signature else {}
            yield {"reasoningContent": {"reasoningText": {"text": part.text, **signed}}}


def join_converse(messages: Sequence[WireDict]) -> list[WireDict]:
    """The messages with neighbours of one role as one, results first: models want roles to alternate."""
    joined: list[WireDict] = []
    for message in messages:
        if not joined or joined[-1]["role"] != message["role"]:
            joined.append(message)
            continue
        content = [*joined[-1]["content"], *message["content"]]
        joined[-1] = {
            "role": message["role"],
            "content": sorted(content, key=lambda block: "toolResult" not in block),
        }
    return joined


def _usage(usage: WireDict) -> Usage | None:
    """`prompt` counts everything sent; where the total is not input and output, cached tokens come on top."""
    prompt, completion = usage.get("inputTokens", 0), usage.get("outputTokens", 0)
    read, write = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    if prompt + completion != usage.get("totalTokens"):
        prompt += read + write
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None
