"""Items of the OpenAI Responses API, in and out.

Rule: reasoning that is opaque goes back byte for byte, before the item it led to, and to no other API. The items of
one reply are one message of ours.
"""

from collections.abc import Iterable, Sequence

import msgspec

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
    UserMessage,
    UserPart,
)
from holdfast.wire.content_blocks import (
    SYSTEM_ROLES,
    CallNames,
    WireDict,
    WireRequest,
    is_gemini_thinking,
    system_message_events,
    tool_call,
    user_message_events,
    user_parts,
)
from holdfast.wire.foreign_json import Losses, count, items, obj, text
from holdfast.wire.openai import openai_message, openai_tool

OUTPUT_TYPES = ("function_call_output", "custom_tool_call_output")
CALL_TYPES = ("function_call", "custom_tool_call")
_OWN_CALLS = (
    *(
        "apply_patch_call",
        "code_interpreter_call",
        "computer_call",
        "file_search_call",
        "image_generation_call",
    ),
    *("local_shell_call", "mcp_approval_request", "mcp_call", "mcp_list_tools", "shell_call"),
    *("tool_search_call", "tool_search_output", "web_search_call"),
)
"""Items of the provider's own tools, in the middle of a reply."""
_OWN_OUTPUTS = (
    *("apply_patch_call_output", "computer_call_output", "local_shell_call_output", "mcp_approval_response"),
    *("shell_call_output", "item_reference"),
)
ITEM_TYPES = (*CALL_TYPES, *OUTPUT_TYPES, "reasoning", *_OWN_CALLS, *_OWN_OUTPUTS)
"""Items that only this API has."""
_REPLY_TYPES = (*CALL_TYPES, "reasoning", *_OWN_CALLS)
CONTENT_TYPES = ("input_text", "output_text", "input_image", "input_file")

_READABLE = ("type", "summary", "content", "status")
"""Fields of a reasoning item that are not opaque: its text, and what only the API itself says of it."""


def is_reply_item(item: Json) -> bool:
    """Whether the model wrote this item, so that it is part of a reply."""
    value = obj(item)
    return value.get("type") in _REPLY_TYPES or value.get("role") == "assistant"


def responses_events(
    item: dict[str, Json], names: CallNames, losses: Losses, *, opening: bool
) -> list[Event]:
    """The events of one item. A reply of several items is read by `reply_event`."""
    kind, role = item.get("type") or "message", item.get("role")
    if kind in OUTPUT_TYPES:
        call_id = text(item.get("call_id"))
        return [ToolReturned(call_id, names.get(call_id, ""), user_parts(item.get("output"), losses))]
    if is_reply_item(item):
        return [reply_event([item], losses)]
    if kind == "message" and role in SYSTEM_ROLES:
        return system_message_events(item, losses, opening=opening)
    if kind == "message" and role == "user":
        return user_message_events(user_parts(item.get("content"), losses), losses)
    losses.add("left out", f"`{str(kind)[:40]}` items")
    return []


def is_search(item: Json) -> bool:
    """Whether an item is a search that the provider's own tool made, and bills."""
    value = obj(item)
    action = obj(value.get("action")).get("type")
    return value.get("type") == "web_search_call" and action in (None, "search")


def reply_event(reply: Iterable[dict[str, Json]], losses: Losses) -> AssistantReplied:
    """The items of one reply."""
    return AssistantReplied(tuple(part for item in reply for part in item_parts(item, losses)))


def item_parts(item: dict[str, Json], losses: Losses) -> list[AssistantPart]:
    """The parts of an output item; items of the provider's own tools hold nothing for us."""
    match item.get("type") or "message":
        case "message":
            if isinstance(content := item.get("content"), str):
                return [Text(content)] if content else []
            blocks = [obj(part) for part in items(content)]
            said = [text(part.get("text")) or text(part.get("refusal")) for part in blocks]
            return [Text(one) for one in said if one]
        case "function_call":
            return [tool_call(item.get("call_id"), item.get("name"), item.get("arguments"), losses)]
        case "custom_tool_call":
            arguments = {"input": text(item.get("input"))}
            return [tool_call(item.get("call_id"), item.get("name"), arguments, losses)]
        case "reasoning":
            thinking = thinking_from_item(item)
            return [thinking] if thinking else []
    losses.add("left out", f"`{str(item.get('type'))[:40]}` items")
    return []


def responses_usage(value: Json) -> Usage | None:
    usage = obj(value)
    details = obj(usage.get("input_tokens_details"))
    read, write = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    prompt, completion = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None


