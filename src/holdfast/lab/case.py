"""A recording made ready for replay: its messages in order, and which of them are replies.

Rule: one message for each that was recorded, no more and no fewer, with the place it has there.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from holdfast.events import AssistantReplied, Entry, Recording, SystemSet, ToolReturned, ToolsSet, UserSaid
from holdfast.log import Log
from holdfast.messages import Image, ToolCall, UserMessage, joined_text
from holdfast.store import MemoryStore
from holdfast.views import path
from holdfast.wire.content_blocks import WireDict
from holdfast.wire.openai import openai_message


class RecordedTurn(Struct, frozen=True, gc=False):
    """A recorded message and its time. A reply that said nothing has no message: a request, and nothing to add."""

    index: int
    message: WireDict | None
    at: float | None

    @property
    def is_reply(self) -> bool:
        return self.message is None or self.message["role"] == "assistant"


class ReplayCase(Struct, frozen=True):
    """`stable` are the system prompt and the tools: sent with every request, by every policy, and not counted."""

    id: str
    project: str
    stable: tuple[str, ...]
    turns: tuple[RecordedTurn, ...]
    notes: tuple[str, ...] = ()
    """What was lost or repaired when the recording was read."""
    agent: str = ""
    """Who worked: as `meta` says, else the format that the recording was read from."""

    @property
    def requests(self) -> int:
        return sum(turn.is_reply for turn in self.turns)


def make_case(recording: Recording, project: str) -> ReplayCase:
    log = Log.import_recording(MemoryStore(), recording, redact=str)
    entries = path(log.entries())
    turns = tuple(_turns(entries, recording))
    agent = _meta(recording, "agent") or recording.source
    return ReplayCase(recording.id, project, tuple(_stable(entries)), turns, recording.notes, agent)


def project_of(recording: Recording, file_stem: str, key: str) -> str:
    """What tells projects apart: the file, the recording itself, or what `meta` says under a key."""
    if key == "file":
        return file_stem
    if key == "recording":
        return recording.id
    return _meta(recording, key) or file_stem


def _meta(recording: Recording, key: str) -> str:
    """What `meta` says under a key, if it is a text."""
    meta = getattr(recording.events[0].event, "meta", {}) if recording.events else {}
    found = meta.get(key)
    return found if isinstance(found, str) else ""


def _turns(entries: Iterable[Entry], recording: Recording) -> Iterator[RecordedTurn]:
    places, silent = recording.places, list(recording.silent)
    count = 0
    for entry in entries:
        # An entry's number is its event's place in the recording, plus one.
        event_index = entry.seq - 1
        while silent and silent[0][0] <= event_index:
            yield RecordedTurn(silent.pop(0)[1], None, None)
            count += 1
        message = _message(entry)
        if message is None:
            continue
        place = places[event_index] if event_index < len(places) else -1
        yield RecordedTurn(count if place < 0 else place, message, entry.at)
        count += 1
    for _, place in silent:
        yield RecordedTurn(place, None, None)


def _message(entry: Entry) -> WireDict | None:
    event = entry.event
    match event:
        case UserSaid():
            pictured = any(isinstance(part, Image) for part in event.parts)
            said = openai_message(UserMessage(event.parts))[0]["content"] if pictured else ""
            return {"role": "user", "content": said or joined_text(event.parts)}
        case AssistantReplied():
            # A call whose arguments were not a JSON object keeps the text that the model wrote.
            calls = [
                {"id": part.id, "name": part.name, "arguments": part.raw or part.arguments}
                for part in event.parts
                if isinstance(part, ToolCall)
            ]
            reply: WireDict = {"role": "assistant", "content": joined_text(event.parts)}
            return {**reply, "tool_calls": calls} if calls else reply
        case ToolReturned():
            text = joined_text(event.parts)
            return {"role": "tool", "tool_call_id": event.call_id, "name": event.name, "content": text}
        case _:
            return None


def _stable(entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        event = entry.event
        if isinstance(event, SystemSet):
            yield event.text
        elif isinstance(event, ToolsSet):
            for tool in event.tools:
                yield f"{tool.name}\n{tool.description}"
                yield msgspec.json.encode(tool.schema).decode()
