"""Events as stored: JSON in which long strings are references to artifacts.

Rule: decoding gives back what was encoded. `{"$a": id}` refers to a text; a key of the user's own that starts
with `$` gets a second one, so no argument can pass for a reference. Fields at their default are left out, so that
an optional field added later changes neither old bodies nor their ids.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from holdfast.errors import InputError, StoreError
from holdfast.events import SCHEMA, AssistantReplied, Entry, Event, LogStarted, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import Image, Json, Text, Thinking, joined_text
from holdfast.store.protocol import Artifact, ArtifactKind, EntryRow

REFERENCE = "$a"
INLINE_LIMIT = 200
"""Shorter strings stay in place, except those that packs cut and refer to by id."""

RECALL = "Recall"

_ALWAYS_REFERENCED = ("text", "index", "summary")
_KINDS: dict[tuple[type, str], ArtifactKind] = {
    (Image, "data"): "image",
    (Image, "url"): "image",
    (Thinking, "signature"): "opaque",
    (Thinking, "redacted"): "opaque",
    # A diff repeats the call: search must not find it twice.
    (ToolReturned, "shown"): "echo",
}
_ALWAYS_WRITTEN = {(LogStarted, "schema")}
_EVENTS: dict[Any, type] = {cls.__struct_config__.tag: cls for cls in get_args(Event)}


class UnknownEvent(Exception):
    """The tag of an event that this version has no class for."""


class _Field(Struct, frozen=True):
    name: str
    default: Any
    kind: ArtifactKind
    is_referenced: bool

    def is_left_out(self, value: Json) -> bool:
        return self.default is not NODEFAULT and bool(value == self.default)


def encode_event(event: Event) -> tuple[bytes, dict[str, Artifact]]:
    """An event's body, and the artifacts it refers to by id."""
    kept: dict[str, Artifact] = {}
    # What Recall returns is stored elsewhere already: search must not find it twice.
    recalled = isinstance(event, ToolReturned) and event.name == RECALL
    try:
        body = msgspec.json.encode(_struct(event, kept, "echo" if recalled else "text"))
    except RecursionError:
        raise InputError(
            "an event is nested too deeply to be stored",
            hint="tool arguments of a few hundred levels are the limit",
        ) from None
    if isinstance(event, UserSaid | AssistantReplied | ToolReturned):
        _keep_joined(event, kept)
    return body, kept


def decode_event(body: bytes, texts: Mapping[str, str]) -> Event:
    """The event of a body. KeyError for a missing text, UnknownEvent for a newer version's event."""
    plain = _resolved(msgspec.json.decode(body), texts)
    tag = str(plain.get("type")) if isinstance(plain, dict) else ""
    if tag not in _EVENTS:
        raise UnknownEvent(tag)
    event: Event = msgspec.convert(plain, _EVENTS[tag])
    return event


def decode_entry(row: EntryRow, texts: Mapping[str, str]) -> Entry:
    """A stored row as an entry, or a StoreError that names it."""
    where = f"entry `{row.id}` (number {row.seq} of log `{row.log}`)"
    try:
        event = decode_event(row.body, texts)
    except UnknownEvent as unknown:
        raise StoreError(
            f"{where} is of the type `{unknown}`, which this version does not know (event schema {SCHEMA})",
            hint="a newer Holdfast wrote it: upgrade this one",
        ) from None
    except KeyError as missing:
        raise StoreError(f"{where} refers to text {missing}, which is not in the store") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{where} cannot be read: {error} (event schema {SCHEMA})",
            hint="the store is damaged, or a newer Holdfast wrote this: try an upgrade first",
        ) from None
    return Entry(row.id, row.log, row.seq, row.parent, event, row.chain, row.at)


def referenced_ids(body: bytes) -> set[str]:
    """The ids of the texts that a body refers to."""
    found: set[str] = set()
    waiting = [msgspec.json.decode(body)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if REFERENCE in value:
                found.add(str(value[REFERENCE]))
            else:
                waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def _keep_joined(event: UserSaid | AssistantReplied | ToolReturned, kept: dict[str, Artifact]) -> None:
    """A message of several texts is shown, and cut, as one: its id must lead to the whole."""
    if sum(isinstance(part, Text) for part in event.parts) > 1:
        _reference(joined_text(event.parts), kept, "echo")


def _reference(text: str, kept: dict[str, Artifact], kind: ArtifactKind) -> dict[str, str]:
    id_ = text_id(text)
    if id_ not in kept or kind == "text":
        kept[id_] = Artifact(id_, text, kind)
    return {REFERENCE: id_}


def _struct(value: Struct, kept: dict[str, Artifact], text_kind: ArtifactKind) -> dict[str, Json]:
    cls = type(value)
    tag = cls.__struct_config__.tag
    plain: dict[str, Json] = {} if tag is None else {"type": tag}
    for field in _layout(cls):
        content = getattr(value, field.name)
        if field.is_left_out(content):
            continue
        kind = text_kind if field.kind == "text" else field.kind
        if field.is_referenced:
            plain[field.name] = _reference(content, kept, kind)
        else:
            plain[field.name] = _plain(content, kept, kind)
    return plain


def _plain(value: Any, kept: dict[str, Artifact], kind: ArtifactKind) -> Json:
    if isinstance(value, str):
        return value if len(value) < INLINE_LIMIT else _reference(value, kept, kind)
    if isinstance(value, dict):
        return {"$" + k if k[:1] == "$" else k: _plain(v, kept, kind) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, kept, kind) for v in value]
    if isinstance(value, Struct):
        return _struct(value, kept, kind)
    return value


def _resolved(value: Json, texts: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        if REFERENCE in value:
            return texts[str(value[REFERENCE])]
        return {k[1:] if k[:1] == "$" else k: _resolved(v, texts) for k, v in value.items()}
    if isinstance(value, list):
        return [_resolved(v, texts) for v in value]
    return value


@cache
def _layout(cls: type[Struct]) -> tuple[_Field, ...]:
    found = []
    for field in fields(cls):
        default = field.default
        if field.default_factory is not NODEFAULT:
            default = field.default_factory()
        if (cls, field.name) in _ALWAYS_WRITTEN:
            default = NODEFAULT
        place = (cls, field.name)
        is_referenced = field.name in _ALWAYS_REFERENCED or (cls is Image and field.name != "media_type")
        found.append(_Field(field.name, default, _KINDS.get(place, "text"), is_referenced))
    return tuple(found)
