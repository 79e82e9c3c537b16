"""OpenAI chat messages, in and out.

Rule: one to one, nothing is repaired; whatever the shape has no place for is counted.
"""

from collections.abc import Iterable, Sequence

import msgspec

from holdfast.events import AssistantReplied, Event, ToolReturned
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserMessage,
    UserPart,
)
from holdfast.wire.content_blocks import (
    SYSTEM_ROLES,
    CallNames,
    WireDict,
    WireRequest,
    system_message_events,
    tool_call,
    user_message_events,
    user_parts,
)
from holdfast.wire.foreign_json import Losses, count, items, obj, text


def openai_events(
    message: dict[str, Json], names: CallNames, losses: Losses, *, opening: bool
) -> list[Event]:
    """The events of one message; `opening` is True before the first turn."""
    role = message.get("role")
    if role in SYSTEM_ROLES:
        return system_message_events(message, losses, opening=opening)
    if role == "user":
        return user_message_events(user_parts(message.get("content"), losses), losses)
    if role == "assistant":
        return [AssistantReplied(reply_parts(message, losses), model=text(message.get("model")))]
    if role in ("tool", "function"):
        return [_returned(message, names, losses)]
    losses.add("left out", f"messages with the unknown role `{str(role)[:40]}`")
    return []


def reply_parts(message: dict[str, Json], losses: Losses) -> tuple[AssistantPart, ...]:
    """Thinking, then text, then calls: the only order of a chat message."""
    reasoning = text(message.get("reasoning")) or text(message.get("reasoning_content"))
    parts: list[AssistantPart] = [Thinking(reasoning)] if reasoning else []
    for part in user_parts(message.get("content"), losses):
        if isinstance(part, Text):
            parts.append(part)
        else:
            losses.add("left out", "pictures in assistant messages")
    if refusal := text(message.get("refusal")):
        parts.append(Text(refusal))
    if message.get("audio"):
        losses.add("left out", "audio of assistant messages")
    parts += [_call(obj(call), losses) for call in items(message.get("tool_calls"))]
    if legacy := obj(message.get("function_call")):
        parts.append(tool_call(_legacy_id(legacy), legacy.get("name"), legacy.get("arguments"), losses))
    return tuple(parts)


def _call(call: dict[str, Json], losses: Losses) -> AssistantPart:
    """A call in OpenAI's nested shape or in the flat one of the neutral recordings."""
    if custom := obj(call.get("custom")):
        return tool_call(call.get("id"), custom.get("name"), {"input": text(custom.get("input"))}, losses)
    body = obj(call.get("function")) or call
    return tool_call(call.get("id"), body.get("name"), body.get("arguments"), losses)


def _returned(message: dict[str, Json], names: CallNames, losses: Losses) -> ToolReturned:
    call_id = text(message.get("tool_call_id"))
    if not call_id and message.get("role") == "function":
        call_id = _legacy_id(message)
    return ToolReturned(
        call_id=call_id,
        name=text(message.get("name")) or names.get(call_id, ""),
        parts=user_parts(message.get("content"), losses),
        error=message.get("is_error") is True,
    )


def chat_usage(value: Json) -> Usage | None:
    """Tokens as OpenAI counts them, cached ones within the prompt, also under the names of other servers.

    Some count thinking, which is billed as output, in the total only."""
    usage = obj(value)
    prompt, completion = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    completion = max(completion, count(usage.get("total_tokens")) - prompt)
    details = obj(usage.get("prompt_tokens_details"))
    reads = (details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))
    read = next((number for number in map(count, reads) if number), 0)
    write = count(details.get("cache_write_tokens"))
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None


def _legacy_id(call: dict[str, Json]) -> str:
    """`function_call` had no ids: the name pairs a call with its result."""
    return f"function_{text(call.get('name'))}"


def to_openai(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> WireRequest:
    losses = Losses()
    for message in messages:
        _count_openai_losses(message, losses)
    return WireRequest(
        format="openai",
        messages=join_openai(openai_message(message) for message in messages),
        system=None,
        tools=[openai_tool(tool) for tool in tools],
        losses=losses.sentences(),
    )


def openai_tool(tool: ToolDefinition) -> WireDict:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def openai_message(message: Message) -> list[WireDict]:
    """One message for OpenAI: none if nothing of it can be sent, two if a result has images."""
    if isinstance(message, SystemMessage):
        return [{"role": "system", "content": message.text}]
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": _openai_content(message.parts)}]
    if isinstance(message, AssistantMessage):
        return _openai_reply(message)
    return _openai_result(message)


def join_openai(wired: Iterable[list[WireDict]]) -> list[WireDict]:
    """All messages in order; images of results follow when the results of a step are complete."""
    joined: list[WireDict] = []
    waiting: list[WireDict] = []
    for messages in wired:
        if messages and messages[0]["role"] != "tool":
            joined += waiting
            waiting = []
        joined += messages[:1]
        waiting += messages[1:]
    return joined + waiting


def _openai_reply(message: AssistantMessage) -> list[WireDict]:
    texts = tuple(part for part in message.parts if isinstance(part, Text))
    if not message.calls and not any(part.text for part in texts):
        return []
    reply: WireDict = {"role": "assistant", "content": _openai_content(texts) or None}
    if message.calls:
        reply["tool_calls"] = [_openai_call(call) for call in message.calls]
    return [reply]


def _openai_call(call: ToolCall) -> WireDict:
    arguments = call.raw or msgspec.json.encode(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _openai_result(message: ToolMessage) -> list[WireDict]:
    """A tool message takes text only: images follow in a user message, with a mark in their place."""
    pictures = [part for part in message.parts if isinstance(part, Image)]
    marks = iter(range(1, len(pictures) + 1))
    shown = tuple(
        part if isinstance(part, Text) else Text(f"[image {next(marks)} of {len(pictures)}: see below]")
        for part in message.parts
    )
    result: WireDict = {"role": "tool", "tool_call_id": message.call_id, "content": _openai_content(shown)}
    if not pictures:
        return [result]
    caption = Text(f"Images returned by the tool call {message.call_id}:")
    return [result, {"role": "user", "content": _openai_content((caption, *pictures))}]


def _openai_content(parts: tuple[UserPart, ...]) -> str | list[WireDict]:
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    blocks: list[WireDict] = []
    for part in parts:
        if isinstance(part, Text):
            blocks.append({"type": "text", "text": part.text})
        else:
            url = part.url or f"data:{part.media_type or 'image/png'};base64,{part.data}"
            blocks.append({"type": "image_url", "image_url": {"url": url}})
    return blocks


def _count_openai_losses(message: Message, losses: Losses) -> None:
    if isinstance(message, ToolMessage):
        losses.add("left out", "error flags of tool results", int(message.error))
        pictures = sum(isinstance(part, Image) for part in message.parts)
        losses.add("moved to a user message", "pictures in tool results", pictures)
    elif isinstance(message, AssistantMessage):
        thoughts = sum(isinstance(part, Thinking) for part in message.parts)
        losses.add("left out", "thinking blocks", thoughts)
        if not openai_message(message):
            losses.add("left out", "assistant messages with neither text nor call")
        kinds = [type(part) for part in message.parts if not isinstance(part, Thinking)]
        late = ToolCall in kinds and Text in kinds[kinds.index(ToolCall) :]
        losses.add("moved before the calls", "texts that stood after a call", int(late))
