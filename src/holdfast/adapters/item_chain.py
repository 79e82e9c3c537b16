"""Items of a framework's own, kept in the log beside the conversation, on a chain of their own.

Rule: what was added comes back as it was, in any process. Secrets are the exception, as everywhere in a log:
another process reads `<REDACTED>` in their place.
"""

import re
from collections.abc import Iterator, Sequence
from threading import Lock

import msgspec

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Entry, Event, Noted, Rewound
from holdfast.messages import Json, Thinking
from holdfast.session import Session
from holdfast.views import path

ITEMS = "items"
"""The chain, and the kind of the remark that holds an item."""
_OPAQUE_FIELDS = ("encrypted_content", "file_data", "signature", "thought_signature")
_DATA = re.compile(r"data:[\w/.+-]+;base64,|[A-Za-z0-9+/=]{2000,}\Z")
"""Images and other data, as addresses or as they are."""


class ItemChain:
    """The items in the log of one session. Several processes may add to it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = Lock()
        self._entries: list[Entry] = []
        self._seq = 0
        self._given: dict[str, bytes] = {}
        """The items by their entries: as they were given, or else as they were read."""

    def all(self) -> list[Json]:
        """The items, oldest first."""
        with self._lock:
            return [item for _, item in self._standing()]

    def add(self, items: Sequence[Json]) -> None:
        """Add all items, or none."""
        try:
            encoded = [msgspec.json.encode(item) for item in items]
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"an item holds something that JSON cannot: {error}") from None
        with self._lock:
            events = [event for item in encoded for event in _events(msgspec.json.decode(item))]
            entries = self._session.record(*events, chain=ITEMS)
            remarks = [entry.id for entry in entries if isinstance(entry.event, Noted)]
            self._given |= zip(remarks, encoded, strict=True)

    def pop(self) -> Json | None:
        """Take back the newest item; None where there is none."""
        with self._lock:
            standing = list(self._standing())
            if not standing:
                return None
            first, item = standing[-1]
            self._session.log.append(Rewound("an item was taken back"), parent=first.parent, chain=ITEMS)
            return item

    def _standing(self) -> Iterator[tuple[Entry, Json]]:
        """Each item with its first entry."""
        new = self._session.log.entries(self._seq)
        self._seq = new[-1].seq if new else self._seq
        self._entries += [entry for entry in new if entry.chain == ITEMS]
        opaque: Entry | None = None
        for entry in path(self._entries, chain=ITEMS):
            if isinstance(entry.event, AssistantReplied):
                opaque = entry
            elif isinstance(entry.event, Noted):
                if entry.id not in self._given:
                    self._given[entry.id] = msgspec.json.encode(_filled(entry.event, opaque))
                # A new value each time: whoever gets it may change it.
                yield opaque or entry, msgspec.json.decode(self._given[entry.id])
                opaque = None


def _events(item: Json) -> list[Event]:
    """An item as a remark, after its opaque parts: the search for secrets would take some of them for one."""
    opaque: list[str] = []
    places: list[Json] = []
    emptied = _emptied(item, [], opaque, places)
    parts = tuple(Thinking(redacted=part) for part in opaque)
    remark = Noted(kind=ITEMS, text="", data={"item": emptied, "opaque": places})
    return [*([AssistantReplied(parts)] if parts else []), remark]


def _emptied(value: Json, place: list[str | int], opaque: list[str], places: list[Json]) -> Json:
    if isinstance(value, dict):
        return {key: _emptied(inner, [*place, key], opaque, places) for key, inner in value.items()}
    if isinstance(value, list):
        return [_emptied(inner, [*place, at], opaque, places) for at, inner in enumerate(value)]
    if isinstance(value, str) and value and place and (place[-1] in _OPAQUE_FIELDS or _DATA.match(value)):
        opaque.append(value)
        places.append(place)
        return ""
    return value


def _filled(remark: Noted, opaque: Entry | None) -> Json:
    item = remark.data["item"]
    parts = opaque.event.parts if opaque and isinstance(opaque.event, AssistantReplied) else ()
    texts = [part.redacted for part in parts if isinstance(part, Thinking)]
    for place, text in zip(remark.data["opaque"], texts, strict=True):
        inner = item
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = text
    return item
