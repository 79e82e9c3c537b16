"""What a model reads and writes: pure values, no ids of ours, no clocks.

Rule: vendor shapes stay outside. `recordings` and the model adapters translate at the edge.

Values hold no cycles, so the garbage collector need not visit them (`gc=False`), which saves most of the time
of a full collection in a log of a thousand steps.
"""

import re
from typing import Any

from msgspec import Struct

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of these."""

_REMINDER_TAG = re.compile(r"<(?=\s*/?\s*system-reminder)", re.IGNORECASE)


class Text(Struct, frozen=True, gc=False, tag="text"):
    text: str


class Image(Struct, frozen=True, gc=False, tag="image"):
    """A picture, kept as a part and never turned into text. `data` is base64, or `url` points to it."""

    media_type: str
    data: str = ""
    url: str = ""


class Thinking(Struct, frozen=True, gc=False, tag="thinking"):
    """A model's reasoning. With a `signature`, or `redacted`, it is kept whole or dropped whole.

    `redacted` is the provider's opaque block (Anthropic `redacted_thinking`), carried verbatim.
    """

    text: str = ""
    signature: str = ""
    redacted: str = ""


class ToolCall(Struct, frozen=True, gc=False, tag="call"):
    """A call of a tool. `arguments` is the decoded object; if the model wrote no valid JSON object,
    `arguments` is empty and `raw` holds what it wrote."""

    id: str
    name: str
    arguments: dict[str, Json]
    raw: str = ""


UserPart = Text | Image
AssistantPart = Text | Thinking | ToolCall


class SystemMessage(Struct, frozen=True, gc=False, tag="system"):
    text: str


class UserMessage(Struct, frozen=True, gc=False, tag="user"):
    parts: tuple[UserPart, ...]


class AssistantMessage(Struct, frozen=True, gc=False, tag="assistant"):
    parts: tuple[AssistantPart, ...]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(p for p in self.parts if isinstance(p, ToolCall))

    @property
    def text(self) -> str:
        return joined_text(self.parts)


class ToolMessage(Struct, frozen=True, gc=False, tag="tool"):
    call_id: str
    name: str
    parts: tuple[UserPart, ...]
    error: bool = False

    @property
    def text(self) -> str:
        return joined_text(self.parts)


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ToolDefinition(Struct, frozen=True, gc=False):
    """A tool as the model sees it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Json]


class Usage(Struct, frozen=True, gc=False):
    """What a provider reported for one request. `prompt` counts everything sent, cached or not; `searches` are
    those that its own search tool made."""

    prompt: int
    completion: int = 0
    cache_read: int = 0
    cache_write: int = 0
    searches: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion


def add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.prompt + other.prompt,
        one.completion + other.completion,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.searches + other.searches,
    )


def system_reminder(text: str) -> str:
    """What a program tells a model, in the tags that models know for it. Nothing inside can end it."""
    return f"<system-reminder>\n{_REMINDER_TAG.sub('‹', text)}\n</system-reminder>"


def joined_text(parts: tuple[UserPart | AssistantPart, ...]) -> str:
    """All text parts, one below the other; thinking, calls and images are not text."""
    return "\n".join(p.text for p in parts if isinstance(p, Text))
