"""Events made fit for a store: without secrets, and with valid Unicode only.

Rule: every string of an event is redacted unless it is listed here as an id, a name or opaque data, so a field
added later is covered from its first day.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.events import (
    ApprovalGiven,
    ChainStarted,
    Compacted,
    CompactionFailed,
    Event,
    Folded,
    FoldedRun,
    FoldNote,
    KeptLines,
    LogStarted,
    RulesSet,
    SummaryLine,
    ToolReturned,
    Undone,
    UserSaid,
)
from holdfast.messages import Image, Json, Thinking, ToolCall, ToolDefinition

EXACT: dict[type, frozenset[str]] = {
    LogStarted: frozenset({"origin", "forked_from"}),
    ChainStarted: frozenset({"call_id"}),
    RulesSet: frozenset({"hash"}),
    UserSaid: frozenset({"origin"}),
    ToolReturned: frozenset({"call_id", "name"}),
    ApprovalGiven: frozenset({"call_id", "decision"}),
    FoldedRun: frozenset({"first", "last", "level"}),
    # Built from entries that are redacted already; changed again, the ids in them would lead nowhere.
    FoldNote: frozenset({"first", "last", "text", "index"}),
    KeptLines: frozenset({"step", "call", "part", "lines"}),
    Folded: frozenset({"reason", "users", "pastes", "why"}),
    Compacted: frozenset({"slot", "first", "last", "sources", "above"}),
    SummaryLine: frozenset({"sources", "by"}),
    CompactionFailed: frozenset({"first", "last"}),
    Undone: frozenset({"entries"}),
    ToolCall: frozenset({"id", "name"}),
    ToolDefinition: frozenset({"name"}),
    Thinking: frozenset({"signature", "redacted"}),
    Image: frozenset({"media_type", "data"}),
}
"""Fields whose strings are ids, names, choices or data: redacting them would break what refers to them."""


class Redactor(Struct, frozen=True):
    """`text` redacts running text, `value` the value of a named field, such as `password`."""

    text: Callable[[str], str]
    value: Callable[[str, str], str]

    @classmethod
    def chosen(
        cls, redact: Callable[[str], str] | None, redact_value: Callable[[str, str], str] | None
    ) -> "Redactor":
        """The given functions. A `redact` alone is used for named values too; without it the default is used."""
        if redact is None:
            # Loaded late: the secret scanner is the heaviest import of the package.
            from holdfast import redaction  # noqa: PLC0415

            return cls(redaction.redact, redact_value or redaction.redact_value)
        return cls(redact, redact_value or (lambda _, value: redact(value)))


def redact_event(event: Event, redaction: Redactor) -> Event:
    """The event as it may be stored; the same object where nothing changed."""
    event_: Event = _struct(event, redaction)
    return event_


def valid_unicode(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD: no file or database could hold them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # By way of UTF-16, so that two halves of one character become that character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _struct(value: Any, redaction: Redactor) -> Any:
    exact = EXACT.get(type(value), frozenset())
    changes: dict[str, Any] = {}
    for name in value.__struct_fields__:
        before = getattr(value, name)
        kept = name in exact or (name == "url" and before.startswith("data:"))
        after = _value(before, None if kept else redaction, "")
        if after is not before:
            changes[name] = after
    if isinstance(value, Thinking) and "text" in changes:
        # A provider rejects a signature when the signed text has changed.
        changes["signature"] = ""
    return replace(value, **changes) if changes else value


def _value(value: Any, redaction: Redactor | None, key: str) -> Any:
    """`key` is the nearest name above a value; without a `redaction` only Unicode is repaired."""
    if isinstance(value, str):
        return _string(value, redaction, key)
    if isinstance(value, dict):
        return _dict(value, redaction)
    if isinstance(value, list | tuple):
        items = [_value(item, redaction, key) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)
    if isinstance(value, Struct):
        assert redaction is not None, "an exact field holds strings only"
        return _struct(value, redaction)
    return value


def _string(value: str, redaction: Redactor | None, key: str) -> str:
    text = valid_unicode(value)
    if redaction is not None and text:
        text = redaction.value(key, text) if key else redaction.text(text)
    return value if text == value else text


def _dict(value: dict[str, Json], redaction: Redactor | None) -> dict[str, Json]:
    items: dict[str, Json] = {}
    same = True
    for given, before in value.items():
        # JSON has only string keys; a program that builds events by hand may have others.
        key = given if isinstance(given, str) else str(given)
        name = _string(key, redaction, "")
        after = _value(before, redaction, key)
        same = same and name == given and after is before
        items[_free(name, items)] = after
    return value if same else items


def _free(name: str, taken: dict[str, Json]) -> str:
    """Two secret keys may become the same name; neither value may be lost."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
