"""Entries as people and models read them: a head line, then plain lines of text.

Rule: a long string is never shown as JSON. It follows below, line by line, so that any part of it can be addressed.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    Compacted,
    ContextSet,
    Entry,
    Event,
    LogStarted,
    Noted,
    RecapSet,
    RulesSet,
    SystemSet,
    ToolReturned,
    UserSaid,
)
from holdfast.ids import text_id
from holdfast.messages import Image, Json, Text, Thinking, ToolCall
from holdfast.numbers import count_noun
from holdfast.store.encoding import INLINE_LIMIT
from holdfast.store.protocol import LogInfo

_FIRST_WORDS = 80


def entry_text(entry: Entry) -> str:
    """An entry as text. The same entry gives the same text, so its lines can be addressed."""
    event = entry.event
    head = f"[{event_label(event)}]"
    if isinstance(event, UserSaid | AssistantReplied | ToolReturned):
        return "\n".join([head, *(_part(part) for part in event.parts)])
    if isinstance(event, SystemSet | RulesSet | ContextSet | Compacted):
        return f"{head}\n{event.text}"
    if isinstance(event, RecapSet):
        return "\n".join([head, event.title, *event.lines])
    if isinstance(event, Noted | BoundarySeen):
        said = event.text if isinstance(event, Noted) else event.summary
        return "\n".join([head, said, *([_json(event.data)] if event.data else [])])
    return f"{head}\n{_json(msgspec.to_builtins(event))}"


def log_index_text(info: LogInfo, entries: Sequence[Entry]) -> str:
    """A log as a table of contents: one line for each entry, with the ids that lead to the whole text."""
    title = f" {_short(info.head.title)}" if info.head.title else ""
    lines = [f"[log {info.head.id}]{title}, {info.entries} entries"]
    lines += [f"{entry.seq} {entry.id} {event_label(entry.event)}{_gist(entry.event)}" for entry in entries]
    return "\n".join(lines)


def event_label(event: Event) -> str:
    """Who or what: one short line without the content."""
    match event:
        case UserSaid(origin="person"):
            return "user"
        case UserSaid():
            return f"user, {event.origin}"
        case AssistantReplied():
            return f"assistant{_named(event.model)}"
        case ToolReturned():
            return f"tool {_short(event.name)} {_short(event.call_id)}{', error' if event.error else ''}"
        case SystemSet():
            return "system"
        case RulesSet():
            return f"project rules {_short(event.path)}"
        case ContextSet():
            return f"context {_short(event.key)}"
        case RecapSet():
            return f"recap {_short(event.key)}"
        case Compacted():
            return f"summary, {event.slot}, by {_short(event.by)}"
        case Noted() | BoundarySeen():
            kind = "note" if isinstance(event, Noted) else "boundary"
            return f"{kind}{_named(event.kind)}"
        case LogStarted():
            return f"log started{_named(event.source)}"
    return str(type(event).__struct_config__.tag).replace("_", " ")


def _gist(event: Event) -> str:
    """First words, and the id of the text if it is longer than that."""
    if isinstance(event, UserSaid | AssistantReplied | ToolReturned):
        calls = [f"{part.name}({_arguments(part)})" for part in event.parts if isinstance(part, ToolCall)]
        texts = [part.text for part in event.parts if isinstance(part, Text) and part.text]
        said = [_first_words(text) for text in texts]
        return ": " + "; ".join(said + calls) if said or calls else ""
    text = getattr(event, "text", "")
    return f": {_first_words(text)}" if text else ""


def _arguments(call: ToolCall) -> str:
    """The first words of a call's arguments."""
    return _short(call.raw or ", ".join(f"{name}={given}" for name, given in call.arguments.items()))


def _first_words(text: str) -> str:
    short = _short(text)
    lines = count_noun(text.count("\n") + 1, "line")
    return short if len(text) <= _FIRST_WORDS else f"{short} ({lines}, {text_id(text)})"


def _part(part: Text | Image | Thinking | ToolCall) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image):
        where = part.url if part.url and len(part.url) < INLINE_LIMIT else text_id(part.data or part.url)
        return f"[image {part.media_type}, {where}]"
    if isinstance(part, Thinking):
        return f"[thinking]\n{part.text}" if part.text else "[thinking, withheld by the provider]"
    return f"[call {part.name} {part.id}]\n{part.raw or _json(part.arguments)}"


def _json(value: Json) -> str:
    """Indented JSON, with its long strings below it as text."""
    below: list[tuple[str, str]] = []
    shown = msgspec.json.format(msgspec.json.encode(_brief(value, "", below)), indent=2).decode()
    return "\n".join([shown, *(f"[{name}]\n{text}" for name, text in below)])


def _brief(value: Any, name: str, below: list[tuple[str, str]]) -> Json:
    if isinstance(value, str) and (len(value) >= INLINE_LIMIT or "\n" in value):
        below.append((name, value))
        return f"[{name}: {value.count(chr(10)) + 1} lines, below]"
    if isinstance(value, dict):
        return {k: _brief(v, f"{name}.{k}" if name else k, below) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_brief(v, f"{name}[{i}]", below) for i, v in enumerate(value)]
    return value


def _named(name: str) -> str:
    return f", {_short(name)}" if name else ""


def _short(text: str) -> str:
    words = " ".join(text[: _FIRST_WORDS * 4].split())
    return words if len(words) <= _FIRST_WORDS else words[: _FIRST_WORDS - 1] + "…"
