"""A file as requests to a provider, unrepaired: what the validator judges for `holdfast check`.

Rule: messages that are in a provider's own shape are judged as they stand in the file; all others are translated
one to one first.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from holdfast.cli.sources import path_of
from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Entry, Recording, SystemSet, ToolReturned, ToolsSet, UserSaid
from holdfast.log import Log
from holdfast.messages import (
    AssistantMessage,
    Json,
    Message,
    SystemMessage,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from holdfast.packing.validator import Provider, Violation, check
from holdfast.recordings import detect_format, find_recording, read_recordings, to_anthropic, to_openai
from holdfast.recordings.decoding import decoded
from holdfast.recordings.formats import format_of, is_message, request_of
from holdfast.recordings.reading import HEAD
from holdfast.recordings.source import Source, json_lines
from holdfast.recordings.tally import Tally
from holdfast.store import MemoryStore
from holdfast.views import Repair, Transcript

PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")


class Requested(Struct, frozen=True):
    """One recording to judge. `raw` is set where the file is in the shape of the provider `native`.

    `refusal` says why the recording could not be read, though its messages could be; `notes` what was forgiven.
    """

    id: str
    entries: Sequence[Entry] = ()
    native: str = ""
    raw: Json = None
    refusal: str = ""
    notes: Sequence[str] = ()

    def violations(self, provider: Provider) -> tuple[Violation, ...]:
        if self.native == provider:
            request = request_of(self.raw) if isinstance(self.raw, dict) else {"messages": self.raw}
            # Not `or ()`: an absent key and an empty list are different things to a provider.
            messages, system, tools = (request.get(key) for key in ("messages", "system", "tools"))
            return check(messages or [], provider, system=system, tools=tools)
        write = to_openai if provider == "openai" else to_anthropic
        wire = write(*_spoken(self.entries))
        return check(wire.messages, provider, system=wire.system, tools=wire.tools or None)

    def providers(self, asked: str | None) -> tuple[Provider, ...]:
        """Those asked for, or else the file's own, or else both."""
        wanted = PROVIDERS if asked in (None, "both") else (asked,)
        if asked is None and self.native:
            wanted = (self.native,)
        return tuple(p for p in PROVIDERS if p in wanted and (self.entries or p == self.native))

    def repairs(self) -> list[Repair]:
        transcript = Transcript(self.entries)
        waiting = [
            Repair("unanswered-call", step.entry, f"`{raw}` is not answered yet")
            for step in transcript.steps[-1:]
            for raw in step.waiting
        ]
        return [*transcript.repairs, *transcript.unplaced.values(), *waiting]


def requests_in(path: Path, id_: str | None, format_: str | None, chain: str) -> Iterator[Requested]:
    """Every recording of a file, or the one with this id."""
    if id_ is not None:
        chosen = find_recording(path, id_, format_)
        native = [r for r in _native_requests(path, format_, chain) if r.id == chosen.id]
        yield from native or [Requested(chosen.id, _entries(chosen, chain), notes=chosen.notes)]
        return
    native = _native_requests(path, format_, chain)
    if native:
        yield from native
        return
    for recording in read_recordings(path, format_):
        yield Requested(recording.id, _entries(recording, chain), notes=recording.notes)


def _native_requests(path: Path, format_: str | None, chain: str) -> list[Requested]:
    """The file's requests as they stand, if it is in a provider's own shape."""
    source = Source(path)
    lines = json_lines(source)
    values: list[Json] = []
    for line in islice(lines, HEAD):
        values += decoded(line.raw, source.name, line.number, Tally())
        if any(map(format_of, values)):
            break
    native = format_ or detect_format(values, source.name)
    if native not in PROVIDERS:
        return []
    values += [v for line in lines for v in decoded(line.raw, source.name, line.number, Tally())]
    raws = [values] if is_message(values[0]) else [part for value in values for part in _several(value)]
    try:
        recordings = list(read_recordings(path, format_))
    except InputError as error:
        return [
            Requested(str(n), native=native, raw=raw, refusal=error.message) for n, raw in enumerate(raws)
        ]
    return [
        Requested(recording.id, _entries(recording, chain), native, raw, notes=recording.notes)
        for recording, raw in zip(recordings, raws, strict=True)
    ]


def _several(value: Json) -> list[Json]:
    """A list may be one recording's messages or a list of recordings."""
    return value if isinstance(value, list) and value and not is_message(value[0]) else [value]


def _entries(recording: Recording, chain: str) -> Sequence[Entry]:
    log = Log.import_recording(MemoryStore(), recording, redact=str)
    return path_of(log.entries(), chain)


def _spoken(entries: Sequence[Entry]) -> tuple[list[Message], tuple[ToolDefinition, ...]]:
    """The messages of a path one to one, with the newest system prompt and tools."""
    system = ""
    tools: tuple[ToolDefinition, ...] = ()
    messages: list[Message] = []
    for entry in entries:
        event = entry.event
        match event:
            case SystemSet():
                system = event.text
            case ToolsSet():
                tools = event.tools
            case UserSaid():
                messages.append(UserMessage(event.parts))
            case AssistantReplied():
                messages.append(AssistantMessage(event.parts))
            case ToolReturned():
                messages.append(ToolMessage(event.call_id, event.name, event.parts, event.error))
            case _:
                pass
    return [*([SystemMessage(system)] if system else []), *messages], tools
