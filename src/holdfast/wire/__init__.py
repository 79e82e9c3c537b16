"""Messages out, as the OpenAI chat and the Anthropic messages API take them.

Rule: pure, total and one to one. Nothing is repaired here; whatever a format has no place for is said in
`losses`.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
    UserPart,
)
from holdfast.wire.foreign_json import Losses

WireDict = dict[str, Json]


class WireRequest(Struct, frozen=True):
    """A request's messages in one vendor's shape. `system` is apart only where the vendor has it apart."""

    format: Literal["openai", "anthropic"]
    messages: list[WireDict]
    system: list[WireDict] | None
    tools: list[WireDict]
    losses: tuple[str, ...]


def to_openai(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> WireRequest:
    tally = Losses()
    for message in messages:
        _tally_openai(message, tally)
    return WireRequest(
        format="openai",
        messages=join_openai(openai_message(message) for message in messages),
        system=None,
        tools=[openai_tool(tool) for tool in tools],
        losses=tally.sentences(),
    )


def to_anthropic(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> WireRequest:
    tally = Losses()
    spoken = False
    for message in messages:
        _tally_anthropic(message, tally)
        if isinstance(message, SystemMessage):
            tally.add("moved to the system field", "system messages after the first turn", int(spoken))
        else:
            spoken = True
    system = [_text_block(m.text) for m in messages if isinstance(m, SystemMessage) and m.text.strip()]
    return WireRequest(
        format="anthropic",
        messages=join_anthropic(anthropic_message(message) for message in messages),
        system=system or None,
        tools=[anthropic_tool(tool) for tool in tools],
        losses=tally.sentences(),
    )


def openai_tool(tool: ToolDefinition) -> WireDict:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def anthropic_tool(tool: ToolDefinition) -> WireDict:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def openai_message(message: Message) -> list[WireDict]:
    """One message for OpenAI: none if nothing of it can be sent, two if a result returned pictures."""
    if isinstance(message, SystemMessage):
        return [{"role": "system", "content": message.text}]
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": _openai_content(message.parts)}]
    if isinstance(message, AssistantMessage):
        return _openai_reply(message)
    return _openai_result(message)


def join_openai(wired: Iterable[list[WireDict]]) -> list[WireDict]:
    """All messages in order; pictures of results wait until the results of a step are complete."""
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
    """A tool message takes text only: pictures follow in a user message, with a mark where they stood."""
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
    return [_openai_part(part) for part in parts]


def _openai_part(part: UserPart) -> WireDict:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = part.url or f"data:{part.media_type or 'image/png'};base64,{part.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _tally_openai(message: Message, tally: Losses) -> None:
    if isinstance(message, ToolMessage):
        tally.add("left out", "error flags of tool results", int(message.error))
        pictures = sum(isinstance(part, Image) for part in message.parts)
        tally.add("moved to a user message", "pictures in tool results", pictures)
    elif isinstance(message, AssistantMessage):
        thoughts = sum(isinstance(part, Thinking) for part in message.parts)
        tally.add("left out", "thinking blocks", thoughts)
        if not openai_message(message):
            tally.add("left out", "assistant messages with neither text nor call")
        kinds = [type(part) for part in message.parts if not isinstance(part, Thinking)]
        late = ToolCall in kinds and Text in kinds[kinds.index(ToolCall) :]
        tally.add("moved before the calls", "texts that stood after a call", int(late))


def anthropic_message(message: Message) -> list[WireDict]:
    """One message for Anthropic: none for a system message, or if nothing of it can be sent."""
    if isinstance(message, SystemMessage):
        return []
    if isinstance(message, AssistantMessage):
        role, blocks = "assistant", [block for part in message.parts for block in _reply_block(part)]
    elif isinstance(message, ToolMessage):
        role, blocks = "user", [_result_block(message)]
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
        return [_text_block(part.text)] if part.text.strip() else []
    if isinstance(part, ToolCall):
        arguments = {"raw": part.raw} if part.raw else part.arguments
        return [{"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}]
    if is_reasoning_item(part):
        return []
    if part.redacted:
        return [{"type": "redacted_thinking", "data": part.redacted}]
    if part.signature:
        return [{"type": "thinking", "thinking": part.text, "signature": part.signature}]
    return []


def is_reasoning_item(thinking: Thinking) -> bool:
    """Whether what is opaque is an item of OpenAI's Responses API, a JSON object; Anthropic's blocks are base64."""
    return thinking.redacted.startswith("{")


def _result_block(message: ToolMessage) -> WireDict:
    block: WireDict = {"type": "tool_result", "tool_use_id": message.call_id}
    if content := _anthropic_content(message.parts):
        block["content"] = content
    if message.error:
        block["is_error"] = True
    return block


def _anthropic_content(parts: tuple[UserPart, ...]) -> list[WireDict]:
    """Blocks without the blank ones, which the API refuses."""
    return [_anthropic_part(part) for part in parts if isinstance(part, Image) or part.text.strip()]


def _anthropic_part(part: UserPart) -> WireDict:
    if isinstance(part, Text):
        return _text_block(part.text)
    if part.url:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    source = {"type": "base64", "media_type": part.media_type or "image/png", "data": part.data}
    return {"type": "image", "source": source}


def _text_block(text: str) -> WireDict:
    return {"type": "text", "text": text}


def _tally_anthropic(message: Message, tally: Losses) -> None:
    if isinstance(message, SystemMessage):
        tally.add("left out", "blank texts", int(not message.text.strip()))
        return
    blank = sum(isinstance(part, Text) and not part.text.strip() for part in message.parts)
    tally.add("left out", "blank texts", blank)
    if isinstance(message, AssistantMessage):
        thoughts = [part for part in message.parts if isinstance(part, Thinking)]
        unsigned = sum(not thought.signature and not thought.redacted for thought in thoughts)
        tally.add("left out", "thinking blocks without a signature", unsigned)
        tally.add("left out", "thinking blocks of another provider", sum(map(is_reasoning_item, thoughts)))
        raw = sum(bool(call.raw) for call in message.calls)
        tally.add("wrapped as `raw`", "arguments that are no JSON object", raw)
    if not anthropic_message(message):
        tally.add("left out", "messages with nothing to send")