def to_responses(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> WireRequest:
    losses = Losses()
    for message in messages:
        _count_losses(message, losses)
    return WireRequest(
        format="responses",
        messages=join_responses(map(responses_items, messages)),
        system=None,
        tools=responses_tools(tools),
        losses=losses.sentences(),
    )


def responses_tools(tools: Sequence[ToolDefinition]) -> list[WireDict]:
    """The chat API's functions without the wrapper. Strict mode, the default, would refuse most schemas."""
    return [{"type": "function", **openai_tool(tool)["function"], "strict": False} for tool in tools]


def join_responses(wired: Iterable[list[WireDict]]) -> list[WireDict]:
    return [item for items_ in wired for item in items_]


def responses_items(message: Message, *, keeps_reasoning: bool = True) -> list[WireDict]:
    """One message as items; none if nothing of it can be sent."""
    if isinstance(message, AssistantMessage):
        return _reply_items(message, keeps_reasoning)
    if isinstance(message, ToolMessage):
        output = _content(message.parts)
        return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
    role = "system" if isinstance(message, SystemMessage) else "user"
    parts = (Text(message.text),) if isinstance(message, SystemMessage) else message.parts
    content = _content(parts)
    return [{"type": "message", "role": role, "content": content}] if content else []


def _reply_items(message: AssistantMessage, keeps_reasoning: bool) -> list[WireDict]:
    """The parts in order; reasoning that led to nothing is left out, because the API refuses it alone."""
    wired: list[WireDict] = []
    sent = [
        n for n, p in enumerate(message.parts) if isinstance(p, ToolCall) or (isinstance(p, Text) and p.text)
    ]
    spoken = max(sent, default=-1)
    for number, part in enumerate(message.parts[: spoken + 1]):
        if isinstance(part, Thinking):
            item = item_from_thinking(part) if keeps_reasoning else None
            wired += [item] if item else []
        elif isinstance(part, ToolCall):
            function = openai_message(AssistantMessage((part,)))[0]["tool_calls"][0]["function"]
            wired.append({"type": "function_call", "call_id": part.id, **function})
        elif part.text:
            called = any(isinstance(later, ToolCall) for later in message.parts[number:])
            # Newer models want to be told which texts were only comments before a call.
            phase = "commentary" if called else "final_answer"
            wired.append({"type": "message", "role": "assistant", "content": part.text, "phase": phase})
    return wired


def _content(parts: tuple[UserPart, ...]) -> str | list[WireDict]:
    """Content of the chat API under the names of this one."""
    content: str | list[WireDict] = openai_message(UserMessage(parts))[0]["content"]
    if isinstance(content, str):
        return content
    return [
        {"type": "input_text", "text": part["text"]}
        if part["type"] == "text"
        else {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
        for part in content
    ]


def thinking_from_item(item: dict[str, Json]) -> Thinking | None:
    """A reasoning item as thinking; None if there is nothing in it.

    `Thinking.redacted` holds what is opaque of the item, as a JSON object (Anthropic's redacted blocks are base64:
    the first brace tells them apart). The readable summary stays in `Thinking.text`, where secrets are found
    before a store sees them.
    """
    summary = [text(obj(part).get("text")) for part in items(item.get("summary"))]
    content = [text(obj(part).get("text")) for part in items(item.get("content"))]
    said = "\n\n".join(filter(None, summary)) or "\n\n".join(filter(None, content))
    opaque = {key: value for key, value in item.items() if key not in _READABLE and value is not None}
    redacted = msgspec.json.encode(opaque).decode() if text(item.get("encrypted_content")) else ""
    return Thinking(said, redacted=redacted) if said or redacted else None


def is_reasoning_item(thinking: Thinking) -> bool:
    """Whether what is opaque is an item of this API."""
    return thinking.redacted.startswith("{") and not is_gemini_thinking(thinking)


def item_from_thinking(thinking: Thinking) -> dict[str, Json] | None:
    """The reasoning item as the Responses API takes it back; None for thinking of another provider."""
    if not is_reasoning_item(thinking):
        return None
    summary = [{"type": "summary_text", "text": thinking.text}] if thinking.text else []
    try:
        opaque = obj(msgspec.json.decode(thinking.redacted))
    except msgspec.DecodeError:
        return None
    return {"type": "reasoning", "summary": summary, **opaque}


def _count_losses(message: Message, losses: Losses) -> None:
    if isinstance(message, ToolMessage):
        losses.add("left out", "error flags of tool results", int(message.error))
    elif isinstance(message, AssistantMessage):
        thoughts = [part for part in message.parts if isinstance(part, Thinking)]
        foreign = sum(not is_reasoning_item(thought) for thought in thoughts)
        losses.add("left out", "thinking blocks that are no reasoning items", foreign)
        if not responses_items(message):
            losses.add("left out", "assistant messages with neither text nor call")
    elif not responses_items(message):
        losses.add("left out", "messages with nothing to send")
