"""pi sessions: a header, then entries; newer ones form a tree by `id` and `parentId`.

Rule: every branch is kept where it left the session; compactions are recorded, not acted upon.
"""

from collections.abc import Iterable

from holdfast.events import AssistantReplied, BoundarySeen, Event, Noted, Recording, ToolReturned, UserSaid
from holdfast.messages import AssistantPart, Json, Text, Thinking, Usage
from holdfast.wire.content_blocks import block_type, tool_call, user_message_events, user_parts
from holdfast.wire.foreign_json import count, items, obj, seconds, small, text
from holdfast.wire.recording_builder import EventTree, RecordingBuilder

NAME = "pi"


def read_pi(values: Iterable[dict[str, Json]], builder: RecordingBuilder) -> Recording:
    tree = EventTree(builder)
    session = title = ""
    meta: dict[str, Json] = {}
    for line in values:
        kind = text(line.get("type"))
        if kind == "session":
            session = session or text(line.get("id"))
            keys = ("id", "cwd", "version", "parentSession", "branchedFrom")
            meta |= {key: line.get(key) for key in keys} | _model(line)
        elif kind == "model_change":
            meta |= _model(line)
        elif kind == "session_info":
            title = text(line.get("name")) or title
        else:
            _read_entry(line, kind, tree, builder)
            continue
        tree.skip(text(line.get("id")), text(line.get("parentId")))
    return builder.finish(session, title=title, meta=meta)


def _model(line: dict[str, Json]) -> dict[str, Json]:
    model = text(line.get("modelId"))
    return {"model": model, "provider": line.get("provider")} if model else {}


def _read_entry(line: dict[str, Json], kind: str, tree: EventTree, builder: RecordingBuilder) -> None:
    own, parent, at = text(line.get("id")), text(line.get("parentId")), seconds(line.get("timestamp"))
    if kind == "message":
        events = _message_events(obj(line.get("message")), builder)
    elif kind in ("compaction", "branch_summary"):
        events = [_boundary(kind, line)]
    elif kind == "custom_message":
        parts = user_parts(line.get("content"), builder.losses)
        events = [UserSaid(parts, origin="reminder")] if parts else []
    else:
        builder.losses.add("left out", f"`{kind}` lines")
        events = []
    root = "parentId" in line and line["parentId"] is None
    for event in events:
        tree.add(event, own=own, parent=parent, at=at, root=root)
        parent, root = own, False
    if not events:
        tree.skip(own, parent)


def _message_events(message: dict[str, Json], builder: RecordingBuilder) -> list[Event]:
    role = text(message.get("role"))
    if role == "user":
        return user_message_events(user_parts(message.get("content"), builder.losses), builder.losses)
    if role == "assistant":
        return _reply_events(message, builder)
    if role == "toolResult":
        call_id = text(message.get("toolCallId"))
        name = text(message.get("toolName")) or builder.names.get(call_id, "")
        parts = user_parts(message.get("content"), builder.losses)
        return [ToolReturned(call_id=call_id, name=name, parts=parts, error=message.get("isError") is True)]
    if role == "bashExecution":
        # A command that the person ran, in the words that pi shows the model.
        output, code = text(message.get("output")) or "(no output)", message.get("exitCode")
        ran = f"Ran `{text(message.get('command'))}`\n```\n{output}\n```"
        ended = "" if code in (None, 0) else f"\n\nCommand exited with code {code}"
        return [UserSaid((Text(ran + ended),), origin="reminder")]
    if role in ("custom", "hookMessage") and (parts := user_parts(message.get("content"), builder.losses)):
        return [UserSaid(parts, origin="reminder")]
    builder.losses.add("left out", f"messages with the role `{role[:40]}`")
    return []


def _reply_events(message: dict[str, Json], builder: RecordingBuilder) -> list[Event]:
    stop, error = text(message.get("stopReason")), text(message.get("errorMessage"))
    signed = text(message.get("api")).startswith("anthropic")
    parts: list[AssistantPart] = []
    for block in map(obj, items(message.get("content"))):
        if block.get("type") == "toolCall":
            call, name, arguments = (block.get(key) for key in ("id", "name", "arguments"))
            parts.append(tool_call(call, name, arguments, builder.losses))
        elif block.get("type") == "thinking":
            # Signatures of other providers are opaque items that no messages API takes back.
            signature = text(block.get("thinkingSignature")) if signed else ""
            if (thought := text(block.get("thinking"))) or signature:
                parts.append(Thinking(thought, signature=signature))
        elif block.get("type") == "text":
            parts += [Text(said)] if (said := text(block.get("text"))) else []
        else:
            builder.losses.add("left out", f"`{block_type(block)}` blocks of assistant messages")
    reply = AssistantReplied(
        tuple(parts), model=text(message.get("model")), usage=_usage(message.get("usage")), stop=stop
    )
    events: list[Event] = [reply]
    if stop == "aborted":
        events.append(BoundarySeen(kind="turn_aborted", trigger=error))
    elif error:
        events.append(Noted(kind="error", text=error))
    return events


def _usage(value: Json) -> Usage | None:
    usage = obj(value)
    read, write = count(usage.get("cacheRead")), count(usage.get("cacheWrite"))
    prompt = count(usage.get("input")) + read + write
    completion = count(usage.get("output"))
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None


def _boundary(kind: str, line: dict[str, Json]) -> BoundarySeen:
    known = ("type", "id", "parentId", "timestamp", "summary", "tokensBefore")
    return BoundarySeen(
        kind=kind,
        tokens_before=count(line.get("tokensBefore")),
        summary=text(line.get("summary")),
        data=small({key: value for key, value in line.items() if key not in known}),
    )
