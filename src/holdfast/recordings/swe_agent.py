"""SWE-agent `.traj` files: the history a model saw, or the bare trajectory.

Rule: an action is a call. An action in plain text becomes a call of `bash`, and the observation after it becomes
its result.
"""

from holdfast.events import AssistantReplied, Recording, ToolReturned, UserSaid
from holdfast.messages import AssistantPart, Json, Text, Thinking, ToolCall
from holdfast.wire.content_blocks import SYSTEM_ROLES, split_system, user_message_events, user_parts
from holdfast.wire.foreign_json import items, obj, text
from holdfast.wire.openai import reply_parts
from holdfast.wire.recording_builder import RecordingBuilder

NAME = "swe-agent"


def read_swe_agent(value: Json, builder: RecordingBuilder, id: str = "") -> Recording:  # noqa: A002
    traj = obj(value)
    history = items(traj.get("history"))
    if history:
        _read_history(history, builder)
    else:
        _read_trajectory(items(traj.get("trajectory")), builder)
    if builder.is_empty():
        builder.refuse("has neither `history` nor `trajectory` steps", hint="check that the run took a step")
    info = obj(traj.get("info"))
    meta = {key: info.get(key) for key in ("exit_status", "model_stats", "swe_agent_version")}
    return builder.finish(id, meta={"environment": traj.get("environment"), **meta})


def _read_history(history: list[Json], builder: RecordingBuilder) -> None:
    opening, rest = split_system(history, builder.losses)
    builder.set_up(opening, None)
    waiting: str | None = None
    for number, message in enumerate(map(obj, rest)):
        role = message.get("role")
        if role == "assistant":
            reply = _reply(message, f"call_{number}", builder)
            builder.add(AssistantReplied(reply))
            waiting = next((part.id for part in reply if isinstance(part, ToolCall)), "")
        elif role in ("user", "tool", *SYSTEM_ROLES):
            waiting = _read_input(message, waiting, builder)
        else:
            builder.losses.add("left out", f"messages with the unknown role `{str(role)[:40]}`")


def _read_input(message: dict[str, Json], waiting: str | None, builder: RecordingBuilder) -> str | None:
    """A result if a call waits for one, else a user message; returns the call that still waits.

    Before the first reply (`waiting` is None) a person speaks; later only the program does, about format errors.
    """
    ids = [text(call) for call in items(message.get("tool_call_ids"))] or [text(message.get("tool_call_id"))]
    parts = user_parts(message.get("content"), builder.losses)
    if message.get("is_demo"):
        builder.losses.add("kept as reminders", "demonstrations")
        builder.add(UserSaid(parts, origin="reminder"))
        return waiting
    call = ids[0] or (waiting if message.get("role") in ("user", "tool") else "")
    if call:
        builder.losses.add("left out", "call ids that share one result", len(ids) - 1)
        builder.add(ToolReturned(call_id=call, name=builder.names.get(call, ""), parts=parts))
        return ""
    if waiting is None:
        builder.extend(user_message_events(parts, builder.losses))
        return None
    builder.add(UserSaid(parts, origin="reminder"))
    return ""


def _reply(message: dict[str, Json], call_id: str, builder: RecordingBuilder) -> tuple[AssistantPart, ...]:
    """The calls of the newer function-calling history, or the action of the older one."""
    thinking = tuple(
        Thinking(text(block.get("thinking")), signature=text(block.get("signature")))
        for block in map(obj, items(message.get("thinking_blocks")))
    )
    if message.get("is_demo"):
        builder.losses.add("kept as they stand", "replies of a demonstration")
    if message.get("tool_calls"):
        return thinking + reply_parts(message, builder.losses)
    return thinking + _acted(message.get("thought"), message.get("content"), message.get("action"), call_id)


def _acted(thought: Json, content: Json, action: Json, call_id: str) -> tuple[AssistantPart, ...]:
    command = text(action)
    said = text(thought) if command.strip() and text(thought) else text(content) or text(thought)
    parts: tuple[AssistantPart, ...] = (Text(said),) if said else ()
    if command.strip():
        return (*parts, ToolCall(id=call_id, name="bash", arguments={"command": command}))
    return parts


def _read_trajectory(steps: list[Json], builder: RecordingBuilder) -> None:
    """The steps alone: a trajectory has neither system prompt nor task."""
    for number, step in enumerate(map(obj, steps)):
        call_id = f"call_{number}"
        reply = _acted(step.get("thought"), step.get("response"), step.get("action"), call_id)
        builder.add(AssistantReplied(reply))
        if builder.caller(call_id) is not None:
            result = user_parts(step.get("observation"), builder.losses)
            builder.add(ToolReturned(call_id=call_id, name="bash", parts=result))
        elif observed := user_parts(step.get("observation"), builder.losses):
            builder.add(UserSaid(observed, origin="reminder"))
    if steps:
        builder.note("the file has a trajectory only: system prompt and task are missing")
