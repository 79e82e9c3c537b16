"""Anthropic messages, in and out.

Rule: one to one, nothing is repaired; whatever the shape has no place for is counted. Signed thinking is carried
verbatim, cache marks are dropped.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from holdfast.events import AssistantReplied, Event, ToolReturned
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserPart,
)
from holdfast.wire.content_blocks import (
    SYSTEM_ROLES,
    CallNames,
    WireDict,
    WireRequest,
    block_type,
    system_message_events,
    tool_call,
    user_message_events,
    user_part,
    user_parts,
)
from holdfast.wire.foreign_json import Losses, count, items, obj, text


def anthropic_events(
    message: dict[str, Json], names: CallNames, losses: Losses, *, opening: bool
) -> list[Event]:
    """The events of one message; a user message gives one for each tool result in it."""
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        losses.add("left out", "calls in OpenAI's shape", len(items(message.get("tool_calls"))))
        reply = reply_parts(content, losses)
        usage = anthropic_usage(message.get("usage"))
        stop = text(message.get("stop_reason"))
        return [AssistantReplied(reply, model=text(message.get("model")), usage=usage, stop=stop)]
    if role == "user":
        return user_events(content, names, losses)
    if role in SYSTEM_ROLES:
        return system_message_events(message, losses, opening=opening)
    losses.add("left out", f"messages with the unknown role `{str(role)[:40]}`")
    return []


def user_events(content: Json, names: CallNames, losses: Losses) -> list[Event]:
    """Results and what was said around them, in the order of the blocks."""
    events: list[Event] = []
    said: list[UserPart] = []
    blocks = items(content)
    for block in blocks:
        if obj(block).get("type") == "tool_result":
            events += user_message_events(tuple(said), losses) if said else []
            said = []
            result = obj(block)
            call_id = text(result.get("tool_use_id"))
            parts = user_parts(result.get("content"), losses)
            is_error = result.get("is_error") is True
            events.append(ToolReturned(call_id, names.get(call_id, ""), parts, error=is_error))
        else:
            said += user_parts([block], losses)
    if not blocks:
        said = list(user_parts(content, losses))
    if said or not events:
        events += user_message_events(tuple(said), losses)
    return events


def reply_parts(content: Json, losses: Losses) -> tuple[AssistantPart, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts: list[AssistantPart] = []
    for block in map(obj, items(content)):
        kind = block.get("type")
        if kind == "thinking":
            thought = Thinking(text(block.get("thinking")), signature=text(block.get("signature")))
            parts += [thought] if thought.text or thought.signature else []
        elif kind == "redacted_thinking":
            parts.append(Thinking(redacted=text(block.get("data"))))
        elif kind == "tool_use":
            parts.append(tool_call(block.get("id"), block.get("name"), block.get("input"), losses))
        elif kind == "text" and isinstance(part := user_part(block), Text):
            parts += [part] if part.text else []
        else:
            losses.add("left out", f"`{block_type(block)}` blocks of assistant messages")
    return tuple(parts)


SEARCH_RESULT = "web_search_tool_result"
USAGE_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def anthropic_usage(value: Json) -> Usage | None:
    """`prompt` counts everything sent; Anthropic reports what was not cached on its own."""
    usage = obj(value)
    uncached, completion, read, write = (count(usage.get(name)) for name in USAGE_FIELDS)
    prompt = uncached + read + write
    searches = count(obj(usage.get("server_tool_use")).get("web_search_requests"))
    return Usage(prompt, completion, read, write, searches) if prompt else None


def to_anthropic(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> WireRequest:
    losses = Losses()
    spoken = False
    for message in messages:
        _count_anthropic_losses(message, losses)
        if isinstance(message, SystemMessage):
            losses.add("moved to the system field", "system messages after the first turn", int(spoken))
        else:
            spoken = True
    system = [block for m in messages if isinstance(m, SystemMessage) for block in _texts(m.text)]
    return WireRequest(
        format="anthropic",
        messages=join_anthropic(anthropic_message(message) for message in messages),
        system=system or None,
        tools=[anthropic_tool(tool) for tool in tools],
        losses=losses.sentences(),
    )


def anthropic_tool(tool: ToolDefinition) -> WireDict:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def anthropic_message(message: Message) -> list[WireDict]:
    """One message for Anthropic: none for a system message, or if nothing of it can be sent."""
    if isinstance(message, SystemMessage):
        return []
    if isinstance(message, AssistantMessage):
        role, blocks = "assistant", [block for part in message.parts for block in _reply_block(part)]
    elif isinstance(message, ToolMessage):
        result: WireDict = {"type": "tool_result", "tool_use_id": message.call_id}
        if content := _anthropic_content(message.parts):
            result["content"] = content
        if message.error:
            result["is_error"] = True
        role, blocks = "user", [result]
    else:
        role, blocks = "user", _anthropic_content(message.parts)
    return [{"role": role, "content": blocks}] if blocks else []


def join_anthropic(wired: Iterable[list[WireDict]]) -> list[WireDict]:
    """All messages in order, neighbours of one role as one, results before whatever was said with them."""
    joined: list[WireDict] = []
    for message in (message for messages in wired for message in messages):
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += message["content"]
        else:
            joined.append({"role": message["role"], "content": list(message["content"])})
    for message in joined:
        if message["role"] == "user":
            message["content"].sort(key=lambda block: block["type"] != "tool_result")
    return joined


def _reply_block(part: Text | Thinking | ToolCall) -> list[WireDict]:
    if isinstance(part, Text):
        return _texts(part.text)
    if isinstance(part, ToolCall):
        arguments = {"raw": part.raw} if part.raw else part.arguments
        return [{"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}]
    if is_foreign_thinking(part):
        return []
    if part.redacted:
        return [{"type": "redacted_thinking", "data": part.redacted}]
    if part.signature:
        return [{"type": "thinking", "thinking": part.text, "signature": part.signature}]
    return []


def _anthropic_content(parts: tuple[UserPart, ...]) -> list[WireDict]:
    blocks: list[WireDict] = []
    for part in parts:
        if isinstance(part, Text):
            blocks += _texts(part.text)
        elif part.url:
            blocks.append({"type": "image", "source": {"type": "url", "url": part.url}})
        else:
            media = part.media_type or "image/png"
            source = {"type": "base64", "media_type": media, "data": part.data}
            blocks.append({"type": "image", "source": source})
    return blocks


def _texts(text: str) -> list[WireDict]:
    """A block of text; none for a blank one, which the API refuses."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _count_anthropic_losses(message: Message, losses: Losses) -> None:
    if isinstance(message, SystemMessage):
        losses.add("left out", "blank texts", int(not message.text.strip()))
        return
    blank = sum(isinstance(part, Text) and not part.text.strip() for part in message.parts)
    losses.add("left out", "blank texts", blank)
    if isinstance(message, AssistantMessage):
        thoughts = [part for part in message.parts if isinstance(part, Thinking)]
        unsigned = sum(not thought.signature and not thought.redacted for thought in thoughts)
        losses.add("left out", "thinking blocks without a signature", unsigned)
        losses.add("left out", "thinking blocks of another provider", sum(map(is_foreign_thinking, thoughts)))
        raw = sum(bool(call.raw) for call in message.calls)
        losses.add("wrapped as `raw`", "arguments that are no JSON object", raw)
    if not anthropic_message(message):
        losses.add("left out", "messages with nothing to send")


