"""OpenAI chat messages in: a list, a request with its tools, or one message a line.

Rule: message by message, nothing is repaired; request settings other than tools are no part of a recording.
"""

from collections.abc import Mapping

from holdfast.events import AssistantReplied, Event, Recording, ToolReturned
from holdfast.messages import AssistantPart, Json, Text, Thinking
from holdfast.wire.content_blocks import (
    SYSTEM_ROLES,
    split_system,
    system_message_events,
    system_text,
    tool_call,
    user_message_events,
    user_parts,
)
from holdfast.wire.foreign_json import Losses, items, obj, text
from holdfast.wire.recording_builder import RecordingBuilder

NAME = "openai"
ROLES = (*SYSTEM_ROLES, "user", "assistant", "tool", "function")


def read_openai(value: Json, draft: RecordingBuilder, id: str = "") -> Recording:  # noqa: A002
    """A recording from a list of messages or from a request object that has one."""
    request = obj(value)
    request = obj(request.get("body")) or request
    messages = items(request.get("messages", value))
    tools = request.get("tools") or request.get("functions")
    opening, rest = split_system(messages, draft.tally)
    draft.set_up("\n\n".join(filter(None, [system_text(request.get("system"), draft.tally), opening])), tools)
    for place, message in enumerate(rest, len(messages) - len(rest)):
        draft.extend(openai_events(obj(message), draft.names, draft.tally, opening=False), place=place)
    if messages and draft.is_empty() and not opening:
        draft.refuse("has no message with a known role", hint=f"roles are {', '.join(ROLES)}.")
    return draft.finish(id, meta={"model": request.get("model")})


def openai_events(
    message: dict[str, Json], names: Mapping[str, str], tally: Losses, *, opening: bool
) -> list[Event]:
    """The events of one message; `opening` while no turn has been taken yet."""
    role = message.get("role")
    if role in SYSTEM_ROLES:
        return system_message_events(message, tally, opening=opening)
    if role == "user":
        return user_message_events(user_parts(message.get("content"), tally), tally)
    if role == "assistant":
        return [AssistantReplied(reply_parts(message, tally), model=text(message.get("model")))]
    if role in ("tool", "function"):
        return [_returned(message, names, tally)]
    tally.add("left out", f"messages with the unknown role `{str(role)[:40]}`")
    return []


def reply_parts(message: dict[str, Json], tally: Losses) -> tuple[AssistantPart, ...]:
    """Thinking, then text, then calls: the only order a chat message has."""
    reasoning = text(message.get("reasoning")) or text(message.get("reasoning_content"))
    parts: list[AssistantPart] = [Thinking(reasoning)] if reasoning else []
    for part in user_parts(message.get("content"), tally):
        if isinstance(part, Text):
            parts.append(part)
        else:
            tally.add("left out", "pictures in assistant messages")
    if refusal := text(message.get("refusal")):
        parts.append(Text(refusal))
    if message.get("audio"):
        tally.add("left out", "audio of assistant messages")
    parts += [_call(obj(call), tally) for call in items(message.get("tool_calls"))]
    if legacy := obj(message.get("function_call")):
        parts.append(tool_call(_legacy_id(legacy), legacy.get("name"), legacy.get("arguments"), tally))
    return tuple(parts)


def _call(call: dict[str, Json], tally: Losses) -> AssistantPart:
    """A call in OpenAI's nested shape or in the flat one of the neutral recordings."""
    if custom := obj(call.get("custom")):
        return tool_call(call.get("id"), custom.get("name"), {"input": text(custom.get("input"))}, tally)
    body = obj(call.get("function")) or call
    return tool_call(call.get("id"), body.get("name"), body.get("arguments"), tally)


def _returned(message: dict[str, Json], names: Mapping[str, str], tally: Losses) -> ToolReturned:
    call_id = text(message.get("tool_call_id"))
    if not call_id and message.get("role") == "function":
        call_id = _legacy_id(message)
    return ToolReturned(
        call_id=call_id,
        name=text(message.get("name")) or names.get(call_id, ""),
        parts=user_parts(message.get("content"), tally),
        error=message.get("is_error") is True,
    )


def _legacy_id(call: dict[str, Json]) -> str:
    """`function_call` had no ids: the name pairs a call with its result."""
    return f"function_{text(call.get('name'))}"
