"""The formats of messages that can be read and written, by name.

Rule: messages of every provider are read and written through this table; a new provider is a new line in it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from holdfast.events import Event
from holdfast.messages import Json, Message, ToolDefinition, Usage
from holdfast.wire.anthropic import (
    anthropic_events,
    anthropic_message,
    anthropic_tool,
    anthropic_usage,
    join_anthropic,
    to_anthropic,
)
from holdfast.wire.content_blocks import CallNames, FormatName, WireDict, WireRequest
from holdfast.wire.foreign_json import Losses
from holdfast.wire.gemini import (
    gemini_contents,
    gemini_events,
    gemini_tools,
    gemini_usage,
    join_gemini,
    to_gemini,
)
from holdfast.wire.openai import (
    chat_usage,
    join_openai,
    openai_events,
    openai_message,
    openai_tool,
    to_openai,
)
from holdfast.wire.responses import (
    join_responses,
    responses_events,
    responses_items,
    responses_tools,
    responses_usage,
    to_responses,
)


class ReadMessage(Protocol):
    def __call__(
        self, message: dict[str, Json], names: CallNames, losses: Losses, /, *, opening: bool
    ) -> list[Event]: ...


class WireFormat(Struct, frozen=True):
    """How messages of one provider are read into events, and ours written for it.

    `system_block` writes a system prompt that is sent beside the messages; None where it is one of them.
    """

    name: FormatName
    read: ReadMessage
    write: Callable[[Message], list[WireDict]]
    join: Callable[[Iterable[list[WireDict]]], list[WireDict]]
    write_tools: Callable[[Sequence[ToolDefinition]], list[WireDict]]
    write_request: Callable[[Sequence[Message], Sequence[ToolDefinition]], WireRequest]
    read_usage: Callable[[Json], Usage | None]
    system_block: Callable[[str], WireDict] | None = None


FORMATS: Mapping[str, WireFormat] = {
    "openai": WireFormat(
        "openai",
        openai_events,
        openai_message,
        join_openai,
        lambda tools: [openai_tool(tool) for tool in tools],
        to_openai,
        chat_usage,
    ),
    "responses": WireFormat(
        "responses",
        responses_events,
        responses_items,
        join_responses,
        responses_tools,
        to_responses,
        responses_usage,
    ),
    "anthropic": WireFormat(
        "anthropic",
        anthropic_events,
        anthropic_message,
        join_anthropic,
        lambda tools: [anthropic_tool(tool) for tool in tools],
        to_anthropic,
        anthropic_usage,
        lambda text: {"type": "text", "text": text},
    ),
    "gemini": WireFormat(
        "gemini",
        gemini_events,
        gemini_contents,
        join_gemini,
        gemini_tools,
        to_gemini,
        gemini_usage,
        lambda text: {"text": text},
    ),
}

GEMINI_CONTENTS = "gemini-contents"
"""Gemini's contents as a format of files: `gemini` is that of the Gemini CLI there."""


def format_named(name: str) -> WireFormat:
    """The format of a list of messages; what is no provider's own is like OpenAI's chat."""
    return FORMATS["gemini"] if name == GEMINI_CONTENTS else FORMATS.get(name, FORMATS["openai"])