def is_foreign_thinking(thinking: Thinking) -> bool:
    """Whether what is opaque is another provider's, kept as a JSON object; Anthropic's blocks are base64."""
    return thinking.redacted.startswith("{")


MOST_CACHE_MARKS = 4
"""The API's limit. The newest are kept: each covers everything before it."""
Lifetime = Literal["5m", "1h"]
THINKING_TYPES = ("thinking", "redacted_thinking")

MessageBlocks = tuple[bool, list[WireDict]]
"""Whether a message is a system message, and its blocks; those of system messages are sent before all others."""


def may_be_marked(block: WireDict) -> bool:
    """Whether a block takes `cache_control`: no thought does, and nothing that is empty."""
    kind = block["type"]
    return kind not in THINKING_TYPES and (kind != "tool_result" or bool(block.get("content")))


def mark_layer_ends(
    ends: Sequence[int],
    tools: list[WireDict],
    written: Sequence[MessageBlocks],
    lifetime: Lifetime = "5m",
    most: int = MOST_CACHE_MARKS,
) -> None:
    """Mark the last block before each end with `cache_control`, in place. `ends` are counted in messages."""
    mark: WireDict = {"type": "ephemeral"} | ({"ttl": lifetime} if lifetime != "5m" else {})
    last: list[WireDict] = []
    for end in sorted(set(ends)):
        # What may be marked up to there, in the order in which it is sent.
        sent = [*tools]
        for wanted in (True, False):
            blocks = [block for is_system, some in written[:end] if is_system is wanted for block in some]
            sent += [block for block in blocks if may_be_marked(block)]
        # An empty layer ends where the one before it does.
        if sent and not (last and last[-1] is sent[-1]):
            last.append(sent[-1])
    for block in last[len(last) - most :] if most < len(last) else last:
        block["cache_control"] = dict(mark)
