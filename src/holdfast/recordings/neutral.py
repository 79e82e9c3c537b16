"""The neutral shape: one recording a line, `{"id", "source", "system", "tools", "messages", "meta"}`.

Rule: messages keep their order and number; `meta` adds usage, times and boundaries.
"""

from typing import Any

import msgspec

from holdfast.events import AssistantReplied, BoundarySeen, Event, Recording, UsageReported
from holdfast.messages import Json, Usage
from holdfast.wire.content_blocks import split_system, system_text
from holdfast.wire.foreign_json import count, items, obj, seconds, small, text
from holdfast.wire.openai import openai_events
from holdfast.wire.recording_builder import EMPTY_REPLY, RecordingBuilder

LISTS = ("usage", "ts", "events")


def read_neutral(value: Json, builder: RecordingBuilder, id: str = "") -> Recording:  # noqa: A002
    record = obj(value)
    meta = obj(record.get("meta"))
    messages = record.get("messages")
    if not isinstance(messages, list):
        builder.refuse("has no list of `messages`", hint="the neutral shape is one recording a line")
    opening, rest = split_system(messages, builder.losses)
    system = [system_text(record.get("system"), builder.losses), opening]
    builder.set_up("\n\n".join(filter(None, system)), record.get("tools"))
    _read_messages(rest, len(messages) - len(rest), meta, builder)
    head = {key: entry for key, entry in meta.items() if key not in LISTS}
    return builder.finish(id, meta={"id": id, "source": record.get("source"), **head})


def _read_messages(
    messages: list[Json], first: int, meta: dict[str, Json], builder: RecordingBuilder
) -> None:
    usages, clocks = _usages(meta.get("usage")), items(meta.get("ts"))
    boundaries = _boundaries(meta.get("events"), first, messages)
    models = items(meta.get("models"))
    model = text(models[0]) if len(models) == 1 else ""
    for index, message in enumerate(messages, first):
        at = seconds(clocks[index]) if index < len(clocks) else None
        builder.extend(boundaries.pop(index, []), at=at)
        usage = usages.pop(index, None)
        if usage is not None and obj(message).get("role") != "assistant":
            builder.add(UsageReported(usage, model=model, purpose=EMPTY_REPLY), at=at)
        for event in openai_events(obj(message), builder.names, builder.losses, opening=False):
            if isinstance(event, AssistantReplied):
                event = msgspec.structs.replace(event, usage=usage, model=event.model or model)  # noqa: PLW2901
            builder.add(event, at=at, place=index)
    for left in boundaries.values():
        builder.extend(left)
    builder.extend(UsageReported(usage, model=model, purpose=EMPTY_REPLY) for usage in usages.values())


def _usages(value: Json) -> dict[int, Usage]:
    """By message index, from rows of index, prompt, completion and cached tokens."""
    usages: dict[int, Usage] = {}
    for row in items(value):
        if isinstance(row, list) and len(row) >= 2 and isinstance(row[0], int) and count(row[1]):
            prompt, completion, cached, *_ = [*map(count, row[1:4]), 0, 0]
            usages[row[0]] = Usage(prompt, completion, cache_read=cached)
    return usages


def _boundaries(value: Json, first: int, messages: list[Json]) -> dict[int, list[Event]]:
    """By message index. The summary of a compaction has a row of its own there; here it is part of the boundary."""
    found: dict[int, list[Event]] = {}
    for row in map(obj, items(value)):
        place = max(count(row.get("at")), first) if "at" in row else first + len(messages)
        here = found.setdefault(place, [])
        event = _boundary(row, messages[place - first :])
        last = here[-1] if here else None
        if event.kind == "compact_summary" and isinstance(last, BoundarySeen) and not last.summary:
            here[-1] = msgspec.structs.replace(last, summary=event.summary, data={**last.data, **event.data})
        else:
            here.append(event)
    return found


def _boundary(row: dict[str, Json], following: list[Json]) -> BoundarySeen:
    known = ("type", "at", "trigger", "pre_tokens", "tokens_before", "summary")
    data: dict[str, Any] = small({key: value for key, value in row.items() if key not in known})
    summary = text(row.get("summary"))
    if row.get("type") == "compact_summary" and not summary:
        # The first user message after the boundary, if it has the length the recorder noted.
        users = (message for message in map(obj, following) if message.get("role") == "user")
        content = text(next(users, {}).get("content"))
        summary = content if len(content) == count(row.get("chars")) else ""
    return BoundarySeen(
        kind=text(row.get("type")) or "unknown",
        trigger=text(row.get("trigger")),
        tokens_before=count(row.get("pre_tokens")) or count(row.get("tokens_before")),
        summary=summary,
        data=data,
    )
