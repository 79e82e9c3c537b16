"""Anthropic messages in: a list, or a request with its system prompt and tools.

Rule: message by message, nothing is repaired; signed thinking is carried verbatim, cache marks are dropped.
"""

from collections.abc import Mapping

from holdfast.events import AssistantReplied, Event, Recording, ToolReturned
from holdfast.messages import AssistantPart, Json, Text, Thinking, Usage, UserPart
from holdfast.wire.content_blocks import (
    SYSTEM_ROLES,
    block_type,
    split_system,
    system_message_events,
    system_text,
    tool_call,
    user_message_events,
    user_part,
    user_parts,
)
from holdfast.wire.foreign_json import Losses, count, items, obj, text
from holdfast.wire.recording_builder import RecordingBuilder

NAME = "anthropic"


def read_anthropic(value: Json, draft: RecordingBuilder, id: str = "") -> Recording:  # noqa: A002
    """A recording from a list of messages or from a request object that has one."""
    request = obj(value)
    request = obj(request.get("params")) or obj(request.get("body")) or request
    messages = items(request.get("messages", value))
    opening, rest = split_system(messages, draft.tally)
    if len(blocks := items(request.get("system"))) > 1:
        draft.tally.add("joined into one system prompt", "system blocks", len(blocks))
    system = [system_text(request.get("system"), draft.tally), opening]
    draft.set_up("\n\n".join(filter(None, system)), request.get("tools"))
    for place, message in enumerate(rest, len(messages) - len(rest)):
        draft.extend(anthropic_events(obj(message), draft.names, draft.tally, opening=False), place=place)
    if messages and draft.is_empty() and not opening:
        draft.refuse("has no message with a known role", hint="roles are user and assistant.")
    return draft.finish(id, meta={"model": request.get("model")})


def anthropic_events(
    message: dict[str, Json], names: Mapping[str, str], tally: Losses, *, opening: bool
) -> list[Event]:
    """The events of one message; a user message gives one for each tool result in it."""
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        tally.add("left out", "calls in OpenAI's shape", len(items(message.get("tool_calls"))))
        reply = reply_parts(content, tally)
        usage = anthropic_usage(message.get("usage"))
        stop = text(message.get("stop_reason"))
        return [AssistantReplied(reply, model=text(message.get("model")), usage=usage, stop=stop)]
    if role == "user":
        return user_events(content, names, tally)
    if role in SYSTEM_ROLES:
        return system_message_events(message, tally, opening=opening)
    tally.add("left out", f"messages with the unknown role `{str(role)[:40]}`")
    return []


def user_events(content: Json, names: Mapping[str, str], tally: Losses) -> list[Event]:
    """Results and what was said around them, in the order of the blocks."""
    events: list[Event] = []
    said: list[UserPart] = []
    blocks = items(content)
    for block in blocks:
        if obj(block).get("type") == "tool_result":
            events += user_message_events(tuple(said), tally) if said else []
            said = []
            events.append(_returned(obj(block), names, tally))
        else:
            said += user_parts([block], tally)
    if not blocks:
        said = list(user_parts(content, tally))
    if said or not events:
        events += user_message_events(tuple(said), tally)
    return events


def _returned(block: dict[str, Json], names: Mapping[str, str], tally: Losses) -> ToolReturned:
    call_id = text(block.get("tool_use_id"))
    return ToolReturned(
        call_id=call_id,
        name=names.get(call_id, ""),
        parts=user_parts(block.get("content"), tally),
        error=block.get("is_error") is True,
    )


def reply_parts(content: Json, tally: Losses) -> tuple[AssistantPart, ...]:
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
            parts.append(tool_call(block.get("id"), block.get("name"), block.get("input"), tally))
        elif kind == "text" and isinstance(part := user_part(block), Text):
            parts += [part] if part.text else []
        else:
            tally.add("left out", f"`{block_type(block)}` blocks of assistant messages")
    return tuple(parts)


def anthropic_usage(value: Json) -> Usage | None:
    """`prompt` counts everything sent; Anthropic reports what was not cached on its own."""
    usage = obj(value)
    read, write = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    prompt = count(usage.get("input_tokens")) + read + write
    completion = count(usage.get("output_tokens"))
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None
