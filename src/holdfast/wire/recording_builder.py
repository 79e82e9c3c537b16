"""Builds a recording event by event, in a line or in the tree that a recorder kept.

Rule: a builder only grows; what an importer could not place is counted in its losses and said in its notes. A
branch is what a person made by saying something else at an earlier point. Parallel results, progress lines and
reminders fork the recorders' trees too; those are one step and stay in a line.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NoReturn

import msgspec

from holdfast.errors import InputError
from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    Event,
    LogStarted,
    Recorded,
    Recording,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UsageReported,
    UserSaid,
)
from holdfast.messages import Json, Thinking, ToolCall, Usage, joined_text
from holdfast.wire.content_blocks import CallNames, tool_definitions
from holdfast.wire.foreign_json import Losses, small

TITLE = 80
EMPTY_REPLY = "a reply without content"
ID_BYTES = 6
NOWHERE = -1
"""The place of an event that is not a message of a list."""


class RecordingBuilder:
    """Events in the order found, the names of calls by id, and what was lost on the way.

    `where` names file and line for errors; `notes` are those of the file, read when the recording is finished.
    """

    def __init__(self, source: str, *, where: str = "the recording", notes: Sequence[str] = ()) -> None:
        self.source = source
        self.where = where
        self.losses = Losses()
        self.names = CallNames()
        self._file_notes = notes
        self._notes: list[str] = []
        self._recorded = [Recorded(LogStarted(origin="import", source=source))]
        self._places = [NOWHERE]
        self._silent: list[tuple[int, int]] = []
        self._newest = {"": 0}
        self._callers: dict[str, int] = {}

    def add(
        self,
        event: Event,
        *,
        chain: str = "",
        at: float | None = None,
        after: int | None = None,
        place: int = NOWHERE,
    ) -> int | None:
        """Append an event. Returns its index, or None for a reply that has nothing to keep."""
        index = len(self._recorded)
        if isinstance(event, AssistantReplied):
            if all(isinstance(part, Thinking) for part in event.parts):
                self.losses.add("left out", "assistant messages with neither text nor call")
                if place != NOWHERE:
                    self._silent.append((index, place))
                    place = NOWHERE
                if event.usage is None:
                    return None
                event = UsageReported(event.usage, model=event.model, purpose=EMPTY_REPLY)
            else:
                for part in event.parts:
                    if isinstance(part, ToolCall):
                        self._callers[part.id] = index
        self.names.note(event)
        self._recorded.append(Recorded(event, chain=chain, at=at, after=after))
        self._places.append(place)
        self._newest[chain] = index
        return index

    def extend(
        self, events: Iterable[Event], *, chain: str = "", at: float | None = None, place: int = NOWHERE
    ) -> None:
        for event in events:
            self.add(event, chain=chain, at=at, place=place)

    def set_up(self, system: str, tools: Json) -> None:
        """The system prompt and the tools, where the recording has them."""
        if system:
            self.add(SystemSet(system))
        if definitions := tool_definitions(tools, self.losses):
            self.add(ToolsSet(definitions))

    def note(self, text: str) -> None:
        self._notes.append(text)

    def event(self, index: int) -> Event:
        return self._recorded[index].event

    def newest(self, chain: str = "") -> int | None:
        return self._newest.get(chain)

    def caller(self, call_id: str) -> int | None:
        """The reply that made a call."""
        return self._callers.get(call_id)

    def report_usage(self, index: int, usage: Usage) -> None:
        """Add the usage of a reply, where the recorder wrote it later."""
        recorded = self._recorded[index]
        if isinstance(recorded.event, AssistantReplied):
            event = msgspec.structs.replace(recorded.event, usage=usage)
            self._recorded[index] = msgspec.structs.replace(recorded, event=event)

    def refuse(self, what: str, *, hint: str) -> NoReturn:
        raise InputError(f"{self.where} {what}", hint=hint)

    def finish(self, id: str, *, title: str = "", meta: dict[str, Json] | None = None) -> Recording:  # noqa: A002
        """The recording. Without an `id` it gets one from its content."""
        said = [
            r.event for r in self._recorded if isinstance(r.event, UserSaid) and r.event.origin != "reminder"
        ]
        titles = filter(None, map(first_line, (title, *(joined_text(event.parts) for event in said))))
        started = LogStarted(
            origin="import", source=self.source, title=next(titles, ""), meta=small(meta or {})
        )
        clock = next((r.at for r in self._recorded if r.at is not None), None)
        events = (Recorded(started, at=clock), *self._recorded[1:])
        notes = (*self._file_notes, *self._notes, *self.losses.sentences())
        listed = any(place != NOWHERE for place in self._places) or self._silent
        return Recording(
            id=id or content_id(self.source, events),
            source=self.source,
            events=events,
            notes=notes,
            places=tuple(self._places) if listed else (),
            silent=tuple(self._silent),
        )

    def is_empty(self) -> bool:
        spoken = UserSaid | AssistantReplied | ToolReturned
        return not any(isinstance(recorded.event, spoken) for recorded in self._recorded)


def first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0].strip()
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"


def content_id(source: str, value: object) -> str:
    """An id from the content: the same content has the same id on any machine."""
    return f"{source}-{blake2b(encode_in_order(value), digest_size=ID_BYTES).hexdigest()}"


def encode_in_order(value: object) -> bytes:
    """JSON that does not depend on the order in which keys were set."""
    return msgspec.json.encode(value, order="deterministic")


class EventTree:
    """Maps the recorder's own ids to events of a builder and decides what each new event follows."""

    def __init__(self, builder: RecordingBuilder) -> None:
        self._builder = builder
        self._places: dict[str, int] = {}
        self._steps: dict[int, int] = {0: 0}
        self._last_result: dict[int, int] = {}

    def add(
        self,
        event: Event,
        *,
        own: str = "",
        parent: str = "",
        chain: str = "",
        at: float | None = None,
        root: bool = False,
    ) -> int | None:
        """Append an event with the recorder's id `own` below its event `parent`; a `root` has no parent."""
        target = 0 if root and not chain else self._places.get(parent)
        after = self._branch(event, target, chain)
        before = self._builder.newest(chain) if after is None else after
        index = self._builder.add(event, chain=chain, at=at, after=after)
        if index is None:
            self.skip(own, parent)
            return None
        replied = isinstance(self._builder.event(index), AssistantReplied)
        self._steps[index] = index if replied else self._steps.get(before or 0, 0)
        if isinstance(event, ToolReturned):
            self._last_result[self._steps[index]] = index
        if own:
            self._places[own] = index
        return index

    def knows(self, own: str) -> bool:
        return own in self._places

    def skip(self, own: str, parent: str) -> None:
        """A line without an event: its children have the same place."""
        if own and own not in self._places and parent in self._places:
            self._places[own] = self._places[parent]

    def alias(self, own: str, index: int) -> None:
        """A further line of an event that already has its place."""
        self._places[own] = index

    def _branch(self, event: Event, target: int | None, chain: str) -> int | None:
        newest = self._builder.newest(chain)
        if target is None or newest is None:
            return None
        step = self._steps.get(target, 0)
        if isinstance(self._builder.event(target), AssistantReplied | ToolReturned):
            target = self._last_result.get(step, target)
        # Only a person goes back: by saying something else, or by moving to another place in the tree.
        is_said = isinstance(event, UserSaid) and event.origin == "person"
        is_moved = isinstance(event, BoundarySeen) and event.kind == "branch_summary"
        within_step = step == self._steps.get(newest, 0) and not (is_said or is_moved)
        return None if target == newest or within_step else target
